#ifndef JPEER_BASE_CAPABILITIES_H
#define JPEER_BASE_CAPABILITIES_H
/*
 * What a peer of this version can do beyond the methods of PAL, by name: `control session` lists the names
 * (docs/compatibility.md), and a client finds in an older peer's refusal the name that this peer lacks. A new option,
 * control method, method or member of callbacks has a row here. A name is never given to something else. Constant data; any
 * thread.
 */
#include "base/text.h"

/* Grows when a client of the version before can no longer be served. */
enum { CAPABILITIES_PROTOCOL = 1 };

enum capability_kind {
  CAPABILITY_OPTION,   /* a member of `options` */
  CAPABILITY_CONTROL,  /* a control method */
  CAPABILITY_METHOD,   /* jpeer.NAME */
  CAPABILITY_META,     /* a service of `meta` */
  CAPABILITY_CALLBACKS /* of connections that carry callbacks alone */
};

struct capability {
  enum capability_kind kind;
  struct text name;
};

enum { CAPABILITIES = 32 };
extern const struct capability capabilities[CAPABILITIES];

/* The name of the capability that a peer lacks if it has refused a request with this message ("Unknown option: types"); data
 * NULL: the message means something else. */
struct text capability_find_lacking(struct text message);

#endif

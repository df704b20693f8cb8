#ifndef JPEER_DIRECTORY_ENTRIES_H
#define JPEER_DIRECTORY_ENTRIES_H
/*
 * The keys and values of the directory (docs/directory.md, "Keys and values"), as texts and back. Pure
 * functions, any thread; texts of results are in the caller's arena.
 *
 *   /NAMESPACE/peers/UUID/info      {"uuid":...,"name":...,"ctimeMillis":...}
 *   /NAMESPACE/peers/UUID/state     {"mtimeMillis":...,"zmqRpc":...,"jsonRpc":...,"zmqCurve":...}
 *   /NAMESPACE/peers/by-name/NAME   the UUID
 *   /NAMESPACE/services/SERVICE/UUID {"uuid":...,"jsonRpc":...,"zmqRpc":...}
 *
 * Others write such values, too: readers check each member that they know, and pass over the others.
 */
#include "base/arena.h"
#include "base/status.h"
#include "base/text.h"
#include "base/uuid.h"

#include <stdbool.h>
#include <stdint.h>

enum { DIRECTORY_NAME_MAX = 255 };

#define DIRECTORY_NAMESPACE "pal" /* the default */

/* The rule for names of peers, services and namespaces: 1 to 255 bytes of UTF-8 without "/" and control
 * characters, and not "by-name", "." or "..". JP_INVALID: the text begins with "takes a name ...". */
enum jp_status directory_name_check(struct text name, struct jp_error *error) JP_MUST_CHECK;

/* ---- keys ---- */

enum directory_key_kind {
  DIRECTORY_KEY_OTHER, /* of another namespace, or none of this layout */
  DIRECTORY_KEY_INFO,
  DIRECTORY_KEY_STATE,
  DIRECTORY_KEY_NAME,
  DIRECTORY_KEY_SERVICE
};

struct directory_key {
  enum directory_key_kind kind;
  struct uuid uuid; /* INFO, STATE, SERVICE */
  struct text name; /* NAME, SERVICE: borrowed from the key */
};

/* Keys of names that directory_name_check accepts; data is NULL when memory is short. */
struct text directory_key_info(struct arena *arena, struct text space, const struct uuid *uuid);
struct text directory_key_state(struct arena *arena, struct text space, const struct uuid *uuid);
struct text directory_key_name(struct arena *arena, struct text space, struct text name);
struct text directory_key_service(struct arena *arena, struct text space, struct text service,
                                  const struct uuid *uuid);
/* Prefixes, each with a "/" at its end. */
struct text directory_prefix_peers(struct arena *arena, struct text space);
struct text directory_prefix_service(struct arena *arena, struct text space, struct text service);
struct text directory_prefix_services(struct arena *arena, struct text space);

void directory_key_read(struct text key, struct text space, struct directory_key *read);

/* ---- values ---- */

struct directory_info {
  struct uuid uuid;
  struct text name; /* data NULL: the peer has none */
  int64_t ctime_ms; /* since 1970; 0: not given */
};

/* For an absent text, data is NULL. */
struct directory_state {
  int64_t mtime_ms;      /* since 1970; 0: not given */
  struct text zmq_rpc;   /* tcp://HOST:PORT */
  struct text json_rpc;  /* ws://HOST:PORT or wss://HOST:PORT */
  struct text zmq_curve; /* the server's public key in Z85 */
};

struct directory_member {
  struct uuid uuid;
  struct text json_rpc;
  struct text zmq_rpc;
};

/* data is NULL when memory is short. */
struct text directory_info_write(struct arena *arena, const struct directory_info *info);
struct text directory_state_write(struct arena *arena, const struct directory_state *state);
struct text directory_member_write(struct arena *arena, const struct directory_member *member);

/* JP_INVALID: the value is not of this form; the text says why. JP_NO_MEMORY. */
enum jp_status directory_info_read(struct text value, struct arena *arena, struct directory_info *info,
                                   struct jp_error *error) JP_MUST_CHECK;
enum jp_status directory_state_read(struct text value, struct arena *arena, struct directory_state *state,
                                    struct jp_error *error) JP_MUST_CHECK;
enum jp_status directory_member_read(struct text value, struct arena *arena, struct directory_member *member,
                                     struct jp_error *error) JP_MUST_CHECK;

#endif

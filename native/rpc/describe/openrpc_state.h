#ifndef JPEER_RPC_DESCRIBE_OPENRPC_STATE_H
#define JPEER_RPC_DESCRIBE_OPENRPC_STATE_H
/* Shared by the openrpc*.c files alone. */
#include "base/arena.h"
#include "base/buffer.h"
#include "rpc/describe/openrpc.h"

struct catalog_tables;
struct document_cache;
struct meta_reach;

/* How methods are named in a document. */
enum openrpc_names {
  OPENRPC_OWN_NAMES, /* as they are called: dotted, with a suffix where there are several overloads */
  /* rpc/methods/identifiers.h, of the full names; rpc.discover itself is left out. All else in the document is as
   * generators of typed clients need it (docs/descriptions.md, "Generators"). */
  OPENRPC_IDENTIFIERS,
  OPENRPC_NAMES
};

struct openrpc {
  struct openrpc_config config;
  struct document_cache *cache;             /* documents of the application */
  struct buffer errors;                     /* {"InvalidRequest":{...},...} */
  struct buffer head[OPENRPC_NAMES];        /* {"openrpc":...,"info":{...},"servers":[...] */
  struct buffer ref_schemas[OPENRPC_NAMES]; /* the components that every document of the application has */
  struct buffer own[OPENRPC_NAMES];         /* the documents of the peer's own procedures */
};

/* Writes the errors of a method: ,"errors":[...] */
void openrpc_write_method_errors(enum openrpc_names names, struct buffer *out);

/* The classes that a document is asked for. */
struct openrpc_scope {
  const struct text *patterns;
  size_t count;
  enum openrpc_names names;
  const struct catalog_tables *tables; /* with all that the patterns cover */
  const struct meta_reach *reach;      /* the classes that can be named */
};

/* Writes the document of the classes that the patterns cover (openrpc_java.c). JP_LIMIT: it is longer than
 * max. JP_NO_MEMORY. */
enum jp_status openrpc_java_write(const struct openrpc *openrpc, const struct openrpc_scope *scope,
                                  const struct openrpc_view *view, size_t max, struct buffer *out,
                                  struct jp_error *error) JP_MUST_CHECK;

#endif

#ifndef JPEER_RPC_DESCRIBE_OPENRPC_H
#define JPEER_RPC_DESCRIBE_OPENRPC_H
/*
 * Answers rpc.discover with documents of OpenRPC 1.3.2 (docs/descriptions.md). The peer's own procedures are
 * described from the table of procedures. The application's members are described from the catalog and the
 * policy, without loading a class.
 *
 * A struct openrpc is constant after it was made, except for its cache. Any thread may use it.
 */
#include "base/uuid.h"
#include "jsonrpc/jsonrpc.h"
#include "op/outcome.h"
#include "policy/policy.h"

struct catalog;
struct meta_loaders;
struct openrpc;

struct openrpc_config {
  struct uuid uuid;
  const char *name;             /* of the peer; NULL: "jpeer" */
  const char *version;          /* of the peer; NULL: "0" */
  const char *const *addresses; /* of the service, NULL-terminated; NULL: not known */
  struct catalog *catalog;      /* borrowed; NULL: the application is not described */
  bool compat_pal;              /* the procedures whose names begin with "jpeer." are not served */
};

/* JP_NO_MEMORY, JP_INTERNAL. Caller frees with openrpc_destroy. */
enum jp_status openrpc_create(const struct openrpc_config *config, struct openrpc **openrpc,
                              struct jp_error *error) JP_MUST_CHECK;
void openrpc_destroy(struct openrpc *openrpc);

/* The document of the peer's own procedures, with their own names. Borrowed: valid as long as the struct openrpc. */
struct text openrpc_own_document(const struct openrpc *openrpc);

/* The policy and the channel that decide which members a caller sees. */
struct openrpc_view {
  const struct policy *policy; /* borrowed */
  enum policy_channel channel;
  const struct meta_loaders *loaders; /* which classes can be named; NULL: all */
};

/*
 * Answers rpc.discover: appends a document of at most max bytes to out. If the result is not JP_OK, *outcome
 * is an OUTCOME_ERROR.
 */
enum jp_status openrpc_discover(struct openrpc *openrpc, const struct jsonrpc_request *request,
                                const struct openrpc_view *view, size_t max, struct arena *arena,
                                struct buffer *out, struct outcome *outcome) JP_MUST_CHECK;

#endif

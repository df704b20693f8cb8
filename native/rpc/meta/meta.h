#ifndef JPEER_RPC_META_META_H
#define JPEER_RPC_META_META_H
/*
 * fetch_classes_info: what a caller may use, as JSON made from the catalog and filtered by the policy member
 * by member (behaviour.md, "Meta").
 *
 * One struct rpc_meta serves all threads. An answer is a body that is made while it is read: the text of the
 * JSON array, or with compress_encode the base64 of its gzip.
 */
#include "base/status.h"
#include "op/operation.h"
#include "op/outcome.h"
#include "policy/policy.h"

struct catalog;
struct rpc_meta;

/* The catalog is borrowed and must outlive it. Caller frees with rpc_meta_destroy, after every body. */
enum jp_status rpc_meta_create(struct catalog *catalog, struct rpc_meta **meta,
                               struct jp_error *error) JP_MUST_CHECK;
void rpc_meta_destroy(struct rpc_meta *meta);

/*
 * Begins the answer to an OP_META operation. The first call of all reads the catalog, and fails as
 * catalog_load does: that is the status ERROR of a failed scan. The operation is copied; the policy is
 * held until body->close.
 */
enum jp_status rpc_meta_open(struct rpc_meta *meta, struct policy *policy, enum policy_channel channel,
                             const struct operation *operation, struct outcome_body *body,
                             struct jp_error *error) JP_MUST_CHECK;

#endif

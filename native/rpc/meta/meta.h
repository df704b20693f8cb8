#ifndef JPEER_RPC_META_META_H
#define JPEER_RPC_META_META_H
/*
 * Answers fetch_classes_info (docs/metadata.md): the catalog's classes, with the members that the policy
 * allows the caller to use. The core needs only this header. The body is JSON in every codec; meta_json.c
 * writes it, and no other file here knows JSON.
 *
 * One struct rpc_meta serves all threads. An answer's body is made while it is read: the JSON text, or with
 * compress_encode the base64 of its gzip.
 */
#include "base/arena.h"
#include "base/status.h"
#include "op/description.h"
#include "op/operation.h"
#include "op/outcome.h"
#include "policy/policy.h"

struct catalog;
struct rpc_meta;

/* Questions about class loaders. Answering them loads no class. */
struct meta_loaders {
  void *context;
  bool (*main_finds)(void *context,
                     struct text class_name); /* the context class loader of main has the class's file */
  bool (*is_loaded)(void *context,
                    struct text class_name); /* exactly one loader has loaded a class of this name */
};

/* The catalog is borrowed and must outlive the struct rpc_meta. Caller frees with rpc_meta_destroy, after all
 * bodies are closed. */
enum jp_status rpc_meta_create(struct catalog *catalog, struct rpc_meta **meta,
                               struct jp_error *error) JP_MUST_CHECK;
void rpc_meta_destroy(struct rpc_meta *meta);

/*
 * Begins the answer to an OP_META operation. The first call in the process that needs all classes reads the
 * catalog. It returns the errors of catalog_load (docs/metadata.md, "When it fails"). The operation is
 * copied; the policy is held until body->close. The loaders are not used after this returns.
 */
enum jp_status rpc_meta_open(struct rpc_meta *meta, struct policy *policy, enum policy_channel channel,
                             const struct meta_loaders *loaders, const struct operation *operation,
                             struct outcome_body *body, struct jp_error *error) JP_MUST_CHECK;

/*
 * Answers an OP_DESCRIBE: writes the description of an object or of a class as the JSON object that all
 * codecs use, with the members that the caller may use. *text is in the arena. If meta is NULL, the peer
 * serves no metadata, and the description has no names of parameters. JP_NO_MEMORY, JP_LIMIT.
 */
enum jp_status rpc_meta_describe(struct rpc_meta *meta, const struct policy *policy,
                                 enum policy_channel channel, const struct op_description *look,
                                 struct arena *arena, struct text *text) JP_MUST_CHECK;

#endif

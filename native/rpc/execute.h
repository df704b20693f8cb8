#ifndef JPEER_RPC_EXECUTE_H
#define JPEER_RPC_EXECUTE_H
/*
 * The one place that joins policy and JVM: an operation in, an outcome out. Used on a worker's thread,
 * between jvm_request_begin and jvm_request_end; what the outcome points to is valid until then.
 */
#include "jni/executors.h"
#include "rpc/authorize.h"
#include "rpc/meta/meta.h"

struct rpc_call_watch;

/* The member that an operation reached. */
struct rpc_reached_member {
  struct text class_name; /* data NULL: none was reached */
  struct text member;
  bool is_field;
  unsigned modifiers;
  struct text implied_type; /* the class of the instance, where the operation names none; else data NULL */
  struct resolved_member *resolved; /* of struct jvm_target; NULL: none was reached */
};

struct rpc_execution {
  struct jvm_thread *thread;
  struct jvm_objects *objects;
  struct jvm_stored *stored; /* gets the refs that the result makes; NULL: nobody wants to know */
  bool drops_result;         /* nobody will read it */
  bool compat_pal;
  size_t answer_max;               /* of struct jvm_request */
  struct jvm_result *result;       /* likewise */
  struct rpc_callbacks *callbacks; /* likewise */
  struct rpc_call_watch *watch;    /* is told of the member; NULL: nobody looks */
  struct rpc_meta *meta;           /* for an OP_DESCRIBE; NULL: the peer serves no metadata */
  struct arena *arena;
  const struct jvm_limits *limits;
  struct rpc_authorizer authorizer;
};

/*
 * Finds the class that an operation names, and the members of it that look->only_member tells, as the operation itself
 * would find it: the policy is asked about the names and the loader before. What it finds is valid as long as the
 * request. False leaves an OUTCOME_ERROR.
 */
bool rpc_execute_look_up(struct rpc_execution *execution, const struct operation *operation,
                         struct op_look *look, struct outcome *outcome) JP_MUST_CHECK;

/* Runs an OP_NEW, OP_CALL, OP_GET, OP_PUT, OP_FETCH or OP_DESCRIBE. *reached becomes the member that was reached. */
void rpc_execute(struct rpc_execution *execution, const struct operation *operation,
                 struct rpc_reached_member *reached, struct outcome *outcome);

/* The same on a thread of the executor, where the policy is asked, too. Returns when that has ended. */
void rpc_execute_on(const struct jvm_executor *executor, struct rpc_execution *execution,
                    const struct operation *operation, struct rpc_reached_member *reached,
                    struct outcome *outcome);

#endif

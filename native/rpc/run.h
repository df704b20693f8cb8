#ifndef JPEER_RPC_RUN_H
#define JPEER_RPC_RUN_H
/*
 * The core: an operation in, an outcome out, with the client's session, the control methods, metadata and the
 * members of Java behind it. It knows no codec: whoever reads requests makes the operations, and writes
 * answers from the outcomes.
 *
 * A runner is what a thread needs for that. A crew member's worker has one; so may any other thread that
 * jvm_spawn has started. It is used on that thread alone or, while that thread waits for an executor
 * (jni/executors.h), on the executor's.
 */
#include "base/arena.h"
#include "base/uuid.h"
#include "jni/members.h"
#include "judge/judge.h"
#include "op/operation.h"
#include "op/outcome.h"
#include "rpc/callbacks/given.h"
#include "rpc/meta/meta.h"
#include "rpc/session.h"

struct op_description;
struct rpc_call_watch;
struct rpc_peer;
struct rpc_client;

/* The member that an operation reached. */
struct rpc_reached_member {
  struct text class_name; /* data NULL: none was reached */
  struct text member;
  bool is_field;
  unsigned modifiers;
  struct text implied_type; /* the class of the instance, where the operation names none; else data NULL */
  struct resolved_member *resolved; /* of struct jvm_target; NULL: none was reached */
};

struct rpc_runner {
  struct rpc_peer *peer;
  struct jvm_thread *thread;
  struct arena arena;    /* of the message that is served: operations and outcomes live in it */
  struct policy *policy; /* held: the one in force when the message came; NULL: none came yet */
  struct judge_names names;
  struct jvm_stored stored;        /* by the results of the message that is served */
  struct rpc_given given;          /* the callbacks that it gives */
  struct rpc_call_watch *watch;    /* of the thread's calls; NULL: nobody looks */
  struct op_session_key guest_key; /* of the session that a request itself has named */
};

/* The runner is all zero. */
void rpc_runner_init(struct rpc_runner *runner, struct rpc_peer *peer, struct jvm_thread *thread);
void rpc_runner_fini(struct rpc_runner *runner);

/* Makes the judge of an operation: it asks the policy of the message that is served, for a client of the channel whose
 * session has the key. Valid until the next message. */
static inline struct judge rpc_runner_judge(struct rpc_runner *runner, enum op_channel channel,
                                            const struct op_session_key *session)
{
  return judge_make(runner->policy, &runner->names, channel, session);
}

/* Before each message: takes the policy that is in force, under which all of the message is served, and
 * forgets what the message before has left. */
void rpc_runner_begin_message(struct rpc_runner *runner);

/* The requests of one message, one after the other; rpc_run_init fills it for the message. It is not moved or copied then,
 * because `request` points into it. */
struct rpc_run {
  struct rpc_runner *runner;
  struct rpc_client *client;
  uint64_t number; /* of a message whose requests have named sessions; 0: none has yet */
  struct jvm_request
      request; /* as jni knows it; its objects and operation are those of the operation in flight */

  /* Of the request in flight: */
  bool names_session;        /* always where `guest` is not NULL */
  bool is_framed;            /* jvm_request_end is due */
  struct uuid guest_id;      /* of the session that it names */
  struct rpc_session *guest; /* that session, held until the request ends; NULL: not held */
  size_t stored_before;      /* of the runner's stored refs: those of the message's earlier requests */
  struct rpc_reached_member reached;
  struct jvm_result result; /* kept until the request ends */
  struct judge judge;       /* of the operation in flight */
  struct operation named;   /* in place of an operation that names no class */
};

/* answer_max: bytes that an answer may have; 0: any number. */
void rpc_run_init(struct rpc_run *run, struct rpc_runner *runner, struct rpc_client *client,
                  size_t answer_max);

/* Begins the next request. session: the one that the request itself names, in place of the client's; NULL:
 * none. drops_result: nobody will read its result. */
void rpc_run_begin(struct rpc_run *run, const struct uuid *session, bool drops_result);

/* Runs an operation of any kind. The outcome is valid until rpc_run_end; a body is the caller's to close. */
void rpc_run_operation(struct rpc_run *run, const struct operation *operation, struct outcome *outcome);

/*
 * Looks for the class that an operation names, as running the operation would, and for the members of the class that
 * look->only_member names. *look is valid until rpc_run_end, which is then due. False leaves an OUTCOME_ERROR.
 */
bool rpc_run_look_up(struct rpc_run *run, const struct operation *operation, struct op_description *look,
                     struct outcome *outcome) JP_MUST_CHECK;

/*
 * Gives the request's session. If there is none yet, makes it, or gives NULL without `make`; a session that
 * the request itself names is always made. Anything but JP_OK leaves an OUTCOME_ERROR.
 */
enum jp_status rpc_run_find_session(struct rpc_run *run, bool make, struct rpc_session **session,
                                    struct outcome *outcome) JP_MUST_CHECK;

/*
 * The answer to the request is too long: *outcome becomes the ref alone of its result, which the session then holds, so
 * that a call that has run loses nothing. by_value: of the operation. False: the result is no object, or with --compat
 * pal; *outcome stays.
 */
bool rpc_run_become_ref(struct rpc_run *run, bool by_value, struct outcome *outcome);

/* The answer to the request becomes an error: its client never hears of what the result has stored, which is
 * dropped. */
void rpc_run_take_back(struct rpc_run *run);

/* Ends the request when its answer is written; harmless where no operation was run. */
void rpc_run_end(struct rpc_run *run);

/*
 * For questions about class loaders while the request is in flight; *loaders is valid as long as the run, which is its
 * context. Opens the request's frame of references unless an operation has, so that rpc_run_end is due. False: memory is
 * short.
 */
bool rpc_run_find_loaders(struct rpc_run *run, struct meta_loaders *loaders) JP_MUST_CHECK;

/* Makes a judge for a question about the request in flight, beside its operation: before it is made, or about an error of
 * it. Valid as long as the run. */
struct judge rpc_run_judge(const struct rpc_run *run);

#endif

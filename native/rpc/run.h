#ifndef JPEER_RPC_RUN_H
#define JPEER_RPC_RUN_H
/*
 * The core: runs an operation and makes an outcome, with the client's session, the control methods, metadata
 * and the members of Java. The core is independent of the codecs. The codecs make the operations from
 * requests, and write the answers from the outcomes.
 *
 * A thread needs a runner to run operations. A crew member's worker has a runner, and any other thread that
 * jvm_spawn has started may have one. Only its own thread uses a runner. While that thread waits for an
 * executor (jni/executors.h), the executor's thread uses the runner.
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
struct principal;
struct rpc_call_watch;
struct rpc_peer;
struct rpc_request_counts;
struct rpc_client;

/* The member that an operation reached. */
struct rpc_reached_member {
  struct text class_name; /* data NULL: none was reached */
  struct text member;
  bool is_field;
  unsigned modifiers;
  /* the class of the instance, if the operation does not name a class; otherwise data NULL */
  struct text implied_type;
  struct resolved_member *resolved; /* of struct jvm_target; NULL: none was reached */
  bool has_verdict;                 /* for the audit alone: the verdict is known */
  struct policy_verdict verdict;
};

struct audit_client {
  uint64_t number; /* of the client; 0: nothing is kept */
  size_t length;
  char text[240];
};
enum { AUDIT_CLIENTS_KEPT = 32 };

struct rpc_runner {
  struct rpc_peer *peer;
  struct jvm_thread *thread;
  struct arena arena; /* the memory of the operations and outcomes of the message that is served */
  /* held: the policy in force when the message was received; NULL: none was received yet */
  struct policy *policy;
  struct judge_names names;
  struct jvm_stored stored;     /* refs stored by the results of the message that is served */
  struct rpc_given given;       /* the callbacks that the message gives */
  struct rpc_call_watch *watch; /* of the thread's calls; NULL: not watched */
  /* of the thread's requests; NULL: they count in the peer's, which threads share */
  struct rpc_request_counts *counts;
  struct op_session_key guest_key;                       /* of the session that the request names */
  struct buffer audit_line;                              /* used while a line of the audit is made */
  struct audit_client audit_clients[AUDIT_CLIENTS_KEPT]; /* each in the place of its number */
  int64_t audited_ns; /* when the last operation ended, for the audit (clock_now_ns) */
};

/* The runner is all zero. */
void rpc_runner_init(struct rpc_runner *runner, struct rpc_peer *peer, struct jvm_thread *thread);
void rpc_runner_fini(struct rpc_runner *runner);

/* Makes the judge of an operation. It asks the policy of the message that is served, for a client of the
 * channel whose session has the key. Valid until the next message. */
static inline struct judge rpc_runner_judge(struct rpc_runner *runner, enum op_channel channel,
                                            const struct op_session_key *session)
{
  return judge_make(runner->policy, &runner->names, channel, session);
}

/* Called before each message. Holds the policy in force for the principal (NULL: owner), under which the
 * whole message is served, and clears the state of the previous message. */
void rpc_runner_begin_message(struct rpc_runner *runner, const struct principal *principal);

/* The state in which the requests of one message run, one after the other. rpc_run_init initialises it for
 * the message. It must not be moved or copied afterwards, because `request` points into it. */
struct rpc_run {
  struct rpc_runner *runner;
  struct rpc_client *client;
  /* the number of a message whose requests name sessions; 0: no request has named a session yet */
  uint64_t number;
  /* the request for jni; its objects and its operation are valid for the operation in flight */
  struct jvm_request request;

  /* Of the request in flight: */
  bool names_session;        /* always if `guest` is not NULL */
  bool is_framed;            /* jvm_request_end is due */
  struct uuid guest_id;      /* of the session that the request names */
  struct rpc_session *guest; /* the session that the request names, held until the request ends; NULL: not
                              * held */
  size_t stored_before;      /* count of the runner's stored refs at the begin of the request */
  struct rpc_reached_member reached;
  struct jvm_result result; /* kept until the request ends */
  struct judge judge;       /* of the operation in flight */
  struct operation named;   /* replaces an operation that names no class */
  uint64_t started;         /* the number of the audit's line at the start of the call; 0: none */
};

/* answer_max: bytes that an answer may have; 0: any number. */
void rpc_run_init(struct rpc_run *run, struct rpc_runner *runner, struct rpc_client *client,
                  size_t answer_max);

/* Begins the next request. session: the session that the request names in place of the client's session;
 * NULL: the request names no session. drops_result: the result of the request will not be read. */
void rpc_run_begin(struct rpc_run *run, const struct uuid *session, bool drops_result);

/* Runs an operation of any kind. The outcome is valid until rpc_run_end; the caller closes a body. */
void rpc_run_operation(struct rpc_run *run, const struct operation *operation, struct outcome *outcome);

/*
 * Looks up the class that an operation names, as rpc_run_operation would, and the members of the class that
 * look->only_member names. *look is valid until rpc_run_end, which the caller must call. False: *outcome is
 * an OUTCOME_ERROR.
 */
bool rpc_run_look_up(struct rpc_run *run, const struct operation *operation, struct op_description *look,
                     struct outcome *outcome) JP_MUST_CHECK;

/*
 * Finds the request's session. If the session does not exist yet, this function makes it if `make` is true or
 * the request names the session; otherwise it sets *session to NULL. Each status except JP_OK leaves an
 * OUTCOME_ERROR.
 */
enum jp_status rpc_run_find_session(struct rpc_run *run, bool make, struct rpc_session **session,
                                    struct outcome *outcome) JP_MUST_CHECK;

/*
 * For an answer that is too long: *outcome becomes the ref of its result, which the session holds from now
 * on, so that a call that has run loses nothing. by_value: the member of the operation. False: the result is
 * not an object, or --compat pal is set, and *outcome is unchanged.
 */
bool rpc_run_become_ref(struct rpc_run *run, bool by_value, struct outcome *outcome);

/* For an answer that becomes an error: drops the refs that the result has stored, which the client will
 * never receive. */
void rpc_run_release_result(struct rpc_run *run);

/* Ends the request after its answer is written; does nothing if no operation was run. */
void rpc_run_end(struct rpc_run *run);

/*
 * Makes *loaders, which answers questions about class loaders while the request is in flight. *loaders is
 * valid as long as the run, which is its context. Opens the request's frame of references if no operation has
 * opened it, so the caller must call rpc_run_end. False: memory is short.
 */
bool rpc_run_find_loaders(struct rpc_run *run, struct meta_loaders *loaders) JP_MUST_CHECK;

/* Makes a judge for a question about the request in flight, but not about its operation: before the operation
 * is made, or for an error of the request. Valid as long as the run. */
struct judge rpc_run_judge(const struct rpc_run *run);

#endif

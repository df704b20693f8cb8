#ifndef JPEER_RPC_OPERATION_AUDIT_H
#define JPEER_RPC_OPERATION_AUDIT_H
/*
 * The audit's lines about operations and clients (docs/operations.md, "The audit"). Every operation ends here, whatever its
 * form and its transport: a codec calls operation_audit_end for each request, after it has written the answer. So do the
 * answers that need no worker.
 *
 * The path for whole numbers (rpc/fastpath) makes no outcome: it keeps a template of the line.
 */
#include "audit/audit.h"
#include "op/operation.h"
#include "op/outcome.h"
#include "rpc/codec.h"
#include "rpc/run.h"

struct rpc_client;

/* Appends who and where: the principal, the address or user and process, the session, the channel. client NULL: nothing. */
void operation_audit_client(struct buffer *line, const struct rpc_client *client);

/* Writes the line at the start of a call into the file. Returns its number. */
uint64_t operation_audit_start(const struct rpc_client *client, const struct operation *operation);
/* The same about a call that has lasted, by a visitor of the call, who does not wait for the file. reached NULL: the member
 * is not known yet. */
uint64_t operation_audit_lasts(const struct rpc_client *client, const struct operation *operation,
                               const struct rpc_reached_member *reached);

/* An operation that has ended. All that it points to is borrowed. */
struct audited_operation {
  const struct rpc_client *client;   /* NULL: not known */
  const struct rpc_run *run;         /* NULL: the operation was not run by a worker */
  const struct operation *operation; /* NULL: it was not read */
  struct text method;                /* as the request names it; data NULL: the form has no methods */
  const char *event;                 /* NULL: "end" */
  struct text reason;                /* of a refusal; data NULL: none */
  int64_t begun_ns;                  /* clock_now_ns; 0: not known */
  bool is_notification;
};

/* Queues the line. Only if audit_is_on. */
void operation_audit_end(const struct audited_operation *ended, const struct outcome *outcome);

/* Before a request is run: forgets the denial of the one before. Returns when the request's time begins: when its message
 * was received, or when the operation before it on the same thread ended. */
int64_t operation_audit_begin(struct rpc_runner *runner);

/* False: the audit cannot be written, and *outcome is the error of an operation that must not run. */
bool operation_audit_admits(struct arena *arena, struct outcome *outcome);

/* ---- the fast path ---- */

/* What is the same in all lines about an operation of one shape that was successful. Begins as zero. */
enum { AUDIT_TEMPLATE_MAX = 320 };
struct audit_template {
  uint64_t generation; /* of the policy */
  enum op_channel channel;
  size_t length; /* 0: nothing is kept */
  char text[AUDIT_TEMPLATE_MAX];
};

/* Keeps the template of an operation that the policy has just allowed. verdicts: of its member. Only if audit_is_on. */
void operation_audit_keep(struct audit_template *kept, struct rpc_runner *runner, enum op_channel channel,
                          const struct operation *operation, const uint64_t *verdicts);
/* True if operation_audit_end_known can write the line of the next operation of this shape. */
bool operation_audit_knows(const struct audit_template *kept, const struct rpc_runner *runner,
                           const struct rpc_client *client);
/* Queues the line of an operation that was successful. */
void operation_audit_end_known(const struct audit_template *kept, struct rpc_runner *runner,
                               const struct rpc_client *client);

#endif

#ifndef JPEER_RPC_CONTROL_H
#define JPEER_RPC_CONTROL_H
/* What the control methods do; their table is op/control.h. */
#include "rpc/run.h"

/* Runs an OP_CONTROL; *outcome is an OUTCOME_VOID, and becomes what the method tells, or an OUTCOME_ERROR if it fails. run may be
 * NULL if the method needs no runner. */
void rpc_control_run(struct rpc_run *run, const struct operation *operation, struct outcome *outcome);

#endif

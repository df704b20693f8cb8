#ifndef JPEER_RPC_CONTROL_H
#define JPEER_RPC_CONTROL_H
/* Runs the control methods; their table is op/control_methods.h. */
#include "rpc/run.h"

/* Runs an OP_CONTROL; *outcome is an OUTCOME_VOID, and becomes the method's result, or an OUTCOME_ERROR if
 * the method fails. run may be NULL if the method needs no runner. */
void rpc_control_run(struct rpc_run *run, const struct operation *operation, struct outcome *outcome);

/* Runs a `share_session` for a client while another thread may be serving a request of the client. The
 * session in which that request runs gets the new `peer-id`. False: the method must wait until earlier
 * requests are served, and *outcome is unchanged. The client is open; any thread. */
bool rpc_control_share_beside(const struct rpc_peer *peer, struct rpc_client *client, struct arena *arena,
                              struct outcome *outcome);

/* Makes *outcome the answer to `control cancel`. */
void rpc_control_fill_cancelled(bool is_found, struct outcome *outcome);

#endif

#ifndef JPEER_NET_CONNECTION_CONNECTION_PRINCIPAL_H
#define JPEER_NET_CONNECTION_CONNECTION_PRINCIPAL_H
/*
 * The principal of a connection (principal/principals.h). Over HTTP each request shows its own evidence, and the connection
 * belongs to the principal of the last request. A connection of WebSocket or shared memory belongs to the principal of its
 * handshake until it ends. The connection counts in `limits.connections` of its principal.
 *
 * Only for a peer with --principals. Without it all connections belong to owner, and these functions are not called, except
 * connection_leave_principal and connection_judge_again, which do nothing then.
 */
#include "net/connection/connection.h"

/*
 * Judges the evidence of a request: the token (NULL: it has none), and what the connection knows of its client. On
 * PRINCIPAL_ADMITTED the connection is the principal's. Else the connection is as before, and *error has the reason for
 * the client: JP_LIMIT with PRINCIPAL_AT_LIMIT, JP_DENIED otherwise. The connection's owner calls it.
 */
enum principal_refusal connection_judge(struct connection *connection, const uint8_t token[PRINCIPAL_DIGEST],
                                        struct jp_error *error) JP_MUST_CHECK;
/* When the connection ends: it belongs to no principal any more, and does not count. */
void connection_leave_principal(struct connection *connection);

/* True if the client's evidence does not show the connection's principal any more. Compares it only after a reload, and only
 * until that check has passed. The connection's owner calls it; or the watcher, under the connection's lock, while there is no
 * owner or the owner is in a call. */
bool connection_has_lost_principal(struct connection *connection);
/* Before a request is served whose body was received after its evidence was judged: if there was a reload in between, judges
 * the same evidence again, as connection_judge does. The owner calls it. */
enum principal_refusal connection_judge_again(struct connection *connection,
                                              struct jp_error *error) JP_MUST_CHECK;

#endif

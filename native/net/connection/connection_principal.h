#ifndef JPEER_NET_CONNECTION_CONNECTION_PRINCIPAL_H
#define JPEER_NET_CONNECTION_CONNECTION_PRINCIPAL_H
/*
 * The principal of a connection (principal/principals.h). Over HTTP each request shows its own evidence, and
 * the connection belongs to the principal of the last request. A connection of WebSocket or shared memory
 * belongs to the principal of its handshake until it ends. The connection counts in `limits.connections` of its
 * principal.
 *
 * Only for a peer with --principals. Without it all connections belong to `owner`, and these functions are not
 * called, except connection_leave_principal and connection_judge_again, which then do nothing.
 */
#include "net/connection/connection.h"

/*
 * Judges the evidence of a request: its token (NULL: it has none), and the facts that the connection has
 * about its client. PRINCIPAL_ADMITTED: the connection belongs to the principal from now on. Otherwise the
 * connection is unchanged, and *error has the reason for the client: JP_LIMIT with PRINCIPAL_AT_LIMIT,
 * JP_DENIED in all other cases. Called by the owner of the connection.
 */
enum principal_refusal connection_judge(struct connection *connection, const uint8_t token[PRINCIPAL_DIGEST],
                                        struct jp_error *error) JP_MUST_CHECK;
/* Called when the connection ends: it then belongs to no principal, and no longer counts. */
void connection_leave_principal(struct connection *connection);

/* True if the client's evidence no longer shows the connection's principal. Compares the two only after a
 * reload, and only until this check has passed. Called by the owner of the connection, or by the watcher, which
 * holds the lock while nobody owns the connection or the owner is in call. */
bool connection_has_lost_principal(struct connection *connection);
/* Called before a request is served whose body was received after its evidence was judged. If there was a
 * reload in between, judges the same evidence again, as connection_judge does. Called by the owner. */
enum principal_refusal connection_judge_again(struct connection *connection,
                                              struct jp_error *error) JP_MUST_CHECK;

#endif

#ifndef JPEER_NET_CONNECTION_CONNECTION_PRINCIPAL_H
#define JPEER_NET_CONNECTION_CONNECTION_PRINCIPAL_H
/*
 * Whose connection it is (principal/principals.h). Over HTTP each request shows its own evidence, and the connection is
 * that of the last request's principal; a connection of WebSocket or shared memory is one principal's from its handshake
 * to its end. It counts in the principal's `connections`.
 *
 * If the peer has no principals, nothing of this happens: all connections are owner's.
 */
#include "net/connection/connection.h"

/*
 * Judges the evidence of a request: the token (NULL: it has none), and what the connection knows of its client. On
 * PRINCIPAL_ADMITTED the connection is the principal's. Else the connection is as before, and *error has the reason for
 * the client: JP_LIMIT with PRINCIPAL_AT_LIMIT, JP_DENIED otherwise. The owner.
 */
enum principal_refusal connection_judge(struct connection *connection, const uint8_t token[PRINCIPAL_DIGEST],
                                        struct jp_error *error) JP_MUST_CHECK;
/* The connection ends: it is nobody's any more. */
void connection_leave_principal(struct connection *connection);

/* After a reload: true if the client's evidence does not show the same principal any more. The owner; or under the lock,
 * while nobody owns the connection or the owner is in call. */
bool connection_has_lost_principal(struct connection *connection);
/* For a request whose body came after its evidence was judged: if there was a reload since, judges the same evidence again,
 * as connection_judge does. The owner. */
enum principal_refusal connection_judge_again(struct connection *connection,
                                              struct jp_error *error) JP_MUST_CHECK;

#endif

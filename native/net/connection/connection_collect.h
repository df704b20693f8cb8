#ifndef JPEER_NET_CONNECTION_CONNECTION_COLLECT_H
#define JPEER_NET_CONNECTION_CONNECTION_COLLECT_H
/*
 * Reading a connection with a duplex without serving: answers, nested requests and what may be answered beside the request
 * that is served go to the service at once, other messages into the queue. Called by the thread that has the input side,
 * without the connection's lock.
 */
#include "net/connection/connection_duplex.h"

/* Takes the next part of the input. */
enum collected connection_collect(struct connection *connection, struct crew_member *member);
/* Puts `message` to the end of the queue, or at_front. False: memory is short. */
bool connection_collect_queue(struct connection *connection, bool at_front) JP_MUST_CHECK;
/* Makes the first queued message the connection's message. False: there is none. The owner. */
bool connection_collect_next(struct connection *connection);
/* Shows the message that is to be served to the service; true: that has taken it. The owner. */
bool connection_collect_offer(struct connection *connection);
/* True where no more is read ahead. Who has the input side, or holds the lock while nobody reads. */
bool connection_collect_is_full(struct connection *connection);
/* Bytes of input that the duplex holds. */
size_t connection_collect_held(const struct connection_duplex *duplex);

#endif

#ifndef JPEER_NET_CONNECTION_CONNECTION_COLLECT_H
#define JPEER_NET_CONNECTION_CONNECTION_COLLECT_H
/*
 * Reads a connection with a duplex, without serving its messages. Answers to calls, nested requests, and
 * requests that need not wait are passed to the service at once. All other messages go into the queue. The
 * functions are called by the thread that has the input side, without the connection's lock.
 */
#include "net/connection/connection_duplex.h"

/* Reads the next part of the input. */
enum collected connection_collect(struct connection *connection, struct crew_member *member);
/* Moves `message` to the end of the queue, or to its front (at_front). False: memory is short. */
bool connection_collect_queue(struct connection *connection, bool at_front) JP_MUST_CHECK;
void connection_collect_free(struct duplex_message *message);
/* Moves the first queued message to `message`. False: the queue is empty. Called by the owner. */
bool connection_collect_next(struct connection *connection);
/* Offers `message` to the service before it is served. True: the service has consumed the message. Called by
 * the owner. */
bool connection_collect_offer(struct connection *connection);
/* True: no more input is read ahead. Called by the thread that has the input side, or by a thread that holds
 * the lock while nobody reads. */
bool connection_collect_is_full(struct connection *connection);
/* The number of bytes of input in the duplex. */
size_t connection_collect_held(const struct connection_duplex *duplex);

#endif

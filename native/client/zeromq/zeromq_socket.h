#ifndef JPEER_CLIENT_ZEROMQ_ZEROMQ_SOCKET_H
#define JPEER_CLIENT_ZEROMQ_ZEROMQ_SOCKET_H
/*
 * A DEALER socket that is connected to one peer, with the monitor that tells when that connection ends:
 * libzmq itself would wait for another one, for ever. It has a context of its own, with libzmq's two
 * threads: one that connections shared would outlive a fork.
 *
 * libzmq's descriptors report input once. The one here is an epoll set of both; who waits for it has asked
 * zeromq_socket_has_input before.
 *
 * One owner, one thread at a time, under a lock.
 */
#include "client/transport.h"

#include <zmq.h>

struct zeromq_socket {
  void *context;
  void *dealer;
  void *monitor;
  int epoll_fd; /* -1: none */
};

void zeromq_socket_init(struct zeromq_socket *socket);
/* linger_ms: for what was sent and is still with libzmq. */
void zeromq_socket_fini(struct zeromq_socket *socket, int linger_ms);
/* Connects, and waits for the end of the handshake. JP_CLIENT_REFUSED. */
enum jp_client_status zeromq_socket_open(struct zeromq_socket *socket, const struct client_url *url,
                                         const struct transport_options *options,
                                         struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* The next message, until the deadline; the caller closes it. Behind zeromq_socket_open, before other threads have the
 * socket. JP_CLIENT_REFUSED: none has come, or the connection has ended. */
enum jp_client_status zeromq_socket_await(struct zeromq_socket *socket, int64_t deadline_ns,
                                          zmq_msg_t *message,
                                          struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* Messages have come, or something was told about the connection. */
bool zeromq_socket_has_input(const struct zeromq_socket *socket);
/* Whether the connection has ended. What came before is received afterwards. */
bool zeromq_socket_is_gone(const struct zeromq_socket *socket);

#endif

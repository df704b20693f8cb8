#ifndef JPEER_NET_ZEROMQ_ZEROMQ_ROUTER_H
#define JPEER_NET_ZEROMQ_ZEROMQ_ROUTER_H
/*
 * JSON-RPC over a ZeroMQ ROUTER socket, served by the crew. Its clients are called identities, as ZeroMQ
 * names them by their routing ids.
 *
 * A message is [routing id][payload] (DEALER) or [routing id][empty][payload] (REQ); the answer has the same
 * envelope as the request. An empty or multi-part payload is answered with an error, and a notification that
 * came with an empty delimiter frame with an empty payload, so that a REQ client can go on (docs/protocol.md,
 * "Transports"). Requests of one identity run in order; identities never wait for each other.
 *
 * The answers of a turn are sent together, at its end, once they are enough, or before it has to wait. If a
 * call is slow, the answers before it leave with the next tick.
 *
 * The socket is used under one lock, which is never held while Java runs. Its descriptor signals input only
 * once, as if it were edge-triggered: after any use of the socket its events must be read before the lock is
 * released, or a message may lie there unseen.
 */
#include "base/status.h"
#include "net/admission/input_budget.h"
#include "net/workers/crew.h"

#include <stddef.h>
#include <stdint.h>

struct zeromq_router;

enum { ZEROMQ_ADDRESS_MAX = 256 };

struct zeromq_config {
  size_t message_max;
  size_t pending_max;     /* requests that one identity may have waiting; one more is refused */
  size_t send_buffer_max; /* bytes of answers held for an identity whose pipe is full; more are dropped */
  int64_t handshake_ms;
  struct input_budget *input; /* borrowed; requests above INPUT_SMALL count in it while they wait or run */
};

/* JP_IO: ZeroMQ's reason. Caller frees with zeromq_destroy. */
enum jp_status zeromq_create(const struct zeromq_config *config, struct zeromq_router **zeromq,
                             struct jp_error *error) JP_MUST_CHECK;
/* Listens on a host (NULL: 127.0.0.1) and a port (0: any free one), before zeromq_start. address: gets
 * "tcp://127.0.0.1:4712". JP_IO: the text names the address and the reason. */
enum jp_status zeromq_listen(struct zeromq_router *zeromq, const char *host, uint16_t port,
                             char address[ZEROMQ_ADDRESS_MAX], struct jp_error *error) JP_MUST_CHECK;
/* Takes a Unix socket that listens at path, before zeromq_start; even on failure. Connections of other users
 * than the peer's are closed. JP_IO: ZeroMQ's reason. */
enum jp_status zeromq_listen_on(struct zeromq_router *zeromq, int fd, const char *path,
                                struct jp_error *error) JP_MUST_CHECK;
/* Joins the crew, which is borrowed until zeromq_close. */
enum jp_status zeromq_start(struct zeromq_router *zeromq, struct crew *crew,
                            struct jp_error *error) JP_MUST_CHECK;
/* For the crew's tick: tries held answers again, and sends those that a slow call keeps back. True: some are
 * still held, call it again soon. Any thread. */
bool zeromq_tick(struct zeromq_router *zeromq);
/* True if nothing waits or runs, except for calls whose thread does not come back. Any thread. */
bool zeromq_is_idle(struct zeromq_router *zeromq);
/* Answers all requests that run or wait with an error, and drops the later answers of those that run. Any
 * thread. */
void zeromq_refuse_rest(struct zeromq_router *zeromq, const char *reason);
/* Closes the socket; answers get linger_ms to leave. Turns that come later do nothing. Any thread, once. */
void zeromq_close(struct zeromq_router *zeromq, int linger_ms);
/* After zeromq_close, when no more turns can come; or instead of zeromq_start. */
void zeromq_destroy(struct zeromq_router *zeromq);

#endif

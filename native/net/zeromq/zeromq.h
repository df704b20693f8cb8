#ifndef JPEER_NET_ZEROMQ_ZEROMQ_H
#define JPEER_NET_ZEROMQ_ZEROMQ_H
/*
 * JSON-RPC over a ZeroMQ ROUTER socket, served by the crew (design.md: "ZeroMQ joins the crew").
 *
 * A message is [identity][payload] (DEALER) or [identity][empty][payload] (REQ); the answer has the envelope
 * that the request had. Every request gets an answer: an empty or multi-part payload an error, and a
 * notification that came with an empty delimiter frame an empty payload, so that a REQ client goes on
 * (behaviour.md, "Envelope"). Requests of one identity run in order; identities never wait for each other.
 *
 * The answers of a turn are sent together, at its end or before it would have to wait; where a call is slow,
 * those before it leave with the next tick.
 *
 * The socket is used under one lock that is never held while Java runs. Its descriptor is edge-triggered in
 * effect: whatever was done with the socket, its events must be read before the lock is given back, or a
 * message may lie there unseen.
 */
#include "base/status.h"
#include "net/admission/input_budget.h"
#include "net/workers/crew.h"

#include <stddef.h>
#include <stdint.h>

struct zeromq;

struct zeromq_config {
  const char *host; /* NULL: 127.0.0.1 */
  uint16_t port;    /* 0: any free one */
  size_t message_max;
  size_t pending_max; /* requests that one identity may have waiting; one more is refused */
  size_t
      send_buffer_max; /* bytes of answers held for an identity whose pipe is full, then they are dropped */
  int64_t handshake_ms;
  struct input_budget *input; /* borrowed; requests above INPUT_SMALL count in it while they wait or run */
};

/* Binds. JP_IO: the text names the address and the reason. Caller frees with zeromq_destroy. */
enum jp_status zeromq_bind(const struct zeromq_config *config, struct zeromq **zeromq,
                           struct jp_error *error) JP_MUST_CHECK;
const char *zeromq_address(const struct zeromq *zeromq); /* "tcp://127.0.0.1:4712"; borrowed */
/* Joins the crew, which is borrowed until zeromq_close. */
enum jp_status zeromq_start(struct zeromq *zeromq, struct crew *crew, struct jp_error *error) JP_MUST_CHECK;
/* From the crew's tick: tries held answers again, and sends those that wait behind a slow call. True where
 * some are held: it is to be called again soon. Any thread. */
bool zeromq_tick(struct zeromq *zeromq, int64_t now_ms);
/* True while nothing waits or runs but calls whose thread does not come back. Any thread. */
bool zeromq_is_idle(struct zeromq *zeromq);
/* Answers what is still running or waiting with an error; what the running calls give later is dropped. Any
 * thread. */
void zeromq_refuse_rest(struct zeromq *zeromq, const char *reason);
/* Closes the socket; answers get linger_ms to leave. Turns that come later do nothing. Any thread, once. */
void zeromq_close(struct zeromq *zeromq, int linger_ms);
/* After zeromq_close, when no turn can come any more; or instead of zeromq_start. */
void zeromq_destroy(struct zeromq *zeromq);

#endif

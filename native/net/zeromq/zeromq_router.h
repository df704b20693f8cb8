#ifndef JPEER_NET_ZEROMQ_ZEROMQ_ROUTER_H
#define JPEER_NET_ZEROMQ_ZEROMQ_ROUTER_H
/*
 * JSON-RPC over a ZeroMQ ROUTER socket, served by the crew. A client of the socket is an identity, which ZeroMQ
 * identifies by its routing id.
 *
 * A message is [routing id][payload] (DEALER) or [routing id][empty][payload] (REQ); the answer has the envelope of the
 * request. An empty or multi-part payload is answered with an error. A notification with an empty delimiter frame is
 * answered with an empty payload, so that a REQ client can send its next request (docs/protocol.md, "Transports"). The
 * requests of one identity run in order; identities never wait for each other.
 *
 * The answers of a turn are sent together: at the end of the turn, when they are many, or before the turn has to wait.
 * If a call is slow, the answers before it are sent by the next tick.
 *
 * The socket is used under one lock, which is never held while Java runs. The socket's descriptor reports input only
 * once, like an edge-triggered one. For this reason each use of the socket must read the socket's events
 * before it unlocks. Otherwise a message may wait in the socket without an event.
 */
#include "base/status.h"
#include "net/admission/admission.h"
#include "net/admission/input_budget.h"
#include "net/admission/wrong_evidence.h"
#include "net/monitor/monitor.h"
#include "net/workers/crew.h"
#include "principal/principals.h"

#include <stddef.h>
#include <stdint.h>

struct zeromq_router;

enum { ZEROMQ_ADDRESS_MAX = 256 };

struct zeromq_config {
  size_t message_max;
  size_t pending_max;     /* waiting requests of one identity; further requests are refused */
  size_t send_buffer_max; /* the most bytes of answers that are held for an identity; answers beyond it are
                           * dropped */
  int64_t handshake_ms;
  struct principals
      *principals; /* who is admitted, in place of `admission`; borrowed. NULL: every admitted client is
                    * `owner` */
  /* The file of the peer's pair of keys (base/curve_keys.h). With a pair, clients over TCP must use CURVE,
   * and their keys identify them. Needs principals; the path is borrowed for zeromq_create. NULL: TCP without
   * CURVE. */
  const char *curve_key_file;
  struct wrong_evidence *wrong_evidence; /* borrowed; NULL without curve_key_file */
  const struct admission *admission;     /* who may use Unix sockets; borrowed for zeromq_listen_on */
  struct net_monitor *monitor;           /* borrowed; NULL: nobody counts (tests) */
  struct input_budget *input; /* borrowed; counts requests above INPUT_SMALL that wait or are being served */
};

/* JP_IO: ZeroMQ's reason. JP_INVALID, JP_NOT_FOUND: the file of the keys, or libzmq was built without CURVE. Caller frees with
 * zeromq_destroy. */
enum jp_status zeromq_create(const struct zeromq_config *config, struct zeromq_router **zeromq,
                             struct jp_error *error) JP_MUST_CHECK;
/* Listens on a host (NULL: 127.0.0.1) and a port (0: any free port), before zeromq_start. Writes the address,
 * for example "tcp://127.0.0.1:4712", to `address`. adopted: a socket that listens there already (0: none). JP_IO: the error's text names the address and the
 * reason. */
enum jp_status zeromq_listen(struct zeromq_router *zeromq, const char *host, uint16_t port, int adopted,
                             char address[ZEROMQ_ADDRESS_MAX], struct jp_error *error) JP_MUST_CHECK;
/* Takes fd, a Unix socket that listens at path, even on failure. Before zeromq_start. Connections of users that
 * are not admitted are closed. JP_IO: ZeroMQ's reason. */
enum jp_status zeromq_listen_on(struct zeromq_router *zeromq, int fd, const char *path,
                                struct jp_error *error) JP_MUST_CHECK;
/* Joins the crew, which is borrowed until zeromq_close. */
enum jp_status zeromq_start(struct zeromq_router *zeromq, struct crew *crew,
                            struct jp_error *error) JP_MUST_CHECK;
/* For the crew's tick: tries again to send held answers, and sends answers that have waited for the end of a
 * slow call. True: some answers are still held, so call it again soon. Any thread. */
bool zeromq_tick(struct zeromq_router *zeromq);
/* True if no request waits or is being served, except calls whose thread never returns. Any thread. */
bool zeromq_is_idle(struct zeromq_router *zeromq);
/* Answers all requests with an error, also the requests that are being served: when these end, their results
 * are dropped. Any thread. */
void zeromq_refuse_rest(struct zeromq_router *zeromq, const char *reason);
/* Closes the socket, after its answers were sent or linger_ms have passed. Later turns do nothing. Any thread, once. */
void zeromq_close(struct zeromq_router *zeromq, int linger_ms);
/* Frees the router. Call it after zeromq_close and the end of the crew, or if zeromq_start is not called. */
void zeromq_destroy(struct zeromq_router *zeromq);

#endif

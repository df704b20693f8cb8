#ifndef JPEER_NET_ZEROMQ_ZEROMQ_ZAP_H
#define JPEER_NET_ZEROMQ_ZEROMQ_ZAP_H
/*
 * Answers libzmq's question whether a client of CURVE may come in (ZAP 1.0, https://rfc.zeromq.org/spec/27/), for one
 * context. A key that a principal lists is admitted, and becomes the `User-Id` of the client's messages, in Z85; any other
 * key is refused with 400. Refusals to an address with many wrong keys are delayed, and delay nobody else
 * (net/admission/wrong_evidence.h).
 *
 * The handler has a thread of its own. libzmq admits everyone while there is no handler: make it before the first bind, and
 * destroy it after the sockets were closed and before their context ends.
 */
#include "base/status.h"
#include "net/admission/wrong_evidence.h"
#include "principal/principals.h"

struct net_monitor;
struct zeromq_zap;

/* The domains of binds. Clients of Unix sockets are admitted without CURVE and with an empty `User-Id`, because their user
 * counts: libzmq asks for them, too, because a socket that has had a domain cannot be without one. */
#define ZEROMQ_ZAP_DOMAIN_TCP "jpeer-tcp"
#define ZEROMQ_ZAP_DOMAIN_IPC "jpeer-ipc"

/* context: libzmq's. All is borrowed until zeromq_zap_destroy. JP_IO, JP_NO_MEMORY, JP_LIMIT. */
enum jp_status zeromq_zap_create(void *context, struct principals *principals, struct wrong_evidence *wrong,
                                 struct net_monitor *monitor, struct zeromq_zap **zap,
                                 struct jp_error *error) JP_MUST_CHECK;
/* Returns when the thread has ended. Delayed refusals are dropped. NULL is fine. */
void zeromq_zap_destroy(struct zeromq_zap *zap);

#endif

#ifndef JPEER_NET_ZEROMQ_ZEROMQ_ZAP_H
#define JPEER_NET_ZEROMQ_ZEROMQ_ZAP_H
/*
 * Decides for libzmq whether a client with CURVE is admitted (ZAP 1.0, https://rfc.zeromq.org/spec/27/), for
 * one context. A client is admitted if a principal lists its key. The key in Z85 then becomes the `User-Id`
 * of the client's messages. Any other key is refused with 400. Refusals to an address with many wrong keys
 * are delayed, without a delay for other clients (net/admission/wrong_evidence.h).
 *
 * The handler has a thread of its own. Without a handler libzmq admits everyone. For this reason make the
 * handler before the first bind, and destroy it after the sockets were closed and before their context ends.
 */
#include "base/status.h"
#include "net/admission/wrong_evidence.h"
#include "principal/principals.h"

struct net_monitor;
struct zeromq_zap;

/* The ZAP domains of binds. libzmq asks the handler about clients of Unix sockets, too, because a socket that
 * once had a domain must always have one. These clients are admitted without CURVE and with an empty
 * `User-Id`, because they are judged by their user. */
#define ZEROMQ_ZAP_DOMAIN_TCP "jpeer-tcp"
#define ZEROMQ_ZAP_DOMAIN_IPC "jpeer-ipc"

/* context: the context of libzmq. All parameters are borrowed until zeromq_zap_destroy. JP_IO, JP_NO_MEMORY,
 * JP_LIMIT. */
enum jp_status zeromq_zap_create(void *context, struct principals *principals, struct wrong_evidence *wrong,
                                 struct net_monitor *monitor, struct zeromq_zap **zap,
                                 struct jp_error *error) JP_MUST_CHECK;
/* Returns when the thread has ended. Delayed refusals are dropped. NULL is fine. */
void zeromq_zap_destroy(struct zeromq_zap *zap);

#endif

#ifndef JPEER_NET_SERVER_H
#define JPEER_NET_SERVER_H
/*
 * The server: the listening sockets, and the crew that serves their clients. WebSocket and HTTP share
 * addresses; a ZeroMQ ROUTER has addresses of its own. Each address is a TCP port or a Unix socket
 * (net/unix_socket.h). net_bind and net_start are separate, so that a port in use is found before a JVM is
 * started.
 *
 * Any web page can send requests to a loopback port. For this reason requests from web pages of other origins
 * are refused unless the origin is allowed. Requests with a Host that only DNS rebinding can explain are
 * refused, too (net/http/http_route.h).
 */
#include "base/status.h"
#include "net/admission/admission.h"
#include "net/tls/tls_credentials.h"
#include "net/unix_socket.h"
#include "rpc/service.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero: any free port of 127.0.0.1. */
struct net_endpoint {
  const char *host; /* a numeric address or a name; NULL: 127.0.0.1 */
  uint16_t port;    /* 0: any free port ("auto") */
  const char *path; /* of a Unix socket, instead of host and port; NULL: TCP */
  int fd; /* a socket that listens on this address already; net_bind takes it, even on failure; 0: net_bind makes one */
};

enum { NET_ENDPOINTS_MAX = 8 };

struct net_endpoints {
  size_t count; /* 0: the transport is off */
  struct net_endpoint items[NET_ENDPOINTS_MAX];
};

/* Whether the request of a client that leaves is interrupted, or runs until it ends by itself. */
enum net_on_disconnect { NET_ON_DISCONNECT_INTERRUPT, NET_ON_DISCONNECT_FINISH };

/* The settings of a server. A value in parentheses is the default (net_config_defaults). */
struct net_config {
  struct net_endpoints json; /* WebSocket and HTTP; texts are borrowed for net_bind */
  struct net_endpoints
      metrics; /* of /healthz and /metrics, which the addresses of `json` then lack; none: they have both */
  /* "/rpc": the path of the service, in addition to "/"; borrowed until net_destroy */
  const char *http_prefix;
  /* "A,B": origins whose web pages may send requests, too; NULL: none; borrowed until net_destroy */
  const char *allow_origins;
  struct tls_files
      tls; /* for the TCP addresses of WebSocket and HTTP; paths are borrowed until net_destroy */
  struct net_endpoints zmq;
  /* The file of the peer's CURVE keys, for the TCP addresses of ZeroMQ; borrowed for net_bind. NULL: no CURVE. Needs
   * principals. */
  const char *zmq_curve_key;
  struct unix_socket_access socket_access; /* default: only the process's own user may use the files of Unix
                                            * sockets */
  struct admission admission;              /* who may use Unix sockets; default: only the peer's own user */
  struct principals
      *principals;    /* who is admitted, in place of `admission`; borrowed. NULL: every admitted client is
                       * `owner` */
  size_t threads;     /* the crew's size while it is idle; 0: the number of cores */
  size_t threads_max; /* the crew's greatest size (256) */
  size_t lost_max;    /* the number of lost threads that are replaced (64) */
  size_t pinned_max;  /* the number of connections that may have a thread of their own (256) */
  int64_t linger_ms;  /* a member above `threads` leaves after it was idle for this time (10,000) */
  int64_t busy_timeout_ms; /* how long a request waits while every member is inside Java (5,000) */
  enum net_on_disconnect on_disconnect;
  size_t message_max;     /* the most bytes of a message (16 MiB) */
  size_t input_max_total; /* the most bytes of collected input of all clients together (256 MiB); at least
                           * message_max */
  size_t send_buffer_max; /* the most bytes of unsent answers of one connection (16 MiB) */
  size_t zmq_pending_max; /* the most waiting requests of one ZeroMQ identity (1,000) */
  /* the size of each of the two rings of a connection (1 MiB); 0: no shared memory. ring/region.h has the
   * valid sizes */
  size_t shm_ring;
  size_t shm_total;   /* the most bytes of shared memory of all connections (256 MiB) */
  size_t shm_spin_us; /* how long a thread polls for the next message before it sleeps (50); 0: it does not
                       * poll */
  size_t connections_max;    /* the most connections that are open at a time */
  int64_t header_timeout_ms; /* the time for the request line and headers, and for a handshake (10,000) */
  int64_t body_timeout_ms;   /* the time for a body (60,000) */
  int64_t idle_timeout_ms;   /* the time that an HTTP connection may stay open without a request (60,000) */
  /* the most bytes of a request line with its headers (32 KiB); a longer head is answered with status 431 */
  size_t header_max;
  int64_t report_ms; /* the log gets at most one line about busy threads in this time; 0: a minute */
};

struct net_server;

void net_config_defaults(struct net_config *config);
/* Binds and listens; accepts nothing yet. JP_INVALID for allow_origins (base/web_origin.h) and for paths
 * (net/unix_socket.h). JP_IO, or JP_NOT_FOUND for a host without an address: the error's text names the address and
 * the system's reason. */
enum jp_status net_bind(const struct net_config *config, struct net_server **server,
                        struct jp_error *error) JP_MUST_CHECK;
/* Lets the TLS files be read again, and calls done (NULL: nothing) on another thread afterwards. False: there is no TLS, and
 * done is not called. Any thread, before net_destroy. */
bool net_reload(struct net_server *server, void (*done)(void));
/* "ws://127.0.0.1:4711/rpc", "http://127.0.0.1:4711/rpc" (wss and https with TLS), "ws+unix:/run/peer", "http+unix:/run/peer",
 * "tcp://127.0.0.1:4712", "ipc:///run/peer.zmq": NULL-terminated; borrowed until net_destroy. */
const char *const *net_addresses(const struct net_server *server);
/* The addresses of `metrics`: "http://127.0.0.1:4713" or "http+unix:/run/peer.metrics"; as net_addresses. */
const char *const *net_metrics_addresses(const struct net_server *server);
/* Answers /healthz, with 503, while the JVM starts; all else waits for net_start. May be left out. The service is used until
 * net_destroy returns. */
enum jp_status net_begin(struct net_server *server, const struct rpc_service *service,
                         struct jp_error *error) JP_MUST_CHECK;
/* Starts the crew. The service is the one of net_begin, and is used until net_destroy returns. */
enum jp_status net_start(struct net_server *server, const struct rpc_service *service,
                         struct jp_error *error) JP_MUST_CHECK;
/* True if the server serves: what GET /healthz answers. Any thread, before net_destroy. */
bool net_is_healthy(const struct net_server *server);
/* Call it after the principals were loaded again: connections of principals that no longer exist are closed
 * soon. Any thread. */
void net_principals_changed(struct net_server *server);
/*
 * Ends the service. Accepts no new connections and requests. Requests that are being served have grace_ms;
 * all others are answered with an error ("the peer is shutting down"). Answers are flushed, WebSockets are
 * closed with 1001, and the files of Unix sockets are removed. The addresses of `metrics` are closed last. Does not wait for members whose thread is
 * exiting the JVM. Returns when all this is done. Called once, by any thread.
 */
void net_drain(struct net_server *server, int64_t grace_ms);
/* Called after net_drain, or instead of net_start. False: a thread has not left the service in time. The thread may still use
 * the server, its configuration and the service until the process ends, so nothing is freed. */
bool net_destroy(struct net_server *server);

#endif

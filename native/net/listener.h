#ifndef JPEER_NET_LISTENER_H
#define JPEER_NET_LISTENER_H
/*
 * A listening socket of WebSocket and HTTP, over TCP or a Unix socket. The socket is bound before the crew
 * exists. After listener_start the listener is a source of the crew.
 *
 * A Unix socket serves connections of the users that are admitted (net/admission/admission.h), by default the
 * peer's own. If the peer has principals, each request is judged instead
 * (net/connection/connection_principal.h). Other users get the protocol's refusal at once, and their requests
 * are not read. The mode of the file also keeps other users out, except root, but anyone who may change the
 * mode can let them in.
 */
#include "base/transitions.h"
#include "net/admission/admission.h"
#include "net/admission/refusals.h"
#include "net/connection/connection_table.h"
#include "net/server.h"
#include "net/unix_socket.h"

#include <pthread.h>

/*
 * Under the lock. listener_close leaves each state for CLOSED.
 *   | state  | meaning                                       | what ends it                          |
 *   | CLOSED | there is no socket: fd is -1                  | listener_bind, before there is a crew |
 *   | OPEN   | the socket is watched, or has a turn          | a turn, or listener_tick, on failure  |
 *   | PAUSED | accepting, or watching the socket, has failed | listener_tick, which watches again    |
 */
enum listener_state {
  LISTENER_CLOSED, /* there is no socket */
  LISTENER_OPEN,   /* the socket is watched, or has a turn */
  LISTENER_PAUSED  /* descriptors or memory are short: the tick tries again */
};

static const uint16_t listener_transitions[] = {
    [LISTENER_CLOSED] = TO(LISTENER_OPEN) | TO(LISTENER_CLOSED),
    [LISTENER_OPEN] = TO(LISTENER_OPEN) | TO(LISTENER_PAUSED) | TO(LISTENER_CLOSED),
    [LISTENER_PAUSED] = TO(LISTENER_OPEN) | TO(LISTENER_PAUSED) | TO(LISTENER_CLOSED),
};

struct listener {
  struct crew_source source; /* the first member, so that a source can be cast to its listener */
  struct connection_table *table;
  const struct connection_protocol *protocol; /* the first protocol of its connections; borrowed */
  struct tls_credentials *credentials;        /* of a TCP address with TLS; borrowed; NULL: no TLS */
  pthread_mutex_t lock;                       /* guards fd, state, file and refusals */
  int fd;
  enum listener_state state;
  bool is_loopback;
  struct unix_socket file;           /* file.path NULL: the socket is of TCP */
  const struct admission *admission; /* who may use a Unix socket; borrowed */
  struct refusals refusals;
  char address[128]; /* "127.0.0.1:4711", "[::1]:4711"; empty: a Unix socket */
};

void listener_init(struct listener *listener);
/* Called after listener_close. */
void listener_fini(struct listener *listener);
/* JP_IO, JP_NOT_FOUND (the host), JP_INVALID (the path): the error's text names the address. `access` and `admission`
 * are for Unix sockets; `admission` is borrowed. */
enum jp_status listener_bind(struct listener *listener, const struct net_endpoint *endpoint,
                             const struct unix_socket_access *access, const struct admission *admission,
                             struct jp_error *error) JP_MUST_CHECK;
/* Makes the listener a source of the crew. credentials: a TCP address then accepts only TLS; NULL: no TLS. */
enum jp_status listener_start(struct listener *listener, struct connection_table *table,
                              const struct connection_protocol *protocol, struct tls_credentials *credentials,
                              struct jp_error *error) JP_MUST_CHECK;
/* Called by the watcher. True: the watcher calls it again soon. */
bool listener_tick(struct listener *listener);
/* Closes the socket and the refused connections, and removes the file. Any thread may call it, even if
 * nothing was bound. */
void listener_close(struct listener *listener);

#endif

#ifndef JPEER_NET_LISTENER_H
#define JPEER_NET_LISTENER_H
/*
 * A listening socket of WebSocket and HTTP, over TCP or a Unix socket. Bound before there is a crew; a source
 * of the crew afterwards.
 *
 * A Unix socket takes connections of the peer's own user alone, and closes others at once: its mode keeps all
 * out but root, and stays no secret once somebody changes it.
 */
#include "net/connection/connection_table.h"
#include "net/server.h"
#include "net/unix_socket.h"

#include <pthread.h>

struct listener {
  struct crew_source source; /* first: a source is its listener */
  struct connection_table *table;
  const struct connection_protocol *protocol; /* what its connections speak first; borrowed */
  pthread_mutex_t lock;                       /* guards fd, is_paused and file */
  int fd;
  bool is_paused; /* out of descriptors: the tick tries again */
  bool is_loopback;
  struct unix_socket file; /* path NULL: TCP */
  char address[128];       /* "127.0.0.1:4711", "[::1]:4711"; empty: a Unix socket */
};

void listener_init(struct listener *listener);
/* After listener_close. */
void listener_fini(struct listener *listener);
/* JP_IO, JP_NOT_FOUND (the host), JP_INVALID (the path): the text names the address. */
enum jp_status listener_bind(struct listener *listener, const struct net_endpoint *endpoint,
                             struct jp_error *error) JP_MUST_CHECK;
enum jp_status listener_start(struct listener *listener, struct connection_table *table,
                              const struct connection_protocol *protocol,
                              struct jp_error *error) JP_MUST_CHECK;
/* The watcher's thread. True: call it again soon. */
bool listener_tick(struct listener *listener);
/* Takes no new connections from here on, and removes the file. Any thread; also if nothing was bound. */
void listener_close(struct listener *listener);

#endif

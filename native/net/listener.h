#ifndef JPEER_NET_LISTENER_H
#define JPEER_NET_LISTENER_H
/*
 * The listening socket of WebSocket and HTTP. Bound before there is a crew; a source of the crew afterwards.
 */
#include "net/connection/connection_table.h"
#include "net/server.h"

#include <pthread.h>

struct listener {
  struct crew_source source; /* first: a source is its listener */
  struct connection_table *table;
  pthread_mutex_t lock; /* guards fd and is_paused */
  int fd;
  bool is_paused; /* out of descriptors: the tick tries again */
  bool is_loopback;
  char address[128]; /* "127.0.0.1:4711", "[::1]:4711" */
};

/* JP_IO, JP_NOT_FOUND (the host): the text names the address. */
enum jp_status listener_bind(struct listener *listener, const struct net_endpoint *endpoint,
                             struct jp_error *error) JP_MUST_CHECK;
enum jp_status listener_start(struct listener *listener, struct connection_table *table,
                              struct jp_error *error) JP_MUST_CHECK;
/* The watcher's thread. True: call it again soon. */
bool listener_tick(struct listener *listener);
/* Takes no new connections from here on. Any thread; also if nothing was bound. */
void listener_close(struct listener *listener);

#endif

#ifndef JPEER_NET_INHERITED_SOCKETS_H
#define JPEER_NET_INHERITED_SOCKETS_H
/*
 * The listening sockets that a service manager has passed to this process: the protocol of sd_listen_fds(3), without
 * libsystemd. LISTEN_FDS is their number, the first is descriptor 3, LISTEN_PID is the process that they are for, and
 * LISTEN_FDNAMES has their names, separated by colons. An address fd:NAME stands for all sockets of this name.
 *
 * Process-wide, like descriptors. Main's thread.
 */
#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum inherited_state {
  INHERITED_MISSING, /* the descriptor was not open when the process began: it belongs to whoever opens it later */
  INHERITED_UNUSED, /* no address names the socket yet */
  INHERITED_USED,
};

struct inherited_socket {
  int fd;
  char name[256];
  char host[64];  /* the numeric address of a TCP socket */
  uint16_t port;  /* of a TCP socket */
  char path[108]; /* of a Unix socket; empty: TCP */
  enum inherited_state state;
};

/* Reads the three variables, and removes them from the environment. The sockets are no longer inherited by programs that the
 * application starts. Call it once, before inherited_sockets_find. */
void inherited_sockets_receive(void);

/* The next socket of this name, after `previous` (NULL: the first), which is used from now on. NULL: there is no further
 * one. The result is valid as long as the process. JP_INVALID, with a text that begins with "takes": there is none, or it
 * cannot be listened on, or an address names it twice. */
enum jp_status inherited_sockets_find(const char *name, const struct inherited_socket *previous,
                                      const struct inherited_socket **found,
                                      struct jp_error *error) JP_MUST_CHECK;

/* Closes the sockets that no address names, and logs each: their clients would wait for ever. */
void inherited_sockets_close_rest(void);

#endif

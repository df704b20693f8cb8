#ifndef JPEER_COMMAND_PEERS_H
#define JPEER_COMMAND_PEERS_H
/*
 * The running peers of this user: each has a file in the runtime folder, which it holds a lock on. Any thread.
 */
#include "base/arena.h"
#include "base/buffer.h"
#include "base/status.h"

#include <stdbool.h>
#include <time.h>

struct running_peer {
  struct running_peer *next;
  struct text name;
  struct text uuid;
  int64_t pid;
  time_t since;
  const char **addresses; /* NULL-terminated */
};

/* The peers, by name, in the arena; files of peers that have ended are removed. *first is NULL if there is none. JP_IO: the
 * folder of the files cannot be used. */
enum jp_status peers_list(struct arena *arena, struct running_peer **first,
                          struct jp_error *error) JP_MUST_CHECK;
/* Adds the JVMs of this user that are no peers: HotSpot describes each in a file of /tmp/hsperfdata_USER. They have no
 * address and no UUID; the name is the main class or jar. False: no memory. */
bool peers_add_jvms(struct arena *arena, struct running_peer **first) JP_MUST_CHECK;
/* The address that commands use: a Unix socket before others, WebSocket before others. NULL: it has none. */
const char *peers_choose_address(const struct running_peer *peer);

#endif

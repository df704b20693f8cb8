#ifndef JPEER_CLIENT_LAUNCH_COMMAND_LINE_H
#define JPEER_CLIENT_LAUNCH_COMMAND_LINE_H
/* The command that starts a peer. Pure; any thread. */
#include "jpeer/client.h"

#include "base/arena.h"

#include <stdbool.h>

/* The descriptor that a peer finds its parent's pipe at. */
enum { LAUNCH_PARENT_DESCRIPTOR = 3 };

/*
 * The words of the command, NULL behind the last, in the arena; texts are borrowed from the configuration.
 * has_policy: the environment names a policy. NULL: no memory.
 */
const char *const *launch_command_line(const struct jp_launch_config *config, const char *socket_path,
                                       bool has_policy, struct arena *arena);

/* Whether a variable of the environment ("JPEER_RPC_POLICY=...") gives the peer a policy. */
bool launch_names_policy(const char *variable);

#endif

#ifndef JPEER_CLI_READY_H
#define JPEER_CLI_READY_H
/*
 * How a peer says that it is ready: one line on stderr, and the same as JSON in a file. Any one thread.
 */
#include "base/status.h"
#include "base/uuid.h"

struct ready_facts {
  struct uuid uuid;
  const char *name;
  const char *const *addresses; /* NULL-terminated */
};

/* Writes the line, and the file where path is not NULL: whole, by rename, so that who sees it can read it.
 * JP_IO: the file cannot be written; the text names it. Nothing is left behind then. */
enum jp_status ready_announce(const struct ready_facts *facts, const char *path,
                              struct jp_error *error) JP_MUST_CHECK;

#endif

#ifndef JPEER_CLI_READY_H
#define JPEER_CLI_READY_H
/*
 * Announces that the peer is ready: one line on stderr, and the same as JSON in a file. Any one thread.
 */
#include "base/status.h"
#include "base/uuid.h"

struct ready_facts {
  struct uuid uuid;
  const char *name;
  const char *const *addresses; /* NULL-terminated */
};

/* Writes the line, and the file where path is not NULL. The file appears by a rename, so that nobody reads
 * half of it. JP_IO: the file cannot be written; the text names it, and no draft of it stays. */
enum jp_status ready_announce(const struct ready_facts *facts, const char *path,
                              struct jp_error *error) JP_MUST_CHECK;

#endif

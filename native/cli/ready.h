#ifndef JPEER_CLI_READY_H
#define JPEER_CLI_READY_H
/*
 * Announces that the peer is ready: writes one line to stderr, and the same facts as JSON to the ready file.
 * A running peer holds a lock on its file, so that another start can distinguish it from the file of a killed
 * peer. Any thread.
 */
#include "base/status.h"
#include "base/uuid.h"

#include <pthread.h>
#include <stdbool.h>

struct ready_facts {
  struct uuid uuid;
  const char *name;
  const char *const *addresses; /* NULL-terminated */
  const char *const *metrics;   /* the addresses of --metrics-listen: NULL-terminated; NULL: none */
};

struct ready {
  pthread_mutex_t lock;
  const char *path; /* borrowed; NULL: no ready file */
  int file;         /* the descriptor of the file that this peer has written; -1: not written */
  bool is_withdrawn;
  bool is_silent; /* no line on stderr: only the file */
};

/*
 * Removes the file at path, unless a running peer has written it. path may be NULL; otherwise the text must
 * be valid until ready_fini. JP_IO: path is not a file, or the file cannot be removed. Caller calls
 * ready_fini in any case.
 */
enum jp_status ready_init(struct ready *ready, const char *path, struct jp_error *error) JP_MUST_CHECK;
void ready_fini(struct ready *ready);

/* Writes the line and the file. The file is written under another name and then renamed, so that a reader
 * never finds an incomplete file. JP_IO: the file cannot be written; the error's text names the file, and the
 * file under the other name was removed. Does nothing after ready_withdraw. */
enum jp_status ready_announce(struct ready *ready, const struct ready_facts *facts,
                              struct jp_error *error) JP_MUST_CHECK;

/* Removes the file if this peer has written it. If another peer has replaced the file, the new file is
 * kept. */
void ready_withdraw(struct ready *ready);

#endif

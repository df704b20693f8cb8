#ifndef JPEER_POLICY_WATCH_H
#define JPEER_POLICY_WATCH_H
/*
 * Loads a policy again when its file changes, on a thread of its own (docs/policy.md, "Reload").
 *
 * inotify tells of changes. A look at the file every interval finds those that inotify does not see: a file
 * that comes back, and file systems without inotify. A changed file is loaded once it has rested for a tenth
 * of a second, so that it is not read half-written. Where the file is gone or does not load, one line in the
 * log ("Failed to reload RPC policy: ") says so, and the policy stays.
 */
#include "policy/source.h"

struct policy_watch;

/* With an interval of 0, policy_watch_reload alone loads the file again. The source is borrowed and must have
 * a file. JP_NO_MEMORY, JP_IO, JP_LIMIT. */
enum jp_status policy_watch_start(struct policy_source *source, int64_t interval_ms,
                                  struct policy_watch **watch, struct jp_error *error) JP_MUST_CHECK;
/* Has the thread load the file at once, changed or not. Any thread. */
void policy_watch_reload(struct policy_watch *watch);
/* Ends the thread and waits for it. NULL is fine. */
void policy_watch_stop(struct policy_watch *watch);

#endif

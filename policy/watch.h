#ifndef JPEER_POLICY_WATCH_H
#define JPEER_POLICY_WATCH_H
/*
 * Loads a policy again when its file changes, on a thread of its own (policy.md, "Flags and reload").
 *
 * A change is noticed by inotify, and by a look at the file every interval, which also sees what inotify does
 * not: a file that was gone, and file systems that tell nothing. What is noticed is loaded once it has rested
 * for a tenth of a second, so that no half-written file is. A file that fails to load, or that is gone, is
 * told in one line of the log ("Failed to reload RPC policy: "), and the policy stays.
 */
#include "policy/source.h"

struct policy_watch;

/* interval_ms 0: the file is loaded again by policy_watch_reload alone. The source is borrowed and must have
 * a file. JP_IO, JP_LIMIT. */
enum jp_status policy_watch_start(struct policy_source *source, int64_t interval_ms,
                                  struct policy_watch **watch, struct jp_error *error) JP_MUST_CHECK;
/* Lets the thread load the file at once, changed or not. Any thread. */
void policy_watch_reload(struct policy_watch *watch);
/* Ends the thread and waits for it. NULL is fine. */
void policy_watch_stop(struct policy_watch *watch);

#endif

#ifndef JPEER_POLICY_POLICY_SOURCE_H
#define JPEER_POLICY_POLICY_SOURCE_H
/*
 * Holds the current policy and loads it again while it is used (docs/policy.md, "Reload"). A reload replaces
 * the whole policy: its holders keep the old policy, and the next call of policy_source_take returns the new
 * policy.
 *
 * Any thread. A lock is held while a policy is retained or replaced, but not while a file is read.
 */
#include "policy/policy.h"

struct policy_source;

/* Loads the policy. The errors are the same as for policy_create. The config's texts are borrowed as long as
 * the source. Caller frees with policy_source_destroy. */
enum jp_status policy_source_create(const struct policy_config *config, struct policy_source **source,
                                    struct jp_error *error) JP_MUST_CHECK;
/* Destroys the source. Policies that others have retained remain valid. */
void policy_source_destroy(struct policy_source *source);

/* Retains the current policy. Caller releases it with policy_destroy. */
struct policy *policy_source_take(struct policy_source *source);
/* False if `policy`, which the caller must hold, is no longer current, or is NULL. Costs one load. */
bool policy_source_is_current(const struct policy_source *source, const struct policy *policy);

/* Loads the file again and replaces the policy; the rules of the command line are kept. If loading fails, the
 * old policy is kept, and the error comes from policy_create. */
enum jp_status policy_source_reload(struct policy_source *source, struct jp_error *error) JP_MUST_CHECK;

/*
 * Loads a policy again when its file changes, on a thread of its own (docs/policy.md, "Reload").
 *
 * inotify reports changes. A poll at each interval finds changes that inotify does not report: a file that is
 * created again, and changes on file systems without inotify. A changed file is loaded once it is unmodified
 * for a tenth of a second, so that it is not read half-written. If the file is missing or does not load, one
 * line in the log ("Failed to reload RPC policy: ") says so, and the policy is kept.
 */
struct policy_watch;

/* With an interval of 0, only policy_watch_reload loads the file again. The source is borrowed and must have
 * a file. JP_NO_MEMORY, JP_IO, JP_LIMIT. */
enum jp_status policy_watch_start(struct policy_source *source, int64_t interval_ms,
                                  struct policy_watch **watch, struct jp_error *error) JP_MUST_CHECK;
/* Makes the thread load the file at once, changed or not. Any thread. */
void policy_watch_reload(struct policy_watch *watch);
/* Ends the thread and waits for it. NULL is fine. */
void policy_watch_stop(struct policy_watch *watch);

#endif

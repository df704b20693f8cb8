#ifndef JPEER_POLICY_POLICY_SOURCE_H
#define JPEER_POLICY_POLICY_SOURCE_H
/*
 * Holds the current policy and loads it again while it is used (docs/policy.md, "Reload"). A reload replaces
 * the whole policy: its holders keep the old policy, and the next call of policy_source_take returns the new
 * policy.
 *
 * Any thread. A lock is held while a policy is retained or replaced, but not while a file is read.
 */
#include "base/file_watch.h"
#include "policy/policy.h"

struct policy_source;

/* Loads the policy. The errors are the same as for policy_create. The config's texts are borrowed as long as
 * the source. Caller frees with policy_source_destroy. */
enum jp_status policy_source_create(const struct policy_config *config, struct policy_source **source,
                                    struct jp_error *error) JP_MUST_CHECK;
/* The same with this policy, which it takes, even on failure. Such a source cannot be reloaded. JP_NO_MEMORY. */
enum jp_status policy_source_create_of(struct policy *policy, struct policy_source **source,
                                       struct jp_error *error) JP_MUST_CHECK;
/* Retained policies stay valid. */
void policy_source_destroy(struct policy_source *source);

/* Retains the current policy. Caller releases it with policy_destroy. */
struct policy *policy_source_take(struct policy_source *source);
/* False if `policy`, which the caller must hold, is no longer current, or is NULL. Costs one load. */
bool policy_source_is_current(const struct policy_source *source, const struct policy *policy);

/* What the file was before it was last read. All zero: the source has no file. */
struct file_stamp policy_source_stamp(struct policy_source *source);

/* Takes the policy, which becomes the current one. */
void policy_source_replace(struct policy_source *source, struct policy *policy);

/* Loads the file again and replaces the policy; the command line's part stays. If loading fails, the old
 * policy stays, and the error is policy_create's. */
enum jp_status policy_source_reload(struct policy_source *source, struct jp_error *error) JP_MUST_CHECK;

/* Writes the lines about a reload to the log: that the policy was replaced, and its notice. */
void policy_source_log_reload(struct policy_source *source);

/* Loads a policy again when its file changes (base/file_watch.h). If the file is missing or does not load, one line in
 * the log says so, and the policy stays. */
struct policy_watch;

/* With an interval of 0, only policy_watch_reload loads the file again. The source is borrowed and must have
 * a file. JP_NO_MEMORY, JP_IO, JP_LIMIT. */
enum jp_status policy_watch_start(struct policy_source *source, int64_t interval_ms,
                                  struct policy_watch **watch, struct jp_error *error) JP_MUST_CHECK;
/* As file_watch_reload (base/file_watch.h). */
void policy_watch_reload(struct policy_watch *watch, void (*done)(void));
/* Ends the thread and waits for it. NULL is fine. */
void policy_watch_stop(struct policy_watch *watch);

#endif

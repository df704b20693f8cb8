#ifndef JPEER_POLICY_SOURCE_H
#define JPEER_POLICY_SOURCE_H
/*
 * Holds the policy in force and loads it again while it is used (docs/policy.md, "Reload"). A policy is
 * swapped whole: its holders keep it, and whoever takes one next gets the new one.
 *
 * Any thread. A lock is held while a policy is taken or swapped, but not while a file is read.
 */
#include "policy/policy.h"

struct policy_source;

/* Loads the policy; errors are those of policy_create. The config's texts are borrowed as long as the source.
 * Caller frees with policy_source_destroy. */
enum jp_status policy_source_create(const struct policy_config *config, struct policy_source **source,
                                    struct jp_error *error) JP_MUST_CHECK;
/* Policies that were taken stay valid. */
void policy_source_destroy(struct policy_source *source);

/* The policy in force. Caller gives it back with policy_destroy. */
struct policy *policy_source_take(struct policy_source *source);
/* False where `policy`, which the caller must hold, is no longer in force, or is NULL. Costs one load. */
bool policy_source_is_current(const struct policy_source *source, const struct policy *policy);

/* Loads the file again and swaps the policy; the command line's part stays. Where loading fails, the old
 * policy stays in force and the error is policy_create's. */
enum jp_status policy_source_reload(struct policy_source *source, struct jp_error *error) JP_MUST_CHECK;

/* The path of the file; NULL: the policy has no file, and a reload changes nothing. Borrowed. */
const char *policy_source_file(const struct policy_source *source);

#endif

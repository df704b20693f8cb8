#ifndef JPEER_POLICY_SOURCE_H
#define JPEER_POLICY_SOURCE_H
/*
 * The policy in force, and where it comes from, so that it can be loaded again while it is used (policy.md,
 * "Flags and reload"). A policy is swapped whole: whoever holds one goes on under it, whoever takes one next
 * gets the new one.
 *
 * Any thread. A lock is held while the policy is taken or swapped, never while a file is read.
 */
#include "policy/policy.h"

struct policy_source;

/* Loads the policy; errors are those of policy_create. The config's texts are borrowed as long as the source.
 * Caller frees with policy_source_destroy. */
enum jp_status policy_source_create(const struct policy_config *config, struct policy_source **source,
                                    struct jp_error *error) JP_MUST_CHECK;
/* Policies that were taken stay valid. */
void policy_source_destroy(struct policy_source *source);

/* The policy in force. Caller lets go of it with policy_destroy. */
struct policy *policy_source_take(struct policy_source *source);
/* False where another policy has come since `policy` was taken, or where it is NULL. The caller must hold it.
 * Costs one load. */
bool policy_source_is_current(const struct policy_source *source, const struct policy *policy);

/* Loads the file again and swaps the policy, with what the command line gave unchanged. Where that fails, the
 * old policy stays in force and the error is policy_create's. */
enum jp_status policy_source_reload(struct policy_source *source, struct jp_error *error) JP_MUST_CHECK;

/* The path of the file; NULL: there is none, and a reload changes nothing. Borrowed. */
const char *policy_source_file(const struct policy_source *source);

#endif

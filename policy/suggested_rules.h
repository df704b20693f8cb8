#ifndef JPEER_POLICY_SUGGESTED_RULES_H
#define JPEER_POLICY_SUGGESTED_RULES_H
/*
 * Makes a policy file that allows the members that clients have used, and nothing else (docs/policy.md, "Learning a
 * policy"). `jpeer policy suggest` prints it. One thread.
 */
#include "policy/policy.h"

#include "base/buffer.h"

struct policy_suggestion;

/* JP_NO_MEMORY. Caller frees with policy_suggestion_destroy. */
enum jp_status policy_suggestion_create(struct policy_suggestion **suggestion,
                                        struct jp_error *error) JP_MUST_CHECK;
void policy_suggestion_destroy(struct policy_suggestion *suggestion);
/* Adds a used member, whose texts are copied. The same one may be added again. JP_NO_MEMORY. */
enum jp_status policy_suggestion_add(struct policy_suggestion *suggestion, const struct policy_query *used,
                                     struct jp_error *error) JP_MUST_CHECK;
/* Appends the file. Returns the number of its rules. */
size_t policy_suggestion_write(struct policy_suggestion *suggestion, struct buffer *out);

#endif

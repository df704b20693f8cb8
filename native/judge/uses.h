#ifndef JPEER_JUDGE_USES_H
#define JPEER_JUDGE_USES_H
/*
 * The members that clients have used, each noted once by its channel, category and visibility: for the lines "used" of the
 * audit, from which `jpeer policy suggest` makes a policy, and for the line of the log about a member that an observed
 * policy would deny. A file of the audit that is opened anew begins with all of them.
 *
 * At most USES_MAX members are kept, whose names have USES_BYTES_MAX bytes; then a line "unnoted" says so. A name of more
 * than AUDIT_TEXT_MAX bytes is not noted, because a line would cut it. Any thread.
 */
#include "audit/audit.h"
#include "policy/policy.h"

enum { USES_MAX = 65536, USES_BYTES_MAX = 8 * 1024 * 1024 };

/* True if anybody reads what is noted. */
static inline bool uses_are_noted(const struct policy *policy)
{
  return audit_is_on() || policy_observes(policy);
}

/* Notes a member that the policy has allowed with this verdict. */
void uses_note(const struct policy *policy, const struct policy_query *query, struct policy_verdict verdict);

/* Writes all noted members to the audit: for audit_set_reopened. */
void uses_write_again(void);

#endif

#ifndef JPEER_POLICY_RULES_H
#define JPEER_POLICY_RULES_H
/*
 * One compiled rule and the members that it applies to.
 *
 * A combination of a category and a visibility is one bit, so a rule holds all of its combinations in one
 * number, and set arithmetic shows which combinations a list of rules leaves undecided. Rules are constant
 * once loaded: any thread may read them. They live as long as their arena.
 */
#include "policy/match.h"
#include "policy/policy.h"
#include "policy/vocabulary.h"

#include <assert.h>

static_assert(POLICY_CATEGORIES * POLICY_VISIBILITIES <= 32, "a set of combinations is 32 bits");

struct policy_rule {
  uint32_t channels;     /* set of 1 << enum policy_channel */
  uint32_t combinations; /* set as policy_combinations makes it */
  bool allow;
  bool log;
  bool is_of_preset;
  bool spares_objects; /* does not judge an object's own class (deny-jdk-internals) */
  struct policy_pattern class_pattern;
  struct policy_pattern member_pattern;
  int line;           /* of its file, from 1 */
  const char *reason; /* for policy_reason */
};

/* The set of all pairs of a category in `categories` (set of 1 << enum policy_category) and a visibility in
 * `visibilities` (set of 1 << enum policy_visibility). */
static inline uint32_t policy_combinations(unsigned categories, unsigned visibilities)
{
  uint32_t combinations = 0;
  for (unsigned category = 0; category < POLICY_CATEGORIES; category++)
    if ((categories & 1u << category) != 0)
      combinations |= (visibilities & POLICY_ALL_VISIBILITIES) << (category * POLICY_VISIBILITIES);
  return combinations;
}

/* True if the rule decides about this member of this class, on this channel, for any of the combinations. */
static inline bool policy_rule_applies(const struct policy_rule *rule, enum policy_channel channel,
                                       uint32_t combinations, struct text class_name, struct text member_name)
{
  return (rule->channels & 1u << channel) != 0 && (rule->combinations & combinations) != 0 &&
         policy_pattern_may_match(&rule->class_pattern, class_name) &&
         policy_pattern_matches(&rule->member_pattern, member_name) &&
         policy_pattern_matches(&rule->class_pattern, class_name);
}

#endif

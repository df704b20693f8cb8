#ifndef JPEER_POLICY_RULES_H
#define JPEER_POLICY_RULES_H
/*
 * One compiled rule, the words that a policy file may use, and which rules apply to what.
 *
 * Categories and visibilities are held together: a combination is one bit of a set, so that a rule says in
 * one number what it is about, and what a list of rules leaves open is plain set arithmetic. Rules are
 * constant once loaded: any thread may ask. They live as long as their arena.
 */
#include "policy/match.h"
#include "policy/policy.h"

enum { POLICY_CHANNELS = 6, POLICY_MEMBERS = 5, POLICY_VISIBILITIES = 4 };
#define POLICY_ALL_CHANNELS     ((1u << POLICY_CHANNELS) - 1)
#define POLICY_ALL_MEMBERS      ((1u << POLICY_MEMBERS) - 1)
#define POLICY_ALL_VISIBILITIES ((1u << POLICY_VISIBILITIES) - 1)

struct policy_rule {
  uint32_t channels;     /* set of 1 << enum policy_channel */
  uint32_t combinations; /* set as policy_combinations makes it */
  bool allow;
  bool log;
  bool spares_objects; /* says nothing about the class that an object happens to have (deny-jdk-internals) */
  struct policy_pattern class_pattern;
  struct policy_pattern member_pattern;
  int line;           /* where the rule begins in its file, from 1 */
  const char *reason; /* for policy_reason */
};

/* The set of every pair of a member in `members` (set of 1 << enum policy_member) and a visibility in
 * `visibilities` (set of 1 << enum policy_visibility). */
uint32_t policy_combinations(unsigned members, unsigned visibilities);

/* Does the rule say anything about this member of this class, on this channel, for any of the combinations?
 */
static inline bool policy_rule_applies(const struct policy_rule *rule, enum policy_channel channel,
                                       uint32_t combinations, struct text class_name, struct text member_name)
{
  return (rule->channels & 1u << channel) != 0 && (rule->combinations & combinations) != 0 &&
         policy_pattern_may_match(&rule->class_pattern, class_name) &&
         policy_pattern_matches(&rule->member_pattern, member_name) &&
         policy_pattern_matches(&rule->class_pattern, class_name);
}

/* What a word of a policy file stands for. */
struct policy_word {
  const char *word;
  unsigned value;
};

struct policy_vocabulary {
  const char *what; /* "channel", for an error message */
  const struct policy_word *words;
  size_t count;
};

extern const struct policy_vocabulary policy_channel_words; /* values: 1 << enum policy_channel */
extern const struct policy_vocabulary policy_member_words;  /* values: 1 << enum policy_member */
extern const struct policy_vocabulary
    policy_visibility_words;                               /* values: sets of 1 << enum policy_visibility */
extern const struct policy_vocabulary policy_action_words; /* values: enum policy_action */

/* Words are spelt exactly as policy.md has them. False for a word that is not in the vocabulary. */
bool policy_word_find(const struct policy_vocabulary *vocabulary, struct text word, unsigned *value);

#endif

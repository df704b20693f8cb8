#include "policy/state.h"
#include "policy/vocabulary.h"

#include "base/primitives.h"

/* What Java catches where a client fails to answer: the one class of the peer's that is judged as others are. */
#define CALLBACK_EXCEPTION TEXT("jpeer.peer.CallbackException")

/* True where the class or the channel decides, and no rule is asked. */
static bool decide_without_rules(const struct policy *policy, enum policy_channel channel,
                                 struct text class_name, struct policy_verdict *verdict)
{
  if (policy_pattern_matches(&policy->internals, class_name) && !text_equal(class_name, CALLBACK_EXCEPTION)) {
    *verdict = (struct policy_verdict){.allow = false, .reason = POLICY_REASON_INTERNALS};
    return true;
  }
  if (policy->has_withheld && policy_pattern_matches(&policy->withheld, class_name)) {
    *verdict = (struct policy_verdict){.allow = false, .reason = POLICY_REASON_WITHHELD};
    return true;
  }
  if ((POLICY_EXEMPT_CHANNELS & 1u << channel) != 0) {
    *verdict = (struct policy_verdict){.allow = true, .reason = POLICY_REASON_EXEMPT};
    return true;
  }
  if (primitive_is_keyword(class_name)) {
    *verdict = (struct policy_verdict){.allow = true, .reason = POLICY_REASON_PRIMITIVE};
    return true;
  }
  return false;
}

static struct policy_verdict verdict_of_rule(const struct policy *policy, size_t rule)
{
  return (struct policy_verdict){.allow = policy->rules[rule].allow,
                                 .log = policy->rules[rule].log,
                                 .reason = (uint32_t)(POLICY_REASON_RULES + rule)};
}

static uint32_t combination_of(const struct policy_query *query)
{
  return policy_combinations(1u << query->category, 1u << query->visibility);
}

struct policy_verdict policy_check(const struct policy *policy, const struct policy_query *query)
{
  struct policy_verdict verdict;
  if (decide_without_rules(policy, query->channel, query->class_name, &verdict))
    return verdict;
  uint32_t combination = combination_of(query);
  for (size_t i = 0; i < policy->rule_count; i++)
    if (policy_rule_applies(&policy->rules[i], query->channel, combination, query->class_name,
                            query->member_name))
      return verdict_of_rule(policy, i);
  return policy->default_verdict;
}

static struct policy_verdict check_denials(const struct policy *policy, const struct policy_query *query,
                                           bool of_object)
{
  struct policy_verdict verdict;
  if (decide_without_rules(policy, query->channel, query->class_name, &verdict))
    return verdict;
  uint32_t combination = combination_of(query);
  for (size_t i = 0; i < policy->rule_count; i++) {
    const struct policy_rule *rule = &policy->rules[i];
    if (rule->class_pattern.every_name || (of_object && rule->spares_objects) ||
        !policy_rule_applies(rule, query->channel, combination, query->class_name, query->member_name))
      continue;
    verdict = verdict_of_rule(policy, i);
    /* policy_check asks for the operation's line in the log; only a denial adds one. */
    if (verdict.allow)
      verdict.log = false;
    return verdict;
  }
  return (struct policy_verdict){.allow = true, .reason = POLICY_REASON_NO_DENIAL};
}

struct policy_verdict policy_check_other(const struct policy *policy, const struct policy_query *query)
{
  return check_denials(policy, query, false);
}

struct policy_verdict policy_check_object(const struct policy *policy, const struct policy_query *query)
{
  return check_denials(policy, query, true);
}

/* Keeps the first denial, or the first that logs. */
static void add_denial(struct policy_verdict *sum, bool *any, struct policy_verdict denial)
{
  if (!*any || (denial.log && !sum->log))
    *sum = denial;
  *any = true;
}

/* member_name NULL: any member. */
static bool applies_to(const struct policy_rule *rule, enum policy_channel channel, uint32_t combinations,
                       struct text class_name, const struct text *member_name)
{
  if (member_name != NULL)
    return policy_rule_applies(rule, channel, combinations, class_name, *member_name);
  /* A denial of some members leaves the others open. */
  return (rule->channels & 1u << channel) != 0 && (rule->combinations & combinations) != 0 &&
         (rule->allow || rule->member_pattern.every_name) &&
         policy_pattern_matches(&rule->class_pattern, class_name);
}

static enum policy_early check_early(const struct policy *policy, enum policy_channel channel,
                                     unsigned categories, struct text class_name,
                                     const struct text *member_name, struct policy_verdict *verdict)
{
  if (decide_without_rules(policy, channel, class_name, verdict))
    return verdict->allow ? POLICY_EARLY_ASK : POLICY_EARLY_DENY;
  uint32_t open = policy_combinations(categories, POLICY_ALL_VISIBILITIES);
  bool any = false;
  *verdict = policy->default_verdict;
  for (size_t i = 0; i < policy->rule_count && open != 0; i++) {
    const struct policy_rule *rule = &policy->rules[i];
    if (!applies_to(rule, channel, open, class_name, member_name))
      continue;
    struct policy_verdict decided = verdict_of_rule(policy, i);
    if (decided.allow) {
      *verdict = decided;
      return POLICY_EARLY_ASK;
    }
    add_denial(verdict, &any, decided);
    open &= ~rule->combinations;
  }
  if (open == 0)
    return any ? POLICY_EARLY_DENY : POLICY_EARLY_ASK;
  if (policy->default_verdict.allow) {
    *verdict = policy->default_verdict;
    return POLICY_EARLY_ASK;
  }
  add_denial(verdict, &any, policy->default_verdict);
  return POLICY_EARLY_DENY;
}

enum policy_early policy_check_names(const struct policy *policy, enum policy_channel channel,
                                     unsigned categories, struct text class_name, struct text member_name,
                                     struct policy_verdict *verdict)
{
  return check_early(policy, channel, categories, class_name, &member_name, verdict);
}

enum policy_early policy_check_class(const struct policy *policy, enum policy_channel channel,
                                     unsigned categories, struct text class_name,
                                     struct policy_verdict *verdict)
{
  return check_early(policy, channel, categories, class_name, NULL, verdict);
}

bool policy_shows_class(const struct policy *policy, enum policy_channel channel, struct text class_name)
{
  const unsigned shown = POLICY_ALL_CATEGORIES & ~(1u << POLICY_CALLBACK);
  struct policy_verdict verdict;
  return policy_check_class(policy, channel, shown, class_name, &verdict) == POLICY_EARLY_ASK;
}

bool policy_is_idempotent(const struct policy *policy, struct text class_name, struct text member_name)
{
  for (size_t i = 0; i < policy->idempotent_count; i++)
    if (policy_pattern_matches(&policy->idempotent[i].member_pattern, member_name) &&
        policy_pattern_matches(&policy->idempotent[i].class_pattern, class_name))
      return true;
  return false;
}

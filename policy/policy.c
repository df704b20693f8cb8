/* A policy: building it from a file and options, and judging by it. */
#include "policy/policy.h"

#include "base/primitives.h"
#include "policy/allow.h"
#include "policy/presets.h"
#include "policy/tree.h"
#include "policy/vocabulary.h"

#include <stdatomic.h>
#include <stdlib.h>

/* The end of the notice that nothing is allowed. */
#define HOW_TO_ALLOW                                                                                         \
  "allow classes with --rpc-allow 'com.example.**', with rules in a file (--rpc-policy), or everything "     \
  "that "                                                                                                    \
  "a preset does not deny with --rpc-default-action ALLOW"

/* The exception of a callback that failed in the client: the only class of the peer that is judged like
 * others. */
#define CALLBACK_EXCEPTION TEXT("jpeer.peer.CallbackException")

/* The class of the peer's own threads: Java code gets them by Thread.currentThread(). */
#define PEER_THREAD TEXT("jpeer.peer.PeerThread")

enum fixed_reason {
  REASON_DEFAULT,
  REASON_INTERNALS,
  REASON_WITHHELD,
  REASON_EXEMPT,
  REASON_PRIMITIVE,
  REASON_NO_DENIAL, /* policy_check_other found nothing against it */
  REASON_RULES      /* the first rule; rule i is REASON_RULES + i */
};

/* Constant once built, except for the number of holders. */
struct policy {
  atomic_uint holders;
  struct arena arena; /* owns what the members below point to */
  uint64_t generation;
  struct policy_pattern internals;
  struct policy_pattern withheld;
  bool has_withheld;
  struct policy_rule *rules; /* the rules of the file, then of the presets, then of --rpc-allow */
  size_t rule_count;
  struct policy_verdict default_verdict;
  const struct policy_member_pattern *idempotent;
  size_t idempotent_count;
  const char *notice;
  bool absent; /* the peer was given no policy at all */
  bool observes;
};

static atomic_uint_fast64_t last_generation;

/* ---- the judgement ---- */

/* Members that would end, block or change a thread that may be serving others. */
static bool is_withheld_of_threads(struct text member_name)
{
  static const struct text withheld[] = {TEXT("stop"),
                                         TEXT("suspend"),
                                         TEXT("resume"),
                                         TEXT("join"),
                                         TEXT("setUncaughtExceptionHandler"),
                                         TEXT("setDaemon"),
                                         TEXT("setPriority"),
                                         TEXT("start"),
                                         TEXT("run")};
  for (size_t i = 0; i < sizeof withheld / sizeof withheld[0]; i++) {
    if (text_equal(member_name, withheld[i]))
      return true;
  }
  return false;
}

/* Judges the public methods of a thread of the peer as methods of java.lang.Thread: *class_name becomes
 * java.lang.Thread. member_name NULL: any member. */
static void see_as_thread(struct text *class_name, const struct text *member_name, uint32_t *combinations)
{
  uint32_t open = *combinations & policy_combinations(1u << POLICY_METHOD, 1u << POLICY_PUBLIC);
  if (!text_equal(*class_name, PEER_THREAD) || open == 0 ||
      (member_name != NULL && is_withheld_of_threads(*member_name)))
    return;
  *combinations = open;
  *class_name = TEXT("java.lang.Thread");
}

/* True if the class or the channel decides, without the rules. */
static bool decide_without_rules(const struct policy *policy, enum policy_channel channel,
                                 struct text class_name, struct policy_verdict *verdict)
{
  if (policy_pattern_matches(&policy->internals, class_name) && !text_equal(class_name, CALLBACK_EXCEPTION)) {
    *verdict = (struct policy_verdict){.allow = false, .reason = REASON_INTERNALS};
    return true;
  }
  if (policy->has_withheld && policy_pattern_matches(&policy->withheld, class_name)) {
    *verdict = (struct policy_verdict){.allow = false, .reason = REASON_WITHHELD};
    return true;
  }
  if ((POLICY_EXEMPT_CHANNELS & 1u << channel) != 0) {
    *verdict = (struct policy_verdict){.allow = true, .reason = REASON_EXEMPT};
    return true;
  }
  if (primitive_is_keyword(class_name)) {
    *verdict = (struct policy_verdict){.allow = true, .reason = REASON_PRIMITIVE};
    return true;
  }
  return false;
}

static struct policy_verdict make_rule_verdict(const struct policy *policy, size_t rule)
{
  return (struct policy_verdict){.allow = policy->rules[rule].allow,
                                 .log = policy->rules[rule].log,
                                 .reason = (uint32_t)(REASON_RULES + rule)};
}

/* While a policy observes, a denial by a rule of the file or by the default action allows, unless a preset denies: the search
 * goes on among the presets. */
static bool is_only_observed(const struct policy *policy, size_t rule)
{
  return policy->observes && !policy->rules[rule].is_of_preset && !policy->rules[rule].allow;
}

static struct policy_verdict observe(struct policy_verdict denial)
{
  return (struct policy_verdict){.allow = true, .observed = true, .reason = denial.reason};
}

struct policy_verdict policy_check(const struct policy *policy, const struct policy_query *query)
{
  struct policy_verdict verdict;
  struct policy_verdict observed = {.observed = false};
  struct text class_name = query->class_name;
  uint32_t combination = policy_combinations(1u << query->category, 1u << query->visibility);
  see_as_thread(&class_name, &query->member_name, &combination);
  if (decide_without_rules(policy, query->channel, class_name, &verdict))
    return verdict;
  for (size_t i = 0; i < policy->rule_count; i++) {
    const struct policy_rule *rule = &policy->rules[i];
    if ((observed.observed && (!rule->is_of_preset || rule->allow)) ||
        !policy_rule_applies(rule, query->channel, combination, class_name, query->member_name))
      continue;
    if (!is_only_observed(policy, i))
      return make_rule_verdict(policy, i);
    observed = observe(make_rule_verdict(policy, i));
  }
  if (observed.observed)
    return observed;
  return policy->observes && !policy->default_verdict.allow ? observe(policy->default_verdict)
                                                            : policy->default_verdict;
}

static struct policy_verdict check_denials(const struct policy *policy, const struct policy_query *query,
                                           bool of_object)
{
  struct policy_verdict verdict;
  struct policy_verdict observed = {.observed = false};
  struct text class_name = query->class_name;
  uint32_t combination = policy_combinations(1u << query->category, 1u << query->visibility);
  see_as_thread(&class_name, &query->member_name, &combination);
  if (decide_without_rules(policy, query->channel, class_name, &verdict))
    return verdict;
  for (size_t i = 0; i < policy->rule_count; i++) {
    const struct policy_rule *rule = &policy->rules[i];
    if (rule->class_pattern.every_name || (of_object && rule->spares_objects) ||
        (observed.observed && (!rule->is_of_preset || rule->allow)) ||
        !policy_rule_applies(rule, query->channel, combination, class_name, query->member_name))
      continue;
    verdict = make_rule_verdict(policy, i);
    if (is_only_observed(policy, i)) {
      observed = observe(verdict);
      continue;
    }
    /* policy_check has requested the operation's log line; only a denial adds another line. */
    if (verdict.allow)
      verdict.log = false;
    return verdict;
  }
  return observed.observed ? observed : (struct policy_verdict){.allow = true, .reason = REASON_NO_DENIAL};
}

struct policy_verdict policy_check_other(const struct policy *policy, const struct policy_query *query)
{
  return check_denials(policy, query, false);
}

struct policy_verdict policy_check_object(const struct policy *policy, const struct policy_query *query)
{
  return check_denials(policy, query, true);
}

/* Keeps the first denial that logs or, if no denial logs, the first denial. */
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
  /* If some members are denied, the others may still be allowed. */
  return (rule->channels & 1u << channel) != 0 && (rule->combinations & combinations) != 0 &&
         (rule->allow || rule->member_pattern.every_name) &&
         policy_pattern_matches(&rule->class_pattern, class_name);
}

static enum policy_early check_early(const struct policy *policy, enum policy_channel channel,
                                     unsigned categories, struct text class_name,
                                     const struct text *member_name, struct policy_verdict *verdict)
{
  uint32_t open = policy_combinations(categories, POLICY_ALL_VISIBILITIES);
  see_as_thread(&class_name, member_name, &open);
  if (decide_without_rules(policy, channel, class_name, verdict))
    return verdict->allow ? POLICY_EARLY_ASK : POLICY_EARLY_DENY;
  bool any = false;
  *verdict = policy->default_verdict;
  for (size_t i = 0; i < policy->rule_count && open != 0; i++) {
    const struct policy_rule *rule = &policy->rules[i];
    if (is_only_observed(policy, i) || !applies_to(rule, channel, open, class_name, member_name))
      continue;
    struct policy_verdict decided = make_rule_verdict(policy, i);
    if (decided.allow) {
      *verdict = decided;
      return POLICY_EARLY_ASK;
    }
    add_denial(verdict, &any, decided);
    open &= ~rule->combinations;
  }
  if (open == 0)
    return any ? POLICY_EARLY_DENY : POLICY_EARLY_ASK;
  if (policy->default_verdict.allow || policy->observes) {
    *verdict = policy->default_verdict.allow ? policy->default_verdict : observe(policy->default_verdict);
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

bool policy_names_idempotent_write(const struct policy *policy, struct text class_name,
                                   struct text field_name)
{
  for (size_t i = 0; i < policy->idempotent_count; i++) {
    const struct policy_pattern *field = &policy->idempotent[i].member_pattern;
    if (field->segment_count == 0 && !field->every_name && policy_pattern_matches(field, field_name) &&
        policy_pattern_matches(&policy->idempotent[i].class_pattern, class_name))
      return true;
  }
  return false;
}

/* ---- building ---- */

static enum jp_status out_of_memory(struct jp_error *error)
{
  return jp_fail_memory(error, NULL);
}

/* Adds "A,B" from the command line to *presets. */
static enum jp_status parse_preset_names(const char *names, uint32_t *presets, struct jp_error *error)
{
  struct text rest = text_of(names);
  for (;;) {
    const char *comma = memchr(rest.data, ',', rest.len);
    size_t len = comma == NULL ? rest.len : (size_t)(comma - rest.data);
    struct text name = text_slice(rest, 0, len);
    size_t preset = policy_preset_find(name);
    struct text shown = policy_shortened(name);
    if (preset == SIZE_MAX)
      return jp_fail(error, JP_INVALID, "--rpc-policy-preset: unknown preset '%.*s': known are %s",
                     TEXT_ARGS(shown), policy_preset_names);
    *presets |= 1u << preset;
    if (comma == NULL)
      return JP_OK;
    rest = text_slice(rest, len + 1, rest.len);
  }
}

static enum jp_status name_file_rules(struct policy *policy, const char *path,
                                      const struct policy_document *file, struct jp_error *error)
{
  const char *slash = strrchr(path, '/');
  for (size_t i = 0; i < file->rule_count; i++) {
    struct text reason = arena_printf(&policy->arena, "rule %zu (%s:%d)", i + 1,
                                      slash == NULL ? path : slash + 1, file->rules[i].line);
    if (reason.data == NULL)
      return out_of_memory(error);
    file->rules[i].reason = reason.data;
  }
  return JP_OK;
}

static enum jp_status add_rules(struct policy *policy, const struct policy_document *document,
                                struct jp_error *error)
{
  size_t count = policy->rule_count + document->rule_count;
  struct policy_rule *rules = arena_calloc(&policy->arena, count, sizeof *rules);
  if (rules == NULL)
    return out_of_memory(error);
  if (policy->rule_count > 0)
    memcpy(rules, policy->rules, policy->rule_count * sizeof *rules);
  if (document->rule_count > 0)
    memcpy(rules + policy->rule_count, document->rules, document->rule_count * sizeof *rules);
  policy->rules = rules;
  policy->rule_count = count;
  return JP_OK;
}

static enum jp_status add_preset(struct policy *policy, const struct policy_preset *preset,
                                 struct jp_error *error)
{
  struct text reason = arena_printf(&policy->arena, "preset %s", preset->name);
  if (reason.data == NULL)
    return out_of_memory(error);
  struct policy_document document;
  struct text yaml = {(const char *)preset->yaml, preset->size};
  enum jp_status status = policy_load_text(yaml, reason.data, &policy->arena, &document, error);
  if (status != JP_OK)
    return status;
  /* Most objects of the JDK's public types have internal classes. */
  bool spares_objects = strcmp(preset->name, "deny-jdk-internals") == 0;
  for (size_t i = 0; i < document.rule_count; i++) {
    document.rules[i].reason = reason.data;
    document.rules[i].spares_objects = spares_objects;
    document.rules[i].is_of_preset = true;
  }
  return add_rules(policy, &document, error);
}

static bool has_presets_alone(const struct policy_config *config)
{
  return config->file == NULL && config->allow == NULL && config->presets != NULL;
}

static bool has_nothing(const struct policy_config *config)
{
  return config->file == NULL && config->presets == NULL && config->allow == NULL &&
         config->default_action == POLICY_UNSET;
}

/* docs/policy.md, "The default action". With --rpc-allow the file decides only whether the denial is
 * logged. */
static enum policy_action choose_default(const struct policy_config *config,
                                         const struct policy_document *file)
{
  if (config->default_action != POLICY_UNSET)
    return config->default_action;
  if (config->allow != NULL)
    return file->default_action == POLICY_LOG_AND_ALLOW || file->default_action == POLICY_LOG_AND_DENY
               ? POLICY_LOG_AND_DENY
               : POLICY_DENY;
  if (file->default_action != POLICY_UNSET)
    return file->default_action;
  return has_presets_alone(config) ? POLICY_ALLOW : POLICY_DENY;
}

static const char *choose_notice(const struct policy *policy, const struct policy_config *config)
{
  if (config->observes)
    return "RPC policy: it is observed and not enforced (--policy-mode observe): everything that the presets "
           "allow is allowed";
  if (config->default_action == POLICY_UNSET && has_presets_alone(config))
    return "RPC policy: presets only deny; all that they do not deny is allowed "
           "(--rpc-default-action DENY denies it)";
  if (config->allow != NULL && policy->default_verdict.allow)
    return "RPC policy: --rpc-default-action ALLOW allows more than what --rpc-allow names";
  bool allows = policy->default_verdict.allow;
  for (size_t i = 0; i < policy->rule_count; i++)
    allows = allows || policy->rules[i].allow;
  if (allows)
    return NULL;
  if (has_nothing(config))
    return "RPC policy: none is given, so every operation is denied; " HOW_TO_ALLOW;
  return "RPC policy: no rule allows anything and the default action is to deny, so every operation is "
         "denied; " HOW_TO_ALLOW;
}

static enum jp_status compile_member(struct text shown, struct arena *arena,
                                     struct policy_member_pattern *pattern, struct jp_error *error)
{
  size_t dot = text_find_last(shown, '.');
  if (dot == SIZE_MAX)
    return jp_fail(error, JP_INVALID, "--rpc-idempotent: '%.*s' has to be Class.member", TEXT_ARGS(shown));
  enum jp_status status =
      policy_pattern_compile(text_slice(shown, 0, dot), arena, &pattern->class_pattern, error);
  if (status == JP_OK)
    status =
        policy_pattern_compile(text_slice(shown, dot + 1, shown.len), arena, &pattern->member_pattern, error);
  return status;
}

/* Appends the command line's members to the members of the file. */
static enum jp_status add_idempotent(struct policy *policy, const struct policy_document *file,
                                     const char *words, struct jp_error *error)
{
  size_t count = file->idempotent_count;
  size_t room = count + (words == NULL ? 0 : strlen(words) + 1);
  struct policy_member_pattern *all = arena_calloc(&policy->arena, room + 1, sizeof *all);
  if (all == NULL)
    return out_of_memory(error);
  if (count > 0)
    memcpy(all, file->idempotent, count * sizeof *all);
  enum jp_status status = JP_OK;
  while (status == JP_OK && words != NULL) {
    size_t length = strcspn(words, ",");
    status = compile_member((struct text){words, length}, &policy->arena, &all[count++], error);
    words = words[length] == ',' ? words + length + 1 : NULL;
  }
  policy->idempotent = all;
  policy->idempotent_count = count;
  return status;
}

static enum jp_status build_policy(struct policy *policy, const struct policy_config *config,
                                   struct jp_error *error)
{
  struct policy_document file = {0};
  /* Using the peer's own Java classes would bypass every check. */
  enum jp_status status =
      policy_pattern_compile(TEXT("jpeer.peer.**"), &policy->arena, &policy->internals, error);
  policy->has_withheld = config->withheld != NULL;
  if (status == JP_OK && policy->has_withheld)
    status = policy_pattern_compile(text_of(config->withheld), &policy->arena, &policy->withheld, error);
  if (status == JP_OK && config->file != NULL) {
    status = policy_load_file(config->file, &policy->arena, &file, error);
    if (status == JP_OK)
      status = name_file_rules(policy, config->file, &file, error);
    if (status == JP_OK)
      status = add_rules(policy, &file, error);
  }
  uint32_t presets = file.presets;
  if (status == JP_OK && config->presets != NULL)
    status = parse_preset_names(config->presets, &presets, error);
  if (status == JP_OK && config->more_presets != NULL)
    status = parse_preset_names(config->more_presets, &presets, error);
  for (size_t i = 0; i < policy_preset_count && status == JP_OK; i++)
    if ((presets & 1u << i) != 0)
      status = add_preset(policy, &policy_presets[i], error);
  struct policy_document allowed = {0};
  if (status == JP_OK && config->allow != NULL)
    status =
        policy_allow_compile(text_of(config->allow), config->allow_name, &policy->arena, &allowed, error);
  if (status == JP_OK && config->allow != NULL)
    status = add_rules(policy, &allowed, error);
  if (status == JP_OK)
    status = add_idempotent(policy, &file, config->idempotent, error);
  if (status != JP_OK)
    return status;

  enum policy_action action = choose_default(config, &file);
  policy->default_verdict.allow = action == POLICY_ALLOW || action == POLICY_LOG_AND_ALLOW;
  policy->default_verdict.log = action == POLICY_LOG_AND_ALLOW || action == POLICY_LOG_AND_DENY;
  policy->default_verdict.reason = REASON_DEFAULT;
  policy->notice = choose_notice(policy, config);
  policy->absent = has_nothing(config);
  policy->observes = config->observes;
  policy->generation = atomic_fetch_add(&last_generation, 1) + 1;
  return JP_OK;
}

enum jp_status policy_create(const struct policy_config *config, struct policy **policy,
                             struct jp_error *error)
{
  *policy = NULL;
  struct policy *made = calloc(1, sizeof *made);
  if (made == NULL)
    return out_of_memory(error);
  arena_init(&made->arena);
  atomic_init(&made->holders, 1);
  enum jp_status status = build_policy(made, config, error);
  if (status == JP_OK)
    *policy = made;
  else
    policy_destroy(made);
  if (status != JP_OK && error != NULL)
    text_hide_tokens(error->text);
  return status;
}

struct policy *policy_retain(struct policy *policy)
{
  atomic_fetch_add(&policy->holders, 1);
  return policy;
}

void policy_destroy(struct policy *policy)
{
  if (policy == NULL || atomic_fetch_sub(&policy->holders, 1) > 1)
    return;
  arena_fini(&policy->arena);
  free(policy);
}

uint64_t policy_generation(const struct policy *policy)
{
  return policy->generation;
}

bool policy_observes(const struct policy *policy)
{
  return policy->observes;
}

const char *policy_notice(const struct policy *policy)
{
  return policy->notice;
}

bool policy_lacks_rules_for(const struct policy *policy, struct text class_name)
{
  return policy->absent && !policy_pattern_matches(&policy->internals, class_name) &&
         !(policy->has_withheld && policy_pattern_matches(&policy->withheld, class_name));
}

const char *policy_reason(const struct policy *policy, uint32_t reason)
{
  static const char *const fixed[REASON_RULES] = {
      [REASON_DEFAULT] = "default action",        [REASON_INTERNALS] = "the peer's own classes",
      [REASON_WITHHELD] = "withheld by the peer", [REASON_EXEMPT] = "channel exempt from the policy",
      [REASON_PRIMITIVE] = "primitive type",      [REASON_NO_DENIAL] = "no denial of this class",
  };
  if (reason < REASON_RULES)
    return fixed[reason];
  reason -= REASON_RULES;
  return reason < policy->rule_count ? policy->rules[reason].reason : "unknown";
}

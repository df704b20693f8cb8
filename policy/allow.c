#include "policy/allow.h"

#include "policy/tree.h"
#include "policy/vocabulary.h"

#define OPTION "--rpc-allow"

static enum jp_status out_of_memory(struct jp_error *error)
{
  return jp_fail(error, JP_NO_MEMORY, "out of memory");
}

static size_t count_patterns(struct text patterns)
{
  size_t count = 1;
  for (size_t i = 0; i < patterns.len; i++)
    count += patterns.data[i] == ',';
  return count;
}

/* People write a blank behind a comma, and a pattern with a blank would match nothing. */
static bool has_blank(struct text pattern)
{
  for (size_t i = 0; i < pattern.len; i++)
    if ((unsigned char)pattern.data[i] <= ' ')
      return true;
  return false;
}

static enum jp_status compile_rule(struct text pattern, struct arena *arena, struct policy_rule *rule,
                                   struct jp_error *error)
{
  struct text shown = policy_shortened(pattern);
  enum jp_status status;
  if (has_blank(pattern))
    status = jp_fail(error, JP_INVALID, "has a blank: only commas stand between patterns");
  else
    status = policy_pattern_compile(pattern, arena, &rule->class_pattern, error);
  if (status == JP_INVALID)
    jp_error_prefix(error, OPTION ": pattern '%.*s'", TEXT_ARGS(shown));
  if (status == JP_OK)
    status = policy_pattern_compile_member(TEXT("**"), arena, &rule->member_pattern, error);
  if (status != JP_OK)
    return status;
  struct text reason = arena_printf(arena, OPTION " '%.*s'", TEXT_ARGS(shown));
  if (reason.data == NULL)
    return out_of_memory(error);
  rule->reason = reason.data;
  rule->allow = true;
  rule->channels = POLICY_ALL_CHANNELS;
  rule->combinations = policy_combinations(POLICY_ALL_CATEGORIES, 1u << POLICY_PUBLIC);
  return JP_OK;
}

enum jp_status policy_allow_compile(struct text patterns, struct arena *arena,
                                    struct policy_document *document, struct jp_error *error)
{
  *document = (struct policy_document){0};
  size_t count = count_patterns(patterns);
  if (count > POLICY_RULES_MAX)
    return jp_fail(error, JP_LIMIT, OPTION ": more than %d patterns", POLICY_RULES_MAX);
  struct policy_rule *rules = arena_calloc(arena, count, sizeof *rules);
  if (rules == NULL)
    return out_of_memory(error);
  enum jp_status status = JP_OK;
  size_t start = 0;
  for (size_t i = 0; status == JP_OK && i < count; i++) {
    const char *comma = memchr(patterns.data + start, ',', patterns.len - start);
    size_t end = comma == NULL ? patterns.len : (size_t)(comma - patterns.data);
    status = compile_rule(text_slice(patterns, start, end), arena, &rules[i], error);
    start = end + 1;
  }
  if (status != JP_OK)
    return status;
  document->rules = rules;
  document->rule_count = count;
  return JP_OK;
}

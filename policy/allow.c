#include "policy/allow.h"

#include "policy/dangerous.h"
#include "policy/tree.h"
#include "policy/vocabulary.h"

static const char *name_or_option(const char *name)
{
  return name == NULL ? "--rpc-allow" : name;
}

static size_t count_patterns(struct text patterns)
{
  size_t count = 1;
  for (size_t i = 0; i < patterns.len; i++)
    count += patterns.data[i] == ',';
  return count;
}

/* People write a blank after a comma, and a pattern with a blank would match nothing. */
static bool has_blank(struct text pattern)
{
  for (size_t i = 0; i < pattern.len; i++)
    if ((unsigned char)pattern.data[i] <= ' ')
      return true;
  return false;
}

/* Removes "jdk:" from the pattern. */
static bool skip_jdk_mark(struct text *pattern)
{
  const struct text mark = TEXT("jdk:");
  bool is_marked = text_starts_with(*pattern, mark);
  if (is_marked)
    *pattern = text_slice(*pattern, mark.len, pattern->len);
  return is_marked;
}

/* Removes the first pattern from the list; false at the end. *rest begins as the whole list. */
static bool next_pattern(struct text *rest, struct text *pattern)
{
  if (rest->data == NULL)
    return false;
  const char *comma = memchr(rest->data, ',', rest->len);
  size_t end = comma == NULL ? rest->len : (size_t)(comma - rest->data);
  *pattern = text_slice(*rest, 0, end);
  *rest = comma == NULL ? TEXT_ABSENT : text_slice(*rest, end + 1, rest->len);
  return true;
}

static enum jp_status compile_rule(struct text pattern, const char *name, struct arena *arena,
                                   struct policy_rule *rule, struct jp_error *error)
{
  struct text shown = policy_shortened(pattern);
  enum jp_status status;
  (void)skip_jdk_mark(&pattern);
  if (memchr(pattern.data, ':', pattern.len) != NULL)
    status = jp_fail(error, JP_INVALID, "has a ':', which only the word jdk: has, before the pattern");
  else if (has_blank(pattern))
    status = jp_fail(error, JP_INVALID, "has a blank: separate patterns by commas only");
  else
    status = policy_pattern_compile(pattern, arena, &rule->class_pattern, error);
  if (status == JP_INVALID)
    jp_error_prefix(error, "%s: pattern '%.*s'", name, TEXT_ARGS(shown));
  if (status == JP_OK)
    status = policy_pattern_compile_member(TEXT("**"), arena, &rule->member_pattern, error);
  if (status != JP_OK)
    return status;
  struct text reason = arena_printf(arena, "%s '%.*s'", name, TEXT_ARGS(shown));
  if (reason.data == NULL)
    return jp_fail_memory(error, NULL);
  rule->reason = reason.data;
  rule->allow = true;
  rule->channels = POLICY_ALL_CHANNELS;
  rule->combinations = policy_combinations(POLICY_ALL_CATEGORIES, 1u << POLICY_PUBLIC);
  return JP_OK;
}

enum jp_status policy_allow_compile(struct text patterns, const char *name, struct arena *arena,
                                    struct policy_document *document, struct jp_error *error)
{
  name = name_or_option(name);
  *document = (struct policy_document){0};
  size_t count = count_patterns(patterns);
  if (count > POLICY_RULES_MAX)
    return jp_fail(error, JP_LIMIT, "%s: more than %d patterns", name, POLICY_RULES_MAX);
  struct policy_rule *rules = arena_calloc(arena, count, sizeof *rules);
  if (rules == NULL)
    return jp_fail_memory(error, NULL);
  enum jp_status status = JP_OK;
  struct text pattern;
  for (size_t i = 0; status == JP_OK && next_pattern(&patterns, &pattern); i++)
    status = compile_rule(pattern, name, arena, &rules[i], error);
  if (status != JP_OK)
    return status;
  document->rules = rules;
  document->rule_count = count;
  return JP_OK;
}

enum jp_status policy_allow_check_begin(struct policy_allow_check *check, struct text patterns,
                                        const char *name, struct arena *arena, struct jp_error *error)
{
  size_t count = count_patterns(patterns);
  *check = (struct policy_allow_check){.wildcards = arena_calloc(arena, count, sizeof *check->wildcards),
                                       .sources = arena_calloc(arena, count, sizeof *check->sources),
                                       .name = name_or_option(name),
                                       .arena = arena};
  if (check->wildcards == NULL || check->sources == NULL)
    return jp_fail_memory(error, NULL);
  enum jp_status status = JP_OK;
  struct text pattern;
  while (status == JP_OK && next_pattern(&patterns, &pattern)) {
    bool has_wildcard = policy_pattern_has_wildcard(pattern);
    if (skip_jdk_mark(&pattern) || !has_wildcard)
      continue;
    status = policy_pattern_compile(pattern, arena, &check->wildcards[check->count], error);
    check->sources[check->count++] = pattern;
  }
  return status;
}

bool policy_allow_see_class(struct text class_name, void *context)
{
  struct policy_allow_check *check = context;
  for (size_t i = 0; i < check->count; i++) {
    if (!policy_pattern_may_match(&check->wildcards[i], class_name) ||
        !policy_pattern_matches(&check->wildcards[i], class_name))
      continue;
    check->class_name = arena_text(check->arena, class_name);
    check->refused = &check->sources[i];
    return false;
  }
  return true;
}

static bool is_opened(const struct policy_danger *danger, void *context)
{
  return policy_pattern_matches(context, danger->class_name);
}

enum jp_status policy_allow_check_end(const struct policy_allow_check *check, struct jp_error *error)
{
  if (check->refused == NULL)
    return JP_OK;
  struct policy_danger *dangers;
  size_t count;
  enum jp_status status = policy_dangers_read(check->arena, &dangers, &count, error);
  if (status != JP_OK)
    return status;
  struct buffer opened;
  buffer_init(&opened);
  size_t wildcard = (size_t)(check->refused - check->sources);
  struct text shown = policy_shortened(*check->refused);
  if (policy_dangers_list(dangers, count, is_opened, &check->wildcards[wildcard], &opened) == 0)
    buffer_append_text(&opened, check->class_name);
  jp_fail(
      error, JP_INVALID,
      "%s: pattern '%.*s' matches classes of the JDK: %.*s. Name the classes that clients need, or put jdk: "
      "before the pattern ('jdk:%.*s')",
      check->name, TEXT_ARGS(shown), TEXT_ARGS(buffer_text(&opened)), TEXT_ARGS(shown));
  buffer_fini(&opened);
  return JP_INVALID;
}

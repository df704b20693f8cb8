#include "policy/lint.h"

#include "policy/dangerous.h"
#include "policy/tree.h"
#include "policy/vocabulary.h"

#include "base/primitives.h"

#include <stdarg.h>
#include <stdio.h>

enum {
  CONSTRUCTORS = 1u << POLICY_CONSTRUCTOR,
  COMPARISONS_MAX = 20000 /* of patterns; beyond that, no pattern counts as covered */
};

struct lint {
  const char *path;
  const struct policy_document *document;
  const struct policy_danger *dangers;
  size_t danger_count;
  struct buffer *out;
  size_t *count;
  size_t rule; /* being checked */
  int line;    /* of the rule, or of the idempotent member being checked */
  size_t comparisons;
};

static void warn(struct lint *lint, const char *format, ...) JP_PRINTF(2, 3);

static void warn(struct lint *lint, const char *format, ...)
{
  struct jp_error text; /* bounds the length of a line */
  va_list args;
  va_start(args, format);
  jp_fail_va(&text, JP_INVALID, format, args);
  va_end(args);
  buffer_printf(lint->out, "%s:%d: warning: %s\n", lint->path, lint->line, text.text);
  ++*lint->count;
}

/* ---- names ---- */

static bool has_character(struct text t, char character)
{
  return memchr(t.data, character, t.len) != NULL;
}

static struct text take_last_segment(struct text name)
{
  size_t dot = text_find_last(name, '.');
  return dot == SIZE_MAX ? name : text_slice(name, dot + 1, name.len);
}

static bool begins_small(struct text segment)
{
  return segment.len > 0 && segment.data[0] >= 'a' && segment.data[0] <= 'z';
}

static bool begins_with_a_capital(struct text segment)
{
  return segment.len > 0 && segment.data[0] >= 'A' && segment.data[0] <= 'Z';
}

/* The first character of a pattern that is in no name of the Java language; 0: there is none. Kotlin and other languages of the
 * JVM allow some of them, but they are signs of a list, a type with parameters, a regular expression or another notation. */
static char find_odd_character(struct text pattern)
{
  static const char odd[] = " ,;#!&|^+<>'\"\\";
  for (size_t i = 0; i < pattern.len; i++) {
    if (memchr(odd, pattern.data[i], sizeof odd - 1) != NULL)
      return pattern.data[i];
  }
  return 0;
}

/* A package by Java's naming convention: the name has a dot, and its last part is in small letters. */
static bool looks_like_package(struct text name)
{
  struct text last = take_last_segment(name);
  if (last.len == name.len || !begins_small(last) || policy_pattern_has_wildcard(last))
    return false;
  for (size_t i = 0; i < last.len; i++)
    if (last.data[i] == '$' || (last.data[i] >= 'A' && last.data[i] <= 'Z'))
      return false;
  return true;
}

/* Warns of "com.example**", because "com.example.**" was probably meant. */
static void check_stars(struct lint *lint, struct text class_pattern)
{
  struct text rest = class_pattern;
  while (rest.data != NULL) {
    const char *dot = memchr(rest.data, '.', rest.len);
    struct text segment = text_slice(rest, 0, dot == NULL ? rest.len : (size_t)(dot - rest.data));
    if (segment.len > 2 && memmem(segment.data, segment.len, "**", 2) != NULL) {
      struct text shown = policy_shortened(class_pattern);
      warn(lint,
           "'%.*s': two stars inside a segment mean one, so that this matches no sub-package: ** has to be a "
           "segment "
           "of its own, as in com.example.**",
           TEXT_ARGS(shown));
      return;
    }
    rest = dot == NULL ? TEXT_ABSENT : text_slice(rest, segment.len + 1, rest.len);
  }
}

/* A pattern for classes of the peer, and not for the one that a rule can allow. */
static bool is_of_peer(struct text name)
{
  const struct text package = TEXT("jpeer.peer.");
  return name.len > package.len && text_equal_ignore_case(text_slice(name, 0, package.len), package) &&
         !text_equal_ignore_case(name, TEXT("jpeer.peer.CallbackException"));
}

static void check_class(struct lint *lint, const struct policy_rule_source *source)
{
  struct text name = source->class_pattern;
  struct text shown = policy_shortened(name);
  struct text last = take_last_segment(name);
  struct text outer = last.len == name.len ? TEXT_ABSENT : text_slice(name, 0, name.len - last.len - 1);
  struct text shown_outer = policy_shortened(outer);
  struct text shown_last = policy_shortened(last);
  bool is_below_class = outer.data != NULL && begins_with_a_capital(take_last_segment(outer)) &&
                        !policy_pattern_has_wildcard(outer);
  bool is_any_member =
      text_equal(source->member_pattern, TEXT("**")) || text_equal(source->member_pattern, TEXT("*"));
  if (has_character(name, ':'))
    warn(lint, "'%.*s' has a ':', as no class has: jdk: is a word of --rpc-allow", TEXT_ARGS(shown));
  else if (find_odd_character(name) != 0)
    warn(lint, "'%.*s' has a '%c', as no class in Java has: a rule has one class, without its parameters",
         TEXT_ARGS(shown), find_odd_character(name));
  else if (text_equal(name, TEXT("*")))
    warn(lint, "'*' matches the classes without a package alone: '**' is for every class");
  else if (is_of_peer(name))
    warn(lint, "has no effect: the peer's own classes are always denied, except "
               "jpeer.peer.CallbackException");
  else if (primitive_is_keyword(name))
    warn(lint, "has no effect: the primitive type '%.*s' is always allowed", TEXT_ARGS(shown));
  else if (is_below_class && begins_with_a_capital(last))
    warn(lint, "'%.*s' names no nested class: if '%.*s' is a class, write '%.*s$%.*s'", TEXT_ARGS(shown),
         TEXT_ARGS(shown_outer), TEXT_ARGS(shown_outer), TEXT_ARGS(shown_last));
  else if (is_below_class && begins_small(last) && !source->is_split)
    warn(lint,
         "matches a class '%.*s': if '%.*s' is a member of '%.*s', name it by 'method', or write 'pattern' "
         "for 'class'",
         TEXT_ARGS(shown), TEXT_ARGS(shown_last), TEXT_ARGS(shown_outer));
  else if (looks_like_package(name) && !source->is_split &&
           policy_pattern_has_wildcard(source->member_pattern))
    warn(lint,
         "matches the class '%.*s' alone: if that is a package, its classes are '%.*s.*', and with its "
         "sub-packages "
         "'%.*s.**'",
         TEXT_ARGS(shown), TEXT_ARGS(shown), TEXT_ARGS(shown));
  else if (looks_like_package(name) && is_any_member)
    warn(lint,
         "a pattern is split at its last dot into class and member, so that this matches the members of a "
         "class "
         "'%.*s': for a package write class: '%.*s.**'",
         TEXT_ARGS(shown), TEXT_ARGS(shown));
}

static void check_member(struct lint *lint, const struct policy_rule_source *source)
{
  struct text member = source->member_pattern;
  struct text shown = policy_shortened(member);
  struct text simple = take_last_segment(source->class_pattern);
  if (has_character(source->class_pattern, '(') || has_character(member, '(') || has_character(member, ')'))
    warn(lint, "has parentheses: a rule names members without parameters, and decides for all overloads");
  else if (!policy_pattern_has_wildcard(member) && has_character(member, '<') &&
           !text_equal_ignore_case(member, TEXT("<init>")))
    warn(lint, "no member is called '%.*s': constructors are <init>", TEXT_ARGS(shown));
  else if (text_equal(member, TEXT("new")))
    warn(lint, "no member in Java is called 'new': constructors are <init>");
  else if (!text_starts_with(member, TEXT("<")) && find_odd_character(member) != 0)
    warn(lint, "'%.*s' has a '%c', as no member in Java has: a rule has one member or a pattern",
         TEXT_ARGS(shown), find_odd_character(member));
  else if (!policy_pattern_has_wildcard(member) && begins_with_a_capital(member) &&
           text_equal(member, simple))
    warn(lint, "'%.*s' is a method or a field of that name: constructors are <init>", TEXT_ARGS(shown));
}

/* ---- rules that decide nothing ---- */

/* Only constructors are called <init>. */
static void check_categories(struct lint *lint, const struct policy_rule *rule)
{
  uint32_t categories = 0;
  for (unsigned category = 0; category < POLICY_CATEGORIES; category++)
    if ((rule->combinations & policy_combinations(1u << category, POLICY_ALL_VISIBILITIES)) != 0)
      categories |= 1u << category;
  bool is_init = policy_pattern_matches(&rule->member_pattern, TEXT("<init>"));
  bool is_init_alone = is_init && rule->member_pattern.segment_count == 0;
  if (categories == CONSTRUCTORS && !is_init)
    warn(lint, "is never used: constructors are called <init>, which the member's pattern does not match");
  else if (is_init_alone && (categories & CONSTRUCTORS) == 0)
    warn(lint, "is never used: <init> is the name of constructors, and 'members' has no CONSTRUCTOR");
}

static bool is_covered(struct lint *lint, const struct policy_rule *general,
                       const struct policy_rule *specific)
{
  return policy_pattern_may_cover(&general->class_pattern, &specific->class_pattern) &&
         lint->comparisons++ < COMPARISONS_MAX &&
         policy_pattern_covers(&general->member_pattern, &specific->member_pattern) &&
         policy_pattern_covers(&general->class_pattern, &specific->class_pattern);
}

/* The lines of the rules that together decide everything before this rule: "4", "4 and 9" or "4, 9, 12,
 * ...". */
struct lines {
  char text[64];
  size_t count;
};

static void add_line(struct lines *lines, int line)
{
  enum { SHOWN = 3 };
  size_t used = strlen(lines->text);
  lines->count++;
  if (lines->count <= SHOWN)
    snprintf(lines->text + used, sizeof lines->text - used, "%s%d", lines->count == 1 ? "" : ", ", line);
  else if (lines->count == SHOWN + 1)
    snprintf(lines->text + used, sizeof lines->text - used, ", ...");
}

/* Removes from the rule all that the rules before it decide. `every`: true: only rules for every class;
 * false: only the other rules. True if nothing remains. */
static bool is_decided_before(struct lint *lint, bool every, struct lines *lines)
{
  const struct policy_rule *rules = lint->document->rules;
  const struct policy_rule *rule = &rules[lint->rule];
  uint32_t left[POLICY_CHANNELS];
  for (unsigned channel = 0; channel < POLICY_CHANNELS; channel++)
    left[channel] = (rule->channels & ~POLICY_EXEMPT_CHANNELS & 1u << channel) != 0 ? rule->combinations : 0;
  for (size_t i = 0; i < lint->rule; i++) {
    if (rules[i].class_pattern.every_name != every || (rules[i].combinations & rule->combinations) == 0)
      continue;
    bool is_useful = false;
    for (unsigned channel = 0; channel < POLICY_CHANNELS; channel++)
      is_useful = is_useful ||
                  ((rules[i].channels & 1u << channel) != 0 && (left[channel] & rules[i].combinations) != 0);
    if (!is_useful || !is_covered(lint, &rules[i], rule))
      continue;
    uint32_t all = 0;
    for (unsigned channel = 0; channel < POLICY_CHANNELS; channel++) {
      if ((rules[i].channels & 1u << channel) != 0)
        left[channel] &= ~rules[i].combinations;
      all |= left[channel];
    }
    add_line(lines, rules[i].line);
    if (all == 0)
      return true;
  }
  return false;
}

/* False if the rule decides nothing. */
static bool check_order(struct lint *lint, const struct policy_rule *rule)
{
  struct lines lines = {0};
  struct lines every = {0};
  if ((rule->channels & ~POLICY_EXEMPT_CHANNELS) == 0) {
    warn(lint, "has no effect: no rule applies on the channels CLI_RPC and REPLAY_INJECTION");
    return false;
  }
  /* A rule for every class does not judge the classes of an object, so a later rule may still do so, unless
   * it is for every class itself. */
  if (is_decided_before(lint, false, &lines)) {
    warn(lint, "is never used: what it matches is decided by the rule%s before it in line%s %s",
         lines.count == 1 ? "" : "s", lines.count == 1 ? "" : "s", lines.text);
    return false;
  }
  if (!is_decided_before(lint, true, &every))
    return true;
  warn(lint,
       rule->class_pattern.every_name
           ? "is never used: what it matches is decided by the rule for every class before it in line %s"
           : "decides nothing about a class that the caller names: the rule for every class in line %s comes "
             "first",
       every.text);
  return false;
}

/* Clients of the WebSocket can use HTTP on the same port. */
static void check_channels(struct lint *lint, const struct policy_rule *rule)
{
  const struct policy_document *document = lint->document;
  bool is_open = document->default_action == POLICY_ALLOW || document->default_action == POLICY_LOG_AND_ALLOW;
  if (rule->allow || (rule->channels & 1u << POLICY_WEBSOCKET) == 0 ||
      (rule->channels & 1u << POLICY_HTTP) != 0)
    return;
  uint32_t left = rule->combinations;
  for (size_t i = 0; i < document->rule_count; i++) {
    const struct policy_rule *other = &document->rules[i];
    if ((other->channels & 1u << POLICY_HTTP) == 0)
      continue;
    is_open = is_open || other->allow;
    if (!other->allow && is_covered(lint, other, rule))
      left &= ~other->combinations;
  }
  if (is_open && left != 0)
    warn(lint, "denies on WEBSOCKET_RPC and not on HTTP_RPC, which every --json-rpc address serves as well");
}

/* ---- dangers that a rule allows ---- */

static bool is_opened(const struct policy_danger *danger, void *context)
{
  const struct lint *lint = context;
  const struct policy_rule *rules = lint->document->rules;
  bool is_constructor = text_equal(danger->member, TEXT("<init>"));
  unsigned categories = is_constructor ? CONSTRUCTORS : 1u << POLICY_METHOD | 1u << POLICY_STATIC_METHOD;
  uint32_t combinations = policy_combinations(categories, 1u << POLICY_PUBLIC);
  for (unsigned channel = 0; channel < POLICY_CHANNELS; channel++) {
    bool is_asked = (POLICY_SERVED_CHANNELS & 1u << channel) != 0 &&
                    policy_rule_applies(&rules[lint->rule], (enum policy_channel)channel, combinations,
                                        danger->class_name, danger->member);
    uint32_t left = is_asked ? combinations : 0;
    for (size_t i = 0; i <= lint->rule && left != 0; i++) {
      if (!policy_rule_applies(&rules[i], (enum policy_channel)channel, left, danger->class_name,
                               danger->member))
        continue;
      if (i == lint->rule)
        return true;
      left &= ~rules[i].combinations;
    }
  }
  return false;
}

static void check_dangers(struct lint *lint, const struct policy_rule *rule,
                          const struct policy_rule_source *source)
{
  if (!rule->allow || !policy_pattern_has_wildcard(source->class_pattern))
    return;
  struct buffer opened;
  struct text shown = policy_shortened(source->class_pattern);
  buffer_init(&opened);
  if (policy_dangers_list(lint->dangers, lint->danger_count, is_opened, lint, &opened) > 0)
    warn(lint, "'%.*s' matches classes of the JDK, and opens %.*s", TEXT_ARGS(shown),
         TEXT_ARGS(buffer_text(&opened)));
  buffer_fini(&opened);
}

/* ---- the document ---- */

enum jp_status policy_lint(const struct policy_document *document, const char *path, struct buffer *out,
                           size_t *count, struct jp_error *error)
{
  struct policy_danger *dangers;
  struct lint lint = {.path = path, .document = document, .out = out, .count = count};
  struct arena arena;
  *count = 0;
  arena_init(&arena);
  enum jp_status status = policy_dangers_read(&arena, &dangers, &lint.danger_count, error);
  lint.dangers = status == JP_OK ? dangers : NULL;
  for (; status == JP_OK && lint.rule < document->rule_count; lint.rule++) {
    const struct policy_rule *rule = &document->rules[lint.rule];
    const struct policy_rule_source *source = &document->sources[lint.rule];
    lint.line = rule->line;
    check_stars(&lint, source->class_pattern);
    check_class(&lint, source);
    check_member(&lint, source);
    check_categories(&lint, rule);
    if (check_order(&lint, rule)) {
      check_channels(&lint, rule);
      check_dangers(&lint, rule, source);
    }
  }
  for (size_t i = 0; status == JP_OK && i < document->idempotent_count; i++) {
    struct text member = document->idempotent[i].source;
    size_t dot = text_find_last(member, '.');
    const struct policy_rule_source source = {.class_pattern = text_slice(member, 0, dot),
                                              .member_pattern = text_slice(member, dot + 1, member.len),
                                              .is_split = true};
    lint.line = document->idempotent[i].line;
    check_stars(&lint, source.class_pattern);
    check_class(&lint, &source);
    check_member(&lint, &source);
  }
  arena_fini(&arena);
  return status == JP_OK && out->failed ? jp_fail_memory(error, NULL) : status;
}

#include "policy/suggested_rules.h"

#include "base/arena.h"
#include "base/array.h"
#include "policy/match.h"
#include "policy/vocabulary.h"

#include <stdlib.h>

/* One visibility of the members of a name: the rule allows each of these categories on each of these channels, so members
 * with different channels have rules of their own. */
struct used_member {
  struct text class_name; /* as a pattern */
  struct text member;
  enum policy_visibility visibility;
  unsigned category; /* 1 << enum policy_category; when written, a set of them */
  unsigned channels; /* set of 1 << enum policy_channel */
  bool is_generated; /* the class has another name in each run of the JVM */
  bool has_no_rule;  /* a name has a '*' or a '?', or is empty */
};

struct policy_suggestion {
  struct arena arena;
  struct array members; /* of struct used_member */
};

enum jp_status policy_suggestion_create(struct policy_suggestion **suggestion, struct jp_error *error)
{
  *suggestion = calloc(1, sizeof **suggestion);
  if (*suggestion == NULL)
    return jp_fail_memory(error, NULL);
  arena_init(&(*suggestion)->arena);
  array_init(&(*suggestion)->members, sizeof(struct used_member));
  return JP_OK;
}

void policy_suggestion_destroy(struct policy_suggestion *suggestion)
{
  if (suggestion == NULL)
    return;
  array_fini(&suggestion->members);
  arena_fini(&suggestion->arena);
  free(suggestion);
}

/* ---- classes that the JVM makes ---- */

/* The part of the name of a class that is the same in each run, of the class of a lambda expression
 * (Api$$Lambda/0x00007f3c) and of a proxy ($Proxy12). The whole name, if the class may have been written. */
static struct text cut_generated(struct text name)
{
  static const char lambda[] = "$$Lambda";
  static const char proxy[] = "$Proxy";
  const char *slash = memchr(name.data, '/', name.len); /* in no name of a class that was written */
  const char *found = memmem(name.data, name.len, lambda, sizeof lambda - 1);
  if (slash != NULL && found != NULL && found < slash)
    return text_slice(name, 0, (size_t)(found - name.data) + sizeof lambda - 1);
  size_t end = name.len;
  while (end > 0 && name.data[end - 1] >= '0' && name.data[end - 1] <= '9')
    end--;
  const char *dot = memrchr(name.data, '.', end);
  const size_t last = dot == NULL ? 0 : (size_t)(dot + 1 - name.data);
  const bool is_proxy = end < name.len && text_equal(text_slice(name, last, end), TEXT(proxy));
  return is_proxy ? text_slice(name, 0, end) : name;
}

/* The pattern of a class. Sets *is_generated. Data NULL: memory is short. */
static struct text make_pattern(struct arena *arena, struct text name, bool *is_generated)
{
  const struct text stem = cut_generated(name);
  const char *slash = memchr(name.data, '/', name.len);
  *is_generated = slash != NULL || stem.len < name.len;
  if (stem.len < name.len)
    return arena_printf(arena, "%.*s*", TEXT_ARGS(stem));
  if (slash == NULL)
    return arena_text(arena, name);
  /* another hidden class (Api/0x00007f3c): a pattern cannot have the '/' */
  return arena_printf(arena, "%.*s?0x*", TEXT_ARGS(text_slice(name, 0, (size_t)(slash - name.data))));
}

/* A pattern would take it for more than this name, or cannot be empty. */
static bool is_no_pattern(struct text name)
{
  return name.len == 0 || memchr(name.data, '*', name.len) != NULL ||
         memchr(name.data, '?', name.len) != NULL;
}

/* ---- adding ---- */

static int compare_texts(struct text a, struct text b)
{
  const size_t length = a.len < b.len ? a.len : b.len;
  const int order = length == 0 ? 0 : memcmp(a.data, b.data, length);
  return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

/* By all but the channels. */
static int compare_members(const void *one, const void *other)
{
  const struct used_member *a = one;
  const struct used_member *b = other;
  int order = compare_texts(a->class_name, b->class_name);
  if (order == 0)
    order = compare_texts(a->member, b->member);
  if (order == 0)
    order = (a->visibility > b->visibility) - (a->visibility < b->visibility);
  return order != 0 ? order : (a->category > b->category) - (a->category < b->category);
}

enum jp_status policy_suggestion_add(struct policy_suggestion *suggestion, const struct policy_query *used,
                                     struct jp_error *error)
{
  bool is_generated;
  const struct text class_name = make_pattern(&suggestion->arena, used->class_name, &is_generated);
  struct used_member *added = array_add(&suggestion->members, 1);
  if (added == NULL)
    return jp_fail_memory(error, NULL);
  *added = (struct used_member){.class_name = class_name,
                                .member = arena_text(&suggestion->arena, used->member_name),
                                .visibility = used->visibility,
                                .category = 1u << used->category,
                                .channels = 1u << used->channel,
                                .is_generated = is_generated,
                                .has_no_rule =
                                    is_no_pattern(used->class_name) || is_no_pattern(used->member_name)};
  return added->class_name.data == NULL || added->member.data == NULL ? jp_fail_memory(error, NULL) : JP_OK;
}

/* ---- writing ---- */

/* Joins equal members into one with all their channels, and then the categories of a name that have the same channels:
 * the rule of such a name allows no combination that was not used. Returns the number of members that are left. */
static size_t join_members(struct used_member *members, size_t count)
{
  size_t kept = 0;
  for (size_t i = 0; i < count; i++) {
    if (kept > 0 && compare_members(&members[kept - 1], &members[i]) == 0)
      members[kept - 1].channels |= members[i].channels;
    else
      members[kept++] = members[i];
  }
  size_t joined = 0;
  for (size_t i = 0; i < kept; i++) {
    size_t with = joined;
    while (with > 0 &&
           (members[with - 1].channels != members[i].channels ||
            members[with - 1].visibility != members[i].visibility) &&
           text_equal(members[with - 1].class_name, members[i].class_name) &&
           text_equal(members[with - 1].member, members[i].member))
      with--;
    const bool fits = with > 0 && text_equal(members[with - 1].class_name, members[i].class_name) &&
                      text_equal(members[with - 1].member, members[i].member);
    if (fits)
      members[with - 1].category |= members[i].category;
    else
      members[joined++] = members[i];
  }
  return joined;
}

/* Appends the character in the form of YAML's double quotes. What cannot be seen is escaped, for the one who reviews it. */
static void append_character(struct buffer *out, struct text character)
{
  enum { ESCAPE_MAX = 16, FOUR_DIGITS = 0xFFFF };
  char shown[ESCAPE_MAX];
  const size_t length = text_escape(character, "", "\"\\", shown, sizeof shown);
  const unsigned long code = shown[0] == '\\' && shown[1] == 'u' ? strtoul(shown + 2, NULL, 16) : 0;
  if (code > FOUR_DIGITS)
    buffer_printf(out, "\\U%08lx", code);
  else
    buffer_append(out, shown, length);
}

/* t: UTF-8 */
static void append_quoted(struct buffer *out, struct text t)
{
  size_t end;
  buffer_append_char(out, '"');
  for (size_t i = 0; i < t.len; i = end) {
    end = i + 1;
    while (end < t.len && ((unsigned char)t.data[end] & 0xC0) == 0x80)
      end++;
    append_character(out, text_slice(t, i, end));
  }
  buffer_append_char(out, '"');
}

/* One word for each bit: the first that means only this bit. */
static void append_set(struct buffer *out, const char *key, const struct policy_vocabulary *vocabulary,
                       unsigned set)
{
  const char *separator = "";
  buffer_printf(out, "    %s: [", key);
  for (size_t i = 0; i < vocabulary->count; i++) {
    const unsigned value = vocabulary->words[i].value;
    if ((set & value) != value || (value & (value - 1)) != 0)
      continue;
    buffer_printf(out, "%s%s", separator, vocabulary->words[i].word);
    separator = ", ";
    set &= ~value;
  }
  BUFFER_LITERAL(out, "]\n");
}

size_t policy_suggestion_write(struct policy_suggestion *suggestion, struct buffer *out)
{
  struct used_member *members = suggestion->members.items;
  if (suggestion->members.count > 0)
    qsort(members, suggestion->members.count, sizeof *members, compare_members);
  suggestion->members.count = join_members(members, suggestion->members.count);
  BUFFER_LITERAL(out, "version: 1\ndefaultAction: DENY\n");
  size_t rules = 0;
  for (size_t i = 0; i < suggestion->members.count; i++) {
    if (members[i].has_no_rule) {
      BUFFER_LITERAL(out, "# Used, but no rule can name it alone: class ");
      append_quoted(out, members[i].class_name);
      BUFFER_LITERAL(out, ", method ");
      append_quoted(out, members[i].member);
      buffer_append_char(out, '\n');
      continue;
    }
    if (rules++ == 0)
      BUFFER_LITERAL(out, "rules:\n");
    if (members[i].is_generated)
      BUFFER_LITERAL(out, "  # The JVM makes this class, with another name in each run.\n");
    BUFFER_LITERAL(out, "  - class: ");
    append_quoted(out, members[i].class_name);
    BUFFER_LITERAL(out, "\n    method: ");
    append_quoted(out, members[i].member);
    BUFFER_LITERAL(out, "\n    action: ALLOW\n");
    append_set(out, "channel", &policy_channel_words, members[i].channels);
    append_set(out, "members", &policy_category_words, members[i].category);
    append_set(out, "visibility", &policy_visibility_words, 1u << members[i].visibility);
  }
  return rules;
}

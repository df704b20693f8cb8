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

/* The part of the name of a class that is the same in each run: of the class of a lambda expression
 * (Api$$Lambda/0x00007f3c), of another hidden class (Api/0x00007f3c), of a proxy ($Proxy12). The whole name, if the class
 * was written. */
static struct text cut_generated(struct text name)
{
  static const char lambda[] = "$$Lambda";
  static const char proxy[] = "$Proxy";
  const char *found = memmem(name.data, name.len, lambda, sizeof lambda - 1);
  if (found != NULL)
    return text_slice(name, 0, (size_t)(found - name.data) + sizeof lambda - 1);
  found = memchr(name.data, '/', name.len);
  if (found != NULL)
    return text_slice(name, 0, (size_t)(found - name.data));
  size_t end = name.len;
  while (end > 0 && name.data[end - 1] >= '0' && name.data[end - 1] <= '9')
    end--;
  const struct text stem = text_slice(name, 0, end);
  return end < name.len && text_ends_with(stem, (struct text){proxy, sizeof proxy - 1}) ? stem : name;
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
  const struct text stem = cut_generated(used->class_name);
  const bool is_generated = stem.len < used->class_name.len;
  struct used_member *added = array_add(&suggestion->members, 1);
  if (added == NULL)
    return jp_fail_memory(error, NULL);
  *added = (struct used_member){.class_name = is_generated
                                                  ? arena_printf(&suggestion->arena, "%.*s*", TEXT_ARGS(stem))
                                                  : arena_text(&suggestion->arena, stem),
                                .member = arena_text(&suggestion->arena, used->member_name),
                                .visibility = used->visibility,
                                .category = 1u << used->category,
                                .channels = 1u << used->channel,
                                .is_generated = is_generated};
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

static void append_quoted(struct buffer *out, struct text t)
{
  buffer_append_char(out, '"');
  for (size_t i = 0; i < t.len; i++) {
    const unsigned char byte = (unsigned char)t.data[i];
    if (byte < 0x20 || byte == 0x7F) {
      buffer_printf(out, "\\x%02x", byte);
      continue;
    }
    if (byte == '"' || byte == '\\')
      buffer_append_char(out, '\\');
    buffer_append_char(out, (char)byte);
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
  if (suggestion->members.count > 0)
    BUFFER_LITERAL(out, "rules:\n");
  for (size_t i = 0; i < suggestion->members.count; i++) {
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
  return suggestion->members.count;
}

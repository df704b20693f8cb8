/*
 * What each preset leaves of policy/dangerous.yaml, the members of the JDK that give access to files, processes, threads, the
 * network, classes and so on: presets/reach.txt has all of it, so that a change of a preset or of the list shows there.
 * `test_reach --write` writes the file anew. Members are judged by their names, as public ones of the class that the list
 * has; test_presets.c judges those of a JDK, and test_examples.c has the policies of the docs.
 */
#include "policy/dangerous.h"
#include "policy/policy.h"
#include "policy/presets.h"

#include "base/buffer.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

enum { PRESETS_MAX = 16, KINDS_MAX = 16 };

static bool is_writing;

struct preset {
  char name[32];
  struct policy *policy;
  size_t left[KINDS_MAX]; /* members of each kind that it allows */
};

struct reach {
  struct arena arena;
  struct policy_danger *dangers;
  size_t danger_count;
  struct preset presets[PRESETS_MAX];
  size_t preset_count;
  struct text kinds[KINDS_MAX];
  size_t sizes[KINDS_MAX];
  size_t left[KINDS_MAX]; /* members that every preset allows */
  size_t kind_count;
};

static void make_presets(struct reach *reach)
{
  const char *at = policy_preset_names; /* "a, b" */
  while (*at != '\0') {
    size_t length = strcspn(at, ",");
    struct preset *preset = &reach->presets[reach->preset_count++];
    assert_true(reach->preset_count <= PRESETS_MAX && length < sizeof preset->name);
    memcpy(preset->name, at, length);
    at += length;
    at += strspn(at, ", ");
    const struct policy_config config = {.presets = preset->name};
    assert_int_equal(policy_create(&config, &preset->policy, NULL), JP_OK);
  }
}

static bool allows(const struct policy *policy, const struct policy_danger *danger)
{
  static const enum policy_category categories[] = {POLICY_METHOD, POLICY_STATIC_METHOD};
  bool is_constructor = text_equal(danger->member, TEXT("<init>"));
  for (size_t i = 0; i < COUNT_OF(categories); i++) {
    const struct policy_query query = {.channel = POLICY_WEBSOCKET,
                                       .category = is_constructor ? POLICY_CONSTRUCTOR : categories[i],
                                       .visibility = POLICY_PUBLIC,
                                       .class_name = danger->class_name,
                                       .member_name = danger->member};
    if (policy_check(policy, &query).allow)
      return true;
  }
  return false;
}

/* The set of presets that deny a member. */
static unsigned denying(const struct reach *reach, const struct policy_danger *danger)
{
  unsigned set = 0;
  for (size_t i = 0; i < reach->preset_count; i++)
    if (!allows(reach->presets[i].policy, danger))
      set |= 1u << i;
  return set;
}

static void count_danger(struct reach *reach, const struct policy_danger *danger, unsigned set)
{
  if (reach->kind_count == 0 || !text_equal(reach->kinds[reach->kind_count - 1], danger->kind)) {
    assert_true(reach->kind_count < KINDS_MAX);
    reach->kinds[reach->kind_count++] = danger->kind;
  }
  size_t kind = reach->kind_count - 1;
  reach->sizes[kind]++;
  reach->left[kind] += set == 0;
  for (size_t i = 0; i < reach->preset_count; i++)
    reach->presets[i].left[kind] += (set & 1u << i) == 0;
}

/* A line for the members of a class that the same presets deny. */
static void write_group(const struct reach *reach, size_t first, size_t end, const unsigned *sets,
                        unsigned set, struct buffer *out)
{
  const char *separator = "";
  buffer_printf(out, "  %.*s [", TEXT_ARGS(reach->dangers[first].class_name));
  for (size_t i = 0; i < reach->preset_count; i++)
    if ((set & 1u << i) != 0) {
      buffer_printf(out, "%s%s", separator, reach->presets[i].name);
      separator = " ";
    }
  buffer_printf(out, "]");
  for (size_t i = first; i < end; i++)
    if (sets[i] == set)
      buffer_printf(out, " %.*s", TEXT_ARGS(reach->dangers[i].member));
  buffer_printf(out, "\n");
}

static bool is_of(const struct policy_danger *danger, const struct policy_danger *other)
{
  return text_equal(danger->kind, other->kind) && text_equal(danger->class_name, other->class_name);
}

static void write_members(const struct reach *reach, const unsigned *sets, struct buffer *out)
{
  for (size_t first = 0, end; first < reach->danger_count; first = end) {
    const struct policy_danger *danger = &reach->dangers[first];
    if (first == 0 || !text_equal(danger[-1].kind, danger->kind))
      buffer_printf(out, "\n%.*s: %.*s\n", TEXT_ARGS(danger->kind), TEXT_ARGS(danger->effect));
    for (end = first; end < reach->danger_count && is_of(&reach->dangers[end], danger);)
      end++;
    for (size_t i = first; i < end; i++) {
      bool is_new = true;
      for (size_t before = first; before < i; before++)
        is_new = is_new && sets[before] != sets[i];
      if (is_new)
        write_group(reach, first, end, sets, sets[i], out);
    }
  }
}

static void write_counts(const struct reach *reach, const char *name, const size_t *left, struct buffer *out)
{
  buffer_printf(out, "%-21s", name);
  for (size_t kind = 0; kind < reach->kind_count; kind++)
    buffer_printf(out, " %.*s %zu", TEXT_ARGS(reach->kinds[kind]), left[kind]);
  buffer_printf(out, "\n");
}

static void write_reach(struct reach *reach, struct buffer *out)
{
  unsigned *sets = arena_calloc(&reach->arena, reach->danger_count, sizeof *sets);
  assert_non_null(sets);
  for (size_t i = 0; i < reach->danger_count; i++) {
    sets[i] = denying(reach, &reach->dangers[i]);
    count_danger(reach, &reach->dangers[i], sets[i]);
  }
  buffer_printf(out,
                "# Written by test_reach --write. The members of policy/dangerous.yaml, with the presets "
                "that deny them.\n"
                "# How many of each kind there are, remain with each preset alone, and remain with all:\n\n");
  write_counts(reach, "all", reach->sizes, out);
  for (size_t i = 0; i < reach->preset_count; i++)
    write_counts(reach, reach->presets[i].name, reach->presets[i].left, out);
  write_counts(reach, "with all presets", reach->left, out);
  write_members(reach, sets, out);
}

static void read_expected(struct buffer *expected)
{
  char piece[4096];
  FILE *file = fopen(LIST, "r");
  assert_non_null(file);
  for (size_t length; (length = fread(piece, 1, sizeof piece, file)) > 0;)
    buffer_append(expected, piece, length);
  fclose(file);
}

/* Names the first line that differs. */
static void compare(const char *actual, const char *expected)
{
  size_t begin = 0;
  size_t at = 0;
  for (; actual[at] != '\0' && actual[at] == expected[at]; at++)
    if (actual[at] == '\n')
      begin = at + 1;
  if (actual[at] == expected[at])
    return;
  actual += begin;
  expected += begin;
  fail_msg("%s has\n%.*s\nand the presets leave\n%.*s\nLook at each change; then write the file: test_reach "
           "--write",
           LIST, (int)strcspn(expected, "\n"), expected, (int)strcspn(actual, "\n"), actual);
}

UNIT_TEST(test_what_each_preset_leaves)
{
  struct reach reach = {0};
  struct buffer actual;
  struct buffer expected;
  arena_init(&reach.arena);
  buffer_init(&actual);
  buffer_init(&expected);
  assert_int_equal(policy_dangers_read(&reach.arena, &reach.dangers, &reach.danger_count, NULL), JP_OK);
  make_presets(&reach);
  write_reach(&reach, &actual);
  buffer_append(&actual, "", 1);
  assert_non_null(actual.data);
  if (is_writing) {
    FILE *file = fopen(LIST, "w");
    assert_non_null(file);
    assert_true(fputs(actual.data, file) >= 0 && fclose(file) == 0);
  } else {
    read_expected(&expected);
    buffer_append(&expected, "", 1);
    assert_non_null(expected.data);
    compare(actual.data, expected.data);
  }
  for (size_t i = 0; i < reach.preset_count; i++)
    policy_destroy(reach.presets[i].policy);
  buffer_fini(&expected);
  buffer_fini(&actual);
  arena_fini(&reach.arena);
}

int main(int argc, char **argv)
{
  is_writing = argc == 2 && strcmp(argv[1], "--write") == 0;
  return UNIT_RUN(NULL, NULL);
}

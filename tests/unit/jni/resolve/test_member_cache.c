/* Tests which members a thread's cache of resolved members finds, without a JVM. */
#include "jni/resolve/member_cache.h"
#include "tests/unit/unit.h"

#include <stdio.h>

enum { ARGUMENTS_MAX = 40 };

static struct jvm_thread thread;

/* Opens a frame for the operation's arguments, as jvm_resolve does. */
struct opened {
  struct call_frame frame;
  jobject objects[ARGUMENTS_MAX];
  uint32_t classes[ARGUMENTS_MAX];
};

static struct call_frame *open_frame(struct opened *opened)
{
  opened->frame.objects = opened->objects;
  opened->frame.classes = opened->classes;
  return &opened->frame;
}

static struct resolved_member *find(const struct operation *operation, struct opened *opened)
{
  return member_cache_find(member_cache_of(&thread), operation, open_frame(opened));
}

static struct resolved_member *keep(const struct operation *operation, struct opened *opened,
                                    struct resolved_member *member)
{
  assert_null(find(operation, opened));
  return member_cache_keep(member_cache_of(&thread), operation, open_frame(opened), member);
}

static int set_up(void **state)
{
  (void)state;
  thread = (struct jvm_thread){0};
  return member_cache_of(&thread) == NULL;
}

static int tear_down(void **state)
{
  (void)state;
  thread.member_cache_destroy(&thread);
  return 0;
}

#define INT(n)                                                                                               \
  {                                                                                                          \
    .kind = OP_INTEGER, .integer = (n)                                                                       \
  }

UNIT_TEST_WITH(a_different_key_is_not_found, set_up, tear_down)
{
  static struct op_value one[] = {INT(1), {.kind = OP_REF, .ref = 5}};
  static struct op_value another[] = {INT(-7), {.kind = OP_REF, .ref = 6}};
  static struct op_value wide[] = {INT(INT64_MAX), {.kind = OP_REF, .ref = 5}};
  static struct op_value truth[] = {{.kind = OP_BOOLEAN}, {.kind = OP_REF, .ref = 5}};
  static struct op_value typed[] = {{.kind = OP_INTEGER, .integer = 1, .type = TEXT("long")},
                                    {.kind = OP_REF, .ref = 5}};
  static struct op_value named[] = {
      {.kind = OP_INTEGER, .integer = 1, .type = TEXT("long"), .is_members_type = true},
      {.kind = OP_REF, .ref = 5}};
  static struct op_value nothing[] = {INT(1), {.kind = OP_NULL}};
  static const struct {
    const char *type;
    const char *member;
    enum op_kind kind;
    struct op_value *args;
    size_t count;
    uint32_t receiver_class;
    uint32_t argument_class; /* of the second argument */
    bool is_found;
  } rows[] = {
      {"a.B", "m", OP_CALL, one, 2, 3, 4, true},    {"a.B", "m", OP_CALL, another, 2, 3, 4, true},
      {"a.C", "m", OP_CALL, one, 2, 3, 4, false},   {"a.B", "n", OP_CALL, one, 2, 3, 4, false},
      {"a.Bm", "", OP_CALL, one, 2, 3, 4, false},   {"a.B", "m", OP_GET, one, 2, 3, 4, false},
      {"a.B", "m", OP_CALL, one, 1, 3, 4, false},   {"a.B", "m", OP_CALL, one, 2, 0, 4, false},
      {"a.B", "m", OP_CALL, one, 2, 3, 9, false},   {"a.B", "m", OP_CALL, wide, 2, 3, 4, false},
      {"a.B", "m", OP_CALL, truth, 2, 3, 4, false}, {"a.B", "m", OP_CALL, typed, 2, 3, 4, false},
      {"a.B", "m", OP_CALL, named, 2, 3, 4, false}, {"a.B", "m", OP_CALL, nothing, 2, 3, 0, false},
  };
  struct resolved_member member = {.action = MEMBER_REFUSE};
  struct resolved_member *kept = NULL;
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    const struct operation operation = {.kind = rows[i].kind,
                                        .type = text_of(rows[i].type),
                                        .member = text_of(rows[i].member),
                                        .args = rows[i].args,
                                        .arg_count = rows[i].count};
    struct opened opened = {.frame = {.receiver_class = rows[i].receiver_class},
                            .classes = {0, rows[i].argument_class}};
    if (i == 0)
      kept = keep(&operation, &opened, &member);
    if ((find(&operation, &opened) == kept) != rows[i].is_found)
      fail_msg("row %zu", i);
  }
}

UNIT_TEST_WITH(the_key_is_a_copy, set_up, tear_down)
{
  char type[] = "a.B";
  char name[] = "m";
  struct op_value argument = {.kind = OP_INTEGER, .type = TEXT("short")};
  struct operation operation = {
      .kind = OP_CALL, .type = text_of(type), .member = text_of(name), .args = &argument, .arg_count = 1};
  struct resolved_member member = {.action = MEMBER_REFUSE};
  struct opened opened = {0};
  struct resolved_member *kept = keep(&operation, &opened, &member);
  type[0] = 'x';
  name[0] = 'x';
  unit_assert_text(kept->name, TEXT("m"), __FILE__, __LINE__);
  operation.type = TEXT("a.B");
  operation.member = TEXT("m");
  assert_ptr_equal(find(&operation, &opened), kept);
}

UNIT_TEST_WITH(a_choice_is_valid_only_for_its_judge, set_up, tear_down)
{
  const struct operation operation = {.kind = OP_CALL, .type = TEXT("a.B"), .member = TEXT("m")};
  struct resolved_member member = {.action = MEMBER_REFUSE, .stamp = 7};
  struct opened seven = {.frame = {.stamp = 7}};
  struct opened eight = {.frame = {.stamp = 8}};
  struct resolved_member *kept = keep(&operation, &seven, &member);
  assert_ptr_equal(find(&operation, &seven), kept);
  assert_null(find(&operation, &eight));
  member.stamp = 8;
  struct resolved_member *second = keep(&operation, &eight, &member);
  assert_ptr_equal(find(&operation, &eight), second);
  assert_ptr_equal(find(&operation, &seven), kept);
}

UNIT_TEST_WITH(a_key_that_is_too_large_is_not_kept, set_up, tear_down)
{
  char name[KEY_TEXTS_MAX + 1];
  memset(name, 'n', sizeof name);
  struct op_value arguments[KEY_ARGUMENTS_MAX + 1] = {{.kind = OP_NULL}};
  const struct operation operations[] = {
      {.kind = OP_CALL, .type = TEXT(""), .member = {name, sizeof name}},
      {.kind = OP_CALL,
       .type = TEXT("a.B"),
       .member = TEXT("m"),
       .args = arguments,
       .arg_count = COUNT_OF(arguments)},
  };
  struct resolved_member member = {.action = MEMBER_REFUSE};
  for (size_t i = 0; i < COUNT_OF(operations); i++) {
    struct opened opened = {0};
    assert_ptr_equal(keep(&operations[i], &opened, &member), &member);
    assert_null(find(&operations[i], &opened));
  }
}

static void keep_others(unsigned count)
{
  static unsigned last;
  struct resolved_member member = {.action = MEMBER_REFUSE};
  for (unsigned i = 0; i < count; i++) {
    char name[16];
    snprintf(name, sizeof name, "n%u", last++);
    const struct operation operation = {.kind = OP_CALL, .type = TEXT("a.B"), .member = text_of(name)};
    struct opened opened = {0};
    (void)keep(&operation, &opened, &member);
  }
}

/* A member that a request has found is valid until the cache has been emptied twice. */
UNIT_TEST_WITH(a_full_cache_begins_empty, set_up, tear_down)
{
  const struct operation operation = {.kind = OP_CALL, .type = TEXT("a.B"), .member = TEXT("m")};
  struct resolved_member member = {.action = MEMBER_REFUSE, .modifiers = 11};
  struct opened opened = {0};
  struct resolved_member *kept = keep(&operation, &opened, &member);
  struct member_cache *cache = member_cache_of(&thread);
  uint64_t serial = cache->serial;
  while (cache->serial == serial)
    keep_others(1);
  assert_int_equal(kept->modifiers, 11);
  assert_null(find(&operation, &opened));
  assert_true(cache->count < 10);
}

UNIT_MAIN

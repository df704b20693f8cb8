/* The arguments of a metadata query, by place and by name. */
#include "messages_bench.h"
#include "rpc/colfer/params.h"
#include "show_operation.h"
#include "tests/unit/unit.h"

#define FLAG(text)                                                                                           \
  {                                                                                                          \
    .value = TEXT(text), .clazz = NAMED_CLASS("boolean")                                                     \
  }
#define LIST(text)                                                                                           \
  {                                                                                                          \
    .value = TEXT(text), .clazz = NAMED_CLASS("[Ljava.lang.String;")                                         \
  }
#define NAMED(name, rest)                                                                                    \
  {                                                                                                          \
    .value = TEXT("{\"name\":\"" name "\"," rest "}")                                                        \
  }

static enum jp_status read_query(struct arena *arena, const struct colfer_message *message,
                                 struct operation *operation, struct outcome *outcome)
{
  const struct rpc_colfer_rules rules = {.json = {.max_depth = 10}, .digits_max = 20};
  struct rpc_colfer_request request;
  struct buffer bytes;
  buffer_init(&bytes);
  encode_message(&bytes, message);
  struct text copy = arena_text(arena, buffer_text(&bytes));
  buffer_fini(&bytes);
  assert_int_equal(rpc_colfer_request_read(copy, arena, &request, outcome), JP_OK);
  return rpc_colfer_operation_read(&request, &rules, arena, operation, outcome);
}

static void takes_arguments_by_place_and_by_name(void **state)
{
  (void)state;
  const struct {
    struct colfer_message message;
    const char *wanted;
  } cases[] = {
      {META_MESSAGE(.service = 1), "meta compress=1 merge=0 exclude=- include=-"},
      {META_MESSAGE(.service = 1, .params = OBJS(FLAG("false"))),
       "meta compress=0 merge=0 exclude=- include=-"},
      {META_MESSAGE(.service = 1,
                    .params = OBJS(FLAG("false"), FLAG("true"), LIST("[\"a\",\"b\"]"), LIST("[]"))),
       "meta compress=0 merge=1 exclude=a,b include="},
      {META_MESSAGE(.service = 1, .params = OBJS({.is_null = true}, {.value = TEXT("null")},
                                                 {.value = TEXT("")}, {.value = TEXT("[\"C\"]")})),
       "meta compress=1 merge=0 exclude=- include=C"},
      {META_MESSAGE(.service = 1,
                    .params = OBJS({.value = TEXT("true"), .clazz = NAMED_CLASS("Boolean")},
                                   {.value = TEXT("true"), .clazz = NAMED_CLASS("java.lang.Boolean")},
                                   {.value = TEXT("[\"a\"]"), .clazz = NAMED_CLASS("String[]")})),
       "meta compress=1 merge=1 exclude=a include=-"},
      {META_MESSAGE(.service = 1,
                    .params = OBJS(NAMED("include_classes", "\"value\":[\"C\"]"),
                                   NAMED("compress_encode", "\"type\":\"boolean\",\"value\":false"))),
       "meta compress=0 merge=0 exclude=- include=C"},
      {META_MESSAGE(.service = 1, .params = OBJS(NAMED("exclude_prefixes",
                                                       "\"type\":\"java.lang.String[]\",\"value\":null"))),
       "meta compress=1 merge=0 exclude=- include=-"},
  };
  struct buffer shown;
  buffer_init(&shown);
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct arena arena;
    struct operation operation;
    struct outcome outcome;
    arena_init(&arena);
    if (read_query(&arena, &cases[i].message, &operation, &outcome) != JP_OK)
      fail_msg("%s: %.*s", cases[i].wanted, TEXT_ARGS(outcome.message));
    show_operation(&shown, &operation);
    unit_assert_text(buffer_text(&shown), text_of(cases[i].wanted), __FILE__, __LINE__);
    arena_fini(&arena);
  }
  buffer_fini(&shown);
}

static void says_what_is_wrong(void **state)
{
  (void)state;
  const struct {
    struct colfer_message message;
    const char *error;
  } cases[] = {
      {META_MESSAGE(.service = 1, .params = OBJS({.value = TEXT("1")})),
       "'compress_encode' must be true or false"},
      {META_MESSAGE(.service = 1, .params = OBJS({.ref = 1})), "'compress_encode' must be true or false"},
      {META_MESSAGE(.service = 1, .params = OBJS({.value = TEXT("true"), .clazz = NAMED_CLASS("int")})),
       "'compress_encode' has type boolean"},
      {META_MESSAGE(.service = 1, .params = OBJS({.value = TEXT("true"), .clazz = NAMED_CLASS("?")})),
       "'compress_encode' has type boolean"},
      {META_MESSAGE(.service = 1,
                    .params = OBJS({.is_null = true}, {.is_null = true}, {.value = TEXT("\"a\"")})),
       "'exclude_prefixes' must be an array of strings or null"},
      {META_MESSAGE(.service = 1,
                    .params = OBJS({.is_null = true}, {.is_null = true}, {.value = TEXT("[1]")})),
       "'exclude_prefixes' must be an array of strings or null"},
      {META_MESSAGE(.service = 1, .params = OBJS({.is_null = true}, {.is_null = true}, FLAG("true"))),
       "'exclude_prefixes' has type java.lang.String[]"},
      {META_MESSAGE(.service = 1, .params = OBJS({.ref = 0}, {.ref = 0}, {.ref = 0}, {.ref = 0}, {.ref = 0})),
       "argument 4 is one too many"},
      {META_MESSAGE(.service = 1, .params = OBJS(FLAG("true"), NAMED("merge_ancestry", "\"value\":true"))),
       "argument 1 has a name, and others have none"},
      {META_MESSAGE(.service = 1, .params = OBJS(NAMED("merge_ancestry", "\"value\":true"), FLAG("true"))),
       "argument 1 has no name, and others have one"},
      {META_MESSAGE(.service = 1, .params = OBJS({.value = TEXT("{}")})), "argument 0 has no 'name'"},
      {META_MESSAGE(.service = 1, .params = OBJS(NAMED("x", "\"value\":1"))),
       "argument 0 must be named compress_encode, merge_ancestry, exclude_prefixes or include_classes"},
      {META_MESSAGE(.service = 1, .params = OBJS({.value = TEXT("{\"name\":1,\"value\":1}")})),
       "argument 0 must be named compress_encode, merge_ancestry, exclude_prefixes or include_classes"},
      {META_MESSAGE(.service = 1, .params = OBJS(NAMED("merge_ancestry", "\"type\":\"boolean\""))),
       "'merge_ancestry' has no 'value'"},
      {META_MESSAGE(.service = 1, .params = OBJS(NAMED("merge_ancestry", "\"type\":1,\"value\":true"))),
       "argument 0 has a 'type' that is no string"},
      {META_MESSAGE(.service = 1, .params = OBJS(NAMED("merge_ancestry", "\"value\":true"),
                                                 NAMED("merge_ancestry", "\"value\":true"))),
       "'merge_ancestry' is given twice"},
      {META_MESSAGE(.service = 1, .params = OBJS({.value = TEXT("{")})),
       "argument 0: the value is no JSON text: byte 1: unexpected end"},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct arena arena;
    struct operation operation;
    struct outcome outcome;
    arena_init(&arena);
    if (read_query(&arena, &cases[i].message, &operation, &outcome) == JP_OK)
      fail_msg("it was taken: %s", cases[i].error);
    unit_assert_text(outcome.message, text_of(cases[i].error), __FILE__, __LINE__);
    assert_null(outcome.status.data);
    arena_fini(&arena);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(takes_arguments_by_place_and_by_name),
      cmocka_unit_test(says_what_is_wrong),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

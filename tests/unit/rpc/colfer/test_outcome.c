/* Outcomes as binary answers. */
#include "messages_bench.h"
#include "rpc/colfer/outcome.h"
#include "tests/unit/unit.h"

#include <stdio.h>

static const struct rpc_reached_member a_method = {
    .class_name = TEXT("C"), .member = TEXT("m"), .modifiers = 9};
static const struct rpc_reached_member a_constructor = {
    .class_name = TEXT("C"), .member = TEXT("<init>"), .modifiers = 1};
static const struct rpc_reached_member a_field = {
    .class_name = TEXT("C"), .member = TEXT("f"), .is_field = true, .modifiers = 2};
static const struct rpc_reached_member nothing;

#define FROM_METHOD "from: {method: {clazz: {name: \"C\"}, name: \"m\", modifiers: 9}}"

static void check_answer(const struct outcome *outcome, struct rpc_colfer_answer answer, const char *wanted)
{
  struct arena arena;
  struct buffer out;
  struct buffer scratch;
  struct buffer shown;
  arena_init(&arena);
  buffer_init(&out);
  buffer_init(&scratch);
  buffer_init(&shown);
  BUFFER_LITERAL(&scratch, "the body");
  answer.request_id = TEXT("1");
  answer.id = TEXT("00000000-0000-0000-0000-000000000000");
  answer.arena = &arena;
  answer.scratch = &scratch;
  BUFFER_LITERAL(&out, "before");
  rpc_colfer_answer_write(&out, outcome, &answer);
  struct text written = buffer_text(&out);
  assert_false(out.failed);
  show_answer(&shown, text_slice(written, strlen("before"), written.len));
  unit_assert_text(text_of(shown.data), text_of(wanted), __FILE__, __LINE__);
  buffer_fini(&shown);
  buffer_fini(&scratch);
  buffer_fini(&out);
  arena_fini(&arena);
}

#define RETURNED(rest)                                                                                       \
  "{message_type: 11, exec_message: {response_to_id: \"1\", return_value: {" rest FROM_METHOD "}}}"
#define A_VALUE(name, ...)                                                                                   \
  {                                                                                                          \
    .kind = OUTCOME_VALUE, .type = TEXT(name), __VA_ARGS__                                                   \
  }

static void tells_what_came_back(void **state)
{
  (void)state;
  static const int32_t numbers[] = {1, -2};
  static struct op_value items[] = {{.kind = OP_TEXT, .text = TEXT("a")}, {.kind = OP_NULL}};
  static struct op_entry entries[] = {{TEXT("k"), {.kind = OP_INTEGER, .integer = 5}}};
  static const struct {
    struct outcome outcome;
    const char *wanted;
  } cases[] = {
      {{.kind = OUTCOME_VOID}, RETURNED("is_void: true, ")},
      {A_VALUE("int", .has_value = true, .value = {.kind = OP_INTEGER, .integer = -8}),
       RETURNED("object: {value: \"-8\", clazz: {name: \"int\"}}, ")},
      {A_VALUE("double", .has_value = true, .value = {.kind = OP_DOUBLE, .decimal = 1.0 / 0.0}),
       RETURNED("object: {value: \"\\x22Infinity\\x22\", clazz: {name: \"double\"}}, ")},
      {A_VALUE("boolean", .has_value = true, .value = {.kind = OP_BOOLEAN}),
       RETURNED("object: {value: \"false\", clazz: {name: \"boolean\"}}, ")},
      {A_VALUE("char", .has_value = true, .value = {.kind = OP_CHAR, .integer = 0xD800}),
       RETURNED("object: {value: \"\\x22\\x5cud800\\x22\", clazz: {name: \"char\"}}, ")},
      {A_VALUE("java.lang.String", .has_value = true, .value = {.kind = OP_TEXT, .text = TEXT("")}),
       RETURNED("object: {value: \"\\x22\\x22\", clazz: {name: \"java.lang.String\"}}, ")},
      {A_VALUE("java.lang.String", .has_value = true,
               .value = {.kind = OP_TEXT, .text = TEXT("\xED\xB0\x80\xC3\xA9")}),
       RETURNED("object: {value: \"\\x22\\x5cudc00\xC3\xA9\\x22\", clazz: {name: \"java.lang.String\"}}, ")},
      {A_VALUE("T", .is_null = true), RETURNED("object: {clazz: {name: \"T\"}, is_null: true}, ")},
      {A_VALUE("T", .ref = 3), RETURNED("object: {clazz: {name: \"T\"}, ref: 3}, ")},
      {A_VALUE("[I", .ref = 3, .has_value = true,
               .value = {.kind = OP_PACKED, .packed = {.data = numbers, .count = 2, .element = 'I'}}),
       RETURNED("object: {value: \"[1,-2]\", clazz: {name: \"[I\"}, ref: 3}, ")},
      {A_VALUE("java.util.ArrayList", .ref = 4, .has_value = true,
               .value = {.kind = OP_LIST, .list = {items, 2}}),
       RETURNED("object: {value: \"[\\x22a\\x22,null]\", clazz: {name: \"java.util.ArrayList\"}, ref: 4}, ")},
      {A_VALUE("java.util.HashMap", .ref = 4, .has_value = true,
               .value = {.kind = OP_MAP, .map = {entries, 1}}),
       RETURNED("object: {value: \"{\\x22k\\x22:5}\", clazz: {name: \"java.util.HashMap\"}, ref: 4}, ")},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    check_answer(&cases[i].outcome,
                 (struct rpc_colfer_answer){.asked = COLFER_CALLS_CLASS_METHOD, .from = &a_method},
                 cases[i].wanted);
}

static void tells_which_member_was_reached(void **state)
{
  (void)state;
  const struct outcome done = {.kind = OUTCOME_VOID};
  check_answer(&done, (struct rpc_colfer_answer){.asked = COLFER_CALLS_CONSTRUCTOR, .from = &a_constructor},
               "{message_type: 11, exec_message: {response_to_id: \"1\", return_value: {is_void: true, from: "
               "{constructor: {clazz: {name: \"C\"}}}}}}");
  check_answer(&done, (struct rpc_colfer_answer){.asked = COLFER_GETS_STATIC, .from = &a_field},
               "{message_type: 11, exec_message: {response_to_id: \"1\", return_value: {is_void: true, from: "
               "{field: {clazz: {name: \"C\"}, name: \"f\", modifiers: 2}}}}}");
  check_answer(
      &done, (struct rpc_colfer_answer){.asked = COLFER_PUTS_STATIC, .from = &a_field},
      "{message_type: 8, exec_message: {response_to_id: \"1\", static_field_put_done: {field: {clazz: "
      "{name: \"C\"}, name: \"f\", modifiers: 2}, static_field_put_id: \"1\"}}}");
  check_answer(
      &done, (struct rpc_colfer_answer){.asked = COLFER_PUTS_FIELD, .from = &a_field},
      "{message_type: 9, exec_message: {response_to_id: \"1\", instance_field_put_done: {field: {clazz: "
      "{name: \"C\"}, name: \"f\", modifiers: 2}, instance_field_put_id: \"1\"}}}");
}

#define RAISED(rest) "{message_type: 10, exec_message: {response_to_id: \"1\", raised_throwable: {" rest "}}}"
#define AN_ERROR(what, ...)                                                                                  \
  {                                                                                                          \
    .kind = OUTCOME_ERROR, .failure = (what), .message = TEXT("why"), __VA_ARGS__                            \
  }

static void gives_each_failure_a_throwable(void **state)
{
  (void)state;
  static const struct {
    struct outcome outcome;
    const char *wanted;
  } cases[] = {
#define CASE(failure, type)                                                                                  \
  {AN_ERROR(failure, .throwable_type = TEXT_ABSENT),                                                         \
   RAISED("throwable: {type: \"" type "\", message: \"why\"}")}
      CASE(FAILURE_INVALID_REQUEST, "java.lang.IllegalArgumentException"),
      CASE(FAILURE_INVALID_PARAMS, "java.lang.IllegalArgumentException"),
      CASE(FAILURE_NOT_FOUND, "java.lang.NoSuchMethodException"),
      CASE(FAILURE_SERVER, "java.lang.IllegalStateException"),
      CASE(FAILURE_DENIED, "io.quasient.pal.core.rpc.policy.RpcAccessDeniedException"),
      CASE(FAILURE_INTERNAL, "java.lang.InternalError"),
      CASE(FAILURE_NOT_SAFE, "java.lang.IllegalStateException"),
#undef CASE
      {AN_ERROR(FAILURE_SERVER, .throwable_type = TEXT("T")),
       RAISED("throwable: {type: \"T\", message: \"why\"}")},
      {AN_ERROR(FAILURE_DENIED, .throwable_type = TEXT("T")),
       RAISED("throwable: {type: \"io.quasient.pal.core.rpc.policy.RpcAccessDeniedException\", message: "
              "\"why\"}")},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    check_answer(
        &cases[i].outcome,
        (struct rpc_colfer_answer){.asked = COLFER_PUTS_STATIC, .from = i % 2 == 0 ? &nothing : NULL},
        cases[i].wanted);
}

static void tells_frames_and_causes_as_utf8(void **state)
{
  (void)state;
  struct text frames[] = {TEXT("C.m(C.java:1)"), TEXT("\xED\xA0\x80x\xED\xA0\x80")};
  struct text more[] = {TEXT("D.n(D.java:2)")};
  struct outcome_throwable last = {.type = TEXT("Z"), .message = TEXT_ABSENT};
  struct outcome_throwable cause = {
      .type = TEXT("Y"), .message = TEXT("\xED\xA0\x80"), .frames = more, .frame_count = 1, .cause = &last};
  struct outcome_throwable thrown = {.frames = frames, .frame_count = 2, .cause = &cause};
  const struct outcome outcome = {.kind = OUTCOME_ERROR,
                                  .failure = FAILURE_SERVER,
                                  .message = TEXT("a\xED\xB0\x80\xED\xB0\x80"
                                                  "b"),
                                  .throwable_type = TEXT("X"),
                                  .throwable = &thrown};
  check_answer(&outcome, (struct rpc_colfer_answer){.asked = COLFER_CALLS_CLASS_METHOD, .from = &a_method},
               RAISED(FROM_METHOD
                      ", modifiers: 9, throwable: {type: \"X\", message: \"a\xEF\xBF\xBD\xEF\xBF\xBD"
                      "b\", stack_trace_elements: [\"C.m(C.java:1)\", "
                      "\"\xEF\xBF\xBDx\xEF\xBF\xBD\"], cause: {type: \"Y\", message: "
                      "\"\xEF\xBF\xBD\", stack_trace_elements: [\"D.n(D.java:2)\"], cause: {type: "
                      "\"Z\"}}}"));
}

static void cuts_the_list_of_frames(void **state)
{
  (void)state;
  enum { FRAMES = COLFER_LIST_MAX + 1 };
  struct text *frames = test_calloc(FRAMES, sizeof *frames);
  for (size_t i = 0; i < FRAMES; i++)
    frames[i] = TEXT("f");
  struct outcome_throwable thrown = {.frames = frames, .frame_count = FRAMES};
  const struct outcome outcome = AN_ERROR(FAILURE_SERVER, .throwable = &thrown);
  check_answer(&outcome, (struct rpc_colfer_answer){.from = NULL},
               RAISED("throwable: {type: \"java.lang.IllegalStateException\", message: \"why\", "
                      "stack_trace_elements: [\"f\", \"f\", \"f\", \"f\", \"f\", \"f\", \"f\", \"f\", \"f\", "
                      "\"f\", \"f\", \"f\", \"f\", \"f\", \"f\", \"f\"... (65520 more elements)]}"));
  test_free(frames);
}

static void answers_control_and_metadata(void **state)
{
  (void)state;
  static const struct {
    struct outcome outcome;
    const char *rest;
  } cases[] = {
      {{.kind = OUTCOME_VOID}, "status: 1"},
      {AN_ERROR(FAILURE_SERVER, .is_unknown_ref = true), "status: 6, body: \"why\""},
      {AN_ERROR(FAILURE_NOT_FOUND, .status = TEXT("UNSUPPORTED")), "status: 4, body: \"why\""},
      {AN_ERROR(FAILURE_SERVER, .status = TEXT("ERROR")), "status: 2, body: \"why\""},
      {AN_ERROR(FAILURE_DENIED, .status = TEXT_ABSENT), "status: 3, body: \"why\""},
      {{.kind = OUTCOME_ERROR, .message = TEXT("\xED\xB0\x80")}, "status: 2, body: \"\xEF\xBF\xBD\""},
      {{.kind = OUTCOME_BODY}, "status: 1, body: \"the body\""}, /* of metadata alone */
  };
  char wanted[256];
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    snprintf(wanted, sizeof wanted,
             "{message_type: 61, meta_message: {response_to_id: \"1\", service: 1, %s}}", cases[i].rest);
    check_answer(&cases[i].outcome, (struct rpc_colfer_answer){.part = RPC_COLFER_META, .command = 1},
                 wanted);
    if (cases[i].outcome.kind == OUTCOME_BODY)
      continue;
    snprintf(wanted, sizeof wanted,
             "{message_type: 32, control_message: {response_to_id: \"1\", command: 3, %s}}", cases[i].rest);
    check_answer(&cases[i].outcome, (struct rpc_colfer_answer){.part = RPC_COLFER_CONTROL, .command = 3},
                 wanted);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tells_what_came_back),           cmocka_unit_test(tells_which_member_was_reached),
      cmocka_unit_test(gives_each_failure_a_throwable), cmocka_unit_test(tells_frames_and_causes_as_utf8),
      cmocka_unit_test(cuts_the_list_of_frames),        cmocka_unit_test(answers_control_and_metadata),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Binary requests as operations. */
#include "messages_bench.h"
#include "rpc/colfer/params.h"
#include "show_operation.h"
#include "tests/unit/unit.h"

#include <stdio.h>

struct bench {
  struct arena arena;
  struct buffer bytes;
  struct buffer shown;
  struct operation operation;
  struct outcome outcome;
};

static int set_up(void **state)
{
  struct bench *bench = test_calloc(1, sizeof *bench);
  arena_init(&bench->arena);
  *state = bench;
  return 0;
}

static int tear_down(void **state)
{
  struct bench *bench = *state;
  arena_fini(&bench->arena);
  buffer_fini(&bench->bytes);
  buffer_fini(&bench->shown);
  test_free(bench);
  return 0;
}

static enum jp_status read_message(struct bench *bench, const struct colfer_message *message, bool compat_pal)
{
  const struct rpc_colfer_rules rules = {
      .json = {.max_depth = 3}, .digits_max = 20, .compat_pal = compat_pal};
  struct rpc_colfer_request request;
  encode_message(&bench->bytes, message);
  arena_reset(&bench->arena);
  assert_int_equal(
      rpc_colfer_request_read(buffer_text(&bench->bytes), &bench->arena, &request, &bench->outcome), JP_OK);
  return rpc_colfer_operation_read(&request, &rules, &bench->arena, &bench->operation, &bench->outcome);
}

static void check_operation(struct bench *bench, const struct colfer_message *message, const char *wanted)
{
  if (read_message(bench, message, false) != JP_OK)
    fail_msg("%s: %.*s", wanted, TEXT_ARGS(bench->outcome.message));
  show_operation(&bench->shown, &bench->operation);
  unit_assert_text(buffer_text(&bench->shown), text_of(wanted), __FILE__, __LINE__);
}

static void check_error(struct bench *bench, const struct colfer_message *message, const char *wanted)
{
  if (read_message(bench, message, false) == JP_OK)
    fail_msg("it was taken: %s", wanted);
  assert_int_equal(bench->outcome.kind, OUTCOME_ERROR);
  unit_assert_text(bench->outcome.message, text_of(wanted), __FILE__, __LINE__);
}

static void reads_each_kind_of_request(void **state)
{
  const struct {
    struct colfer_message message;
    const char *wanted;
  } cases[] = {
      {NEW_OF(.args = OBJS({.value = TEXT("5")})), "new C <init> 5"},
      {CALL_OF("add", .args = OBJS({.value = TEXT("5")}, {.value = TEXT("3")})), "call C add 5 3"},
      {CALL_OF("size"), "call C size"},
      {EXEC(COLFER_CALLS_INSTANCE_METHOD,
            .instance_method_call = &(struct colfer_instance_method_call){.clazz = NAMED_CLASS("C"),
                                                                          .name = TEXT("m"),
                                                                          .object_ref = 7}),
       "call C m on @7"},
      {EXEC(COLFER_CALLS_INSTANCE_METHOD,
            .instance_method_call =
                &(struct colfer_instance_method_call){.clazz = NAMED_CLASS("C"), .name = TEXT("m")}),
       "call C m"},
      {EXEC(COLFER_GETS_STATIC,
            .static_field_get =
                &(struct colfer_static_field_get){.clazz = NAMED_CLASS("C"), .field = NAMED_FIELD("f")}),
       "get C f"},
      {EXEC(COLFER_GETS_FIELD,
            .instance_field_get = &(struct colfer_instance_field_get){.clazz = NAMED_CLASS("C"),
                                                                      .object_ref = 7,
                                                                      .field = NAMED_FIELD("f")}),
       "get C f on @7"},
      {EXEC(COLFER_PUTS_STATIC,
            .static_field_put =
                &(struct colfer_static_field_put){.clazz = NAMED_CLASS("C"),
                                                  .field = NAMED_FIELD("f"),
                                                  .value_object = &(struct colfer_obj){.value = TEXT("5")}}),
       "put C f 5"},
      {EXEC(COLFER_PUTS_STATIC,
            .static_field_put = &(struct colfer_static_field_put){.clazz = NAMED_CLASS("C"),
                                                                  .field = NAMED_FIELD("f"),
                                                                  .value_object_ref = 9}),
       "put C f @9"},
      {EXEC(COLFER_PUTS_FIELD, .instance_field_put =
                                   &(struct colfer_instance_field_put){
                                       .clazz = NAMED_CLASS("C"),
                                       .object_ref = 7,
                                       .field = NAMED_FIELD("f"),
                                       .value_object = &(struct colfer_obj){.clazz = NAMED_CLASS("T")},
                                       .value_object_ref = 9}),
       "put C f on @7 (T)@9"},
      {EXEC(COLFER_GETS_FIELD,
            .instance_field_get = &(struct colfer_instance_field_get){.clazz = NAMED_CLASS("C[]"),
                                                                      .object_ref = 7,
                                                                      .field = NAMED_FIELD("[3:]")}),
       "get C[] [] on @7 piece [3:]"},
      {CONTROL_MESSAGE(.command = COLFER_PING), "control ping"},
      {CONTROL_MESSAGE(.command = COLFER_GC), "control gc"},
      {CONTROL_MESSAGE(.command = COLFER_DELETE_SESSION), "control delete_session"},
      {CONTROL_MESSAGE(.command = COLFER_DELETE_OBJECT, .params = OBJS({.ref = 1}, {.ref = 2})),
       "control delete_object @1 @2"},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    check_operation(*state, &cases[i].message, cases[i].wanted);
}

static void reads_values(void **state)
{
  const struct {
    struct colfer_obj obj;
    const char *wanted;
  } cases[] = {
      {{.value = TEXT("42")}, "42"},
      {{.value = TEXT("42l")}, "42l"},
      {{.value = TEXT(" \"Alice\" ")}, "'Alice'"},
      {{.value = TEXT("[1,null]")}, "[1,null]"},
      {{.value = TEXT("{\"a\":1}")}, "{a=1}"},
      {{.value = TEXT("{\"ref\":1}")}, "{ref=1}"}, /* a map: an object of the session is named by the Obj */
      {{.value = TEXT("[{\"ref\":1}]")}, "[@1]"},
      {{.value = TEXT("null")}, "null"},
      {{.value = TEXT("5"), .clazz = NAMED_CLASS("long")}, "(long)5"},
      {{.value = TEXT("[1,2]"), .clazz = NAMED_CLASS("[I")}, "([I)I{1,2}"},
      {{.value = TEXT("[\"a\"]"), .clazz = NAMED_CLASS("[Ljava.lang.String;")}, "([Ljava.lang.String;)['a']"},
      {{.value = TEXT("{\"type\":\"int\",\"value\":1}"), .clazz = NAMED_CLASS("java.util.Map")},
       "(java.util.Map){type='int',value=1}"},
      {{.ref = 3}, "@3"},
      {{.ref = 3, .clazz = NAMED_CLASS("T")}, "(T)@3"},
      {{.value = TEXT("[1]"), .clazz = NAMED_CLASS("[I"), .ref = 3}, "([I)@3"},
      {{.is_null = true}, "null"},
      {{TEXT("5"), NAMED_CLASS("T"), 3, true}, "(T)null"},
      {{.clazz = NAMED_CLASS("T")}, "(T)null"},
      {{.clazz = NAMED_CLASS("")}, "null"},
      {{.value = TEXT("")}, "null"},
  };
  char wanted[128];
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    const struct colfer_message argument = CALL_OF("m", .args = OBJS(cases[i].obj));
    const struct colfer_message put =
        EXEC(COLFER_PUTS_STATIC, .static_field_put = &(struct colfer_static_field_put){
                                     .clazz = NAMED_CLASS("C"),
                                     .field = NAMED_FIELD("m"),
                                     .value_object = (struct colfer_obj[]){cases[i].obj}});
    snprintf(wanted, sizeof wanted, "call C m %s", cases[i].wanted);
    check_operation(*state, &argument, wanted);
    snprintf(wanted, sizeof wanted, "put C m %s", cases[i].wanted);
    check_operation(*state, &put, wanted);
  }
}

static void says_what_is_wrong_with_a_value(void **state)
{
  const struct {
    struct colfer_obj obj;
    const char *error; /* behind its place */
  } cases[] = {
      {{.value = TEXT("Alice")}, ": the value is no JSON text: byte 0: unexpected character"},
      {{.value = TEXT("5 6")}, ": the value is no JSON text: byte 2: text after the end of the value"},
      {{.value = TEXT(" ")}, ": the value is no JSON text: byte 1: unexpected end"},
      {{.value = TEXT("[[[[1]]]]")}, ": the value passes the depth limit of 3 at byte 3"},
      {{.value = TEXT("123456789012345678901")},
       ": a number has more digits than the limit of 20 (number-digits-max)"},
      {{.ref = 0x80000000}, ": 'ref' must be an integer from 1 to 2147483647"},
      {{.value = TEXT("[{\"ref\":0}]")}, ": 'ref' must be an integer from 1 to 2147483647"},
      {{.value = TEXT("[{\"ref\":1,\"ref\":2}]")}, ": 'ref' is given twice"},
      {{.value = TEXT("\"a\""), .clazz = NAMED_CLASS("[I")}, " (int[]): 'value' must be an array or null"},
  };
  char wanted[256];
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    const struct colfer_message argument = CALL_OF("m", .args = OBJS({.value = TEXT("1")}, cases[i].obj));
    const struct colfer_message put =
        EXEC(COLFER_PUTS_STATIC, .static_field_put = &(struct colfer_static_field_put){
                                     .clazz = NAMED_CLASS("C"),
                                     .field = NAMED_FIELD("m"),
                                     .value_object = (struct colfer_obj[]){cases[i].obj}});
    snprintf(wanted, sizeof wanted, "argument 1%s", cases[i].error);
    check_error(*state, &argument, wanted);
    snprintf(wanted, sizeof wanted, "value%s", cases[i].error);
    check_error(*state, &put, wanted);
  }
}

static void says_what_is_missing(void **state)
{
  const struct {
    struct colfer_message message;
    const char *error;
  } cases[] = {
      {EXEC(COLFER_CALLS_CLASS_METHOD), "message type 3 needs class_method_call"},
      {EXEC(COLFER_GETS_STATIC, .class_method_call = &(struct colfer_class_method_call){.name = TEXT("m")}),
       "message type 4 needs static_field_get"},
      {{.message_type = COLFER_CALLS_CONSTRUCTOR}, "message type 1 needs exec_message"},
      {{.message_type = COLFER_CONTROL_REQUEST}, "message type 31 needs control_message"},
      {{.message_type = COLFER_META_REQUEST}, "message type 60 needs meta_message"},
      {EXEC(COLFER_CALLS_CLASS_METHOD,
            .class_method_call = &(struct colfer_class_method_call){.name = TEXT("m")}),
       "Type is missing in params"},
      {CALL_OF(""), "Method is missing in 'call' request"},
      {EXEC(COLFER_GETS_STATIC,
            .static_field_get = &(struct colfer_static_field_get){.clazz = NAMED_CLASS("C")}),
       "Field is missing in 'get' request"},
      {EXEC(COLFER_PUTS_FIELD,
            .instance_field_put =
                &(struct colfer_instance_field_put){.clazz = NAMED_CLASS("C"), .object_ref = 1}),
       "Field is missing in 'put' request"},
      {EXEC(COLFER_PUTS_STATIC,
            .static_field_put =
                &(struct colfer_static_field_put){.clazz = NAMED_CLASS("C"), .field = NAMED_FIELD("f")}),
       "Value is missing in 'put' request"},
      {EXEC(COLFER_GETS_FIELD,
            .instance_field_get = &(struct colfer_instance_field_get){.clazz = NAMED_CLASS("C"),
                                                                      .object_ref = 0x80000000,
                                                                      .field = NAMED_FIELD("f")}),
       "'instance' must be an integer from 1 to 2147483647"},
      {CONTROL_MESSAGE(.command = COLFER_DELETE_OBJECT), "Missing object ref for delete_object request"},
      {CONTROL_MESSAGE(.command = COLFER_DELETE_OBJECT, .params = OBJS({.ref = 1}, {.value = TEXT("2")})),
       "Missing object ref for delete_object request"},
      {CONTROL_MESSAGE(.command = COLFER_PING, .params = OBJS({.ref = 1})), "'ping' takes no arguments"},
      {CONTROL_MESSAGE(.command = 0), "Unknown control command: 0"},
      {CONTROL_MESSAGE(.command = 5), "Unknown control command: 5"},
      {META_MESSAGE(.service = 0), "Unknown meta service: 0"},
      {META_MESSAGE(.service = 2), "Unknown meta service: 2"},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    check_error(*state, &cases[i].message, cases[i].error);
}

static void serves_no_class_initializer(void **state)
{
  struct bench *bench = *state;
  for (int type = 0; type <= COLFER_CALLS_CLASS_METHOD; type += COLFER_CALLS_CLASS_METHOD) {
    const struct colfer_message message = EXEC((uint8_t)type, .clinit_call = &(struct colfer_clinit_call){0});
    check_error(bench, &message, "clinit_call is not served");
    assert_text(bench->outcome.throwable_type, "java.lang.UnsupportedOperationException");
  }
}

static void bounds_names_and_arguments(void **state)
{
  struct bench *bench = *state;
  static char name[OP_TYPE_TEXT_MAX + 1];
  memset(name, 'x', sizeof name);
  struct colfer_class class = {.name = {name, OP_TYPE_TEXT_MAX}};
  struct colfer_class_method_call call = {.clazz = &class, .name = {name, OP_NAME_MAX}};
  const struct colfer_message message = EXEC(COLFER_CALLS_CLASS_METHOD, .class_method_call = &call);
  assert_int_equal(read_message(bench, &message, false), JP_OK);
  class.name.len++;
  check_error(bench, &message, "a name is longer than the limit of 65535 bytes");
  class.name.len--;
  call.name.len++;
  check_error(bench, &message, "a name is longer than the limit of 65535 bytes");
  call.name.len--;

  struct colfer_obj *objs = test_calloc(COLFER_LIST_MAX, sizeof *objs);
  call.args.items = objs;
  call.args.count = RPC_ARGS_MAX + 1;
  check_error(bench, &message, "'args' has more elements than the limit of 65535");
  call.args.count = RPC_ARGS_MAX;
  assert_int_equal(read_message(bench, &message, false), JP_OK);
  assert_int_equal(bench->operation.arg_count, RPC_ARGS_MAX);
  test_free(objs);
}

static void asks_for_what_the_client_understands(void **state)
{
  struct bench *bench = *state;
  const struct colfer_message message = EXEC(
      COLFER_CALLS_CLASS_METHOD, .thread_affinity = TEXT("swing"),
      .class_method_call = &(struct colfer_class_method_call){.clazz = NAMED_CLASS("C"), .name = TEXT("m")});
  assert_int_equal(read_message(bench, &message, false), JP_OK);
  assert_true(bench->operation.collection_values);
  assert_false(bench->operation.element_refs || bench->operation.by_value || bench->operation.base64_result);
  assert_text(bench->operation.thread_affinity, "swing");
  const struct colfer_message plain = CALL_OF("m");
  assert_int_equal(read_message(bench, &plain, true), JP_OK);
  assert_true(bench->operation.element_refs);
  assert_null(bench->operation.thread_affinity.data);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(reads_each_kind_of_request, set_up, tear_down),
      cmocka_unit_test_setup_teardown(reads_values, set_up, tear_down),
      cmocka_unit_test_setup_teardown(says_what_is_wrong_with_a_value, set_up, tear_down),
      cmocka_unit_test_setup_teardown(says_what_is_missing, set_up, tear_down),
      cmocka_unit_test_setup_teardown(serves_no_class_initializer, set_up, tear_down),
      cmocka_unit_test_setup_teardown(bounds_names_and_arguments, set_up, tear_down),
      cmocka_unit_test_setup_teardown(asks_for_what_the_client_understands, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

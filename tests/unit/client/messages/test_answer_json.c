#include "client/messages/answer_json.h"

#include "tests/unit/client/messages/stub_refs.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <stdio.h>

/* Reads messages into answers, in order. */
struct reading {
  struct answer_reader reader;
  struct stub_refs stub;
  enum answer_form form;
  struct jp_answer *answers[4];
  char ids[4][32];
  size_t count;
  size_t requests;
  struct jp_client_error error;
};

static enum jp_client_status accept_answer(struct answer_reader *reader, const struct answer_message *message,
                                           struct jp_client_error *error)
{
  struct reading *reading = (struct reading *)reader;
  struct jp_answer *answer = answer_create();
  snprintf(reading->ids[reading->count], sizeof reading->ids[0], "%.*s", TEXT_ARGS(message->id));
  reading->answers[reading->count++] = answer;
  return answer_fill_json(answer, message, reading->form, &reading->stub.refs, error);
}

static enum jp_client_status accept_request(struct answer_reader *reader, struct json_value message,
                                            struct jp_client_error *error)
{
  (void)message, (void)error;
  ((struct reading *)reader)->requests++;
  return JP_CLIENT_OK;
}

static enum jp_client_status read_message(struct reading *reading, const char *json, enum answer_form form)
{
  char *copy = unit_exact_copy(json, strlen(json));
  *reading = (struct reading){.reader = {accept_answer, accept_request}, .form = form};
  stub_refs_init(&reading->stub);
  enum jp_client_status status =
      answers_read_json((struct text){copy, strlen(json)}, &reading->reader, &reading->error);
  test_free(copy); /* answers borrow nothing from the message */
  return status;
}

static void leave(struct reading *reading)
{
  for (size_t i = 0; i < reading->count; i++)
    jp_answer_free(reading->answers[i]);
  assert_int_equal(stub_refs_open, 0);
}

static struct jp_answer *read_result(struct reading *reading, const char *value)
{
  char json[512];
  snprintf(json, sizeof json, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"void\":false,\"value\":%s}}",
           value);
  if (read_message(reading, json, ANSWER_ENVELOPE) != JP_CLIENT_OK)
    fail_msg("%s", reading->error.text);
  return reading->answers[0];
}

UNIT_TEST(reads_integers)
{
  struct reading reading;
  int64_t integer = 0;
  double number = 0;
  bool boolean;
  struct jp_answer *answer =
      read_result(&reading, "{\"type\":\"int\",\"null\":false,\"value\":\"-2147483648\"}");
  assert_string_equal(reading.ids[0], "1");
  assert_int_equal(jp_answer_kind(answer), JP_ANSWER_INTEGER);
  assert_string_equal(jp_answer_type(answer), "int");
  assert_string_equal(jp_answer_text(answer).data, "-2147483648");
  assert_true(jp_answer_integer(answer, &integer) && integer == INT32_MIN);
  assert_true(jp_answer_number(answer, &number) && number == INT32_MIN);
  assert_false(jp_answer_boolean(answer, &boolean));
  leave(&reading);
  answer =
      read_result(&reading, "{\"type\":\"java.lang.Long\",\"null\":false,\"value\":\"9223372036854775807\"}");
  assert_true(jp_answer_integer(answer, &integer) && integer == INT64_MAX);
  leave(&reading);
}

UNIT_TEST(reads_other_scalars)
{
  struct reading reading;
  double number = 0;
  bool boolean = false;
  struct jp_answer *answer = read_result(&reading, "{\"type\":\"double\",\"value\":\"-1.0E10\"}");
  assert_true(jp_answer_number(answer, &number) && number == -1e10);
  leave(&reading);
  answer = read_result(&reading, "{\"type\":\"double\",\"value\":\"NaN\"}");
  assert_true(jp_answer_number(answer, &number) && isnan(number));
  leave(&reading);
  answer = read_result(&reading, "{\"type\":\"float\",\"value\":\"0.1\"}");
  assert_true(jp_answer_number(answer, &number) && number == (double)0.1F);
  leave(&reading);
  answer = read_result(&reading, "{\"type\":\"java.lang.Boolean\",\"value\":\"true\"}");
  assert_true(jp_answer_boolean(answer, &boolean) && boolean);
  leave(&reading);
  answer = read_result(&reading, "{\"type\":\"java.lang.String\",\"value\":\"a\\u0000b\\ud83d\"}");
  assert_int_equal(jp_answer_kind(answer), JP_ANSWER_STRING);
  struct jp_text text = jp_answer_text(answer);
  assert_text(((struct text){text.data, text.len}), "a\0b\xED\xA0\xBD");
  leave(&reading);
  answer = read_result(&reading, "{\"type\":\"java.lang.String\",\"null\":true}");
  assert_int_equal(jp_answer_kind(answer), JP_ANSWER_NULL);
  assert_null(jp_answer_text(answer).data);
  leave(&reading);
}

UNIT_TEST(reads_plain_json_with_its_refs)
{
  struct reading reading;
  assert_int_equal(read_message(&reading,
                                "{\"id\":1,\"result\":{\"elements\":[{\"ref\":5},[\"k\",{\"ref\":6,\"value\":"
                                "\"x\"}],{\"ref\":5}, 7],\"done\":false,\"ref\":8}}",
                                ANSWER_PLAIN),
                   JP_CLIENT_OK);
  struct jp_answer *answer = reading.answers[0];
  assert_int_equal(jp_answer_kind(answer), JP_ANSWER_JSON);
  assert_int_equal(reading.stub.received, 4);
  struct jp_json elements = jp_json_member(jp_answer_json(answer), "elements");
  struct jp_ref *first = jp_answer_take_ref(answer, jp_json_at(elements, 0));
  struct jp_ref *again = jp_answer_take_ref(answer, jp_json_at(elements, 2));
  assert_int_equal(jp_ref_number(first), 5);
  assert_int_equal(jp_ref_number(again), 5);
  assert_null(jp_answer_take_ref(answer, jp_json_at(elements, 0)));
  assert_null(jp_answer_take_ref(answer, jp_json_at(elements, 3)));
  jp_ref_release(first);
  jp_ref_release(again);
  leave(&reading);
}

UNIT_TEST(returns_its_refs_in_any_order)
{
  static const uint32_t orders[][3] = {{5, 6, 7}, {7, 6, 5}, {6, 5, 7}, {7, 5, 6}};
  for (size_t i = 0; i < COUNT_OF(orders); i++) {
    struct reading reading;
    assert_int_equal(
        read_message(&reading, "{\"id\":1,\"result\":[{\"ref\":5},{\"ref\":6},{\"ref\":7}]}", ANSWER_PLAIN),
        JP_CLIENT_OK);
    struct jp_answer *answer = reading.answers[0];
    for (size_t j = 0; j < 3; j++) {
      struct jp_json place = jp_json_at(jp_answer_json(answer), orders[i][j] - 5);
      struct jp_ref *ref = jp_answer_take_ref(answer, place);
      assert_int_equal(jp_ref_number(ref), orders[i][j]);
      assert_null(jp_answer_take_ref(answer, place));
      jp_ref_release(ref);
    }
    leave(&reading);
  }
}

UNIT_TEST(reads_the_elements_of_arrays)
{
  static const char json[] = "{\"id\":1,\"result\":{\"void\":false,\"value\":{\"type\":\"[Ljava.lang.Object;"
                             "\",\"null\":false,\"ref\":9,\"value\":\"[1,{\\\"ref\\\":5},null]\"}}}";
  struct reading reading;
  struct jp_json elements;
  assert_int_equal(read_message(&reading, json, ANSWER_ELEMENTS), JP_CLIENT_OK);
  assert_int_equal(reading.stub.received, 2);
  struct jp_answer *answer = reading.answers[0];
  assert_int_equal(jp_json_parse(jp_answer_text(answer), 10, &elements, NULL), JP_JSONRPC_OK);
  struct jp_ref *ref = jp_answer_take_ref(answer, jp_json_at(elements, 1));
  assert_int_equal(jp_ref_number(ref), 5);
  jp_ref_release(ref);
  leave(&reading);
}

UNIT_TEST(reads_arrays_that_a_call_has_changed)
{
  struct reading reading;
  const char *type = NULL;
  int32_t ints[3] = {0};
  uint8_t flag = 7;
  assert_int_equal(
      read_message(
          &reading,
          "{\"jsonrpc\":\"2.0\",\"outs\":[{\"argument\":1,\"type\":\"int[]\",\"value\":\"AQAAAP7///8=\"},{"
          "\"argument\":0,\"type\":\"boolean[]\",\"value\":[true]},5,{\"argument\":2},{\"argument\":3,"
          "\"type\":"
          "\"x[]\",\"value\":[]}],\"id\":1,\"result\":{\"void\":true}}",
          ANSWER_ENVELOPE),
      JP_CLIENT_OK);
  const struct jp_answer *answer = reading.answers[0];
  assert_int_equal(jp_answer_out(answer, 1, &type, ints, 3), 2);
  assert_string_equal(type, "int");
  assert_true(ints[0] == 1 && ints[1] == -2 && ints[2] == 0);
  assert_int_equal(jp_answer_out(answer, 1, &type, NULL, 0), 2);
  assert_int_equal(jp_answer_out(answer, 0, &type, &flag, 1), 1);
  assert_int_equal(flag, 1);
  for (size_t i = 2; i < 5; i++)
    assert_true(jp_answer_out(answer, i, &type, NULL, 0) == SIZE_MAX);
  assert_true(jp_answer_out(NULL, 0, &type, NULL, 0) == SIZE_MAX);
  leave(&reading);
}

UNIT_TEST(decodes_base64_in_json)
{
  static const struct {
    struct jp_json value;
    size_t room;
    size_t length;
  } cases[] = {
      {{.kind = JP_JSON_STRING, .text = {"\"AQID\"", 6}}, 3, 3},
      {{.kind = JP_JSON_STRING, .text = {"\"AQ==\"", 6}}, 3, 1},
      {{.kind = JP_JSON_STRING, .text = {"\"\"", 2}}, 0, 0},
      {{.kind = JP_JSON_STRING, .text = {"\"AQID\"", 6}}, 2, SIZE_MAX},
      {{.kind = JP_JSON_STRING, .text = {"\"AQ\"", 4}}, 8, SIZE_MAX},
      {{.kind = JP_JSON_STRING, .text = {"\"A\\u0051ID\"", 11}}, 16, SIZE_MAX},
      {{.kind = JP_JSON_NUMBER, .text = {"1234", 4}}, 8, SIZE_MAX},
      {{.kind = JP_JSON_ABSENT}, 8, SIZE_MAX},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint8_t bytes[16];
    assert_true(jp_answer_bytes(cases[i].value, bytes, cases[i].room) == cases[i].length);
    if (cases[i].length == 3)
      assert_memory_equal(bytes, "\1\2\3", 3);
  }
}

UNIT_TEST(reads_no_refs_in_documents)
{
  struct reading reading;
  assert_int_equal(
      read_message(&reading, "{\"id\":1,\"result\":{\"examples\":[{\"ref\":5}]}}", ANSWER_DOCUMENT),
      JP_CLIENT_OK);
  assert_int_equal(reading.stub.received, 0);
  leave(&reading);
  struct jp_request discover = jp_build_method("rpc.discover", (struct jp_text){0});
  struct jp_request own = jp_build_method("a.B.rpc.discover", (struct jp_text){0});
  struct jp_request fetch = jp_build_fetch(jp_object_number(1), 1, 0);
  struct jp_request get = jp_build_static_field_get("a", "b");
  assert_int_equal(answer_form_of(&discover), ANSWER_DOCUMENT);
  assert_int_equal(answer_form_of(&own), ANSWER_PLAIN);
  assert_int_equal(answer_form_of(&fetch), ANSWER_PLAIN);
  assert_int_equal(answer_form_of(&get), ANSWER_ENVELOPE);
}

UNIT_TEST(reads_errors_with_their_causes)
{
  struct reading reading;
  assert_int_equal(
      read_message(&reading,
                   "{\"id\":1,\"error\":{\"code\":-32000,\"message\":\"Server "
                   "error\",\"data\":{\"throwable_type\":\"a.E\",\"message\":\"bad\",\"stack_trace\":[\"x(Y."
                   "java:1)\",\"z\"],\"cause\":{\"throwable_type\":\"a.F\",\"message\":null,\"stack_trace\":["
                   "],\"cause\":null},\"loaders\":[{\"ref\":3,\"type\":\"L\",\"name\":null}]}}}",
                   ANSWER_ENVELOPE),
      JP_CLIENT_OK);
  struct jp_answer *answer = reading.answers[0];
  assert_int_equal(jp_answer_kind(answer), JP_ANSWER_ERROR);
  assert_int_equal(jp_answer_error_code(answer), -32000);
  assert_string_equal(jp_answer_error_message(answer), "Server error");
  const struct jp_throwable *throwable = jp_answer_throwable(answer);
  assert_string_equal(throwable->type, "a.E");
  assert_string_equal(throwable->message, "bad");
  assert_int_equal(throwable->stack_count, 2);
  assert_string_equal(throwable->stack[1], "z");
  assert_string_equal(throwable->cause->type, "a.F");
  assert_null(throwable->cause->message);
  assert_null(throwable->cause->cause);
  struct jp_json loaders = jp_json_member(jp_answer_json(answer), "loaders");
  struct jp_ref *loader = jp_answer_take_ref(answer, jp_json_at(loaders, 0));
  assert_int_equal(jp_ref_number(loader), 3);
  jp_ref_release(loader);
  leave(&reading);
}

UNIT_TEST(reads_the_throwable_of_an_error)
{
  struct reading reading;
  assert_int_equal(read_message(&reading,
                                "{\"id\":1,\"error\":{\"code\":-32000,\"message\":\"Server "
                                "error\",\"data\":{\"ref\":9,\"throwable_type\":\"a.E\",\"message\":\"bad\","
                                "\"stack_trace\":[],\"cause\":null}}}",
                                ANSWER_ENVELOPE),
                   JP_CLIENT_OK);
  struct jp_answer *answer = reading.answers[0];
  assert_int_equal(jp_answer_kind(answer), JP_ANSWER_ERROR);
  assert_int_equal(reading.stub.received, 1);
  assert_int_equal(jp_ref_number(jp_answer_ref(answer)), 9);
  assert_string_equal(jp_ref_type(jp_answer_ref(answer)), "a.E");
  assert_string_equal(jp_answer_throwable(answer)->message, "bad");
  leave(&reading);
}

/* A cause repeats refs of another answer: they are not sent references. */
UNIT_TEST(counts_no_refs_of_causes)
{
  struct reading reading;
  assert_int_equal(read_message(&reading,
                                "{\"id\":1,\"error\":{\"code\":-32000,\"message\":\"\",\"data\":{\"message\":"
                                "\"depends on failed request 1\",\"cause\":{\"loaders\":[{\"ref\":3}]}}}}",
                                ANSWER_ENVELOPE),
                   JP_CLIENT_OK);
  assert_int_equal(reading.stub.received, 0);
  leave(&reading);
}

UNIT_TEST(refuses_other_messages)
{
  static const struct {
    const char *json;
    const char *error;
  } cases[] = {
      {"", "this is no JSON: byte 0: unexpected end"},
      {"{\"id\":1", "this is no JSON: byte 7: unexpected end"},
      {"{\"id\":1,\"result\":\"\xFF\"}", "this is no JSON: byte 18 is not UTF-8"},
      {"17", "this is no answer: it is no object"},
      {"{\"id\":1}", "this is no answer: it has not one of result and error"},
      {"{\"id\":1,\"result\":1,\"error\":{}}", "this is no answer: it has not one of result and error"},
      {"{\"id\":1,\"result\":5}", "this is no answer: its result is no object"},
      {"{\"id\":1,\"result\":{\"void\":false}}", "this is no answer: its result has no value"},
      {"{\"id\":1,\"result\":{\"value\":{\"null\":true}}}", "this is no answer: its value has no type"},
      {"{\"id\":1,\"result\":{\"value\":{\"type\":\"int\"}}}",
       "this is no answer: it has neither value nor ref"},
      {"{\"id\":1,\"result\":{\"value\":{\"type\":\"int\",\"value\":5}}}",
       "this is no answer: its value is no string"},
      {"{\"id\":1,\"result\":{\"value\":{\"type\":\"int\",\"value\":\"x\"}}}",
       "\"x\" is no value of type int"},
      {"{\"id\":1,\"result\":{\"value\":{\"type\":\"a\",\"ref\":0}}}",
       "this is no answer: its ref is no ref"},
      {"{\"id\":1,\"result\":{\"value\":{\"type\":\"a\",\"ref\":1e3}}}",
       "this is no answer: its ref is no ref"},
      {"{\"id\":1,\"error\":{}}", "this is no answer: its error has no code"},
      {"{\"id\":1,\"error\":7}", "this is no answer: its error is no object"},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct reading reading;
    assert_int_equal(read_message(&reading, cases[i].json, ANSWER_ENVELOPE), JP_CLIENT_PROTOCOL);
    assert_string_equal(reading.error.text, cases[i].error);
    leave(&reading);
  }
}

UNIT_TEST(keeps_memory_from_one_answer_to_the_next)
{
  struct reading reading;
  struct jp_answer *answer = read_result(&reading, "{\"type\":\"a.B\",\"value\":\"t\",\"ref\":1}");
  answer_clear(answer);
  assert_int_equal(stub_refs_open, 0);
  assert_int_equal(jp_answer_kind(answer), JP_ANSWER_VOID);
  assert_string_equal(jp_answer_type(answer), "");
  assert_null(jp_answer_text(answer).data);
  assert_null(jp_answer_ref(answer));
  leave(&reading);
}

UNIT_TEST(reports_lack_of_memory)
{
  struct reading reading = {.reader = {accept_answer, accept_request}, .form = ANSWER_PLAIN};
  stub_refs_init(&reading.stub);
  reading.stub.room = 1;
  assert_int_equal(answers_read_json(TEXT("{\"id\":1,\"result\":[{\"ref\":1},{\"ref\":2}]}"), &reading.reader,
                                     &reading.error),
                   JP_CLIENT_NO_MEMORY);
  leave(&reading);
}

UNIT_TEST(accepts_null_as_an_empty_answer)
{
  struct jp_json json = {.kind = JP_JSON_OBJECT, .text = {"{\"ref\":1}", 9}};
  int64_t integer = 7;
  double number = 7;
  bool boolean = true;
  assert_int_equal(jp_answer_kind(NULL), JP_ANSWER_VOID);
  assert_string_equal(jp_answer_type(NULL), "");
  assert_null(jp_answer_text(NULL).data);
  assert_false(jp_answer_boolean(NULL, &boolean));
  assert_false(jp_answer_integer(NULL, &integer));
  assert_false(jp_answer_number(NULL, &number));
  assert_true(boolean && integer == 7 && number == 7);
  assert_true(jp_answer_array(NULL, "int[]", NULL, 0) == SIZE_MAX);
  assert_null(jp_answer_ref(NULL));
  assert_int_equal(jp_answer_json(NULL).kind, JP_JSON_ABSENT);
  assert_null(jp_answer_take_ref(NULL, json));
  assert_int_equal(jp_answer_error_code(NULL), 0);
  assert_string_equal(jp_answer_error_message(NULL), "");
  assert_null(jp_answer_lack(NULL));
  assert_null(jp_answer_throwable(NULL)->type);
  jp_answer_free(NULL);
}

/* ---- the usual answer ---- */

#define ANSWER(id, type, value)                                                                              \
  "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{\"void\":false,\"value\":{\"type\":\"" type                \
  "\",\"null\":false,\"value\":\"" value "\"}}}"

/* The reader of usual answers and the general reader have the same result. */

struct general {
  struct answer_reader reader;
  struct jp_answer *answer;
  struct text id;
  enum jp_client_status status;
};

static enum jp_client_status fill(struct answer_reader *reader, const struct answer_message *message,
                                  struct jp_client_error *error)
{
  struct general *general = (struct general *)reader;
  struct stub_refs refs;
  stub_refs_init(&refs);
  general->id = message->id;
  general->status = answer_fill_json(general->answer, message, ANSWER_ENVELOPE, &refs.refs, error);
  return JP_CLIENT_OK;
}

static void check_both_ways(const char *text)
{
  char *bytes = unit_exact_copy(text, strlen(text));
  const struct text message = {bytes, strlen(text)};
  struct usual_answer usual;
  struct general general = {.reader = {.answer = fill}, .answer = answer_create()};
  struct jp_answer *answer = answer_create();
  if (!answer_read_usual(message, &usual))
    fail_msg("not known: %s", text);
  enum jp_client_status status = answer_fill_usual(answer, &usual, NULL);
  assert_int_equal(answers_read_json(message, &general.reader, NULL), JP_CLIENT_OK);
  assert_int_equal(status, general.status);
  if (status == JP_CLIENT_OK) {
    assert_true(text_equal(usual.id, general.id));
    assert_int_equal(answer->kind, general.answer->kind);
    assert_string_equal(answer->type, general.answer->type);
    assert_string_equal(answer->text.data, general.answer->text.data);
    assert_int_equal(answer->text.len, general.answer->text.len);
    assert_memory_equal(&answer->scalar, &general.answer->scalar, sizeof answer->scalar);
    assert_null(answer->ref);
  }
  answer_destroy(answer);
  answer_destroy(general.answer);
  test_free(bytes);
}

UNIT_TEST(test_same_as_the_reader)
{
  static const char *const answers[] = {
      ANSWER("1", "int", "8"),
      ANSWER("18446744073709551616", "int", "-2147483648"),
      ANSWER("7", "long", "9223372036854775807"),
      ANSWER("7", "long", "9223372036854775808"),
      ANSWER("7", "int", ""),
      ANSWER("7", "int", "x"),
      ANSWER("7", "java.lang.Integer", "12"),
      ANSWER("7", "boolean", "true"),
      ANSWER("7", "boolean", "maybe"),
      ANSWER("7", "double", "1.0E10"),
      ANSWER("7", "double", "-Infinity"),
      ANSWER("7", "float", "3.4"),
      ANSWER("7", "char", "a"),
      ANSWER("7", "java.lang.String", ""),
      ANSWER("7", "java.lang.String", "a {}[]:, b"),
      ANSWER("7", "java.math.BigInteger", "123456789012345678901234567890"),
      ANSWER("7", "[I", "[1,2]"),
      ANSWER("7", "", "x"),
  };
  for (size_t i = 0; i < COUNT_OF(answers); i++)
    check_both_ways(answers[i]);
}

/* Other answers are left to the JSON reader. */

static void assert_unusual(const char *text, size_t length)
{
  struct usual_answer usual;
  char *bytes = unit_exact_copy(text, length);
  if (answer_read_usual((struct text){bytes, length}, &usual))
    fail_msg("known: %.*s", (int)length, text);
  test_free(bytes);
}

UNIT_TEST(test_unusual)
{
  static const char *const messages[] = {
      ANSWER("", "int", "8"),
      ANSWER("01", "int", "8"),
      ANSWER("-1", "int", "8"),
      ANSWER("\"1\"", "int", "8"),
      ANSWER("1", "int", "\\u0038"),
      ANSWER("1", "i\\u006et", "8"),
      ANSWER("1", "java.lang.String", "\xc3\xa9"),
      ANSWER("1", "java.lang.String", "\xff"),
      ANSWER("1", "java.lang.String", "\x01"),
      ANSWER("1", "java.lang.String", "\x7f"),
      ANSWER("1", "int", "8") " ",
      ANSWER("1", "int", "8") "}",
      " " ANSWER("1", "int", "8"),
      "[" ANSWER("1", "int", "8") "]",
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"void\":true}}",
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"void\":false,\"value\":{\"type\":\"int\",\"null\":true}}}",
      ("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"void\":false,\"value\":"
       "{\"type\":\"T\",\"null\":false,\"ref\":5,\"value\":\"a\"}}}"),
  };
  for (size_t i = 0; i < COUNT_OF(messages); i++)
    assert_unusual(messages[i], strlen(messages[i]));
}

UNIT_TEST(test_every_change_and_cut)
{
  char text[] = ANSWER("12", "int", "8");
  const size_t length = sizeof text - 1;
  for (size_t i = 0; i < length; i++)
    assert_unusual(text, i);
  for (size_t i = 0; i < length; i++) {
    char was = text[i];
    text[i] = '\n'; /* allowed in no part of the answer */
    assert_unusual(text, length);
    text[i] = was;
  }
}

UNIT_TEST(test_long_texts)
{
  char text[sizeof ANSWER("1", "java.lang.String", "") + 200];
  char value[200];
  memset(value, 'x', sizeof value);
  int length = snprintf(text, sizeof text, ANSWER("1", "java.lang.String", "%.*s"), 199, value);
  assert_unusual(text, (size_t)length);
}

UNIT_MAIN

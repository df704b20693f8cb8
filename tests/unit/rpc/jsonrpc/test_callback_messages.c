/* The messages of callbacks that come: how they are told apart and read. */
#include "rpc/jsonrpc/callback_messages.h"

#include "rpc/values/value_read.h"
#include "tests/unit/unit.h"

#include <stdio.h>

enum { DEPTH_MAX = 20 };

static const struct rpc_callback_form *const form = &rpc_jsonrpc_callbacks;

UNIT_TEST(test_numbers_of_calls)
{
  static const struct {
    const char *text;
    uint64_t number;
  } cases[] = {
      {"cb-1", 1},  {"cb-17", 17}, {"cb-18446744073709551615", UINT64_MAX},
      {"cb-0", 0},  {"cb-01", 0},  {"cb-18446744073709551616", 0},
      {"cb-", 0},   {"cb", 0},     {"", 0},
      {"17", 0},    {"CB-17", 0},  {"cb-17 ", 0},
      {"cb--1", 0}, {"cb-1x", 0},  {"cb-99999999999999999999999", 0},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    assert_int_equal(rpc_call_number_read(text_of(cases[i].text)), cases[i].number);
}

#define WITHIN(number)                                                                                       \
  "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"call\",\"options\":{\"within\":" number "}}"
#define ANSWER(number) "{\"jsonrpc\":\"2.0\",\"id\":" number ",\"result\":null}"
#define REQUEST        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"call\"}"

UNIT_TEST(test_messages_are_told_apart)
{
  static const struct {
    const char *message;
    enum rpc_callback_message kind;
    uint64_t number;
  } cases[] = {
      {ANSWER("\"cb-17\""), RPC_MESSAGE_ANSWER, 17},
      {" " ANSWER("\"c\\u0062-17\"") "\n", RPC_MESSAGE_ANSWER, 17},
      {ANSWER("17"), RPC_MESSAGE_ANSWER, 0},
      {ANSWER("\"other\""), RPC_MESSAGE_ANSWER, 0},
      {ANSWER("null"), RPC_MESSAGE_ANSWER, 0},
      {"{\"id\":\"cb-3\",\"error\":{\"code\":1}}", RPC_MESSAGE_ANSWER, 3},
      {"{\"id\":\"cb-3\",\"result\":5l}", RPC_MESSAGE_ANSWER, 3},
      {"{\"id\":\"cb-3\",\"result\":{\"type\":\"double\",\"value\":5.5d}}", RPC_MESSAGE_ANSWER, 3},
      {"[" ANSWER("\"cb-1\"") "]", RPC_MESSAGE_ANSWERS, 0},
      {"[" ANSWER("\"cb-1\"") "," ANSWER("9") "]", RPC_MESSAGE_ANSWERS, 0},
      {"[{\"id\":\"cb-3\",\"result\":5l}]", RPC_MESSAGE_ANSWERS, 0},
      {WITHIN("\"cb-5\""), RPC_MESSAGE_NESTED, 5},
      {"{\"options\":{\"with\\u0069n\":\"cb-5\"},\"method\":1}", RPC_MESSAGE_NESTED, 5},
      {"{\"jsonrpc\":\"2.0\",\"method\":\"call\",\"params\":[5l],\"options\":{\"within\":\"cb-5\"}}",
       RPC_MESSAGE_NESTED, 5},
      {"[" WITHIN("\"cb-5\"") "," REQUEST "]", RPC_MESSAGE_NESTED, 5},
      {"{\"id\":\"cb-3\",\"result\":5,\"error\":null}", RPC_MESSAGE_ANSWER, 3},

      {REQUEST, RPC_MESSAGE_ORDINARY, 0},
      {WITHIN("5"), RPC_MESSAGE_NESTED, 0},
      {WITHIN("null"), RPC_MESSAGE_NESTED, 0},
      {WITHIN("\"5\""), RPC_MESSAGE_NESTED, 0},
      {"[" REQUEST "," WITHIN("\"cb-5\"") "]", RPC_MESSAGE_ORDINARY, 0},
      {"[" ANSWER("5") "," REQUEST "]", RPC_MESSAGE_ORDINARY, 0},
      {"{\"id\":\"cb-1\",\"method\":\"call\",\"options\":[\"within\"]}", RPC_MESSAGE_ORDINARY, 0},
      {"[]", RPC_MESSAGE_ORDINARY, 0},
      {"[1]", RPC_MESSAGE_ORDINARY, 0},
      {"7", RPC_MESSAGE_ORDINARY, 0},
      {"{\"id\":5,\"result\":1,\"error\":{}}", RPC_MESSAGE_ORDINARY, 0},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    uint64_t number = 99;
    char *copy = unit_exact_copy(cases[i].message, strlen(cases[i].message));
    enum rpc_callback_message kind =
        form->classify((struct text){copy, strlen(cases[i].message)}, DEPTH_MAX, &number);
    if (kind != cases[i].kind || (number != cases[i].number && kind != RPC_MESSAGE_ANSWERS))
      fail_msg("%s: %d of %llu", cases[i].message, kind, (unsigned long long)number);
    test_free(copy);
  }
}

/* The calls that were found, and what is wrong with each. */
static void list_faulty(void *context, uint64_t number, const char *reason)
{
  buffer_printf(context, "cb-%llu: %s; ", (unsigned long long)number, reason);
}

UNIT_TEST(test_faulty_messages_name_calls)
{
#define NEITHER "it must have one of result and error; "
#define MIXED   "something else than answers is in its array; "
  static const struct {
    const char *message;
    const char *found;
  } cases[] = {
      {"{\"id\":\"cb-1\",\"result\":1,\"error\":{}}", "cb-1: " NEITHER},
      {"{\"id\":\"cb-1\",\"options\":{\"within\":\"cb-5\"}}", "cb-1: " NEITHER},
      {"{\"id\":\"cb-1\",\"result\":5l,\"other\":{},\"error\":1}", "cb-1: " NEITHER},
      {"[" ANSWER("\"cb-1\"") "," REQUEST "," ANSWER("\"cb-2\"") "]", "cb-1: " MIXED "cb-2: " MIXED},
      {"[" WITHIN("\"cb-5\"") "," ANSWER("\"cb-1\"") "]", "cb-1: " MIXED},
      {"{\"id\":5l,\"result\":1}", ""},
      {"{\"jsonrpc\":\"2.0\",\"id\":\"cb-1\",\"result\":Infinity}", "cb-1: unexpected character; "},
      {"{\"result\":NaN,\"id\":\"cb-1\"}", "cb-1: unexpected character; "},
      {"{\"id\":\"cb-1\",\"error\":{\"code\":5L}}", "cb-1: number suffix outside params; "},
      {"{\"id\":\"cb-1\",\"result\":1", "cb-1: unexpected end; "},
      {"{\"id\":7,\"result\":1", ""},
      {ANSWER("\"cb-1\"") ANSWER("\"cb-1\""), ""},
      {"[{\"id\":\"cb-1\",\"result\":Infinity}]", ""},
      {"{\"id\":\"cb-1\",\"result\":[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]}",
       "cb-1: it is nested too deeply; "},
      {"", ""},
  };
  struct buffer found;
  buffer_init(&found);
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    uint64_t number;
    struct text message = text_of(cases[i].message);
    buffer_clear(&found);
    if (form->classify(message, DEPTH_MAX, &number) != RPC_MESSAGE_FAULTY)
      fail_msg("%s", cases[i].message);
    form->find_faulty(message, DEPTH_MAX, list_faulty, &found);
    unit_assert_text(buffer_text(&found), text_of(cases[i].found), __FILE__, __LINE__);
  }
  buffer_fini(&found);
}

/* Answers as clients write them are told by their bytes. With a space before them they are read, and mean the same. */
UNIT_TEST(test_usual_answers_are_what_others_are)
{
#define USUAL(id, result)  "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":" result "}"
#define TYPED(type, value) "{\"type\":" type ",\"value\":" value "}"
  static const char *const messages[] = {
      USUAL("\"cb-17\"", "null"),
      USUAL("\"cb-18446744073709551615\"", "-5"),
      USUAL("\"cb-18446744073709551616\"", "5"),
      USUAL("\"cb-1\"", "\"\xC3\xA9\""),
      USUAL("\"cb-1\"", "\"\xC3\""),
      USUAL("\"cb-1\"", "\"\\u0041\""),
      USUAL("\"cb-1\"", "\"\\x\""),
      USUAL("\"cb-1\"", "\"\n\""),
      USUAL("\"cb-1\"", "5l"),
      USUAL("\"cb-1\"", "05"),
      USUAL("\"cb-1\"", "nul"),
      USUAL("\"cb-1\"", ""),
      USUAL("\"cb-1\"", "1,\"result\":2"),
      USUAL("\"cb-1\"", "1,\"method\":\"call\""),
      USUAL("\"cb-01\"", "true"),
      USUAL("\"cb-1", "false"),
      USUAL("\"cb-1\"", TYPED("\"java.lang.String\"", "\"other\"")),
      USUAL("\"cb-1\"", TYPED("5", "5")),
      USUAL("\"cb-1\"", TYPED("\"int\"", "5")) "}",
      USUAL("\"cb-1\"", TYPED("\"int\"", "5") "}"),
      USUAL("\"cb-1\"", "{\"type\":\"int\",\"value\":5"),
      USUAL("\"cb-1\"", "{\"type\":\"int\""),
      USUAL("\"cb-1\"", TYPED("\"int\"", "[5]")),
  };
  for (size_t i = 0; i < COUNT_OF(messages); i++) {
    char spaced[200];
    uint64_t numbers[2] = {0, 0};
    size_t length = strlen(messages[i]);
    int spaced_length = snprintf(spaced, sizeof spaced, " %s", messages[i]);
    char *copy = unit_exact_copy(messages[i], length);
    enum rpc_callback_message kind = form->classify((struct text){copy, length}, DEPTH_MAX, &numbers[0]);
    if (kind != form->classify((struct text){spaced, (size_t)spaced_length}, DEPTH_MAX, &numbers[1]) ||
        numbers[0] != numbers[1])
      fail_msg("%s: %d of %llu", messages[i], kind, (unsigned long long)numbers[0]);
    test_free(copy);
  }
}

/* More elements than the index of a validated message has marks for. */
UNIT_TEST(test_arrays_are_taken_apart)
{
  enum { ANSWERS = 300 };
  struct buffer message;
  buffer_init(&message);
  for (int i = 1; i <= ANSWERS; i++)
    buffer_printf(&message, "%s {\"id\":\"cb-%d\",\"result\":[{\"id\":%d}]} ", i == 1 ? "[" : ",", i, i);
  buffer_append_char(&message, ']');
  uint64_t number;
  assert_int_equal(form->classify(buffer_text(&message), DEPTH_MAX, &number), RPC_MESSAGE_ANSWERS);
  struct text answer;
  size_t at = 0;
  for (unsigned i = 1; i <= ANSWERS; i++) {
    char wanted[64];
    snprintf(wanted, sizeof wanted, "{\"id\":\"cb-%u\",\"result\":[{\"id\":%u}]}", i, i);
    assert_true(form->next_answer(buffer_text(&message), &at, &answer, &number));
    assert_int_equal(number, i);
    assert_true(text_equal(answer, text_of(wanted)));
  }
  assert_false(form->next_answer(buffer_text(&message), &at, &answer, &number));
  buffer_fini(&message);
}

/* ---- answers ---- */

static enum jp_status count_callback(void *context, int64_t id, struct jp_error *error)
{
  (void)error;
  *(int64_t *)context += id;
  return JP_OK;
}

struct read_bench {
  struct arena arena;
  int64_t taken; /* sum of the IDs of callbacks */
  struct jvm_callback_answer answer;
  struct outcome outcome;
};

static enum jp_status read_answer(struct read_bench *bench, const char *json)
{
  const struct rpc_callback_taker taker = {.context = &bench->taken, .take = count_callback};
  const struct rpc_callback_reading reading = {.digits_max = 30, .callbacks = &taker, .arena = &bench->arena};
  arena_reset(&bench->arena);
  bench->taken = 0;
  return form->read_answer(text_of(json), &reading, &bench->answer, &bench->outcome);
}

static struct read_bench *bench;

static int set_up(void **state)
{
  bench = test_calloc(1, sizeof *bench);
  arena_init(&bench->arena);
  (void)state;
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  arena_fini(&bench->arena);
  test_free(bench);
  return 0;
}

UNIT_TEST_WITH(test_errors_are_read, set_up, tear_down)
{
  static const struct {
    const char *error;
    int code;
    const char *message; /* NULL: none */
    uint32_t ref;
    const char *type; /* NULL: none */
  } cases[] = {
      {"{\"code\":-32000,\"message\":\"Server error\"}", -32000, "Server error", 0, NULL},
      {"{\"code\":2147483647}", INT32_MAX, NULL, 0, NULL},
      {"{\"code\":1,\"message\":\"\",\"data\":null}", 1, "", 0, NULL},
      {"{\"code\":1,\"message\":\"m\",\"data\":\"ref\"}", 1, "m", 0, NULL},
      {"{\"code\":1,\"message\":\"m\",\"data\":{\"ref\":7}}", 1, "m", 7, NULL},
      {"{\"code\":1,\"message\":\"m\",\"data\":{\"throwable_type\":\"a.B\"}}", 1, "m", 0, "a.B"},
      {"{\"code\":1,\"message\":\"m\",\"data\":{\"message\":\"own\",\"throwable_type\":\"a.B\"}}", 1, "own",
       0, "a.B"},
      {"{\"code\":1,\"message\":\"m\",\"data\":{\"message\":null}}", 1, "m", 0, NULL},
      {"{\"code\":1,\"message\":\"m\",\"data\":{\"ref\":null,\"throwable_type\":\"a.B\"}}", 1, "m", 0, "a.B"},
      {"{\"code\":1,\"message\":\"m\",\"data\":{\"ref\":7,\"throwable_type\":null}}", 1, "m", 7, NULL},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    char json[200];
    snprintf(json, sizeof json, "{\"id\":1,\"error\":%s}", cases[i].error);
    assert_int_equal(read_answer(bench, json), JP_OK);
    const struct jvm_callback_answer *answer = &bench->answer;
    assert_true(answer->is_error);
    assert_int_equal(answer->code, cases[i].code);
    assert_int_equal(answer->ref, cases[i].ref);
    assert_int_equal(answer->message.data == NULL, cases[i].message == NULL);
    if (cases[i].message != NULL)
      assert_true(text_equal(answer->message, text_of(cases[i].message)));
    assert_int_equal(answer->throwable_type.data == NULL, cases[i].type == NULL);
    if (cases[i].type != NULL)
      assert_true(text_equal(answer->throwable_type, text_of(cases[i].type)));
  }
}

UNIT_TEST_WITH(test_wrong_answers_are_told, set_up, tear_down)
{
  static const struct {
    const char *json;
    const char *message;
  } cases[] = {
      {"{\"id\":1,\"error\":null}", "the answer's error is no object"},
      {"{\"id\":1,\"error\":{}}", "the error's code is no integer of 32 bits"},
      {"{\"id\":1,\"error\":{\"code\":\"1\"}}", "the error's code is no integer of 32 bits"},
      {"{\"id\":1,\"error\":{\"code\":2147483648}}", "the error's code is no integer of 32 bits"},
      {"{\"id\":1,\"error\":{\"code\":1.5}}", "the error's code is no integer of 32 bits"},
      {"{\"id\":1,\"error\":{\"code\":1,\"message\":5}}", "the error's message is no string"},
      {"{\"id\":1,\"error\":{\"code\":1,\"data\":{\"ref\":0}}}", "the error's data.ref is no ref"},
      {"{\"id\":1,\"error\":{\"code\":1,\"data\":{\"throwable_type\":5}}}",
       "the error's data.throwable_type is no string"},
      {"{\"id\":1,\"result\":{\"ref\":0}}", "result: 'ref' must be an integer from 1 to 2147483647"},
      {"{\"id\":1,\"result\":{\"type\":\"int[]\",\"value\":[\"x\"]}}",
       "result[0]: \"x\": of another kind for int (-2147483648 to 2147483647)"},
      {"{\"id\":1,\"result\":1e12345678901234567890123456789012345678901234567890}", NULL},
      {"{\"id\":1,\"result\":1234567890123456789012345678901}",
       "result: a number has more digits than the limit of 30 (number-digits-max)"},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    enum jp_status status = read_answer(bench, cases[i].json);
    assert_int_equal(status == JP_OK, cases[i].message == NULL);
    if (status == JP_OK)
      continue;
    assert_int_equal(bench->outcome.kind, OUTCOME_ERROR);
    if (!text_equal(bench->outcome.message, text_of(cases[i].message)))
      fail_msg("%s: %.*s", cases[i].json, TEXT_ARGS(bench->outcome.message));
  }
}

/* ---- what messages give ---- */

static void note_id(void *context, int64_t id)
{
  buffer_printf(context, "%lld ", (long long)id);
}

UNIT_TEST(test_what_is_given_is_found)
{
  static const struct {
    const char *message;
    const char *wanted;
  } cases[] = {
      {"{\"params\":{\"args\":[{\"ref\":{\"callback\":1}}]}}", "1 "},
      {"[{\"params\":[{\"ref\":{\"callback\":1}}]},5,{\"params\":{\"value\":{\"ref\":{\"callback\":2}}}}]",
       "1 2 "},
      {"{\"params\":[5l,{\"ref\":{\"callback\":1}}]}", "1 "},
      {"{\"id\":\"cb-1\",\"result\":{\"ref\":{\"callback\":3}}}", "3 "},
      {"[{\"id\":\"cb-1\",\"result\":[5l,{\"ref\":{\"callback\":3}}]}]", "3 "},
      {"{\"options\":{\"ref\":{\"callback\":3}}}", ""},
      {"{\"params\":{\"args\":[{\"ref\":{\"callback\":1}}]}", ""},
      {"[]", ""},
      {"", ""},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct buffer found;
    buffer_init(&found);
    form->find_given(text_of(cases[i].message), DEPTH_MAX, note_id, &found);
    buffer_append_char(&found, '\0');
    assert_string_equal(found.data, cases[i].wanted);
    buffer_fini(&found);
  }
}

UNIT_MAIN

#include "client/messages/answer_usual.h"

#include "tests/unit/client/messages/stub_refs.h"
#include "tests/unit/unit.h"

#include <stdio.h>

#define ANSWER(id, type, value)                                                                              \
  "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{\"void\":false,\"value\":{\"type\":\"" type                \
  "\",\"null\":false,\"value\":\"" value "\"}}}"

/* ---- both ways come to the same ---- */

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

/* ---- what is left to the reader ---- */

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
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"void\":false,\"value\":"
      "{\"type\":\"T\",\"null\":false,\"ref\":5,\"value\":\"a\"}}}",
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
    text[i] = '\n'; /* in none of its parts */
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

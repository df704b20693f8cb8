/* Incoming messages of callbacks: how they are classified and read. */
#include "rpc/jsonrpc/json_callbacks.h"

#include "rpc/values/value_read.h"
#include "tests/unit/cases.h"

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

/* ---- the kind of a message, in words ---- */

static void note_faulty(void *context, uint64_t number, const char *reason)
{
  buffer_printf(context, " cb-%llu: %s;", (unsigned long long)number, reason);
}

static void note_given(void *context, int64_t id)
{
  buffer_printf(context, " gives %lld", (long long)id);
}

static enum jp_status accept_callback(void *context, int64_t id, struct jp_error *error)
{
  (void)context, (void)id, (void)error;
  return JP_OK;
}

static void describe_thrown(const struct jvm_callback_thrown *thrown, struct buffer *out)
{
  if (thrown->ref != 0)
    buffer_printf(out, " ref %u", thrown->ref);
  if (thrown->throwable_type.data != NULL)
    buffer_printf(out, " type %.*s", TEXT_ARGS(thrown->throwable_type));
  if (thrown->message.data != NULL)
    buffer_printf(out, " '%.*s'", TEXT_ARGS(thrown->message));
  for (size_t i = 0; i < thrown->frame_count; i++) {
    const struct jvm_callback_frame *frame = &thrown->frames[i];
    buffer_printf(out, " at %.*s.%.*s(%.*s:%d)", TEXT_ARGS(frame->class), TEXT_ARGS(frame->method),
                  TEXT_ARGS(frame->file.data == NULL ? TEXT("-") : frame->file), frame->line);
  }
}

static void describe_error(const struct jvm_callback_answer *answer, struct buffer *out)
{
  buffer_printf(out, " error %d", answer->code);
  describe_thrown(&answer->thrown, out);
  for (const struct jvm_callback_thrown *cause = answer->thrown.cause; cause != NULL; cause = cause->cause) {
    buffer_printf(out, " by");
    describe_thrown(cause, out);
  }
}

static void describe_answer(struct text message, struct buffer *out)
{
  const struct rpc_callback_sink sink = {.accept = accept_callback};
  struct jvm_callback_answer answer;
  struct outcome outcome;
  struct arena arena;
  arena_init(&arena);
  const struct rpc_value_rules rules = {.digits_max = 30, .callbacks = &sink};
  if (form->read_answer(message, &rules, &arena, &answer, &outcome) != JP_OK) {
    assert_int_equal(outcome.kind, OUTCOME_ERROR);
    buffer_printf(out, " wrong: %.*s", TEXT_ARGS(outcome.message));
  } else if (answer.is_error) {
    describe_error(&answer, out);
  }
  arena_fini(&arena);
}

static void describe_message(struct text message, struct buffer *out)
{
  static const char *const kinds[] = {[RPC_MESSAGE_ORDINARY] = "ordinary",
                                      [RPC_MESSAGE_ANSWER] = "answer",
                                      [RPC_MESSAGE_ANSWERS] = "answers",
                                      [RPC_MESSAGE_NESTED] = "nested",
                                      [RPC_MESSAGE_FAULTY] = "faulty"};
  uint64_t number = 0;
  enum rpc_callback_message kind = form->classify(message, DEPTH_MAX, &number);
  buffer_printf(out, "%s", kinds[kind]);
  if (number != 0 && kind != RPC_MESSAGE_ANSWERS && kind != RPC_MESSAGE_FAULTY)
    buffer_printf(out, " %llu", (unsigned long long)number);
  if (kind == RPC_MESSAGE_FAULTY)
    form->find_faulty(message, DEPTH_MAX, note_faulty, out);
  if (kind == RPC_MESSAGE_ANSWER)
    describe_answer(message, out);
  form->find_given(message, DEPTH_MAX, note_given, out);
}

/* Usual answers are recognized by their bytes. With a space before them they are parsed, with the same
 * result. */
static void check_message(const char *place, const char *message, const char *wanted)
{
  for (int i = 0; i < 2; i++) {
    char spaced[500];
    struct buffer described;
    buffer_init(&described);
    snprintf(spaced, sizeof spaced, i == 0 ? "%s" : " %s", message);
    char *copy = unit_exact_copy(spaced, strlen(spaced));
    describe_message((struct text){copy, strlen(spaced)}, &described);
    unit_assert_text(buffer_text(&described), text_of(wanted), place, __LINE__);
    buffer_fini(&described);
    test_free(copy);
  }
}

UNIT_TEST(test_messages_are_classified_and_read)
{
  unit_cases(MESSAGES, check_message);
  check_message("nothing", "", "faulty");
  check_message("bytes", "{\"jsonrpc\":\"2.0\",\"id\":\"cb-1\",\"result\":\"\xC3\"}",
                "faulty cb-1: invalid UTF-8;");
  check_message("bytes", "{\"jsonrpc\":\"2.0\",\"id\":\"cb-1\",\"result\":\"\n\"}",
                "faulty cb-1: control character in string;");
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

UNIT_MAIN

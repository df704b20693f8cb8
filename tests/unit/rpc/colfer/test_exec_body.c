/* Which bodies of messages are kept, and which fit one that is. */
#include "rpc/colfer/exec_body.h"
#include "rpc/values/value_read.h"
#include "sample_request.h"
#include "tests/unit/unit.h"

#include <stdlib.h>

static const struct sample_request add = SAMPLE_ADD;

/* The operation that a request of whole numbers is. */
static struct operation make_operation(const struct sample_request *sample, struct op_value *args)
{
  static const enum op_kind kinds[] = {
      [COLFER_CALLS_INSTANCE_METHOD] = OP_CALL,
      [COLFER_CALLS_CLASS_METHOD] = OP_CALL,
      [COLFER_GETS_STATIC] = OP_GET,
      [COLFER_GETS_FIELD] = OP_GET,
      [COLFER_PUTS_STATIC] = OP_PUT,
      [COLFER_PUTS_FIELD] = OP_PUT,
  };
  struct operation operation = {.kind = kinds[sample->kind],
                                .type =
                                    sample->class_name == NULL ? TEXT_ABSENT : text_of(sample->class_name),
                                .has_instance = sample->ref != 0,
                                .instance = sample->ref,
                                .args = args};
  while (operation.arg_count < SAMPLE_ARGS_MAX && sample->values[operation.arg_count] != NULL) {
    int64_t integer = strtoll(sample->values[operation.arg_count], NULL, 10);
    args[operation.arg_count++] = (struct op_value){.kind = OP_INTEGER, .integer = integer};
  }
  return operation;
}

static bool keep_as(struct exec_body *body, const struct sample_request *sample,
                    const struct operation *operation)
{
  struct sample_message read;
  struct exec_head head;
  sample_message_write(&read, sample);
  assert_true(exec_head_read(read.bytes, &head));
  bool kept = exec_body_keep(body, &head, read.message.exec_message, operation);
  sample_message_fini(&read);
  return kept;
}

static bool keep(struct exec_body *body, const struct sample_request *sample)
{
  struct op_value args[SAMPLE_ARGS_MAX];
  struct operation operation = make_operation(sample, args);
  return keep_as(body, sample, &operation);
}

static bool fits(struct exec_body *body, struct text bytes)
{
  struct exec_head head;
  char *copy = unit_exact_copy(bytes.data, bytes.len);
  bool fitted = exec_head_read((struct text){copy, bytes.len}, &head) && exec_body_fits(body, &head);
  test_free(copy);
  return fitted;
}

static bool sample_fits(struct exec_body *body, const struct sample_request *sample)
{
  struct buffer bytes;
  buffer_init(&bytes);
  sample_request_write(sample, &bytes);
  bool fitted = fits(body, buffer_text(&bytes));
  buffer_fini(&bytes);
  return fitted;
}

static void check_fits(struct exec_body *body, const struct sample_request *sample)
{
  struct op_value args[SAMPLE_ARGS_MAX];
  struct operation wanted = make_operation(sample, args);
  assert_true(sample_fits(body, sample));
  assert_int_equal(body->operation.kind, wanted.kind);
  assert_int_equal(body->operation.has_instance, wanted.has_instance);
  assert_int_equal(body->operation.instance, wanted.instance);
  assert_int_equal(body->operation.arg_count, wanted.arg_count);
  for (size_t i = 0; i < wanted.arg_count; i++) {
    assert_int_equal(body->operation.args[i].kind, OP_INTEGER);
    assert_int_equal(body->operation.args[i].integer, wanted.args[i].integer);
  }
}

static void a_body_fits_with_other_numbers(void **state)
{
  (void)state;
  static const char *const numbers[] = {"0",           "7",          "-1",          "31415",
                                        "-2147483648", "2147483647", "99999999999", "999999999999999999"};
  struct exec_body body;
  assert_true(keep(&body, &add));
  for (size_t i = 0; i < COUNT_OF(numbers); i++) {
    struct sample_request other = add;
    other.values[0] = numbers[i];
    other.values[1] = numbers[COUNT_OF(numbers) - 1 - i];
    other.id = "another";
    other.current_time = UINT64_MAX;
    check_fits(&body, &other);
  }
}

static void every_kind_is_kept(void **state)
{
  (void)state;
  static const uint32_t refs[] = {1, 127, 128, (1 << 21) - 1, 1 << 21, RPC_REF_MAX};
  for (enum colfer_message_kind kind = COLFER_CALLS_INSTANCE_METHOD; kind <= COLFER_PUTS_FIELD; kind++) {
    bool has_values = kind != COLFER_GETS_STATIC && kind != COLFER_GETS_FIELD;
    bool has_ref =
        kind == COLFER_CALLS_INSTANCE_METHOD || kind == COLFER_GETS_FIELD || kind == COLFER_PUTS_FIELD;
    struct sample_request sample = add;
    struct exec_body body;
    sample.kind = kind;
    sample.ref = has_ref ? 5 : 0;
    sample.values[0] = has_values ? "5" : NULL;
    sample.values[1] = NULL;
    assert_true(keep(&body, &sample));
    for (size_t i = 0; i < COUNT_OF(refs); i++) {
      sample.ref = has_ref ? refs[i] : 0;
      sample.values[0] = has_values ? "-77" : NULL;
      check_fits(&body, &sample);
    }
    sample.ref = (uint32_t)RPC_REF_MAX + 1;
    assert_int_equal(sample_fits(&body, &sample), !has_ref);
  }
}

static void a_body_that_differs_does_not_fit(void **state)
{
  (void)state;
  static const char *const texts[] = {"",    "-",   "-0",    "007",  "-01",
                                      "1e3", "1.0", " 5",    "5 ",   "5l",
                                      "+5",  "0x5", "\"5\"", "null", "1234567890123456789",
                                      "5,3"};
  struct exec_body body;
  assert_true(keep(&body, &add));
  for (size_t i = 0; i < COUNT_OF(texts); i++) {
    struct sample_request other = add;
    other.values[i % 2] = texts[i];
    assert_false(sample_fits(&body, &other));
  }
  static const struct sample_request add_again = SAMPLE_ADD;
  struct sample_request others[7];
  for (size_t i = 0; i < COUNT_OF(others); i++)
    others[i] = add_again;
  others[0].class_name = "D";
  others[1].member = "sub";
  others[2].type = "long";
  others[3].type = NULL;
  others[4].values[1] = NULL;
  others[5].values[2] = "1";
  others[6].thread_affinity = "fx";
  for (size_t i = 0; i < COUNT_OF(others); i++)
    assert_false(sample_fits(&body, &others[i]));
  check_fits(&body, &add);
}

static void a_body_that_is_cut_off_does_not_fit(void **state)
{
  (void)state;
  struct exec_body body;
  struct buffer bytes;
  buffer_init(&bytes);
  assert_true(keep(&body, &add));
  sample_request_write(&add, &bytes);
  for (size_t length = 0; length < bytes.len; length++)
    assert_false(fits(&body, (struct text){bytes.data, length}));
  buffer_append_char(&bytes, '\0');
  assert_false(fits(&body, buffer_text(&bytes)));
  buffer_fini(&bytes);
}

/* Whatever fits is a message to the decoder, too, with these values. */
static void what_fits_is_read_by_the_decoder(void **state)
{
  (void)state;
  enum { TRIES = 200000 };
  struct exec_body body;
  struct buffer bytes;
  unsigned fitted = 0;
  uint32_t random = 1;
  buffer_init(&bytes);
  assert_true(keep(&body, &add));
  sample_request_write(&add, &bytes);
  for (unsigned i = 0; i < TRIES; i++) {
    struct sample_message read;
    random = random * 1664525 + 1013904223;
    char *changed = &bytes.data[(random >> 8) % bytes.len];
    char before = *changed;
    *changed = (char)(random >> 24);
    if (fits(&body, buffer_text(&bytes))) {
      fitted += *changed != before;
      sample_message_read(&read, buffer_text(&bytes));
      const struct colfer_class_method_call *call = read.message.exec_message->class_method_call;
      for (size_t arg = 0; arg < 2; arg++)
        assert_int_equal(body.args[arg].integer, *call->args.items[arg].value.data - '0');
      sample_message_fini(&read);
    }
    *changed = before;
  }
  assert_true(fitted > TRIES / 10);
  buffer_fini(&bytes);
}

/* The next object may be of another class. */
static void what_names_no_class_is_not_kept(void **state)
{
  (void)state;
  static const enum colfer_message_kind kinds[] = {COLFER_CALLS_INSTANCE_METHOD, COLFER_GETS_FIELD,
                                                   COLFER_PUTS_FIELD};
  for (size_t i = 0; i < COUNT_OF(kinds); i++) {
    struct exec_body body;
    struct sample_request sample = add;
    sample.kind = kinds[i];
    sample.ref = 5;
    sample.values[0] = kinds[i] == COLFER_GETS_FIELD ? NULL : "5";
    sample.values[1] = NULL;
    assert_true(keep(&body, &sample));
    sample.class_name = NULL;
    assert_false(sample_fits(&body, &sample));
    assert_false(keep(&body, &sample));
    assert_false(sample_fits(&body, &sample));
  }
}

static void what_is_no_call_of_whole_numbers_is_not_kept(void **state)
{
  (void)state;
  static const char *const texts[] = {"-0", " 5", "5 ", "1234567890123456789"};
  struct op_value args[SAMPLE_ARGS_MAX];
  struct exec_body body;
  for (size_t i = 0; i < COUNT_OF(texts); i++) {
    struct sample_request other = add;
    other.values[1] = texts[i];
    assert_false(keep(&body, &other));
    assert_false(sample_fits(&body, &other));
  }
  struct sample_request many = add;
  for (size_t i = 0; i < EXEC_ARGS_MAX; i++)
    many.values[i] = "1";
  assert_true(keep(&body, &many));
  many.values[EXEC_ARGS_MAX] = "1";
  assert_false(keep(&body, &many));
  struct operation operation = make_operation(&add, args);
  operation.thread_affinity = TEXT("fx");
  assert_false(keep_as(&body, &add, &operation));
  operation = make_operation(&add, args);
  args[1].kind = OP_TEXT;
  assert_false(keep_as(&body, &add, &operation));
  operation = make_operation(&add, args);
  operation.arg_count = 1;
  assert_false(keep_as(&body, &add, &operation));
  assert_false(sample_fits(&body, &add));
}

static void a_long_body_is_not_kept(void **state)
{
  (void)state;
  char name[EXEC_BODY_MAX + 1];
  struct exec_body body;
  struct sample_request sample = add;
  size_t kept = 0;
  sample.class_name = name;
  for (size_t length = 1; length <= EXEC_BODY_MAX; length++) {
    memset(name, 'n', length);
    name[length] = '\0';
    if (!keep(&body, &sample))
      continue;
    check_fits(&body, &sample);
    kept = length;
  }
  assert_in_range(kept, EXEC_BODY_MAX / 2, EXEC_BODY_MAX - 1);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_body_fits_with_other_numbers),
      cmocka_unit_test(every_kind_is_kept),
      cmocka_unit_test(a_body_that_differs_does_not_fit),
      cmocka_unit_test(a_body_that_is_cut_off_does_not_fit),
      cmocka_unit_test(what_fits_is_read_by_the_decoder),
      cmocka_unit_test(what_names_no_class_is_not_kept),
      cmocka_unit_test(what_is_no_call_of_whole_numbers_is_not_kept),
      cmocka_unit_test(a_long_body_is_not_kept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

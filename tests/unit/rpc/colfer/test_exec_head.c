/* Which heads of messages are read in place, and that they are read as the decoder reads them. */
#include "rpc/colfer/exec_head.h"
#include "sample_request.h"
#include "tests/unit/unit.h"

static const struct sample_request add = SAMPLE_ADD;

static void assert_same(struct text actual, struct text wanted)
{
  unit_assert_text(actual, wanted, __FILE__, __LINE__);
}

/* The head of a usual message is what the decoder finds. */
static void check_usual(const struct sample_request *sample)
{
  struct sample_message read;
  struct exec_head head;
  sample_message_write(&read, sample);
  const struct colfer_exec_message *exec = read.message.exec_message;
  assert_true(exec_head_read(read.bytes, &head));
  assert_int_equal(head.message_type, sample->kind);
  assert_same(head.message_id, exec->message_id);
  assert_same(head.peer_uuid, exec->peer_uuid);
  assert_ptr_equal(head.rest.data + head.rest.len, read.bytes.data + read.bytes.len);
  assert_int_equal(head.rest.data[0], 9);
  sample_message_fini(&read);
}

static const char *fill_id(char id[128], size_t length)
{
  memset(id, 'i', length);
  id[length] = '\0';
  return id;
}

static void usual_texts_are_read(void **state)
{
  (void)state;
  char id[128];
  char name[128];
  for (size_t length = 1; length <= EXEC_SHORT_MAX; length++) {
    struct sample_request sample = add;
    sample.id = fill_id(id, length);
    check_usual(&sample);
    sample.thread_name = fill_id(name, EXEC_SHORT_MAX + 1 - length);
    check_usual(&sample);
    sample.peer_uuid = NULL;
    check_usual(&sample);
    sample.thread_name = NULL;
    check_usual(&sample);
  }
}

static void usual_numbers_are_read(void **state)
{
  (void)state;
  for (unsigned bit = 0; bit < 64; bit++) {
    for (uint64_t less = 0; less < 2; less++) {
      struct sample_request sample = add;
      sample.current_time = (UINT64_C(1) << bit) - less;
      check_usual(&sample);
      sample.dispatch_seq = (uint32_t)sample.current_time;
      sample.builder_seq = (uint32_t)(sample.current_time >> 7);
      check_usual(&sample);
      sample.current_time = 0;
      check_usual(&sample);
    }
  }
}

static void check_unusual(struct text bytes)
{
  struct exec_head head;
  char *copy = unit_exact_copy(bytes.data, bytes.len);
  assert_false(exec_head_read((struct text){copy, bytes.len}, &head));
  test_free(copy);
}

#define TYPE "\x00\x03\x01"
#define ID   "\x01\x01i"
#define CALL                                                                                                 \
  "\x09\x00\x00\x01"                                                                                         \
  "C\x7f\x01\x01m\x7f\x7f\x7f"

/* Most of these the decoder takes; the general path reads them. */
static void unusual_heads_are_left(void **state)
{
  (void)state;
  static const struct text heads[] = {
      TEXT(""),
      TEXT("\x00\x03"),
      TEXT(TYPE),
      TEXT("\x01" ID CALL), /* no type */
      TEXT("\x00\x1f\x02" ID CALL),
      TEXT(TYPE CALL),                        /* no id */
      TEXT(TYPE "\x01\x00" CALL),             /* an empty one */
      TEXT(TYPE "\x01\x81\x00i" CALL),        /* its length in two bytes */
      TEXT(TYPE "\x01\x7fi" CALL),            /* longer than the message */
      TEXT(TYPE "\x01\x02\xc3\xa9" CALL),     /* not ASCII */
      TEXT(TYPE "\x01\x09iiiiiiii\xff" CALL), /* not UTF-8 */
      TEXT(TYPE "\x81\x01i" CALL),            /* a header of no text */
      TEXT(TYPE "\x00\x0f"
                "0123456789abcde" ID CALL), /* no UUID */
      TEXT(TYPE "\x00\x11"
                "0123456789abcdefg" ID CALL),
      TEXT(TYPE "\x00\x00" ID CALL),
      TEXT(TYPE ID "\x02\x01\xff" CALL),
      TEXT(TYPE ID "\x02\x00" CALL),
      TEXT(TYPE ID "\x03\x00" CALL),                             /* a zero */
      TEXT(TYPE ID "\x03\x81\x00" CALL),                         /* more bytes than it needs */
      TEXT(TYPE ID "\x03\x81\x81\x81\x81\x81\x81\x81\x01" CALL), /* 2^49 is written as eight bytes */
      TEXT(TYPE ID "\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff" CALL),
      TEXT(TYPE ID "\x83\x00\x01\xff\xff\xff\xff\xff\xff" CALL), /* below 2^49 */
      TEXT(TYPE ID "\x04\x00" CALL),
      TEXT(TYPE ID "\x04\x81\x81\x81\x01" CALL),
      TEXT(TYPE ID "\x84\x00\x1f\xff\xff" CALL),
      TEXT(TYPE ID "\x05\x80\x00" CALL),
      TEXT(TYPE ID "\x85\x00\x00\x00\x01" CALL),
  };
  for (size_t i = 0; i < COUNT_OF(heads); i++)
    check_unusual(heads[i]);
}

static void a_head_that_is_cut_off_is_read_no_further(void **state)
{
  (void)state;
  struct buffer bytes;
  buffer_init(&bytes);
  sample_request_write(&add, &bytes);
  for (size_t length = 0; length < bytes.len; length++) {
    struct exec_head head;
    char *copy = unit_exact_copy(bytes.data, length);
    if (exec_head_read((struct text){copy, length}, &head))
      assert_ptr_equal(head.rest.data + head.rest.len, copy + length);
    test_free(copy);
  }
  buffer_fini(&bytes);
}

static void numbers_are_read_in_their_usual_form(void **state)
{
  (void)state;
  static const struct {
    struct text bytes; /* eight more are behind them */
    bool fixed;
    size_t length; /* 0: another form */
    uint32_t number;
  } cases[] = {
      {TEXT("\x01"), false, 1, 1},
      {TEXT("\x7f"), false, 1, 127},
      {TEXT("\x80\x01"), false, 2, 128},
      {TEXT("\xff\xff\x7f"), false, 3, (1 << 21) - 1},
      {TEXT("\x00\x20\x00\x00"), true, 4, 1 << 21},
      {TEXT("\xff\xff\xff\xff"), true, 4, UINT32_MAX},
      {TEXT("\x00"), false, 0, 0},
      {TEXT("\x80\x00"), false, 0, 0},
      {TEXT("\x80\x80\x80\x01"), false, 0, 0},
      {TEXT("\x00\x1f\xff\xff"), true, 0, 0},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    char bytes[16] = {0};
    uint32_t number = 0;
    memcpy(bytes, cases[i].bytes.data, cases[i].bytes.len);
    size_t length = exec_number_at((struct text){bytes, cases[i].bytes.len + 8}, cases[i].fixed, &number);
    assert_int_equal(length, cases[i].length);
    if (length > 0)
      assert_int_equal(number, cases[i].number);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(usual_texts_are_read),
      cmocka_unit_test(usual_numbers_are_read),
      cmocka_unit_test(unusual_heads_are_left),
      cmocka_unit_test(a_head_that_is_cut_off_is_read_no_further),
      cmocka_unit_test(numbers_are_read_in_their_usual_form),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "tests/unit/colfer/kinds.h"
#include "tests/unit/colfer/sample.h"

#include "tests/unit/unit.h"

static void writes_every_kind(void **state)
{
  (void)state;
  for (size_t i = 0; i < kinds_form_count; i++) {
    struct buffer out;
    buffer_init(&out);
    colfer_encode(&kinds_type, &kinds_forms[i].value, &out);
    unit_assert_text(buffer_text(&out), kinds_forms[i].bytes, __FILE__, __LINE__);
    buffer_fini(&out);
  }
}

static void appends_to_what_is_there(void **state)
{
  (void)state;
  struct buffer out;
  buffer_init(&out);
  BUFFER_LITERAL(&out, "head");
  struct colfer_class class = {TEXT("int")};
  struct colfer_obj obj = {.value = TEXT("42"), .clazz = &class};
  colfer_encode(&colfer_obj_type, &obj, &out);
  assert_text(buffer_text(&out), "head\x00\x02"
                                 "42\x01\x00\x03int\x7f\x7f");
  buffer_fini(&out);
}

/* A list counts by its elements; what the elements would be does not matter. */
static void leaves_out_lists_without_elements(void **state)
{
  (void)state;
  struct kinds item = {.byte = 1};
  struct text text = TEXT("text");
  struct kinds value = {.texts = {&text, 0}, .list = {&item, 0}, .text = {"x", 0}, .binary = {"x", 0}};
  struct buffer out;
  buffer_init(&out);
  colfer_encode(&kinds_type, &value, &out);
  assert_text(buffer_text(&out), "\x7f");
  buffer_fini(&out);
}

static void writes_lengths_of_several_bytes(void **state)
{
  (void)state;
  static char letters[20000];
  memset(letters, 'x', sizeof letters);
  struct text text = {letters, sizeof letters};
  struct kinds value = {.text = text, .texts = {&text, 1}};
  struct buffer out;
  buffer_init(&out);
  colfer_encode(&kinds_type, &value, &out);
  assert_int_equal(out.len, 4 + 20000 + 2 + 3 + 20000 + 1);
  assert_memory_equal(out.data, "\x06\xa0\x9c\x01x", 5);
  assert_memory_equal(out.data + 4 + 20000, "\x09\x01\xa0\x9c\x01x", 6);
  buffer_fini(&out);
}

static void does_nothing_to_a_failed_buffer(void **state)
{
  (void)state;
  struct arena arena;
  arena_init(&arena);
  for (size_t i = 0; i < sample_type_count; i++) {
    char byte = 'x';
    struct buffer out = {&byte, 1, 1, true};
    colfer_encode(sample_types[i], sample_struct(sample_types[i], &arena), &out);
    assert_true(out.failed);
    assert_int_equal(out.len, 1);
    assert_int_equal(byte, 'x');
  }
  struct kinds *kinds = sample_struct(&kinds_type, &arena);
  struct buffer out = {NULL, 0, 0, true};
  colfer_encode(&kinds_type, kinds, &out);
  assert_int_equal(out.len, 0);
  arena_fini(&arena);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(writes_every_kind),
      cmocka_unit_test(appends_to_what_is_there),
      cmocka_unit_test(leaves_out_lists_without_elements),
      cmocka_unit_test(writes_lengths_of_several_bytes),
      cmocka_unit_test(does_nothing_to_a_failed_buffer),
  };
  return cmocka_run_group_tests_name("colfer_encode", tests, NULL, NULL);
}

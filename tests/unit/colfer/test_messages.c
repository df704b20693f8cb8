#include "tests/unit/colfer/sample.h"

#include "tests/unit/unit.h"

static void round_trips_every_struct_with_all_its_fields(void **state)
{
  (void)state;
  struct arena arena;
  arena_init(&arena);
  for (size_t i = 0; i < sample_type_count; i++) {
    const struct colfer_type *type = sample_types[i];
    struct buffer first;
    struct buffer second;
    buffer_init(&first);
    buffer_init(&second);
    colfer_encode(type, sample_struct(type, &arena), &first);
    void *value = arena_alloc(&arena, type->size);
    struct jp_error error;
    if (colfer_decode(type, buffer_text(&first), &arena, value, &error) != JP_OK)
      fail_msg("%s: %s", type->name, error.text);
    colfer_encode(type, value, &second);
    unit_assert_text(buffer_text(&second), buffer_text(&first), __FILE__, __LINE__);
    buffer_fini(&first);
    buffer_fini(&second);
  }
  arena_fini(&arena);
}

/* The bytes were written by the reference implementation. */
static void reads_a_call_of_the_reference(void **state)
{
  (void)state;
  struct text bytes = TEXT(
      "\x00\x03\x01\x00\x10\x01\x02\x03\x04\x05\x06\x47\x08\x89\x0a\x0b\x0c\x0d\x0e\x0f\x10\x01\x24"
      "0c9aa4c5-2b0e-4c56-8d5f-6f2c0a0f7f11\x02\x04main\x83\x17\x97\x9c\xfe\x36\x2a\x00\x00\x05\x01\x09\x00"
      "\x00\x09"
      "demo.Calc\x7f\x01\x03"
      "add\x03\x02\x00\x01"
      "2\x01\x00\x03"
      "int\x7f\x7f\x00\x02"
      "40\x01\x00\x03"
      "int\x7f\x7f\x7f\x7f\x7f");
  struct arena arena;
  arena_init(&arena);
  struct colfer_message message;
  assert_int_equal(colfer_decode(&colfer_message_type, bytes, &arena, &message, NULL), JP_OK);
  struct buffer out;
  buffer_init(&out);
  colfer_print(&colfer_message_type, &message, &out);
  assert_text(
      buffer_text(&out),
      "{message_type: 3, exec_message: {peer_uuid: 0102030405064708890a0b0c0d0e0f10, message_id: "
      "\"0c9aa4c5-2b0e-4c56-8d5f-6f2c0a0f7f11\", thread_name: \"main\", current_time: 1700000000000000000, "
      "builder_seq: 1, class_method_call: {clazz: {name: \"demo.Calc\"}, name: \"add\", args: [{value: "
      "\"2\", "
      "clazz: {name: \"int\"}}, {value: \"40\", clazz: {name: \"int\"}}]}}}");
  buffer_clear(&out);
  colfer_encode(&colfer_message_type, &message, &out);
  unit_assert_text(buffer_text(&out), bytes, __FILE__, __LINE__);
  buffer_fini(&out);
  arena_fini(&arena);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(round_trips_every_struct_with_all_its_fields),
      cmocka_unit_test(reads_a_call_of_the_reference),
  };
  return cmocka_run_group_tests_name("colfer_messages", tests, NULL, NULL);
}

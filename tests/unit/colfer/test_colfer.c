/* The codec over a struct with a field of each kind. tests/colfer compares structs of the schema with Colfer's own
 * codecs. */
#include "tests/support/colfer_print.h"
#include "tests/unit/colfer/kinds.h"

#include "tests/unit/unit.h"

/* Decodes a copy of exactly that size, so that a sanitizer sees a read past its end. */
static enum jp_status decode_copy(const struct colfer_type *type, struct text bytes, void *value,
                                  struct jp_error *error)
{
  struct arena arena;
  arena_init(&arena);
  char *copy = unit_exact_copy(bytes.data, bytes.len);
  enum jp_status status = colfer_decode(type, (struct text){copy, bytes.len}, &arena, value, error);
  test_free(copy);
  arena_fini(&arena);
  return status;
}

static void assert_decoded(struct text bytes, const char *printed)
{
  struct arena arena;
  arena_init(&arena);
  char *copy = unit_exact_copy(bytes.data, bytes.len);
  struct kinds value;
  struct jp_error error;
  if (colfer_decode(&kinds_type, (struct text){copy, bytes.len}, &arena, &value, &error) != JP_OK)
    fail_msg("%s: %s", printed, error.text);
  struct buffer out;
  buffer_init(&out);
  colfer_print(&kinds_type, &value, &out);
  unit_assert_text(buffer_text(&out), text_of(printed), __FILE__, __LINE__);
  buffer_fini(&out);
  test_free(copy);
  arena_fini(&arena);
}

static void assert_encoded(const struct kinds *value, struct text bytes)
{
  struct buffer out;
  buffer_init(&out);
  BUFFER_LITERAL(&out, "head");
  colfer_encode(&kinds_type, value, &out);
  struct text written = buffer_text(&out);
  unit_assert_text(text_slice(written, strlen("head"), written.len), bytes, __FILE__, __LINE__);
  buffer_fini(&out);
}

UNIT_TEST(reads_and_writes_every_kind)
{
  for (size_t i = 0; i < kinds_form_count; i++) {
    assert_decoded(kinds_forms[i].bytes, kinds_forms[i].printed);
    assert_encoded(&kinds_forms[i].value, kinds_forms[i].bytes);
  }
}

/* A list without elements is empty even if its pointer is not NULL. */
UNIT_TEST(leaves_out_empty_lists)
{
  struct kinds item = {.byte = 1};
  struct text text = TEXT("text");
  const struct kinds value = {.texts = {&text, 0}, .list = {&item, 0}, .text = {"x", 0}, .binary = {"x", 0}};
  assert_encoded(&value, TEXT("\x7f"));
}

UNIT_TEST(writes_nothing_to_a_failed_buffer)
{
  char byte = 'x';
  for (size_t i = 0; i < kinds_form_count; i++) {
    struct buffer out = {&byte, 1, 1, true};
    colfer_encode(&kinds_type, &kinds_forms[i].value, &out);
    assert_true(out.failed);
    assert_int_equal(out.len, 1);
    assert_int_equal(byte, 'x');
  }
}

/* No writer makes these forms, but the readers of the reference implementation accept them, too. */
UNIT_TEST(reads_numbers_that_are_longer_than_needed)
{
  static const struct longer_form {
    struct text bytes;
    const char *printed;
  } forms[] = {
      {TEXT("\x01\x00\x02\x00\x03\x00\x04\x00\x05\x00\x06\x00\x07\x00\x09\x00\x0a\x00\x7f"), "{}"},
      {TEXT("\x82\x00\x00\x00\x05\x7f"), "{number: 5}"},
      {TEXT("\x02\x85\x80\x00\x7f"), "{number: 5}"},
      {TEXT("\x02\xff\xff\xff\xff\x0f\x7f"), "{number: 4294967295}"},
      {TEXT("\x83\x00\x00\x00\x00\x00\x00\x00\x05\x7f"), "{large: 5}"},
      {TEXT("\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), "{large: 18446744073709551615}"},
      {TEXT("\x84\x00\x85\x00\x7f"), "{}"},
      {TEXT("\x06\x81\x80\x00x\x7f"), "{text: \"x\"}"},
  };
  for (size_t i = 0; i < COUNT_OF(forms); i++)
    assert_decoded(forms[i].bytes, forms[i].printed);
}

UNIT_TEST(refuses_invalid_messages)
{
  static const struct wrong_form {
    struct text bytes;
    const char *why;
  } forms[] = {
      {TEXT(""), "kinds, byte 0: the message ends here"},
      {TEXT("\x7f\x7f"), "kinds, byte 1: 1 bytes after the end"},
      {TEXT("\x7e"), "kinds, byte 0: kinds has no field 126"},
      {TEXT("\xff"), "kinds, byte 0: kinds has no field 127"},
      {TEXT("\x0b\x7f"), "kinds, byte 0: kinds has no field 11"},
      {TEXT("\x08\x0b\x7f\x7f"), "inner, byte 1: kinds has no field 11"},
      {TEXT("\x00\x00\x7f"), "kinds, byte 1: truth is out of order"},
      {TEXT("\x02\x01\x01\x01\x7f"), "kinds, byte 2: byte is out of order"},
      {TEXT("\x02\x01\x82\x00\x20\x00\x00\x7f"), "kinds, byte 2: number is out of order"},
      {TEXT("\x80\x7f"), "truth, byte 0: its header is 0x80"},
      {TEXT("\x81\x01\x7f"), "byte, byte 0: its header is 0x81"},
      {TEXT("\x86\x01x\x7f"), "text, byte 0: its header is 0x86"},
      {TEXT("\x87\x01x\x7f"), "binary, byte 0: its header is 0x87"},
      {TEXT("\x88\x7f\x7f"), "inner, byte 0: its header is 0x88"},
      {TEXT("\x89\x00\x7f"), "texts, byte 0: its header is 0x89"},
      {TEXT("\x8a\x00\x7f"), "list, byte 0: its header is 0x8a"},
      {TEXT("\x01"), "byte, byte 1: the message ends here"},
      {TEXT("\x82\x00\x20\x00"), "number, byte 4: the message ends here"},
      {TEXT("\x83\x00\x02\x00\x00\x00\x00\x00"), "large, byte 8: the message ends here"},
      {TEXT("\x02\x80\x80\x80\x80\x10\x7f"), "number, byte 1: 4294967296 is too large a number"},
      {TEXT("\x02\x80\x80\x80\x80\x80\x00\x7f"), "number, byte 1: a number of more than 5 bytes"},
      {TEXT("\x04\x80\x80\x80\x80\x08\x7f"), "whole, byte 1: 2147483648 is too large a number"},
      {TEXT("\x84\x81\x80\x80\x80\x08\x7f"), "whole, byte 1: 2147483649 is too large a number"},
      {TEXT("\x05\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f"),
       "wide, byte 1: 9223372036854775808 is too large a number"},
      {TEXT("\x85\x81\x80\x80\x80\x80\x80\x80\x80\x80\x7f"),
       "wide, byte 1: 9223372036854775809 is too large a number"},
      {TEXT("\x06\x05x\x7f"), "text, byte 1: 5 bytes, and 2 are left"},
      {TEXT("\x07\xff\xff\xff\xff\x0fx"), "binary, byte 1: 4294967295 bytes, and 1 are left"},
      {TEXT("\x07\xff\xff\xff\xff\xff\xff\xff\xff\xff"), "binary, byte 1: a number of more than 5 bytes"},
      {TEXT("\x06\x03x\xC3y\x7f"), "text, byte 3: the text is not UTF-8 here"},
      {TEXT("\x06\x03\xED\xA0\x80\x7f"), "text, byte 2: the text is not UTF-8 here"}, /* a surrogate */
      /* the text ends inside a character */
      {TEXT("\x06\x01\xC3\xA9\x7f"), "text, byte 2: the text is not UTF-8 here"},
      {TEXT("\x09\x02\x00\x01\xff\x7f"), "texts[1], byte 4: the text is not UTF-8 here"},
      {TEXT("\x09\x04\x00\x00\x7f"), "texts, byte 1: 4 elements, and 3 bytes are left"},
      {TEXT("\x09\x03\x00\x00\x7f"), "texts[2], byte 4: 127 bytes, and 0 are left"},
      {TEXT("\x0a\x02\x7f"), "list, byte 1: 2 elements, and 1 bytes are left"},
      {TEXT("\x0a\x02\x7f\x7f"), "kinds, byte 4: the message ends here"},
      {TEXT("\x0a\x02\x7f\x08\x7f"), "list[1], byte 5: the message ends here"},
      {TEXT("\x0a\x81\x80\x04"), "list, byte 1: 65537 elements; a list has at most 65536"},
      {TEXT("\x09\xff\xff\xff\xff\x0f"), "texts, byte 1: 4294967295 elements; a list has at most 65536"},
      {TEXT("\x08\x0a\x02\x7f\x08\x09\x01\x01\x80\x7f\x7f\x7f"),
       "inner.list[1].inner.texts[0], byte 8: the text is not UTF-8 here"},
  };
  for (size_t i = 0; i < COUNT_OF(forms); i++) {
    struct kinds value;
    struct jp_error error;
    enum jp_status status = decode_copy(&kinds_type, forms[i].bytes, &value, &error);
    if (status != JP_INVALID)
      fail_msg("read, and should be refused: %s", forms[i].why);
    assert_string_equal(error.text, forms[i].why);
  }
}

/* Tests every length of the text, and any number of bytes after it. */
UNIT_TEST(sees_a_wrong_byte_in_every_place)
{
  enum { LONGEST = 20, MOST_AFTER = 9 };
  for (size_t length = 1; length <= LONGEST; length++) {
    for (size_t wrong = 0; wrong <= length; wrong++) { /* with wrong == length no byte is wrong */
      for (size_t after = 0; after <= MOST_AFTER; after++) {
        char text[LONGEST];
        memset(text, 'x', sizeof text);
        if (wrong < length)
          text[wrong] = '\x80';
        char binary[MOST_AFTER];
        memset(binary, 0xff, sizeof binary);
        struct kinds value = {.text = {text, length}, .binary = {binary, after}};
        struct buffer out;
        buffer_init(&out);
        colfer_encode(&kinds_type, &value, &out);
        struct kinds back;
        enum jp_status status = decode_copy(&kinds_type, buffer_text(&out), &back, NULL);
        assert_int_equal(status, wrong < length ? JP_INVALID : JP_OK);
        buffer_fini(&out);
      }
    }
  }
}

UNIT_TEST(keeps_the_fields_read_before_a_fault)
{
  struct arena arena;
  arena_init(&arena);
  struct kinds value;
  struct text bytes = TEXT("\x01\x05\x08\x06\x02id\x0a\x02\x01\x09\x7f\x7e");
  assert_int_equal(colfer_decode(&kinds_type, bytes, &arena, &value, NULL), JP_INVALID);
  assert_int_equal(value.byte, 5);
  assert_non_null(value.inner);
  assert_text(value.inner->text, "id");
  assert_int_equal(value.inner->list.count, 1);
  assert_int_equal(value.inner->list.items[0].byte, 9);
  arena_fini(&arena);
}

UNIT_TEST(borrows_texts)
{
  struct arena arena;
  arena_init(&arena);
  struct kinds value;
  struct text bytes = TEXT("\x06\x02id\x07\x01x\x7f");
  assert_int_equal(colfer_decode(&kinds_type, bytes, &arena, &value, NULL), JP_OK);
  assert_ptr_equal(value.text.data, bytes.data + 2);
  assert_ptr_equal(value.binary.data, bytes.data + 6);
  assert_null(arena.first); /* decoding has allocated nothing */
  arena_fini(&arena);
}

/* Appends `depth` structs, each nested in the previous struct. */
static void append_nested(size_t depth, struct buffer *out)
{
  for (size_t i = 1; i < depth; i++)
    buffer_append_char(out, 0x08);
  for (size_t i = 0; i < depth; i++)
    buffer_append_char(out, 0x7f);
}

UNIT_TEST(limits_the_depth)
{
  struct kinds value;
  struct jp_error error;
  struct buffer out;
  buffer_init(&out);
  append_nested(COLFER_DEPTH_MAX, &out);
  assert_int_equal(decode_copy(&kinds_type, buffer_text(&out), &value, &error), JP_OK);

  buffer_clear(&out);
  append_nested(COLFER_DEPTH_MAX + 1, &out);
  assert_int_equal(decode_copy(&kinds_type, buffer_text(&out), &value, &error), JP_INVALID);
  /* The path is too long: only its last part is kept, after three dots. */
  assert_memory_equal(error.text, "...inner.inner.", 15);
  assert_non_null(strstr(error.text, "inner.inner, byte 64: more than 64 structs inside one another"));

  buffer_clear(&out);
  append_nested(1000000, &out);
  assert_int_equal(decode_copy(&kinds_type, buffer_text(&out), &value, &error), JP_INVALID);
  buffer_fini(&out);
}

UNIT_TEST(reads_a_list_of_the_largest_size)
{
  struct buffer out;
  buffer_init(&out);
  BUFFER_LITERAL(&out, "\x0a\x80\x80\x04");
  for (size_t i = 0; i < COLFER_LIST_MAX + 1; i++)
    buffer_append_char(&out, 0x7f);
  struct arena arena;
  arena_init(&arena);
  struct kinds value;
  assert_int_equal(colfer_decode(&kinds_type, buffer_text(&out), &arena, &value, NULL), JP_OK);
  assert_int_equal(value.list.count, COLFER_LIST_MAX);
  assert_int_equal(value.list.items[COLFER_LIST_MAX - 1].byte, 0);
  arena_fini(&arena);
  buffer_fini(&out);
}

/* Counts that the bytes cannot hold: nothing is reserved for them. */
UNIT_TEST(reserves_nothing_for_a_count_bomb)
{
  static const struct text bombs[] = {TEXT("\x0a\x80\x80\x04\x7f"), TEXT("\x09\x80\x80\x04\x7f")};
  for (size_t i = 0; i < COUNT_OF(bombs); i++) {
    struct arena arena;
    arena_init(&arena);
    struct kinds value;
    assert_int_equal(colfer_decode(&kinds_type, bombs[i], &arena, &value, NULL), JP_INVALID);
    assert_null(arena.first);
    arena_fini(&arena);
  }
}

UNIT_MAIN

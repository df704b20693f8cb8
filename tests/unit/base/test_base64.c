#include "base/base64.h"

#include "tests/unit/unit.h"

/* RFC 4648, section 10, and bytes that need the last two letters. */
static const struct vector {
  struct text plain;
  struct text encoded;
} vectors[] = {
    {TEXT(""), TEXT("")},
    {TEXT("f"), TEXT("Zg==")},
    {TEXT("fo"), TEXT("Zm8=")},
    {TEXT("foo"), TEXT("Zm9v")},
    {TEXT("foob"), TEXT("Zm9vYg==")},
    {TEXT("fooba"), TEXT("Zm9vYmE=")},
    {TEXT("foobar"), TEXT("Zm9vYmFy")},
    {TEXT("\xFB\xEF\xBE\xFF\xFF\xFF"), TEXT("++++////")},
    {TEXT("\0\0\0"), TEXT("AAAA")},
};

static const struct text refused[] = {
    TEXT("Z"),      TEXT("Zg"),   TEXT("Zg="),      TEXT("Zg==Zg=="), TEXT("Zg= ="),   TEXT(" Zg="),
    TEXT("Zm9v\n"), TEXT("===="), TEXT("=Zg="),     TEXT("Z==="),     TEXT("Zm9-"),    TEXT("Zm9_"),
    TEXT("Zh=="),   TEXT("Zm9="), TEXT("Zm9v===="), TEXT("Zm\09"),    TEXT("Zm9\xE2"),
};

static void encodes_and_decodes_the_vectors(void **state)
{
  (void)state;
  for (size_t i = 0; i < COUNT_OF(vectors); i++) {
    struct buffer out;
    buffer_init(&out);
    base64_encode(&out, (const uint8_t *)vectors[i].plain.data, vectors[i].plain.len);
    unit_assert_text(buffer_text(&out), vectors[i].encoded, __FILE__, __LINE__);
    buffer_fini(&out);

    uint8_t *bytes = test_malloc(base64_decoded_max(vectors[i].encoded) + 1);
    size_t count = 99;
    assert_int_equal(base64_decode(vectors[i].encoded, bytes, &count), JP_OK);
    unit_assert_text((struct text){(char *)bytes, count}, vectors[i].plain, __FILE__, __LINE__);
    test_free(bytes);
  }
}

static void refuses_what_is_not_strict(void **state)
{
  (void)state;
  uint8_t bytes[16];
  for (size_t i = 0; i < COUNT_OF(refused); i++) {
    size_t count;
    if (base64_decode(refused[i], bytes, &count) != JP_INVALID)
      fail_msg("taken: %.*s", TEXT_ARGS(refused[i]));
  }
}

static void encodes_in_pieces_of_three(void **state)
{
  (void)state;
  enum { SIZE = 4 * 1024 * 1024 + 1 }; /* above one step of the encoder */
  uint8_t *bytes = test_malloc(SIZE);
  uint8_t *decoded = test_malloc(SIZE + 3);
  for (size_t i = 0; i < SIZE; i++)
    bytes[i] = (uint8_t)(i * 2654435761u >> 13);
  struct buffer whole;
  struct buffer pieces;
  buffer_init(&whole);
  buffer_init(&pieces);
  base64_encode(&whole, bytes, SIZE);
  base64_encode(&pieces, bytes, 300);
  base64_encode(&pieces, bytes + 300, SIZE - 300);
  assert_true(text_equal(buffer_text(&whole), buffer_text(&pieces)));
  size_t count;
  assert_int_equal(base64_decode(buffer_text(&whole), decoded, &count), JP_OK);
  assert_int_equal(count, SIZE);
  assert_memory_equal(decoded, bytes, SIZE);
  buffer_fini(&whole);
  buffer_fini(&pieces);
  test_free(bytes);
  test_free(decoded);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(encodes_and_decodes_the_vectors),
      cmocka_unit_test(refuses_what_is_not_strict),
      cmocka_unit_test(encodes_in_pieces_of_three),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* This file is also built without SSE2: then there is no conversion of many letters at once. */
#include "base/base64.h"

#include "tests/unit/unit.h"

/* The examples of RFC 4648, section 10, and bytes whose encoding has the last two letters of the alphabet. */
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

UNIT_TEST(encodes_and_decodes_the_vectors)
{
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

UNIT_TEST(refuses_text_that_is_not_strict)
{
  uint8_t bytes[16];
  for (size_t i = 0; i < COUNT_OF(refused); i++) {
    size_t count;
    if (base64_decode(refused[i], bytes, &count) != JP_INVALID)
      fail_msg("accepted: %.*s", TEXT_ARGS(refused[i]));
  }
}

UNIT_TEST(encodes_in_pieces_of_three)
{
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

/* ---- compared with the rules of the RFC for single letters ---- */

enum { LENGTHS = 200, ALIGNMENTS = 32 };

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Encodes bit by bit. */
static struct text encode_slowly(const uint8_t *bytes, size_t count, char *out)
{
  size_t letters = 0;
  for (size_t bit = 0; bit < count * 8; bit += 6) {
    unsigned value = 0;
    for (size_t i = bit; i < bit + 6; i++)
      value = value << 1 | (i < count * 8 ? bytes[i / 8] >> (7 - i % 8) & 1 : 0);
    out[letters++] = alphabet[value];
  }
  while (letters % 4 != 0)
    out[letters++] = '=';
  return (struct text){out, letters};
}

static void fill(uint8_t *bytes, size_t count, uint32_t seed)
{
  for (size_t i = 0; i < count; i++) {
    seed = seed * 1664525u + 1013904223u;
    bytes[i] = (uint8_t)(seed >> 23);
  }
}

/* Decodes in memory that ends directly after the text and after the bytes, so that a sanitizer detects an
 * access beyond them. */
static enum jp_status decode_exactly(struct text t, size_t offset, uint8_t *out, size_t *count)
{
  char *from = test_malloc(offset + t.len);
  uint8_t *to = test_malloc(offset + base64_decoded_max(t));
  memcpy(from + offset, t.data, t.len);
  enum jp_status status = base64_decode((struct text){from + offset, t.len}, to + offset, count);
  if (status == JP_OK)
    memcpy(out, to + offset, *count);
  test_free(from);
  test_free(to);
  return status;
}

UNIT_TEST(is_the_same_at_every_length_and_place)
{
  for (size_t count = 1; count < LENGTHS; count++) {
    uint8_t bytes[LENGTHS];
    uint8_t decoded[LENGTHS + 3];
    char letters[LENGTHS * 2];
    size_t decoded_count;
    fill(bytes, count, (uint32_t)count);
    struct text expected = encode_slowly(bytes, count, letters);
    struct buffer out;
    buffer_init(&out);
    for (size_t offset = 0; offset < ALIGNMENTS; offset++) {
      uint8_t *placed = test_malloc(offset + count);
      memcpy(placed + offset, bytes, count);
      buffer_clear(&out);
      base64_encode(&out, placed + offset, count);
      unit_assert_text(buffer_text(&out), expected, __FILE__, __LINE__);
      test_free(placed);
      assert_int_equal(decode_exactly(expected, offset, decoded, &decoded_count), JP_OK);
      assert_int_equal(decoded_count, count);
      assert_memory_equal(decoded, bytes, count);
    }
    buffer_fini(&out);
  }
}

/* Every byte at every place: accepted if it is a letter, and then decoded as that letter. */
UNIT_TEST(accepts_only_letters_at_every_place)
{
  enum { COUNT = 111 };
  (void)state;
  uint8_t bytes[COUNT];
  uint8_t decoded[COUNT + 3];
  char letters[COUNT * 2];
  char again[COUNT * 2];
  fill(bytes, COUNT, 1);
  struct text text = encode_slowly(bytes, COUNT, letters);
  for (size_t i = 0; i < text.len - 2; i++) { /* in the last two places the byte might be padding */
    char letter = letters[i];
    for (int byte = 0; byte < 256; byte++) {
      size_t count;
      letters[i] = (char)byte;
      bool is_letter = byte != 0 && strchr(alphabet, byte) != NULL;
      assert_int_equal(decode_exactly(text, i % ALIGNMENTS, decoded, &count), is_letter ? JP_OK : JP_INVALID);
      if (is_letter)
        assert_true(text_equal(encode_slowly(decoded, count, again), text));
    }
    letters[i] = letter;
  }
}

UNIT_MAIN

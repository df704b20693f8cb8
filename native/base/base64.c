#include "base/base64.h"

#include <openssl/evp.h>
#ifdef __SSE2__
#include "base/processor.h"

#include <immintrin.h>
#endif

/*
 * ---- many letters at once ----
 *
 * With AVX2, decode_wide and encode_wide convert 32 letters in a step. Decoding stops at a byte that is not a
 * letter, and both functions stop when the rest is too short for a step. Without AVX2 they convert nothing.
 * They return how many letters or bytes they converted; the caller converts the rest.
 */

#ifdef __SSE2__ /* x86: AVX2 is possible, checked at run time */
enum {
  LETTERS = 32, /* letters that a step converts */
  BYTES = 24,   /* bytes that these letters encode */
  /* How much input must follow a step. A step of the decoder writes 32 bytes, of which the last eight are
   * garbage: the output needs room for them. A step of the encoder loads 28 bytes and uses 24 of them. */
  LETTERS_AFTER = 16,
  BYTES_AFTER = 4
};

#define WIDE __attribute__((target("avx2")))

WIDE static inline __m256i all(char byte)
{
  return _mm256_set1_epi8(byte);
}

/* Converts a range of the alphabet: `count` letters, which begin with `first`, whose value is `value`.
 * Returns 0 for each byte outside the range. */
WIDE static inline __m256i values_in(__m256i letters, char first, char count, char value, __m256i *known)
{
  __m256i above = _mm256_sub_epi8(letters, all(first));
  __m256i found = _mm256_cmpeq_epi8(_mm256_min_epu8(above, all((char)(count - 1))), above);
  *known = _mm256_or_si256(*known, found);
  return _mm256_and_si256(found, _mm256_add_epi8(above, all(value)));
}

/* RFC 4648, section 4. Returns the value of each letter, and sets all bits in `known` of each byte that is a
 * letter. */
WIDE static inline __m256i values_of(__m256i letters, __m256i *known)
{
  __m256i values = values_in(letters, 'A', 26, 0, known);
  values = _mm256_or_si256(values, values_in(letters, 'a', 26, 26, known));
  values = _mm256_or_si256(values, values_in(letters, '0', 10, 52, known));
  values = _mm256_or_si256(values, values_in(letters, '+', 1, 62, known));
  return _mm256_or_si256(values, values_in(letters, '/', 1, 63, known));
}

/* Packs 32 values of six bits into the first 24 bytes. */
WIDE static inline __m256i join(__m256i values)
{
  __m256i pairs = _mm256_maddubs_epi16(values, _mm256_set1_epi16(1 << 8 | 1 << 6));
  __m256i fours = _mm256_madd_epi16(pairs, _mm256_set1_epi32(1 << 16 | 1 << 12));
  /* Each word of four bytes has three bytes of output: its highest byte is empty, and its lowest byte is the
   * last in the output. */
  const __m256i order = _mm256_setr_epi8(2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1, 2, 1, 0, 6,
                                         5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1);
  const __m256i halves = _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 3, 7);
  return _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(fours, order), halves);
}

WIDE static size_t decode_by_avx2(struct text t, uint8_t *out)
{
  size_t taken = 0;
  for (; t.len - taken >= LETTERS + LETTERS_AFTER; taken += LETTERS, out += BYTES) {
    __m256i known = _mm256_setzero_si256();
    __m256i letters = _mm256_loadu_si256((const __m256i *)(const void *)(t.data + taken));
    __m256i values = values_of(letters, &known);
    if (_mm256_movemask_epi8(known) != -1)
      break;
    _mm256_storeu_si256((__m256i *)(void *)out, join(values));
  }
  return taken;
}

/* 24 bytes, twelve in each half, become 32 values of six bits. */
WIDE static inline __m256i split(const uint8_t *bytes)
{
  __m128i low = _mm_loadu_si128((const __m128i *)(const void *)bytes);
  __m128i high = _mm_loadu_si128((const __m128i *)(const void *)(bytes + BYTES / 2));
  /* Each three bytes 0, 1, 2 become two words: the first has the bytes 0 and 1, and the second has the bytes
   * 1 and 2. The upper half of a word is the earlier byte. */
  const __m256i order = _mm256_setr_epi8(1, 0, 2, 1, 4, 3, 5, 4, 7, 6, 8, 7, 10, 9, 11, 10, 1, 0, 2, 1, 4, 3,
                                         5, 4, 7, 6, 8, 7, 10, 9, 11, 10);
  __m256i words = _mm256_shuffle_epi8(_mm256_set_m128i(high, low), order);
  /* Of the two values in a word, the first is shifted down into the lower byte, and the second up into the
   * upper byte. */
  __m256i first = _mm256_and_si256(words, _mm256_set1_epi32(0x0FC0FC00));
  __m256i second = _mm256_and_si256(words, _mm256_set1_epi32(0x003F03F0));
  return _mm256_or_si256(_mm256_mulhi_epu16(first, _mm256_set1_epi32(1 << (16 + 10) | 1 << 6)),
                         _mm256_mullo_epi16(second, _mm256_set1_epi32(1 << (16 + 8) | 1 << 4)));
}

/* Adds `more` where the value is above `least`. */
WIDE static inline __m256i add_above(__m256i letters, __m256i values, char least, char more)
{
  return _mm256_add_epi8(letters, _mm256_and_si256(_mm256_cmpgt_epi8(values, all(least)), all(more)));
}

WIDE static inline __m256i letters_of(__m256i values)
{
  __m256i letters = _mm256_add_epi8(values, all('A'));
  letters = add_above(letters, values, 25, 'a' - 'Z' - 1);
  letters = add_above(letters, values, 51, '0' - 'z' - 1);
  letters = add_above(letters, values, 61, '+' - '9' - 1);
  return add_above(letters, values, 62, '/' - '+' - 1);
}

WIDE static size_t encode_by_avx2(const uint8_t *bytes, size_t count, char *out)
{
  size_t taken = 0;
  for (; count - taken >= BYTES + BYTES_AFTER; taken += BYTES, out += LETTERS)
    _mm256_storeu_si256((__m256i *)(void *)out, letters_of(split(bytes + taken)));
  return taken;
}

/* Decodes letters from the beginning of t, and returns how many: a multiple of 32. Writes 3 bytes for each 4
 * letters, and may write further bytes, but no more than the whole text can decode to. */
static size_t decode_wide(struct text t, uint8_t *out)
{
  return processor_has_avx2() ? decode_by_avx2(t, out) : 0;
}

/* Encodes bytes from the first on, and returns how many: a multiple of 24. Writes 4 letters for each 3
 * bytes. */
static size_t encode_wide(const uint8_t *bytes, size_t count, char *out)
{
  return processor_has_avx2() ? encode_by_avx2(bytes, count, out) : 0;
}
#else
static size_t decode_wide(struct text t, uint8_t *out)
{
  (void)t;
  (void)out;
  return 0;
}

static size_t encode_wide(const uint8_t *bytes, size_t count, char *out)
{
  (void)bytes;
  (void)count;
  (void)out;
  return 0;
}
#endif

/* ---- the rest ---- */

void base64_encode(struct buffer *out, const uint8_t *bytes, size_t count)
{
  enum { STEP = 3 * 1024 * 1024 }; /* EVP_EncodeBlock counts in int */
  while (count > 0) {
    size_t step = count < STEP ? count : STEP;
    size_t room = (step + 2) / 3 * 4;
    char *to = buffer_reserve(out, room + 1); /* EVP_EncodeBlock also writes a NUL */
    if (to == NULL)
      return;
    size_t taken = encode_wide(bytes, step, to);
    EVP_EncodeBlock((unsigned char *)to + taken / 3 * 4, bytes + taken, (int)(step - taken));
    out->len += room;
    bytes += step;
    count -= step;
  }
}

size_t base64_decoded_max(struct text t)
{
  return t.len / 4 * 3;
}

/* The values of letters; NO_LETTER for all other bytes. */
enum { NO_LETTER = 0x80 };

static const uint8_t values[256] = {
    0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
    0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
    0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x3E, 0x80, 0x80, 0x80, 0x3F,
    0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3A, 0x3B, 0x3C, 0x3D, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
    0x80, 0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x0E,
    0x0F, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x80, 0x80, 0x80, 0x80, 0x80,
    0x80, 0x1A, 0x1B, 0x1C, 0x1D, 0x1E, 0x1F, 0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28,
    0x29, 0x2A, 0x2B, 0x2C, 0x2D, 0x2E, 0x2F, 0x30, 0x31, 0x32, 0x33, 0x80, 0x80, 0x80, 0x80, 0x80,
    0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
    0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
    0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
    0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
    0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
    0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
    0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
    0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
};

static uint8_t value_of(char letter)
{
  return values[(unsigned char)letter];
}

/* Decodes four letters to three bytes. Returns NO_LETTER if one of the four bytes is not a letter. */
static unsigned decode_four(const char *letters, uint8_t *out)
{
  uint8_t four[4];
  for (int i = 0; i < 4; i++)
    four[i] = value_of(letters[i]);
  out[0] = (uint8_t)(four[0] << 2 | four[1] >> 4);
  out[1] = (uint8_t)(four[1] << 4 | four[2] >> 2);
  out[2] = (uint8_t)(four[2] << 6 | four[3]);
  return (four[0] | four[1] | four[2] | four[3]) & NO_LETTER;
}

/* The last letter has bits that belong to no byte. These bits must be 0. */
static bool decode_padded(const char *letters, size_t padding, uint8_t *out)
{
  char four[4] = {letters[0], letters[1], padding == 2 ? 'A' : letters[2], 'A'};
  uint8_t spare = padding == 2 ? 0x0F : 0x03;
  uint8_t bytes[3];
  if (decode_four(four, bytes) != 0 || (value_of(letters[3 - padding]) & spare) != 0)
    return false;
  memcpy(out, bytes, sizeof bytes - padding);
  return true;
}

enum jp_status base64_decode(struct text t, uint8_t *out, size_t *count)
{
  *count = 0;
  if (t.len == 0)
    return JP_OK;
  if (t.len % 4 != 0)
    return JP_INVALID;
  size_t padding = 0;
  while (padding < 2 && t.data[t.len - 1 - padding] == '=')
    padding++;
  size_t whole = padding == 0 ? t.len : t.len - 4;
  size_t i = decode_wide(text_slice(t, 0, whole), out);
  unsigned wrong = 0;
  for (; i < whole; i += 4)
    wrong |= decode_four(t.data + i, out + i / 4 * 3);
  if (wrong != 0 || (padding > 0 && !decode_padded(t.data + whole, padding, out + whole / 4 * 3)))
    return JP_INVALID;
  *count = t.len / 4 * 3 - padding;
  return JP_OK;
}

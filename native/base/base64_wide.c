#include "base/base64_wide.h"

#ifdef __SSE2__ /* x86: what has it may have AVX2 */
#include <immintrin.h>

enum {
  LETTERS = 32, /* of a step */
  BYTES = 24,   /* that those letters encode */
  /* A step writes 32 bytes for 24, or loads 28: the room or the text must be that much longer. */
  LETTERS_BEHIND = 16,
  BYTES_BEHIND = 4
};

#define WIDE __attribute__((target("avx2")))

WIDE static inline __m256i all(char byte)
{
  return _mm256_set1_epi8(byte);
}

/* Where a letter is one of `count` from `first` on, its value, `value` being that of the first; else 0. */
WIDE static inline __m256i values_in(__m256i letters, char first, char count, char value, __m256i *known)
{
  __m256i above = _mm256_sub_epi8(letters, all(first));
  __m256i found = _mm256_cmpeq_epi8(_mm256_min_epu8(above, all((char)(count - 1))), above);
  *known = _mm256_or_si256(*known, found);
  return _mm256_and_si256(found, _mm256_add_epi8(above, all(value)));
}

/* RFC 4648, section 4. known has all bits of each byte that is a letter. */
WIDE static inline __m256i values_of(__m256i letters, __m256i *known)
{
  __m256i values = values_in(letters, 'A', 26, 0, known);
  values = _mm256_or_si256(values, values_in(letters, 'a', 26, 26, known));
  values = _mm256_or_si256(values, values_in(letters, '0', 10, 52, known));
  values = _mm256_or_si256(values, values_in(letters, '+', 1, 62, known));
  return _mm256_or_si256(values, values_in(letters, '/', 1, 63, known));
}

/* 32 values of six bits become 24 bytes, the first ones. */
WIDE static inline __m256i join(__m256i values)
{
  __m256i pairs = _mm256_maddubs_epi16(values, _mm256_set1_epi16(1 << 8 | 1 << 6));
  __m256i fours = _mm256_madd_epi16(pairs, _mm256_set1_epi32(1 << 16 | 1 << 12));
  /* Of each four bytes the upper one is empty, and the lowest comes last. */
  const __m256i order = _mm256_setr_epi8(2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1, 2, 1, 0, 6,
                                         5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1);
  const __m256i halves = _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 3, 7);
  return _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(fours, order), halves);
}

WIDE static size_t decode(struct text t, uint8_t *out)
{
  size_t taken = 0;
  for (; t.len - taken >= LETTERS + LETTERS_BEHIND; taken += LETTERS, out += BYTES) {
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
  /* Of each three bytes 0, 1, 2 a word of 0 and 1 and one of 1 and 2, the earlier byte in the upper half. */
  const __m256i order = _mm256_setr_epi8(1, 0, 2, 1, 4, 3, 5, 4, 7, 6, 8, 7, 10, 9, 11, 10, 1, 0, 2, 1, 4, 3,
                                         5, 4, 7, 6, 8, 7, 10, 9, 11, 10);
  __m256i words = _mm256_shuffle_epi8(_mm256_set_m128i(high, low), order);
  /* The first of a word's two values is shifted down into its lower byte, the second one up into the upper.
   */
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

WIDE static size_t encode(const uint8_t *bytes, size_t count, char *out)
{
  size_t taken = 0;
  for (; count - taken >= BYTES + BYTES_BEHIND; taken += BYTES, out += LETTERS)
    _mm256_storeu_si256((__m256i *)(void *)out, letters_of(split(bytes + taken)));
  return taken;
}

size_t base64_decode_wide(struct text t, uint8_t *out)
{
  return __builtin_cpu_supports("avx2") ? decode(t, out) : 0;
}

size_t base64_encode_wide(const uint8_t *bytes, size_t count, char *out)
{
  return __builtin_cpu_supports("avx2") ? encode(bytes, count, out) : 0;
}
#else
size_t base64_decode_wide(struct text t, uint8_t *out)
{
  (void)t;
  (void)out;
  return 0;
}

size_t base64_encode_wide(const uint8_t *bytes, size_t count, char *out)
{
  (void)bytes;
  (void)count;
  (void)out;
  return 0;
}
#endif

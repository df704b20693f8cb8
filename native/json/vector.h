#ifndef JPEER_JSON_VECTOR_H
#define JPEER_JSON_VECTOR_H
/*
 * Scans several bytes of text at once: sixteen with SSE2, otherwise eight. Used only in this folder. Pure,
 * any thread.
 *
 * A find function marks a found byte by all bits of the byte (SSE2) or by its highest bit (a word); `|` joins
 * two results. Each byte is marked correctly: nothing is carried from one byte to the next.
 */
#include "json/scan.h"

/*
 * vector_join_numbers reads VECTOR_NUMBERS whole numbers of at most eight bytes. Each number is a word with
 * the last digit in the highest byte. The bytes below its digits are less than '0'. A minus among these bytes
 * makes the number negative.
 */
enum { VECTOR_NUMBERS = 4, VECTOR_NUMERAL = 8 };

/* The value of eight digits, of which the first is in the lowest byte. */
static inline uint64_t vector_join_eight(uint64_t digits)
{
  digits &= SCAN_REPEAT(0x0F);
  digits = (digits * (1 + (10u << 8))) >> 8 & 0x00FF00FF00FF00FFu;
  digits = (digits * (1 + (100ull << 16))) >> 16 & 0x0000FFFF0000FFFFu;
  return (digits * (1 + (10000ull << 32))) >> 32;
}

#ifdef __SSE2__
enum { VECTOR_SIZE = 16 };
typedef __m128i vector;

static inline vector vector_load(const char *p)
{
  return _mm_loadu_si128((const __m128i *)(const void *)p);
}

static inline vector vector_find_equal(vector bytes, char wanted)
{
  return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(wanted));
}

/* Finds bytes up to most, which is ASCII. */
static inline vector vector_find_upto(vector bytes, char most)
{
  return _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(most)), bytes);
}

static inline vector vector_find_digits(vector bytes)
{
  return vector_find_upto(_mm_sub_epi8(bytes, _mm_set1_epi8('0')), 9);
}

/* Returns one bit for each byte, the first byte lowest. */
static inline uint64_t vector_marks(vector found)
{
  return (unsigned)_mm_movemask_epi8(found);
}

static inline size_t vector_count(vector found)
{
  vector sums = _mm_sad_epu8(_mm_and_si128(found, _mm_set1_epi8(1)), _mm_setzero_si128());
  return (unsigned)(_mm_cvtsi128_si32(sums) + _mm_extract_epi16(sums, 4));
}

/* For two numbers, computes the value of the first four digits and the value of the last four digits. */
static inline vector vector_join_fours(vector words)
{
  vector digits = _mm_subs_epu8(words, _mm_set1_epi8('0')); /* a byte below '0' counts as '0' */
  vector tens = _mm_mullo_epi16(_mm_and_si128(digits, _mm_set1_epi16(0xFF)), _mm_set1_epi16(10));
  vector pairs = _mm_add_epi16(tens, _mm_srli_epi16(digits, 8));
  return _mm_madd_epi16(pairs, _mm_set1_epi32(1 << 16 | 100));
}

/* For each number with a minus, sets the lower half of its word to a value other than 0. */
static inline vector vector_find_minus(vector words)
{
  return _mm_sad_epu8(vector_find_equal(words, '-'), _mm_setzero_si128());
}

static inline void vector_join_numbers(const uint64_t words[VECTOR_NUMBERS], int32_t out[VECTOR_NUMBERS])
{
  vector first = _mm_loadu_si128((const __m128i *)(const void *)words);
  vector second = _mm_loadu_si128((const __m128i *)(const void *)(words + 2));
  vector fours = _mm_packs_epi32(vector_join_fours(first), vector_join_fours(second));
  vector values = _mm_madd_epi16(fours, _mm_set1_epi32(1 << 16 | 10000));
  /* The sums are at most 255 and the upper halves are 0, so the saturation changes nothing. */
  vector minus = _mm_packs_epi32(vector_find_minus(first), vector_find_minus(second));
  vector negative = _mm_cmpgt_epi32(minus, _mm_setzero_si128());
  values = _mm_sub_epi32(_mm_xor_si128(values, negative), negative);
  _mm_storeu_si128((__m128i *)(void *)out, values);
}
#else
enum { VECTOR_SIZE = 8 };
typedef uint64_t vector;

static inline vector vector_load(const char *p)
{
  return scan_load(p);
}

static inline vector vector_find_upto(vector bytes, char most)
{
  uint64_t above = (bytes & SCAN_REPEAT(0x7F)) + SCAN_REPEAT(0x7F - most);
  return ~(above | bytes) & SCAN_REPEAT(0x80);
}

static inline vector vector_find_equal(vector bytes, char wanted)
{
  return vector_find_upto(bytes ^ SCAN_REPEAT(wanted), 0);
}

static inline vector vector_find_digits(vector bytes)
{
  return vector_find_upto(bytes, '9') & ~vector_find_upto(bytes, '0' - 1);
}

static inline uint64_t vector_marks(vector found)
{
  return (found >> 7) * 0x0102040810204080u >> 56;
}

static inline size_t vector_count(vector found)
{
  return (found >> 7) * SCAN_REPEAT(1) >> 56;
}

static inline void vector_join_numbers(const uint64_t words[VECTOR_NUMBERS], int32_t out[VECTOR_NUMBERS])
{
  for (int i = 0; i < VECTOR_NUMBERS; i++) {
    uint64_t of_digits = (vector_find_digits(words[i]) >> 7) * 0x0F;
    int32_t value = (int32_t)vector_join_eight(words[i] & of_digits);
    out[i] = vector_find_equal(words[i], '-') == 0 ? value : -value;
  }
}
#endif

#endif

#ifndef JPEER_JSON_SCAN_H
#define JPEER_JSON_SCAN_H
/*
 * Helpers that scan text byte by byte. Used only in this folder. Pure, any thread.
 */
#include "base/number.h"
#include "json/reader.h"

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* A word of eight equal bytes. */
#define SCAN_REPEAT(byte) (0x0101010101010101u * (uint8_t)(byte))

/* Loads eight bytes into a word, the first byte into the lowest bits. The functions below mark bytes of a
 * word: the lowest mark belongs to the first marked byte. */
static inline uint64_t scan_load(const char *p)
{
  uint64_t word;
  memcpy(&word, p, sizeof word);
  return le64toh(word);
}

/* Sets 0x80 in each byte that equals `byte`. Only the lowest mark is reliable: a byte above it may be marked
 * wrongly, because the subtraction borrows. */
static inline uint64_t scan_mark_equal(uint64_t word, char byte)
{
  uint64_t x = word ^ SCAN_REPEAT(byte);
  return (x - SCAN_REPEAT(1)) & ~x & SCAN_REPEAT(0x80);
}

/* Sets 0x80 in each byte below 0x20. Only the lowest mark is reliable. */
static inline uint64_t scan_mark_control(uint64_t word)
{
  return (word - SCAN_REPEAT(0x20)) & ~word & SCAN_REPEAT(0x80);
}

static inline unsigned scan_first(uint64_t marks) /* marks must not be 0 */
{
  return (unsigned)__builtin_ctzll(marks) / 8;
}

static inline bool scan_is_space(char c)
{
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline const char *scan_space(const char *p, const char *end)
{
  /* Usually there is no white space. */
  while (p < end && (unsigned char)*p <= ' ' && scan_is_space(*p))
    p++;
  return p;
}

/*
 * Walks through a string up to a quote or a backslash and, if the flags say so, a control character or a byte
 * above 0x7F; returns end if the string has none of these. The flags are constants at each caller.
 */
static inline const char *scan_string(const char *p, const char *end, bool stop_at_control, bool stop_at_high)
{
#ifdef __SSE2__
  for (; end - p >= 16; p += 16) {
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i stops =
        _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')), _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
    if (stop_at_control)
      stops = _mm_or_si128(stops, _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1F)), bytes));
    if (stop_at_high)
      stops = _mm_or_si128(stops, bytes);
    int marks = _mm_movemask_epi8(stops);
    if (marks != 0)
      return p + __builtin_ctz((unsigned)marks);
  }
#endif
  for (; end - p >= 8; p += 8) {
    uint64_t word = scan_load(p);
    uint64_t marks = scan_mark_equal(word, '"') | scan_mark_equal(word, '\\');
    if (stop_at_control)
      marks |= scan_mark_control(word);
    if (stop_at_high)
      marks |= word & SCAN_REPEAT(0x80);
    if (marks != 0)
      return p + scan_first(marks);
  }
  for (; p < end; p++) {
    unsigned char c = (unsigned char)*p;
    if (c == '"' || c == '\\' || (stop_at_control && c < 0x20) || (stop_at_high && c >= 0x80))
      return p;
  }
  return p;
}

/* The kind of the value whose first byte is c. A byte that begins no other kind counts as the beginning of a
 * number. */
static inline enum json_kind scan_kind(char c)
{
  static const uint8_t others[256] = {
      ['"'] = 1 + JSON_KIND_STRING, ['{'] = 1 + JSON_KIND_OBJECT, ['['] = 1 + JSON_KIND_ARRAY,
      ['t'] = 1 + JSON_KIND_TRUE,   ['f'] = 1 + JSON_KIND_FALSE,  ['n'] = 1 + JSON_KIND_NULL,
  };
  uint8_t kind = others[(unsigned char)c];
  return kind == 0 ? JSON_KIND_NUMBER : (enum json_kind)(kind - 1);
}

/* The value of a hexadecimal digit, or -1. */
static inline int scan_hex(char c)
{
  if (number_is_digit(c))
    return c - '0';
  char lower = (char)(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

#endif

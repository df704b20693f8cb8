#include "base/text_wide.h"

#ifdef __SSE2__ /* x86: AVX2 is possible, checked at run time */
#include "base/processor.h"

#include <immintrin.h>

#define WIDE __attribute__((target("avx2,popcnt")))

WIDE static inline __m256i load(const void *p)
{
  return _mm256_loadu_si256((const __m256i *)p);
}

WIDE static inline __m128i load_half(const void *p)
{
  return _mm_loadu_si128((const __m128i *)p);
}

WIDE static inline void store_half(void *p, __m128i bytes)
{
  _mm_storeu_si128((__m128i *)p, bytes);
}

/* ---- strict UTF-8 ---- */

/*
 * The faults of a byte and the previous byte, a bit for each fault (RFC 3629, section 4). Three tables list
 * the faults that are possible with the upper half of the first byte, with the lower half of the first byte,
 * and with the upper half of the second byte. Two bytes have a fault if all three tables list it. CONTINUES
 * is required at the third and fourth byte of a character, and is a fault at any other byte.
 */
enum fault {
  BREAKS_OFF = 0x01,     /* a character begins, and no continuation follows */
  BEGINS_NOT = 0x02,     /* a continuation after ASCII */
  OVERLONG_TWO = 0x04,   /* C0, C1 */
  OVERLONG_THREE = 0x08, /* E0, then less than A0 */
  SURROGATE = 0x10,      /* ED, then A0 or more */
  TOO_LARGE = 0x20,      /* F4 or more, then 90 or more */
  NOT_OF_FOUR = 0x40,    /* F0 (overlong), F5 or more (too large), then less than 90 */
  CONTINUES = 0x80,      /* a continuation after another */
};

enum {
  ANY_LOW = BREAKS_OFF | BEGINS_NOT | CONTINUES,
  ABOVE_F4 = ANY_LOW | TOO_LARGE | NOT_OF_FOUR,
  CONTINUATION = BEGINS_NOT | OVERLONG_TWO | CONTINUES,
};

static const uint8_t faults_by_first_high[16] = {
    [0x0] = BEGINS_NOT,
    [0x1] = BEGINS_NOT,
    [0x2] = BEGINS_NOT,
    [0x3] = BEGINS_NOT,
    [0x4] = BEGINS_NOT,
    [0x5] = BEGINS_NOT,
    [0x6] = BEGINS_NOT,
    [0x7] = BEGINS_NOT,
    [0x8] = CONTINUES,
    [0x9] = CONTINUES,
    [0xA] = CONTINUES,
    [0xB] = CONTINUES,
    [0xC] = BREAKS_OFF | OVERLONG_TWO,
    [0xD] = BREAKS_OFF,
    [0xE] = BREAKS_OFF | OVERLONG_THREE | SURROGATE,
    [0xF] = BREAKS_OFF | TOO_LARGE | NOT_OF_FOUR,
};

static const uint8_t faults_by_first_low[16] = {
    [0x0] = ANY_LOW | OVERLONG_TWO | OVERLONG_THREE | NOT_OF_FOUR,
    [0x1] = ANY_LOW | OVERLONG_TWO,
    [0x2] = ANY_LOW,
    [0x3] = ANY_LOW,
    [0x4] = ANY_LOW | TOO_LARGE,
    [0x5] = ABOVE_F4,
    [0x6] = ABOVE_F4,
    [0x7] = ABOVE_F4,
    [0x8] = ABOVE_F4,
    [0x9] = ABOVE_F4,
    [0xA] = ABOVE_F4,
    [0xB] = ABOVE_F4,
    [0xC] = ABOVE_F4,
    [0xD] = ABOVE_F4 | SURROGATE,
    [0xE] = ABOVE_F4,
    [0xF] = ABOVE_F4,
};

static const uint8_t faults_by_second_high[16] = {
    [0x0] = BREAKS_OFF,
    [0x1] = BREAKS_OFF,
    [0x2] = BREAKS_OFF,
    [0x3] = BREAKS_OFF,
    [0x4] = BREAKS_OFF,
    [0x5] = BREAKS_OFF,
    [0x6] = BREAKS_OFF,
    [0x7] = BREAKS_OFF,
    [0x8] = CONTINUATION | OVERLONG_THREE | NOT_OF_FOUR,
    [0x9] = CONTINUATION | OVERLONG_THREE | TOO_LARGE,
    [0xA] = CONTINUATION | SURROGATE | TOO_LARGE,
    [0xB] = CONTINUATION | SURROGATE | TOO_LARGE,
    [0xC] = BREAKS_OFF,
    [0xD] = BREAKS_OFF,
    [0xE] = BREAKS_OFF,
    [0xF] = BREAKS_OFF,
};

WIDE static inline __m256i look_up(const uint8_t rows[16], __m256i halves)
{
  return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(load_half(rows)), halves);
}

WIDE static inline __m256i low_half(__m256i bytes)
{
  return _mm256_and_si256(bytes, _mm256_set1_epi8(0x0F));
}

WIDE static inline __m256i high_half(__m256i bytes)
{
  return low_half(_mm256_srli_epi16(bytes, 4));
}

/* Sets the highest bit of each byte that is at least `least`; `least` is above 0x80. */
WIDE static inline __m256i mark_from(__m256i bytes, uint8_t least)
{
  return _mm256_subs_epu8(bytes, _mm256_set1_epi8((char)(least - 0x80)));
}

/* Checks 32 bytes together with the 32 before them. */
WIDE static inline bool has_fault(__m256i before, __m256i bytes)
{
  __m256i joint = _mm256_permute2x128_si256(before, bytes, 0x21);
  __m256i one_before = _mm256_alignr_epi8(bytes, joint, 15);
  __m256i two_before = _mm256_alignr_epi8(bytes, joint, 14);
  __m256i three_before = _mm256_alignr_epi8(bytes, joint, 13);
  __m256i faults = look_up(faults_by_first_high, high_half(one_before));
  faults = _mm256_and_si256(faults, look_up(faults_by_first_low, low_half(one_before)));
  faults = _mm256_and_si256(faults, look_up(faults_by_second_high, high_half(bytes)));
  __m256i must_continue = _mm256_or_si256(mark_from(two_before, 0xE0), mark_from(three_before, 0xF0));
  must_continue = _mm256_and_si256(must_continue, _mm256_set1_epi8((char)CONTINUES));
  faults = _mm256_xor_si256(faults, must_continue);
  return !_mm256_testz_si256(faults, faults);
}

static bool is_continuation(char byte)
{
  return ((unsigned char)byte & 0xC0) == 0x80;
}

/* The start of the last character that begins before i. The text before this character is valid. */
static size_t last_character(struct text t, size_t i)
{
  while (i > 0 && is_continuation(t.data[i - 1]))
    i--;
  return i > 0 ? i - 1 : 0;
}

WIDE static size_t valid_utf8(struct text t)
{
  __m256i before = _mm256_setzero_si256();
  size_t i = 0;
  while (t.len - i >= sizeof before) {
    __m256i bytes = load(t.data + i);
    if (has_fault(before, bytes))
      return last_character(t, i);
    before = bytes;
    i += sizeof before;
  }
  /* The text is followed by NULs, so a character that breaks off at its end is a fault. */
  char rest[sizeof before] = {0};
  memcpy(rest, t.data + i, t.len - i);
  return has_fault(before, load(rest)) ? last_character(t, i) : t.len;
}

/* ---- tables of eight bits ---- */

/* Makes a row for each mask from 0 on. The arguments of ROW are the bits of the mask, the highest bit
 * first. */
#define ROWS_OF_1(ROW, ...) ROW(__VA_ARGS__, 0), ROW(__VA_ARGS__, 1)
#define ROWS_OF_2(ROW, ...) ROWS_OF_1(ROW, __VA_ARGS__, 0), ROWS_OF_1(ROW, __VA_ARGS__, 1)
#define ROWS_OF_3(ROW, ...) ROWS_OF_2(ROW, __VA_ARGS__, 0), ROWS_OF_2(ROW, __VA_ARGS__, 1)
#define ROWS_OF_4(ROW, ...) ROWS_OF_3(ROW, __VA_ARGS__, 0), ROWS_OF_3(ROW, __VA_ARGS__, 1)
#define ROWS_OF_5(ROW, ...) ROWS_OF_4(ROW, __VA_ARGS__, 0), ROWS_OF_4(ROW, __VA_ARGS__, 1)
#define ROWS_OF_6(ROW, ...) ROWS_OF_5(ROW, __VA_ARGS__, 0), ROWS_OF_5(ROW, __VA_ARGS__, 1)
#define ROWS_OF_7(ROW, ...) ROWS_OF_6(ROW, __VA_ARGS__, 0), ROWS_OF_6(ROW, __VA_ARGS__, 1)
#define ROWS_OF_8(ROW)      ROWS_OF_7(ROW, 0), ROWS_OF_7(ROW, 1)

/* ---- UTF-8 to UTF-16 ---- */

enum {
  STEP = 16, /* bytes */
  /* A step always writes eight units to `out`, even if its bytes make fewer. `out` has room for them only if
   * enough text follows the step. Eight units need at most 24 bytes of text. Up to three more bytes may
   * belong to a character that is already written. */
  STEP_AFTER = 8 * 3 + 3
};

#define UNIT_0(at)
#define UNIT_1(at) (2 * (at)), (2 * (at) + 1),
#define UNITS(h, g, f, e, d, c, b, a)                                                                        \
  {                                                                                                          \
    UNIT_##a(0) UNIT_##b(1) UNIT_##c(2) UNIT_##d(3) UNIT_##e(4) UNIT_##f(5) UNIT_##g(6) UNIT_##h(7)          \
  }

/* For each mask of eight units: the indexes of the bytes of the units that the mask keeps. */
static const uint8_t kept_units[256][16] = {ROWS_OF_8(UNITS)};

WIDE static inline __m256i all(unsigned unit)
{
  return _mm256_set1_epi16((short)unit);
}

WIDE static inline __m256i widen(const char *p)
{
  return _mm256_cvtepu8_epi16(load_half(p));
}

WIDE static inline __m256i choose(__m256i where, __m256i there, __m256i elsewhere)
{
  return _mm256_blendv_epi8(elsewhere, there, where);
}

/* Reads the unit that begins at each of 16 bytes. A character of four bytes has its first unit at its first
 * byte, and its second unit at the second byte. Units of other bytes mean nothing. */
WIDE static inline __m256i read_units(const char *p, bool has_pairs)
{
  __m256i first = widen(p);
  __m256i second = _mm256_and_si256(widen(p + 1), all(0x3F));
  __m256i third = _mm256_and_si256(widen(p + 2), all(0x3F));
  __m256i rest = _mm256_or_si256(_mm256_slli_epi16(second, 6), third);
  __m256i two = _mm256_or_si256(_mm256_slli_epi16(_mm256_and_si256(first, all(0x1F)), 6), second);
  __m256i three = _mm256_or_si256(_mm256_slli_epi16(first, 12), rest);
  __m256i units = choose(_mm256_cmpgt_epi16(first, all(0xDF)), three, two);
  if (has_pairs) {
    __m256i high = _mm256_or_si256(_mm256_slli_epi16(second, 2), _mm256_srli_epi16(third, 4));
    high = _mm256_or_si256(high, _mm256_slli_epi16(_mm256_and_si256(first, all(0x07)), 8));
    high = _mm256_add_epi16(high, all(0xD800 - (0x10000 >> 10)));
    __m256i low = _mm256_or_si256(_mm256_and_si256(rest, all(0x3FF)), all(0xDC00));
    units = choose(_mm256_cmpgt_epi16(first, all(0xEF)), high, units);
    units = choose(_mm256_cmpgt_epi16(all(0xC0), first), low, units);
  }
  return choose(_mm256_cmpgt_epi16(all(0x80), first), first, units);
}

WIDE static inline uint16_t *put_kept(uint16_t *out, __m128i units, unsigned mask)
{
  store_half(out, _mm_shuffle_epi8(units, load_half(kept_units[mask])));
  return out + __builtin_popcount(mask);
}

/* Writes the units of 16 bytes. *is_open is 1 if the byte before these 16 bytes is the first byte of a
 * character of four bytes. On return *is_open says the same of the last of the 16 bytes. */
WIDE static inline uint16_t *put_bytes(uint16_t *out, const char *p, unsigned *is_open)
{
  __m128i bytes = load_half(p);
  __m128i fours = _mm_cmpeq_epi8(_mm_max_epu8(bytes, _mm_set1_epi8((char)0xF0)), bytes);
  unsigned seconds = (unsigned)_mm_movemask_epi8(fours) << 1 | *is_open;
  unsigned begins = (unsigned)_mm_movemask_epi8(_mm_cmpgt_epi8(bytes, _mm_set1_epi8((char)0xBF)));
  __m256i units = read_units(p, seconds != 0);
  out = put_kept(out, _mm256_castsi256_si128(units), (begins | seconds) & 0xFF);
  *is_open = seconds >> STEP;
  return put_kept(out, _mm256_extracti128_si256(units, 1), (begins | seconds) >> 8 & 0xFF);
}

WIDE static size_t to_utf16(struct text t, uint16_t **out)
{
  uint16_t *to = *out;
  unsigned is_open = 0;
  size_t i = 0;
  for (; t.len - i >= STEP; i += STEP) {
    __m128i bytes = load_half(t.data + i);
    if (_mm_movemask_epi8(bytes) == 0) {
      _mm256_storeu_si256((__m256i *)(void *)to, _mm256_cvtepu8_epi16(bytes));
      to += STEP;
      is_open = 0;
    } else if (t.len - i >= STEP + STEP_AFTER) {
      to = put_bytes(to, t.data + i, &is_open);
    } else {
      break;
    }
  }
  *out = to - is_open;
  if (is_open != 0)
    return i - 1;
  while (i > 0 && i < t.len && is_continuation(t.data[i]))
    i++;
  return i;
}

/* ---- UTF-16 to UTF-8 ---- */

enum {
  UNITS_STEP = 8,
  UNITS_AFTER = 12 /* a step may write this many bytes beyond the bytes of its units */
};

WIDE static inline __m128i all_units(unsigned unit)
{
  return _mm_set1_epi16((short)unit);
}

WIDE static inline __m128i is_from(__m128i units, unsigned least)
{
  return _mm_cmpeq_epi16(_mm_max_epu16(units, all_units(least)), units);
}

/* Makes one bit of each unit. */
WIDE static inline unsigned mask_of(__m128i found, __m128i found_too)
{
  return (unsigned)_mm_movemask_epi8(_mm_packs_epi16(found, found_too));
}

#define BYTES_0(at) (2 * (at))
#define BYTES_1(at) (2 * (at)), (2 * (at) + 1)
#define UP_TO_TWO(h, g, f, e, d, c, b, a)                                                                    \
  {                                                                                                          \
    BYTES_##a(0), BYTES_##b(1), BYTES_##c(2), BYTES_##d(3), BYTES_##e(4), BYTES_##f(5), BYTES_##g(6),        \
        BYTES_##h(7)                                                                                         \
  }

/* For eight units that become one or two bytes each. The mask has a bit for each unit that becomes two
 * bytes. */
static const uint8_t up_to_two[256][16] = {ROWS_OF_8(UP_TO_TWO)};

WIDE static inline char *put_up_to_two(char *out, __m128i units)
{
  __m128i have_two = is_from(units, 0x80);
  unsigned mask = mask_of(have_two, _mm_setzero_si128());
  __m128i second = _mm_and_si128(_mm_slli_epi16(units, 8), all_units(0x3F00));
  __m128i bytes = _mm_or_si128(_mm_srli_epi16(units, 6), _mm_or_si128(second, all_units(0x80C0)));
  bytes = _mm_blendv_epi8(units, bytes, have_two);
  store_half(out, _mm_shuffle_epi8(bytes, load_half(up_to_two[mask])));
  return out + UNITS_STEP + __builtin_popcount(mask);
}

#define BYTES_0_0(at) (4 * (at) + 3)
#define BYTES_1_0(at) (4 * (at) + 1), (4 * (at) + 2)
#define BYTES_0_1(at) BYTES_0_0(at) /* never occurs: three bytes are more than two */
#define BYTES_1_1(at) (4 * (at)), (4 * (at) + 1), (4 * (at) + 2)
#define UP_TO_THREE(h, g, f, e, d, c, b, a)                                                                  \
  {                                                                                                          \
    BYTES_##a##_##e(0), BYTES_##b##_##f(1), BYTES_##c##_##g(2), BYTES_##d##_##h(3)                           \
  }

/* Each of the four units has four bytes. A character of three bytes uses the first three of them, ASCII uses
 * the first, and a character of two bytes uses the second and the third. The mask has four bits for units
 * that become two or three bytes, then four bits for units that become three bytes. */
static const uint8_t up_to_three[256][16] = {ROWS_OF_8(UP_TO_THREE)};

WIDE static inline char *put_four(char *out, __m128i bytes, unsigned mask)
{
  store_half(out, _mm_shuffle_epi8(bytes, load_half(up_to_three[mask])));
  return out + UNITS_STEP / 2 + __builtin_popcount(mask);
}

/* Eight units. */
struct step {
  __m128i units;
  __m128i have_two; /* two bytes or more */
  __m128i have_three;
  __m128i marks; /* bits of the second of three bytes that a continuation byte does not have */
};

/* Makes each half of a pair a unit of two bytes. The two halves together are the four bytes of the pair. */
WIDE static inline void spread_pairs(struct step *step, __m128i before, __m128i after)
{
  __m128i is_high = _mm_cmpeq_epi16(_mm_and_si128(step->units, all_units(0xFC00)), all_units(0xD800));
  __m128i is_low = _mm_cmpeq_epi16(_mm_and_si128(step->units, all_units(0xFC00)), all_units(0xDC00));
  __m128i to_high = _mm_cmpeq_epi16(_mm_and_si128(before, all_units(0xFC00)), all_units(0xD800));
  __m128i to_low = _mm_cmpeq_epi16(_mm_and_si128(after, all_units(0xFC00)), all_units(0xDC00));
  is_high = _mm_and_si128(is_high, to_low);
  is_low = _mm_and_si128(is_low, to_high);
  __m128i bits = _mm_and_si128(step->units, all_units(0x3FF));
  __m128i first = _mm_srli_epi16(_mm_add_epi16(bits, all_units(0x10000 >> 10)), 2);
  __m128i second = _mm_or_si128(_mm_slli_epi16(_mm_and_si128(before, all_units(0x03)), 10), bits);
  step->units = _mm_blendv_epi8(_mm_blendv_epi8(step->units, first, is_high), second, is_low);
  step->have_three = _mm_andnot_si128(_mm_or_si128(is_high, is_low), step->have_three);
  step->marks =
      _mm_andnot_si128(is_low, _mm_or_si128(step->marks, _mm_and_si128(is_high, all_units(0x7000))));
}

WIDE static inline char *put_up_to_three(char *out, struct step step)
{
  unsigned masks = mask_of(_mm_unpacklo_epi64(step.have_two, step.have_three),
                           _mm_unpackhi_epi64(step.have_two, step.have_three));
  __m128i second = _mm_and_si128(_mm_slli_epi16(step.units, 2), all_units(0x3F00));
  __m128i upper = _mm_or_si128(_mm_srli_epi16(step.units, 12), _mm_or_si128(second, step.marks));
  __m128i third = _mm_and_si128(step.units, all_units(0x3F));
  __m128i lower = _mm_or_si128(_mm_slli_epi16(step.units, 8), third);
  upper = _mm_or_si128(upper, all_units(0x80E0));
  lower = _mm_or_si128(lower, all_units(0x80));
  out = put_four(out, _mm_unpacklo_epi16(upper, lower), masks & 0xFF);
  return put_four(out, _mm_unpackhi_epi16(upper, lower), masks >> 8);
}

/* Writes the bytes of eight units from i on. */
WIDE static inline char *put_step(char *out, const uint16_t *units, size_t i)
{
  struct step step = {.units = load_half(units + i)};
  if (_mm_testz_si128(step.units, all_units(0xF800)))
    return put_up_to_two(out, step.units);
  step.have_two = is_from(step.units, 0x80);
  step.have_three = is_from(step.units, 0x800);
  step.marks = _mm_andnot_si128(step.have_three, all_units(0x4000));
  __m128i is_half = _mm_cmpeq_epi16(_mm_and_si128(step.units, all_units(0xF800)), all_units(0xD800));
  if (!_mm_testz_si128(is_half, is_half))
    spread_pairs(&step, i == 0 ? _mm_slli_si128(step.units, 2) : load_half(units + i - 1),
                 load_half(units + i + 1));
  return put_up_to_three(out, step);
}

WIDE static size_t from_utf16(const uint16_t *units, size_t count, char **out)
{
  char *to = *out;
  size_t i = 0;
  for (; count - i >= UNITS_STEP; i += UNITS_STEP) {
    __m128i eight = load_half(units + i);
    if (_mm_testz_si128(eight, all_units(0xFF80))) {
      _mm_storel_epi64((__m128i *)(void *)to, _mm_packus_epi16(eight, eight));
      to += UNITS_STEP;
    } else if (count - i >= UNITS_STEP + UNITS_AFTER) {
      to = put_step(to, units, i);
    } else {
      break;
    }
  }
  bool is_inside = i > 0 && i < count && (units[i - 1] & 0xFC00) == 0xD800 && (units[i] & 0xFC00) == 0xDC00;
  *out = to - (is_inside ? 2 : 0);
  return i - is_inside;
}

WIDE static size_t count_bytes(const uint16_t *units, size_t count, size_t *length)
{
  size_t i = 0;
  for (; count - i > UNITS_STEP; i += UNITS_STEP) {
    __m128i eight = load_half(units + i);
    *length += UNITS_STEP;
    if (_mm_testz_si128(eight, all_units(0xFF80)))
      continue;
    *length += (size_t)__builtin_popcount(mask_of(is_from(eight, 0x80), is_from(eight, 0x800)));
    __m128i begin = _mm_cmpeq_epi16(_mm_and_si128(eight, all_units(0xFC00)), all_units(0xD800));
    __m128i after = _mm_and_si128(load_half(units + i + 1), all_units(0xFC00));
    __m128i pairs = _mm_and_si128(begin, _mm_cmpeq_epi16(after, all_units(0xDC00)));
    *length -= 2 * (size_t)__builtin_popcount(mask_of(pairs, _mm_setzero_si128()));
  }
  return i;
}

/* ---- */

size_t text_valid_utf8_wide(struct text t)
{
  return processor_has_avx2() ? valid_utf8(t) : 0;
}

size_t text_to_utf16_wide(struct text t, uint16_t **out)
{
  return processor_has_avx2() ? to_utf16(t, out) : 0;
}

size_t text_from_utf16_wide(const uint16_t *units, size_t count, char **out)
{
  return processor_has_avx2() ? from_utf16(units, count, out) : 0;
}

size_t text_wtf8_length_wide(const uint16_t *units, size_t count, size_t *length)
{
  return processor_has_avx2() ? count_bytes(units, count, length) : 0;
}
#else
size_t text_valid_utf8_wide(struct text t)
{
  (void)t;
  return 0;
}

size_t text_to_utf16_wide(struct text t, uint16_t **out)
{
  (void)t;
  (void)out;
  return 0;
}

size_t text_from_utf16_wide(const uint16_t *units, size_t count, char **out)
{
  (void)units;
  (void)count;
  (void)out;
  return 0;
}

size_t text_wtf8_length_wide(const uint16_t *units, size_t count, size_t *length)
{
  (void)units;
  (void)count;
  (void)length;
  return 0;
}
#endif

#include "json/integers.h"

#include "json/vector.h"

enum { BLOCK = 64, DIGITS_MAX = 18 /* a number of so many digits always fits 64 bits */ };

/* Returns the number of the lowest bit that is set. At least one bit must be set. */
static inline size_t first_bit(uint64_t bits)
{
  return (unsigned)__builtin_ctzll(bits);
}

/* Returns the block at p or, if the text ends inside the block, a copy that is filled up with `filler`. */
static inline const char *whole_block(const char *p, const char *end, char filler, char room[BLOCK])
{
  if (end - p >= BLOCK)
    return p;
  memset(room, filler, BLOCK);
  memcpy(room, p, (size_t)(end - p));
  return room;
}

/* Finds the bytes that a list of whole numbers may contain, including white space. */
static inline vector find_listed(vector bytes)
{
  return vector_find_digits(bytes) | vector_find_equal(bytes, ',') | vector_find_equal(bytes, '-') |
         vector_find_upto(bytes, ' ');
}

/* ---- checking ---- */

/* The kinds of a block's bytes: one bit a byte, the first byte lowest. */
struct block {
  uint64_t digits;
  uint64_t zeros;
  uint64_t commas;
  uint64_t minuses;
  uint64_t spaces;
};

static inline struct block look_at(const char *p)
{
  struct block block = {0};
#pragma GCC unroll 8
  for (unsigned i = 0; i < BLOCK; i += VECTOR_SIZE) {
    vector bytes = vector_load(p + i);
    block.digits |= vector_marks(vector_find_digits(bytes)) << i;
    block.zeros |= vector_marks(vector_find_equal(bytes, '0')) << i;
    block.commas |= vector_marks(vector_find_equal(bytes, ',')) << i;
    block.minuses |= vector_marks(vector_find_equal(bytes, '-')) << i;
    block.spaces |= vector_marks(vector_find_equal(bytes, ' ')) << i;
  }
  return block;
}

/* The kind of a block's last byte, in the lowest bit. */
struct carried {
  uint64_t comma;
  uint64_t space;
  uint64_t minus;
  uint64_t leading_zero;
};

/* True if the bytes in the mask upto are part of a list of numbers. The last byte of the mask may be any byte
 * if a number ends before it. */
static inline bool is_list(const struct block *block, uint64_t upto, struct carried *carried)
{
  uint64_t after_comma = block->commas << 1 | carried->comma;
  uint64_t first = (after_comma & ~block->spaces) | block->spaces << 1 | carried->space;
  uint64_t first_digit = (first & ~block->minuses) | block->minuses << 1 | carried->minus;
  uint64_t leading_zero = first_digit & block->zeros;
  uint64_t after_zero = leading_zero << 1 | carried->leading_zero;
  uint64_t wrong = (block->spaces & ~after_comma) | (block->minuses & ~first) |
                   (first_digit & ~block->digits) | (after_zero & block->digits);
  *carried = (struct carried){block->commas >> (BLOCK - 1), block->spaces >> (BLOCK - 1),
                              block->minuses >> (BLOCK - 1), leading_zero >> (BLOCK - 1)};
  return (wrong & upto) == 0;
}

/* True if the array may be long. The elements of a short array get a mark each instead, because this makes
 * reading them faster. */
static inline bool may_be_long(const char *p, const char *end)
{
  if (end - p < BLOCK || (*p != '-' && !number_is_digit(*p)))
    return false;
  const uint64_t all = ((uint64_t)1 << VECTOR_SIZE) - 1;
  return vector_marks(find_listed(vector_load(p + BLOCK - VECTOR_SIZE))) == all;
}

const char *json_integers_pass(const char *p, const char *end)
{
  char room[BLOCK];
  struct carried carried = {.comma = 1};
  if (!may_be_long(p, end))
    return NULL;
  for (;; p += BLOCK) {
    struct block block = look_at(whole_block(p, end, '\0', room));
    uint64_t others = ~(block.digits | block.commas | block.minuses | block.spaces);
    uint64_t upto = others ^ (others - 1);
    if (!is_list(&block, upto, &carried))
      return NULL;
    if (others == 0)
      continue;
    p += first_bit(others);
    return p < end && *p == ']' ? p + 1 : NULL;
  }
}

/* ---- reading ---- */

size_t json_integers_most(struct text span)
{
  size_t commas = 0;
  size_t i = 0;
  for (; span.len - i >= VECTOR_SIZE; i += VECTOR_SIZE)
    commas += vector_count(vector_find_equal(vector_load(span.data + i), ','));
  for (; i < span.len; i++)
    commas += span.data[i] == ',';
  return commas + 1;
}

/* The numbers of a block, and the end of the last number before the block. */
struct numbers {
  uint64_t digits;
  uint64_t ends;     /* the bytes after the last digits of numbers */
  const char *after; /* the byte after the last number that was read */
};

/* False if a byte belongs neither to a whole number nor between two of them. */
static inline bool find_numbers(struct numbers *numbers, const char *block)
{
  uint64_t before = numbers->digits >> (BLOCK - 1);
  vector listed = find_listed(vector_load(block));
  numbers->digits = vector_marks(vector_find_digits(vector_load(block)));
#pragma GCC unroll 8
  for (unsigned i = VECTOR_SIZE; i < BLOCK; i += VECTOR_SIZE) {
    vector bytes = vector_load(block + i);
    listed = listed & find_listed(bytes);
    numbers->digits |= vector_marks(vector_find_digits(bytes)) << i;
  }
  numbers->ends = (numbers->digits << 1 | before) & ~numbers->digits;
  return vector_marks(listed) == ((uint64_t)1 << VECTOR_SIZE) - 1;
}

/* True if at most eight bytes are between any two adjacent ends in the block at p. */
static inline bool are_short(const struct numbers *numbers, const char *p)
{
  uint64_t none = ~numbers->ends;
  uint64_t runs = none & none << 1;
  runs &= runs << 2;
  runs &= runs << 4;
  runs &= none << 8;
  return runs == 0 &&
         (numbers->ends == 0 || p + first_bit(numbers->ends) - numbers->after <= VECTOR_NUMERAL + 1);
}

/* Reads the digits up to end, at most DIGITS_MAX, and the sign before them. */
static int64_t join_all(const char *p, const char *end)
{
  bool is_negative = p[-1] == '-';
  uint64_t value = 0;
  for (; end - p >= 8; p += 8)
    value = value * 100000000 + vector_join_eight(scan_load(p));
  for (; p < end; p++)
    value = value * 10 + (uint64_t)(*p - '0');
  return is_negative ? -(int64_t)value : (int64_t)value;
}

struct reading {
  struct json_integers_form form;
  void *out;
  size_t count; /* of the elements written so far */
};

static inline bool write_integer(struct reading *reading, int64_t integer)
{
  size_t index = reading->count++;
  switch (reading->form.size) {
  case 1:
    ((int8_t *)reading->out)[index] = (int8_t)integer;
    break;
  case 2:
    ((int16_t *)reading->out)[index] = (int16_t)integer;
    break;
  case 4:
    ((int32_t *)reading->out)[index] = (int32_t)integer;
    break;
  default:
    ((int64_t *)reading->out)[index] = integer;
    break;
  }
  return integer >= reading->form.min && integer <= reading->form.max;
}

/* Numbers of a block, in the form of vector_join_numbers. */
struct numerals {
  uint64_t words[BLOCK / 2];
  size_t count;
};

static inline bool write_numerals(struct reading *reading, struct numerals *numerals)
{
  size_t i = 0;
  /* all numbers of this size are in range, and can be joined in the output itself */
  if (reading->form.size == sizeof(int32_t)) {
    int32_t *out = (int32_t *)reading->out + reading->count;
    for (; i + VECTOR_NUMBERS <= numerals->count; i += VECTOR_NUMBERS)
      vector_join_numbers(numerals->words + i, out + i);
    reading->count += i;
  }
  bool in_range = true;
  while (i < numerals->count) {
    int32_t integers[VECTOR_NUMBERS];
    vector_join_numbers(numerals->words + i, integers);
    for (size_t j = 0; j < VECTOR_NUMBERS && i < numerals->count; j++, i++)
      in_range = write_integer(reading, integers[j]) && in_range;
  }
  return in_range;
}

/* For blocks whose numbers are_short, with VECTOR_NUMERAL more bytes of text after them. */
static inline bool read_short(struct reading *reading, struct numbers *numbers, const char *p)
{
  struct numerals numerals;
  const char *after = numbers->after;
  numerals.count = 0;
  for (uint64_t ends = numbers->ends; ends != 0; ends &= ends - 1) {
    const char *end = p + first_bit(ends);
    size_t spare = (size_t)(after + 1 + VECTOR_NUMERAL - end);
    numerals.words[numerals.count++] = scan_load(after + 1) << (8 * spare);
    after = end;
  }
  numbers->after = after;
  for (size_t i = numerals.count; i % VECTOR_NUMBERS != 0; i++)
    numerals.words[i] = 0;
  return write_numerals(reading, &numerals);
}

static inline bool read_any(struct reading *reading, struct numbers *numbers, const char *p)
{
  for (uint64_t ends = numbers->ends; ends != 0; ends &= ends - 1) {
    const char *end = p + first_bit(ends);
    const char *digits = numbers->after;
    while (!number_is_digit(*digits))
      digits++;
    if (end - digits > DIGITS_MAX || !write_integer(reading, join_all(digits, end)))
      return false;
    numbers->after = end;
  }
  return true;
}

bool json_integers_read(struct text span, const struct json_integers_form *form, void *out)
{
  const char *end = span.data + span.len - 1;
  struct reading reading = {.form = *form, .out = out};
  struct numbers numbers = {.after = span.data};
  char room[BLOCK];
  for (const char *p = span.data + 1;; p += BLOCK) {
    if (!find_numbers(&numbers, whole_block(p, end, ' ', room)))
      return false;
    bool is_short = end - p >= BLOCK + VECTOR_NUMERAL && are_short(&numbers, p);
    if (!(is_short ? read_short(&reading, &numbers, p) : read_any(&reading, &numbers, p)))
      return false;
    if (end - p < BLOCK)
      return true;
  }
}

/* ---- one integer ---- */

/* Loads eight bytes, the first byte into the lowest bits, with zeros after the end of the text. */
static uint64_t load_upto(const char *p, size_t left)
{
  enum { WORD = sizeof(uint64_t), HALF = sizeof(uint32_t) };
  if (left >= WORD)
    return scan_load(p);
  uint64_t word = 0;
  if (left < HALF) {
    for (size_t i = 0; i < left; i++)
      word |= (uint64_t)(unsigned char)p[i] << 8 * i;
    return word;
  }
  /* Two halves that may overlap. */
  uint32_t first;
  uint32_t last;
  memcpy(&first, p, HALF);
  memcpy(&last, p + left - HALF, HALF);
  return le32toh(first) | (uint64_t)le32toh(last) << 8 * (left - HALF);
}

/* Marks each byte that is not a digit with 0x80. Each byte is marked correctly. */
static uint64_t mark_no_digit(uint64_t word)
{
  uint64_t x = word ^ SCAN_REPEAT('0');
  return (((x & SCAN_REPEAT(0x7F)) + SCAN_REPEAT(0x80 - 10)) | x) & SCAN_REPEAT(0x80);
}

static bool ends_value(char c)
{
  return c == ',' || c == '}' || c == ']';
}

/* Reads eight digits in each step, and the remaining digits in one last step, because a branch for each digit
 * would be mispredicted. */
size_t json_bare_integer_at(struct text t, int64_t *integer)
{
  enum { WORD = sizeof(uint64_t), TEN_TO_EIGHT = 100000000 };
  static const uint32_t powers[WORD] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000};
  size_t sign = t.len > 0 && *t.data == '-';
  struct text rest = text_slice(t, sign, t.len);
  uint64_t value = 0;
  uint64_t word = load_upto(rest.data, rest.len);
  while (mark_no_digit(word) == 0) { /* a number that overflows here has too many digits anyway */
    value = value * TEN_TO_EIGHT + vector_join_eight(word);
    rest = text_slice(rest, WORD, rest.len);
    word = load_upto(rest.data, rest.len);
  }
  size_t last = scan_first(mark_no_digit(word));
  size_t digits = (size_t)(rest.data - t.data) - sign + last;
  bool has_leading_zero = digits + sign > 1 && t.data[sign] == '0'; /* -0 is not plain either */
  if (digits == 0 || digits > DIGITS_MAX || has_leading_zero || !ends_value((char)(word >> 8 * last)))
    return 0;
  value = value * powers[last] + vector_join_eight(word << 8 * (WORD - 1 - last) << 8);
  *integer = sign > 0 ? -(int64_t)value : (int64_t)value;
  return sign + digits;
}

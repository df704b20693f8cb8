#ifndef JPEER_JSON_SCAN_H
#define JPEER_JSON_SCAN_H
/*
 * What the files of this folder share when they look at text byte by byte. Pure functions, any thread; not
 * for other folders.
 */
#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The byte value repeated in all eight bytes of a word. */
#define SCAN_REPEAT(byte) (0x0101010101010101u * (uint8_t)(byte))

/* Eight bytes, the first one lowest, so that the lowest mark of a mask belongs to the earliest byte. */
static inline uint64_t scan_load(const char *p)
{
  uint64_t word;
  memcpy(&word, p, sizeof word);
  return le64toh(word);
}

/* 0x80 in each byte that equals `byte`. Exact up to and including the lowest mark; a borrow may set others
 * above it. */
static inline uint64_t scan_mark_equal(uint64_t word, char byte)
{
  uint64_t x = word ^ SCAN_REPEAT(byte);
  return (x - SCAN_REPEAT(1)) & ~x & SCAN_REPEAT(0x80);
}

/* 0x80 in each byte below 0x20, exact in the same sense. */
static inline uint64_t scan_mark_control(uint64_t word)
{
  return (word - SCAN_REPEAT(0x20)) & ~word & SCAN_REPEAT(0x80);
}

static inline unsigned scan_first(uint64_t marks) /* marks must not be 0 */
{
  return (unsigned)__builtin_ctzll(marks) / 8;
}

static inline bool scan_is_digit(char c)
{
  return c >= '0' && c <= '9';
}

static inline bool scan_is_space(char c)
{
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline const char *scan_space(const char *p, const char *end)
{
  while (p < end && scan_is_space(*p))
    p++;
  return p;
}

/* The value of a hexadecimal digit, or -1. */
static inline int scan_hex(char c)
{
  if (scan_is_digit(c))
    return c - '0';
  char lower = (char)(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/*
 * Reads a number without suffix at p (RFC 8259, section 6). Returns its end, or NULL; *stop is then where the
 * grammar was broken, which may be end.
 */
const char *scan_number(const char *p, const char *end, const char **stop);

/* d, f or l for a suffix letter in either case, else 0. */
static inline char scan_suffix(char c)
{
  char lower = (char)(c | 0x20);
  return lower == 'd' || lower == 'f' || lower == 'l' ? lower : 0;
}

#endif

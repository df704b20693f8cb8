#ifndef JPEER_BASE_HTTP_SYNTAX_H
#define JPEER_BASE_HTTP_SYNTAX_H
/* The checks that llhttp leaves to its users: which bytes are allowed in a token and in a value, and the
 * extensions of chunks. Pure, any thread. */
#include <stdbool.h>

/* Whether a byte may be in a token, indexed by the byte (RFC 9110, 5.6.2). */
extern const bool HTTP_TOKEN_CHARS[256];

static inline bool http_is_token_char(unsigned char c)
{
  return HTTP_TOKEN_CHARS[c];
}

/* True if the byte may be in the value of a field and in a quoted string (RFC 9110, 5.5 and 5.6.4). */
static inline bool http_is_text_char(unsigned char c)
{
  return (c >= ' ' || c == '\t') && c != 0x7f;
}

static inline bool http_is_hex_digit(char c)
{
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* The place of the next byte in a chunked body. It decides who reads the byte. llhttp rejects white space
 * around ";" and "=", and escapes in a quoted value. For this reason the caller reads and drops the
 * extensions of chunks (RFC 9112, 7.1.1), and llhttp gets all other bytes. */
enum chunk_line {
  CHUNK_LLHTTP,    /* llhttp reads the next byte: it belongs to the end of a line, or to the data */
  CHUNK_SIZE,      /* llhttp reads the digits of the size; the byte after them decides the next state */
  CHUNK_BLANK,     /* white space after the size or a value: only another extension may follow */
  CHUNK_SEMICOLON, /* before a name */
  CHUNK_NAME,
  CHUNK_NAME_BLANK,
  CHUNK_EQUALS, /* before a value */
  CHUNK_TOKEN,
  CHUNK_QUOTED,
  CHUNK_ESCAPE, /* after a backslash */
  CHUNK_VALUE_END,
  CHUNK_WRONG
};

/* The state after one more byte of the extensions; CHUNK_LLHTTP: the extensions end before this byte. */
enum chunk_line chunk_line_step(enum chunk_line at, unsigned char c);

#endif

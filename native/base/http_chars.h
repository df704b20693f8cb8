#ifndef JPEER_BASE_HTTP_CHARS_H
#define JPEER_BASE_HTTP_CHARS_H
/* Which bytes may stand where in HTTP, for what llhttp leaves to its users. Pure, any thread. */
#include <stdbool.h>

/* By byte (RFC 9110, 5.6.2). */
extern const bool HTTP_TOKEN_CHARS[256];

static inline bool http_is_token_char(unsigned char c)
{
  return HTTP_TOKEN_CHARS[c];
}

/* In the value of a field, and in a quoted string (RFC 9110, 5.5 and 5.6.4). */
static inline bool http_is_text_char(unsigned char c)
{
  return (c >= ' ' || c == '\t') && c != 0x7f;
}

static inline bool http_is_hex_digit(char c)
{
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

#endif

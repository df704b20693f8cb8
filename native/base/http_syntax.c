#include "base/http_syntax.h"

const bool HTTP_TOKEN_CHARS[256] = {
    ['0' ... '9'] = true, ['A' ... 'Z'] = true, ['a' ... 'z'] = true, ['!'] = true,  ['#'] = true,
    ['$'] = true,         ['%'] = true,         ['&'] = true,         ['\''] = true, ['*'] = true,
    ['+'] = true,         ['-'] = true,         ['.'] = true,         ['^'] = true,  ['_'] = true,
    ['`'] = true,         ['|'] = true,         ['~'] = true,
};

static bool is_blank(unsigned char c)
{
  return c == ' ' || c == '\t';
}

enum chunk_line chunk_line_step(enum chunk_line at, unsigned char c)
{
  bool is_token = http_is_token_char(c);
  switch (at) {
  case CHUNK_SIZE:
  case CHUNK_VALUE_END:
  case CHUNK_TOKEN:
    if (at == CHUNK_TOKEN && is_token)
      return CHUNK_TOKEN;
    return c == ';' ? CHUNK_SEMICOLON : is_blank(c) ? CHUNK_BLANK : c == '\r' ? CHUNK_LLHTTP : CHUNK_WRONG;
  case CHUNK_BLANK:
    return c == ';' ? CHUNK_SEMICOLON : is_blank(c) ? CHUNK_BLANK : CHUNK_WRONG;
  case CHUNK_SEMICOLON:
    return is_token ? CHUNK_NAME : is_blank(c) ? CHUNK_SEMICOLON : CHUNK_WRONG;
  case CHUNK_NAME:
    if (is_token || c == '\r')
      return is_token ? CHUNK_NAME : CHUNK_LLHTTP;
    return c == '='      ? CHUNK_EQUALS
           : c == ';'    ? CHUNK_SEMICOLON
           : is_blank(c) ? CHUNK_NAME_BLANK
                         : CHUNK_WRONG;
  case CHUNK_NAME_BLANK:
    return c == '='      ? CHUNK_EQUALS
           : c == ';'    ? CHUNK_SEMICOLON
           : is_blank(c) ? CHUNK_NAME_BLANK
                         : CHUNK_WRONG;
  case CHUNK_EQUALS:
    return c == '"' ? CHUNK_QUOTED : is_token ? CHUNK_TOKEN : is_blank(c) ? CHUNK_EQUALS : CHUNK_WRONG;
  case CHUNK_QUOTED:
    if (c == '"' || c == '\\')
      return c == '"' ? CHUNK_VALUE_END : CHUNK_ESCAPE;
    return http_is_text_char(c) ? CHUNK_QUOTED : CHUNK_WRONG;
  case CHUNK_ESCAPE:
    return http_is_text_char(c) ? CHUNK_QUOTED : CHUNK_WRONG;
  default:
    return CHUNK_WRONG;
  }
}

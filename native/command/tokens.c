#include "command/tokens.h"

#include "base/decimal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum jp_status language_fail(struct language_error *error, size_t at, bool is_incomplete, const char *format,
                             ...)
{
  va_list args;
  va_start(args, format);
  error->at = at;
  error->is_incomplete = is_incomplete;
  jp_fail_va(&error->error, JP_INVALID, format, args);
  va_end(args);
  return JP_INVALID;
}

static enum jp_status fail_memory(struct language_error *error, size_t at)
{
  error->at = at;
  error->is_incomplete = false;
  return jp_fail_memory(&error->error, "the expression");
}

static bool is_digit(char c)
{
  return c >= '0' && c <= '9';
}

/* Bytes of other characters than ASCII's are letters: Java has letters of all scripts. */
static bool is_name_start(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static bool is_name_part(char c)
{
  return is_name_start(c) || is_digit(c);
}

/* ---- blanks and comments ---- */

struct reading {
  struct text source;
  size_t at;
  struct arena *arena;
  struct language_error *error;
};

static bool has_at(const struct reading *in, size_t at, const char *word)
{
  return text_starts_with(text_slice(in->source, at, in->source.len), text_of(word));
}

static char char_at(const struct reading *in, size_t at)
{
  return at < in->source.len ? in->source.data[at] : '\0';
}

static size_t find_line_end(const struct reading *in, size_t at)
{
  const char *feed = at == in->source.len ? NULL : memchr(in->source.data + at, '\n', in->source.len - at);
  return feed == NULL ? in->source.len : (size_t)(feed - in->source.data);
}

static enum jp_status skip_blanks(struct reading *in, bool *after_newline)
{
  *after_newline = in->at == 0;
  if (in->at == 0 && has_at(in, 0, "#!"))
    in->at = find_line_end(in, 0);
  while (in->at < in->source.len) {
    char c = in->source.data[in->at];
    if (c == '\n')
      *after_newline = true;
    if (c == '\n' || c == ' ' || c == '\t' || c == '\r' || c == '\f') {
      in->at++;
    } else if (has_at(in, in->at, "//")) {
      in->at = find_line_end(in, in->at);
    } else if (has_at(in, in->at, "/*")) {
      size_t end = in->at + 2;
      while (end < in->source.len && !has_at(in, end, "*/")) {
        *after_newline |= in->source.data[end] == '\n';
        end++;
      }
      if (end >= in->source.len)
        return language_fail(in->error, in->at, true, "the comment has no end: \"*/\" is missing");
      in->at = end + 2;
    } else {
      break;
    }
  }
  return JP_OK;
}

/* ---- numbers ---- */

/* Digits of the base, and "_" between them; appends the digits to out. */
static void read_digits(struct reading *in, unsigned base, struct buffer *out)
{
  while (in->at < in->source.len) {
    char c = in->source.data[in->at];
    unsigned value = is_digit(c) ? (unsigned)(c - '0')
                     : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' && base == 16
                         ? (unsigned)((c | 0x20) - 'a') + 10
                         : 99;
    if (c == '_' && out->len > 0) {
      in->at++;
      continue;
    }
    if (value >= base)
      return;
    buffer_append_char(out, c);
    in->at++;
  }
}

static enum jp_status finish_integer(struct reading *in, struct token *token, const char *digits,
                                     unsigned base)
{
  bool is_long = (char_at(in, in->at) | 0x20) == 'l';
  if (is_long)
    in->at++;
  token->literal = is_long ? LITERAL_LONG : LITERAL_INT;
  char *end;
  errno = 0;
  unsigned long long value = strtoull(digits, &end, (int)base);
  const char *hint = is_long ? "" : "; 5000000000L is a long";
  if (*digits == '\0' || *end != '\0')
    return language_fail(in->error, token->at, false, "the number has no digits");
  /* JLS 3.10.1: decimal literals are positive; others have the bits of the type. */
  unsigned long long max = is_long      ? base == 10 ? INT64_MAX : UINT64_MAX
                           : base == 10 ? INT32_MAX
                                        : UINT32_MAX;
  token->is_least = base == 10 && value == max + 1 && errno == 0;
  if (errno != 0 || (value > max && !token->is_least))
    return language_fail(in->error, token->at, false, "the number is out of range for %s%s",
                         is_long ? "long" : "int", hint);
  token->integer = is_long ? (int64_t)value : (int32_t)(uint32_t)value;
  return JP_OK;
}

static enum jp_status finish_fraction(struct reading *in, struct token *token, struct buffer *digits)
{
  bool is_float = (char_at(in, in->at) | 0x20) == 'f';
  if (is_float || (char_at(in, in->at) | 0x20) == 'd')
    in->at++;
  token->literal = is_float ? LITERAL_FLOAT : LITERAL_DOUBLE;
  token->number = is_float ? (double)decimal_to_float((struct text){digits->data, digits->len - 1})
                           : decimal_to_double((struct text){digits->data, digits->len - 1});
  if (!isfinite(token->number))
    return language_fail(in->error, token->at, false, "the number is out of range for %s",
                         is_float ? "float" : "double");
  return JP_OK;
}

/* The digits are in `digits`. */
static enum jp_status read_decimal(struct reading *in, struct token *token, struct buffer *digits)
{
  bool is_fraction = false;
  read_digits(in, 10, digits);
  size_t whole = digits->len;
  /* "5.toString" is no number's fraction, "xs[1..." neither. */
  if (char_at(in, in->at) == '.' && is_digit(char_at(in, in->at + 1))) {
    in->at++;
    if (whole == 0)
      buffer_append_char(digits, '0');
    buffer_append_char(digits, '.');
    read_digits(in, 10, digits);
    is_fraction = true;
  }
  if ((char_at(in, in->at) | 0x20) == 'e') {
    size_t sign = char_at(in, in->at + 1) == '+' || char_at(in, in->at + 1) == '-' ? 1 : 0;
    if (!is_digit(char_at(in, in->at + 1 + sign)))
      return language_fail(in->error, in->at, false, "the exponent has no digits");
    buffer_append(digits, in->source.data + in->at, 1 + sign);
    in->at += 1 + sign;
    size_t before = digits->len;
    read_digits(in, 10, digits);
    if (digits->len - before > 6)
      return language_fail(in->error, token->at, false, "the exponent is too long");
    is_fraction = true;
  }
  char suffix = char_at(in, in->at) | 0x20;
  is_fraction |= suffix == 'f' || suffix == 'd';
  buffer_append_char(digits, '\0');
  if (digits->failed)
    return fail_memory(in->error, token->at);
  if (is_fraction) {
    /* JSON's numbers have no zeros before them. */
    size_t zeros = 0;
    while (digits->data[zeros] == '0' && is_digit(digits->data[zeros + 1]))
      zeros++;
    buffer_consume(digits, zeros);
    return finish_fraction(in, token, digits);
  }
  if (whole > 1 && digits->data[0] == '0')
    return language_fail(in->error, token->at, false,
                         "numbers with a 0 before them are octal in Java: leave it out");
  return finish_integer(in, token, digits->data, 10);
}

static enum jp_status read_number(struct reading *in, struct token *token)
{
  char prefix = char_at(in, in->at) == '0' ? char_at(in, in->at + 1) | 0x20 : 0;
  struct buffer digits;
  buffer_init(&digits);
  token->kind = TOKEN_LITERAL;
  enum jp_status status;
  if (prefix == 'x' || prefix == 'b') {
    in->at += 2;
    read_digits(in, prefix == 'x' ? 16 : 2, &digits);
    buffer_append_char(&digits, '\0');
    status = digits.failed ? fail_memory(in->error, token->at)
                           : finish_integer(in, token, digits.data, prefix == 'x' ? 16 : 2);
  } else {
    status = read_decimal(in, token, &digits);
  }
  buffer_fini(&digits);
  if (status == JP_OK && in->at < in->source.len && is_name_part(in->source.data[in->at]))
    return language_fail(in->error, in->at, false, "\"%c\" cannot follow a number", in->source.data[in->at]);
  return status;
}

/* ---- texts ---- */

static const struct {
  char letter;
  char means;
} escapes[] = {{'b', '\b'}, {'t', '\t'}, {'n', '\n'},  {'f', '\f'}, {'r', '\r'},
               {'s', ' '},  {'"', '"'},  {'\'', '\''}, {'\\', '\\'}};

static bool read_hex(const struct reading *in, size_t at, unsigned *unit)
{
  *unit = 0;
  for (size_t i = at; i < at + 4; i++) {
    char c = char_at(in, i);
    unsigned value = is_digit(c)                              ? (unsigned)(c - '0')
                     : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (unsigned)((c | 0x20) - 'a') + 10
                                                              : 16;
    if (value == 16)
      return false;
    *unit = *unit * 16 + value;
  }
  return true;
}

/* A UTF-16 unit; the second of a pair is joined with the first, which is at the end of out. */
static void append_unit(struct buffer *out, unsigned unit)
{
  char bytes[4];
  if (unit >= 0xDC00 && unit < 0xE000 && out->len >= 3) {
    const unsigned char *last = (const unsigned char *)out->data + out->len - 3;
    if (last[0] == 0xED && last[1] >= 0xA0 && last[1] < 0xB0) {
      const uint16_t pair[2] = {(uint16_t)(0xD000 | ((last[1] & 0x3Fu) << 6) | (last[2] & 0x3Fu)),
                                (uint16_t)unit};
      buffer_truncate(out, out->len - 3);
      buffer_append(out, bytes, text_from_utf16(pair, 2, bytes));
      return;
    }
  }
  const uint16_t units[1] = {(uint16_t)unit};
  buffer_append(out, bytes, text_from_utf16(units, 1, bytes));
}

/* At a backslash. */
static enum jp_status read_escape(struct reading *in, struct buffer *out)
{
  size_t at = in->at;
  char c = char_at(in, at + 1);
  if (c == 'u') {
    unsigned unit;
    size_t digits = at + 2;
    while (char_at(in, digits) == 'u')
      digits++;
    if (!read_hex(in, digits, &unit))
      return language_fail(in->error, at, false, "\\u is followed by four hexadecimal digits");
    append_unit(out, unit);
    in->at = digits + 4;
    return JP_OK;
  }
  if (c >= '0' && c <= '7') {
    unsigned value = 0;
    size_t most = c <= '3' ? 3 : 2;
    size_t count = 0;
    while (count < most && char_at(in, at + 1 + count) >= '0' && char_at(in, at + 1 + count) <= '7')
      value = value * 8 + (unsigned)(char_at(in, at + 1 + count++) - '0');
    append_unit(out, value);
    in->at = at + 1 + count;
    return JP_OK;
  }
  for (size_t i = 0; i < sizeof escapes / sizeof escapes[0]; i++) {
    if (escapes[i].letter == c) {
      buffer_append_char(out, escapes[i].means);
      in->at = at + 2;
      return JP_OK;
    }
  }
  return language_fail(
      in->error, at, at + 1 >= in->source.len,
      "unknown escape: Java has \\b \\t \\n \\f \\r \\s \\\" \\' \\\\, \\0 to \\377 and \\uXXXX");
}

static enum jp_status keep_text(struct reading *in, struct token *token, struct buffer *content)
{
  token->text = arena_text(in->arena, content->len == 0 ? TEXT("") : buffer_text(content));
  return content->failed || token->text.data == NULL ? fail_memory(in->error, token->at) : JP_OK;
}

static enum jp_status read_string(struct reading *in, struct token *token, char quote)
{
  struct buffer content;
  buffer_init(&content);
  enum jp_status status = JP_OK;
  token->kind = TOKEN_LITERAL;
  token->literal = LITERAL_TEXT;
  in->at++;
  while (status == JP_OK && char_at(in, in->at) != quote) {
    char c = char_at(in, in->at);
    if (in->at >= in->source.len || c == '\n')
      status = language_fail(in->error, token->at, false, "the %s has no end: %c is missing",
                             quote == '"' ? "text" : "character", quote);
    else if (c == '\\')
      status = read_escape(in, &content);
    else
      buffer_append_char(&content, in->source.data[in->at++]);
  }
  in->at++;
  if (status == JP_OK)
    status = keep_text(in, token, &content);
  buffer_fini(&content);
  return status;
}

static enum jp_status read_char(struct reading *in, struct token *token)
{
  uint16_t units[4];
  enum jp_status status = read_string(in, token, '\'');
  if (status != JP_OK)
    return status;
  if (text_utf16_length(token->text) != 1)
    return language_fail(in->error, token->at, false,
                         "'...' is one character of 16 bits; a text is written \"...\"");
  text_to_utf16(token->text, units);
  token->literal = LITERAL_CHAR;
  token->integer = units[0];
  return JP_OK;
}

/* ---- text blocks (JLS 3.10.6) ---- */

static bool is_blank(char c)
{
  return c == ' ' || c == '\t' || c == '\f' || c == '\r';
}

/* The least indentation of lines that are not blank, and of the last line. */
static size_t find_indent(struct text raw)
{
  size_t least = SIZE_MAX;
  for (size_t at = 0; at <= raw.len;) {
    size_t blanks = 0;
    while (at + blanks < raw.len && is_blank(raw.data[at + blanks]))
      blanks++;
    size_t end = at + blanks;
    bool is_last_line = end == raw.len;
    bool is_blank_line = !is_last_line && raw.data[end] == '\n';
    if (!is_blank_line && blanks < least)
      least = blanks;
    while (end < raw.len && raw.data[end] != '\n')
      end++;
    at = end + 1;
  }
  return least == SIZE_MAX ? 0 : least;
}

/* Appends the lines without their indentation and without blanks at their ends. */
static void strip_lines(struct text raw, struct buffer *out)
{
  size_t indent = find_indent(raw);
  for (size_t at = 0; at <= raw.len;) {
    size_t end = at;
    while (end < raw.len && raw.data[end] != '\n')
      end++;
    size_t last = end;
    while (last > at && is_blank(raw.data[last - 1]))
      last--;
    size_t first = at + indent < last ? at + indent : last;
    buffer_append(out, raw.data + first, last - first);
    if (end < raw.len)
      buffer_append_char(out, '\n');
    at = end + 1;
  }
}

static enum jp_status read_escapes(struct text stripped, struct reading *in, struct token *token,
                                   struct buffer *content)
{
  struct reading inner = {.source = stripped, .arena = in->arena, .error = in->error};
  enum jp_status status = JP_OK;
  while (status == JP_OK && inner.at < stripped.len) {
    if (stripped.data[inner.at] != '\\')
      buffer_append_char(content, stripped.data[inner.at++]);
    else if (char_at(&inner, inner.at + 1) == '\n')
      inner.at += 2;
    else
      status = read_escape(&inner, content);
  }
  if (status != JP_OK)
    in->error->at = token->at; /* the stripped text has other offsets */
  return status;
}

static enum jp_status read_block(struct reading *in, struct token *token)
{
  token->kind = TOKEN_LITERAL;
  token->literal = LITERAL_TEXT;
  in->at += 3;
  while (is_blank(char_at(in, in->at)))
    in->at++;
  if (in->at < in->source.len && in->source.data[in->at] != '\n')
    return language_fail(in->error, in->at, false, "a line end has to follow the \"\"\" of a text block");
  size_t start = in->at + 1;
  size_t end = start;
  while (end < in->source.len && !has_at(in, end, "\"\"\""))
    end += in->source.data[end] == '\\' ? 2 : 1;
  if (end >= in->source.len)
    return language_fail(in->error, token->at, true, "the text block has no end: \"\"\" is missing");
  in->at = end + 3;
  struct buffer stripped;
  struct buffer content;
  buffer_init(&stripped);
  buffer_init(&content);
  strip_lines(text_slice(in->source, start, end), &stripped);
  enum jp_status status = stripped.failed ? fail_memory(in->error, token->at) : JP_OK;
  if (status == JP_OK && stripped.len > 0)
    status = read_escapes(buffer_text(&stripped), in, token, &content);
  if (status == JP_OK)
    status = keep_text(in, token, &content);
  buffer_fini(&stripped);
  buffer_fini(&content);
  return status;
}

/* ---- signs ---- */

/* Longer ones precede those that they begin with. Those of two characters from "++" on are no part of the language: as two
 * signs they would mean something else than in Java. */
static const char *const signs[] = {
    "->", "::", "==", "!=", "<=", ">=", "&&", "||", "++", "--", "+=", "-=", "*=", "/=", "%=", "(", ")", "{",
    "}",  "[",  "]",  ".",  ",",  ";",  ":",  "=",  "!",  "<",  ">",  "+",  "-",  "*",  "/",  "%", "?"};

static enum jp_status read_sign(struct reading *in, struct token *token)
{
  token->kind = TOKEN_SIGN;
  for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
    if (has_at(in, in->at, signs[i])) {
      in->at += strlen(signs[i]);
      return JP_OK;
    }
  }
  char shown[16];
  text_escape(text_cut(text_slice(in->source, in->at, in->source.len), 1), "", "", shown, sizeof shown);
  return language_fail(in->error, in->at, false, "\"%s\" is no part of the language", shown);
}

enum jp_status token_read(struct text source, size_t at, struct arena *arena, struct token *token,
                          struct language_error *error)
{
  struct reading in = {.source = source, .at = at, .arena = arena, .error = error};
  *token = (struct token){0};
  enum jp_status status = skip_blanks(&in, &token->after_newline);
  if (status != JP_OK)
    return status;
  token->at = in.at;
  char c = char_at(&in, in.at);
  if (in.at >= source.len) {
    token->kind = TOKEN_END;
    token->after_newline = true;
  } else if (is_name_start(c)) {
    token->kind = TOKEN_NAME;
    while (in.at < source.len && is_name_part(source.data[in.at]))
      in.at++;
  } else if (is_digit(c) || (c == '.' && is_digit(char_at(&in, in.at + 1)))) {
    status = read_number(&in, token);
  } else if (has_at(&in, in.at, "\"\"\"")) {
    status = read_block(&in, token);
  } else if (c == '"') {
    status = read_string(&in, token, '"');
  } else if (c == '\'') {
    status = read_char(&in, token);
  } else if (c == '\\') {
    token->kind = TOKEN_COMMAND;
    in.at = find_line_end(&in, in.at);
  } else {
    status = read_sign(&in, token);
  }
  token->end = in.at;
  size_t skipped = token->kind == TOKEN_COMMAND ? 1 : 0;
  if (status == JP_OK)
    token->span = text_slice(source, token->at + skipped, in.at);
  return status;
}

#include "cli/argument_file.h"

#include <string.h>

static bool is_blank(char c)
{
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

static bool is_line_end(char c)
{
  return c == '\n' || c == '\r';
}

static char *skip_blanks(char *at, const char *end)
{
  while (at < end && is_blank(*at))
    at++;
  return at;
}

static char *skip_comment(char *at, const char *end)
{
  while (at < end && !is_line_end(*at))
    at++;
  return at;
}

/* Reads the rest of an escape, after its backslash, into *out. Returns the position after the escape. */
static char *read_escape(char *at, const char *end, char **out)
{
  static const char letters[] = "nrtf";
  static const char meanings[] = "\n\r\t\f";
  if (at == end)
    return at;
  if (is_line_end(*at))
    return skip_blanks(at, end);
  const char *letter = memchr(letters, *at, sizeof letters - 1);
  *(*out)++ = letter != NULL ? meanings[letter - letters] : *at;
  return at + 1;
}

/* Reads the text after an opening quote. Returns the position after the closing quote, or the end of the
 * line. */
static char *read_quoted(char *at, const char *end, char quote, char **out)
{
  while (at < end && !is_line_end(*at)) {
    char c = *at++;
    if (c == quote)
      return at;
    if (c == '\\')
      at = read_escape(at, end, out);
    else
      *(*out)++ = c;
  }
  return at;
}

char *argument_file_next(char **rest, char *end)
{
  char *at = skip_blanks(*rest, end);
  while (at < end && *at == '#')
    at = skip_blanks(skip_comment(at, end), end);
  if (at == end) {
    *rest = end;
    return NULL;
  }
  char *argument = at;
  char *out = at;
  while (at < end && !is_blank(*at) && *at != '#') {
    char c = *at++;
    if (c == '"' || c == '\'')
      at = read_quoted(at, end, c, &out);
    else
      *out++ = c;
  }
  /* Skips the divider before it writes the NUL, because the NUL may overwrite the divider. */
  if (at < end && *at == '#')
    at = skip_comment(at, end);
  *rest = at < end ? at + 1 : end;
  *out = '\0';
  return argument;
}

static bool is_space(char c)
{
  return is_blank(c) || c == '\v';
}

enum jp_status argument_variable_next(char **rest, char **argument, struct jp_error *error)
{
  char *at = *rest;
  while (is_space(*at))
    at++;
  *argument = *at == '\0' ? NULL : at;
  char *out = at;
  while (*at != '\0' && !is_space(*at)) {
    char c = *at++;
    if (c != '"' && c != '\'') {
      *out++ = c;
      continue;
    }
    char *close = strchr(at, c);
    if (close == NULL)
      return jp_fail(error, JP_INVALID, "a quote (%c) is open at its end", c);
    memmove(out, at, (size_t)(close - at));
    out += close - at;
    at = close + 1;
  }
  *rest = *at == '\0' ? at : at + 1;
  *out = '\0';
  return JP_OK;
}

#include "base/status.h"

#include <stdio.h>
#include <string.h>

static void mark_cut(char *text, size_t size, int wanted)
{
  if (wanted < 0 || (size_t)wanted < size)
    return;
  size_t end = size - 4;
  while (end > 0 && ((unsigned char)text[end] & 0xC0) == 0x80) /* never half a character */
    end--;
  memcpy(text + end, "...", 4);
}

enum jp_status jp_fail_va(struct jp_error *error, enum jp_status status, const char *format, va_list args)
{
  if (error != NULL) {
    error->status = status;
    int wanted = vsnprintf(error->text, sizeof error->text, format, args);
    mark_cut(error->text, sizeof error->text, wanted);
  }
  return status;
}

enum jp_status jp_fail(struct jp_error *error, enum jp_status status, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  jp_fail_va(error, status, format, args);
  va_end(args);
  return status;
}

void jp_error_prefix(struct jp_error *error, const char *format, ...)
{
  if (error == NULL)
    return;
  char lower[sizeof error->text];
  memcpy(lower, error->text, sizeof lower);
  va_list args;
  va_start(args, format);
  int length = vsnprintf(error->text, sizeof error->text, format, args);
  va_end(args);
  if (length < 0 || (size_t)length >= sizeof error->text) {
    mark_cut(error->text, sizeof error->text, length);
    return;
  }
  int wanted = snprintf(error->text + length, sizeof error->text - (size_t)length, ": %s", lower);
  mark_cut(error->text, sizeof error->text, length + wanted);
}

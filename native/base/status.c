#include "base/status.h"

#include "base/text.h"

enum jp_status jp_fail_va(struct jp_error *error, enum jp_status status, const char *format, va_list args)
{
  if (error != NULL) {
    error->status = status;
    text_format_va(error->text, sizeof error->text, format, args);
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
  char prefix[sizeof error->text];
  char lower[sizeof error->text];
  memcpy(lower, error->text, sizeof lower);
  va_list args;
  va_start(args, format);
  text_format_va(prefix, sizeof prefix, format, args);
  va_end(args);
  text_format(error->text, sizeof error->text, "%s: %s", prefix, lower);
}

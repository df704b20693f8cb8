#include "client/messages/client_error.h"

#include "base/text.h"
#include "jpeer/client.h"

#include <string.h>

/* Escapes control characters: the peer chooses parts of the text, and the program may print it to a
 * terminal. */
static void write_text(struct jp_client_error *error, const char *format, va_list args)
{
  char text[2 * sizeof error->text];
  size_t length = text_format_va(text, sizeof text, format, args);
  if (text_escape((struct text){text, length}, "\n\t", "", error->text, sizeof error->text) >=
      sizeof error->text)
    text_mark_cut(error->text, sizeof error->text);
}

enum jp_client_status client_fail_va(struct jp_client_error *error, enum jp_client_status status,
                                     const char *format, va_list args)
{
  if (error != NULL) {
    error->status = status;
    write_text(error, format, args);
  }
  return status;
}

enum jp_client_status client_fail(struct jp_client_error *error, enum jp_client_status status,
                                  const char *format, ...)
{
  va_list args;
  va_start(args, format);
  client_fail_va(error, status, format, args);
  va_end(args);
  return status;
}

void client_error_prefix(struct jp_client_error *error, const char *format, ...)
{
  if (error == NULL)
    return;
  struct jp_client_error whole = *error;
  va_list args;
  va_start(args, format);
  write_text(&whole, format, args);
  va_end(args);
  char prefix[sizeof whole.text];
  memcpy(prefix, whole.text, sizeof prefix);
  text_format(whole.text, sizeof whole.text, "%s%s", prefix, error->text);
  *error = whole;
}

/* ---- for programs ---- */

const char *jp_client_status_text(enum jp_client_status status)
{
  static const char *const texts[] = {
      [JP_CLIENT_OK] = "no error",
      [JP_CLIENT_REMOTE] = "the peer answered with an error",
      [JP_CLIENT_TIMEOUT] = "no answer in time",
      [JP_CLIENT_CLOSED] = "the connection is closed",
      [JP_CLIENT_REFUSED] = "no connection",
      [JP_CLIENT_INVALID] = "invalid",
      [JP_CLIENT_LIMIT] = "over a limit",
      [JP_CLIENT_UNSUPPORTED] = "not supported",
      [JP_CLIENT_PROTOCOL] = "not understood",
      [JP_CLIENT_NO_MEMORY] = "out of memory",
      [JP_CLIENT_INTERRUPTED] = "the wait was interrupted",
      [JP_CLIENT_TOO_LONG] = "the request is longer than the peer accepts",
      [JP_CLIENT_NO_TOKEN] = "there is no token that may be sent",
      [JP_CLIENT_STALE] = "an object of a peer that has ended",
      [JP_CLIENT_UNSENT] = "the request was not sent",
  };
  return (size_t)status < sizeof texts / sizeof texts[0] ? texts[status] : "unknown status";
}

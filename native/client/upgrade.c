#include "client/upgrade.h"

#include "client/messages/client_error.h"

static struct text trim(struct text t)
{
  while (t.len > 0 && (t.data[0] == ' ' || t.data[0] == '\t'))
    t = text_slice(t, 1, t.len);
  while (t.len > 0 && (t.data[t.len - 1] == ' ' || t.data[t.len - 1] == '\t'))
    t.len--;
  return t;
}

/* Takes a line without its end. */
static struct text take_line(struct text *rest)
{
  const char *end = rest->len == 0 ? NULL : memmem(rest->data, rest->len, "\r\n", 2);
  size_t length = end == NULL ? rest->len : (size_t)(end - rest->data);
  struct text line = text_slice(*rest, 0, length);
  *rest = text_slice(*rest, end == NULL ? length : length + 2, rest->len);
  return line;
}

struct text upgrade_find_field(const struct upgrade_response *response, struct text name)
{
  struct text fields = response->fields;
  struct text value = TEXT_ABSENT;
  while (fields.len > 0) {
    struct text line = take_line(&fields);
    const char *colon = memchr(line.data, ':', line.len);
    if (colon == NULL || !text_equal_ignore_case(text_slice(line, 0, (size_t)(colon - line.data)), name))
      continue;
    if (value.data != NULL)
      return TEXT_ABSENT;
    value = trim(text_slice(line, (size_t)(colon - line.data) + 1, line.len));
  }
  return value;
}

bool upgrade_speaks(const struct upgrade_response *response, struct text protocol)
{
  return text_equal_ignore_case(upgrade_find_field(response, TEXT("upgrade")), protocol) &&
         text_equal_ignore_case(upgrade_find_field(response, TEXT("connection")), TEXT("upgrade"));
}

/* The first line of a text for people, whichever way it ends. */
static struct text first_line(struct text t)
{
  size_t length = 0;
  while (length < t.len && t.data[length] != '\r' && t.data[length] != '\n')
    length++;
  return trim(text_slice(t, 0, length));
}

enum jp_client_status upgrade_refuse(const struct upgrade_response *response, const char *what,
                                     struct jp_client_error *error)
{
  enum { SHOWN_MAX = 500 };
  struct text body = text_cut(first_line(response->body), SHOWN_MAX);
  struct text status_line = text_cut(response->status_line, SHOWN_MAX);
  return client_fail(error, JP_CLIENT_REFUSED, "the peer refuses %s: %.*s%s%.*s", what,
                     TEXT_ARGS(status_line), body.len > 0 ? ": " : "", TEXT_ARGS(body));
}

/* Three digits; 0: there are none. */
static unsigned read_status(struct text status_line)
{
  unsigned status = 0;
  for (size_t i = 0; i < 3; i++) {
    unsigned digit = i < status_line.len ? (unsigned)(status_line.data[i] - '0') : 10;
    if (digit > 9)
      return 0;
    status = status * 10 + digit;
  }
  return status_line.len == 3 || status_line.data[3] == ' ' ? status : 0;
}

enum jp_client_status upgrade_read_response(struct text came, struct upgrade_response *response,
                                            struct jp_client_error *error)
{
  static const struct text version = TEXT("HTTP/1.1 ");
  *response = (struct upgrade_response){0};
  if (memcmp(came.data, version.data, came.len < version.len ? came.len : version.len) != 0)
    return client_fail(error, JP_CLIENT_PROTOCOL, "what answers is no HTTP/1.1 server");
  const char *end = memmem(came.data, came.len, "\r\n\r\n", 4);
  if (end == NULL)
    return came.len <= UPGRADE_RESPONSE_MAX
               ? JP_CLIENT_OK
               : client_fail(error, JP_CLIENT_PROTOCOL, "the response to the handshake is too long");
  response->length = (size_t)(end - came.data) + 4;
  response->fields = text_slice(came, 0, response->length - 2);
  response->body = text_slice(came, response->length, came.len);
  struct text status_line = take_line(&response->fields);
  response->status_line = text_slice(status_line, version.len, status_line.len);
  response->status = read_status(response->status_line);
  return JP_CLIENT_OK;
}

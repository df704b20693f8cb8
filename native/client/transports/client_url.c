#include "client/transports/client_url.h"

#include "client/messages/client_error.h"
#include "client/transports/transport.h"

#include <stdlib.h>
#include <sys/un.h>

/* The form of a URL after the scheme's colon. */
enum url_form {
  URL_HOST_AND_PORT, /* //HOST:PORT */
  URL_REQUEST,       /* //HOST:PORT[/PATH] */
  URL_SOCKET,        /* PATH */
  URL_SLASHED_SOCKET /* //PATH */
};

#ifdef JPEER_CLIENT_ZEROMQ
#define ZEROMQ &transport_zeromq
#else
#define ZEROMQ NULL
#endif

static const struct {
  struct text scheme;
  enum url_form form;
  const struct transport_kind *kind; /* NULL: the library was built without it */
} SCHEMES[] = {
    {TEXT("ws"), URL_REQUEST, &transport_websocket}, {TEXT("ws+unix"), URL_SOCKET, &transport_websocket},
    {TEXT("http"), URL_REQUEST, &transport_http},    {TEXT("http+unix"), URL_SOCKET, &transport_http},
    {TEXT("shm"), URL_SOCKET, &transport_shm},       {TEXT("tcp"), URL_HOST_AND_PORT, ZEROMQ},
    {TEXT("ipc"), URL_SLASHED_SOCKET, ZEROMQ},
};

#define SCHEME_NAMES "ws:, ws+unix:, http:, http+unix:, shm:, tcp: and ipc:"

static enum jp_client_status refuse_url(const struct client_url *parts, const char *why,
                                        struct jp_client_error *error)
{
  return client_fail(error, JP_CLIENT_INVALID, "%.*s: %s", TEXT_ARGS(parts->whole), why);
}

/* Removes the text before the separator, and the separator, from t, and returns this text. Without a separator, all of
 * t is removed and returned. */
static struct text cut_until(struct text *t, char separator)
{
  const char *found = t->len == 0 ? NULL : memchr(t->data, separator, t->len);
  size_t length = found == NULL ? t->len : (size_t)(found - t->data);
  struct text part = text_slice(*t, 0, length);
  *t = text_slice(*t, found == NULL ? length : length + 1, t->len);
  return part;
}

static bool is_port(struct text t)
{
  enum { PORT_DIGITS_MAX = 5, PORT_MAX = 65535 };
  unsigned number = 0;
  if (t.len == 0 || t.len > PORT_DIGITS_MAX)
    return false;
  for (size_t i = 0; i < t.len; i++) {
    if (t.data[i] < '0' || t.data[i] > '9')
      return false;
    number = number * 10 + (unsigned)(t.data[i] - '0');
  }
  return number > 0 && number <= PORT_MAX;
}

/* Such a character would end a line of a request's head, or mean something else to the peer than to the
 * caller. */
static bool has_control_or_space(struct text t)
{
  for (size_t i = 0; i < t.len; i++) {
    if ((unsigned char)t.data[i] <= ' ' || t.data[i] == 0x7f)
      return true;
  }
  return false;
}

static enum jp_client_status parse_authority(struct text authority, struct client_url *parts,
                                             struct jp_client_error *error)
{
  if (text_starts_with(authority, TEXT("["))) {
    parts->host = cut_until(&authority, ']');
    parts->host = text_slice(parts->host, 1, parts->host.len);
    if (!text_starts_with(authority, TEXT(":")))
      return refuse_url(parts, "an address in brackets is followed by ]:PORT", error);
    parts->port = text_slice(authority, 1, authority.len);
  } else {
    parts->host = cut_until(&authority, ':');
    parts->port = authority;
  }
  if (parts->host.len == 0)
    return refuse_url(parts, "there is no host", error);
  if (!is_port(parts->port))
    return refuse_url(parts, "there is no port, which is a number from 1 to 65535", error);
  return JP_CLIENT_OK;
}

static enum jp_client_status parse_host_and_port(struct text rest, bool may_have_path,
                                                 struct client_url *parts, struct jp_client_error *error)
{
  if (!text_starts_with(rest, TEXT("//")))
    return refuse_url(parts, "// is missing after the scheme", error);
  if (has_control_or_space(rest))
    return refuse_url(parts, "there is a space or a control character", error);
  rest = text_slice(rest, 2, rest.len);
  const char *slash = memchr(rest.data, '/', rest.len);
  struct text authority = slash == NULL ? rest : text_slice(rest, 0, (size_t)(slash - rest.data));
  struct text path = text_slice(rest, authority.len, rest.len);
  if (path.len > 0 && !may_have_path)
    return refuse_url(parts, "there is a path, which this transport has not", error);
  parts->path = path.len > 0 ? path : TEXT("/rpc");
  return parse_authority(authority, parts, error);
}

static enum jp_client_status parse_socket(struct text path, struct client_url *parts,
                                          struct jp_client_error *error)
{
  parts->path = path;
  if (path.len == 0)
    return refuse_url(parts, "there is no path of a socket", error);
  if (path.len >= sizeof(((struct sockaddr_un *)0)->sun_path))
    return refuse_url(parts, "the path is longer than a socket's may be, 107 bytes", error);
  return JP_CLIENT_OK;
}

static enum jp_client_status parse_after_scheme(struct text rest, enum url_form form,
                                                struct client_url *parts, struct jp_client_error *error)
{
  switch (form) {
  case URL_SOCKET:
    return parse_socket(rest, parts, error);
  case URL_SLASHED_SOCKET:
    if (!text_starts_with(rest, TEXT("//")))
      return refuse_url(parts, "// is missing after the scheme", error);
    return parse_socket(text_slice(rest, 2, rest.len), parts, error);
  default:
    return parse_host_and_port(rest, form == URL_REQUEST, parts, error);
  }
}

enum jp_client_status client_url_parse(const char *url, struct client_url *parts,
                                       const struct transport_kind **kind, struct jp_client_error *error)
{
  *parts = (struct client_url){.whole = text_of(url)};
  if (strstr(url, "?peer-id=") != NULL || strstr(url, "?peer_id=") != NULL ||
      strstr(url, "&peer-id=") != NULL || strstr(url, "&peer_id=") != NULL)
    return refuse_url(parts, "the URL names a session, which is named by peer_id of the configuration",
                      error);
  struct text rest = parts->whole;
  struct text scheme = cut_until(&rest, ':');
  for (size_t i = 0; i < sizeof SCHEMES / sizeof SCHEMES[0]; i++) {
    if (!text_equal(scheme, SCHEMES[i].scheme))
      continue;
    *kind = SCHEMES[i].kind;
    if (*kind == NULL)
      return client_fail(error, JP_CLIENT_UNSUPPORTED, "%.*s: the library was built without ZeroMQ",
                         TEXT_ARGS(parts->whole));
    return parse_after_scheme(rest, SCHEMES[i].form, parts, error);
  }
  return client_fail(error, JP_CLIENT_UNSUPPORTED, "%.*s: the scheme is none of " SCHEME_NAMES,
                     TEXT_ARGS(parts->whole));
}

struct text client_url_request_path(const struct client_url *url)
{
  return url->host.data == NULL ? TEXT("/rpc") : url->path;
}

void client_url_write_host(const struct client_url *url, struct buffer *out)
{
  bool is_address = url->host.data != NULL && memchr(url->host.data, ':', url->host.len) != NULL;
  if (url->host.data == NULL)
    BUFFER_LITERAL(out, "localhost");
  else if (is_address)
    buffer_printf(out, "[%.*s]:%.*s", TEXT_ARGS(url->host), TEXT_ARGS(url->port));
  else
    buffer_printf(out, "%.*s:%.*s", TEXT_ARGS(url->host), TEXT_ARGS(url->port));
}

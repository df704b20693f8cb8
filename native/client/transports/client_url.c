#include "client/transports/client_url.h"

#include "client/messages/client_error.h"
#include "client/transports/transport.h"

#include <ctype.h>
#include <stdlib.h>
#include <sys/un.h>

/* The form of a URL after the scheme's colon. */
enum url_form {
  URL_HOST_AND_PORT,  /* //HOST:PORT */
  URL_REQUEST,        /* //HOST:PORT[/PATH] */
  URL_SOCKET,         /* PATH */
  URL_SLASHED_SOCKET, /* //PATH */
  URL_DIRECTORY       /* //HOST:PORT[,HOST:PORT]/NAME or .../service/NAME */
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
  struct text default_port;          /* absent: the URL names the port */
} SCHEMES[] = {
    {TEXT("ws"), URL_REQUEST, &transport_websocket, TEXT_ABSENT},
    {TEXT("wss"), URL_REQUEST, &transport_websocket, TEXT("443")},
    {TEXT("ws+unix"), URL_SOCKET, &transport_websocket, TEXT_ABSENT},
    {TEXT("http"), URL_REQUEST, &transport_http, TEXT_ABSENT},
    {TEXT("https"), URL_REQUEST, &transport_http, TEXT("443")},
    {TEXT("http+unix"), URL_SOCKET, &transport_http, TEXT_ABSENT},
    {TEXT("shm"), URL_SOCKET, &transport_shm, TEXT_ABSENT},
    {TEXT("tcp"), URL_HOST_AND_PORT, ZEROMQ, TEXT_ABSENT},
    {TEXT("ipc"), URL_SLASHED_SOCKET, ZEROMQ, TEXT_ABSENT},
    {TEXT("dir"), URL_DIRECTORY, &transport_websocket, TEXT_ABSENT},
};

#define SCHEME_NAMES "ws:, wss:, ws+unix:, http:, https:, http+unix:, shm:, tcp:, ipc: and dir:"

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

/* Such a character would end a line of a request's head, or the peer would read it in another way than the
 * caller. */
static bool has_control_or_space(struct text t)
{
  for (size_t i = 0; i < t.len; i++) {
    if ((unsigned char)t.data[i] <= ' ' || t.data[i] == 0x7f)
      return true;
  }
  return false;
}

/* The names of parameters that carry secrets end in these words: "access_token". */
static bool is_secret_name(struct text name)
{
  static const struct text words[] = {TEXT("token"), TEXT("password"), TEXT("secret"), TEXT("authorization")};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    size_t length = words[i].len;
    if (name.len >= length && text_equal_ignore_case(text_slice(name, name.len - length, name.len), words[i]))
      return true;
  }
  return false;
}

/* True if the URL contains a token of `jpeer token new` in any place. */
static bool has_peer_token(struct text url)
{
  enum { TOKEN_LENGTH = 43 };
  size_t length = 0; /* of the run of base64url characters after jp_ */
  for (const char *at = strstr(url.data, "jp_"); at != NULL; at = strstr(at + 1, "jp_")) {
    length = 0;
    while (isalnum((unsigned char)at[3 + length]) || at[3 + length] == '-' || at[3 + length] == '_')
      length++;
    if (length >= TOKEN_LENGTH)
      return true;
  }
  return false;
}

static bool has_secret_parameter(struct text path)
{
  static const char separators[] = "?&;#";
  for (size_t i = 0; i < path.len; i++) {
    if (strchr(separators, path.data[i]) == NULL)
      continue;
    size_t end = i + 1;
    while (end < path.len && path.data[end] != '=' && strchr(separators, path.data[end]) == NULL)
      end++;
    if (end < path.len && path.data[end] == '=' && is_secret_name(text_slice(path, i + 1, end)))
      return true;
  }
  return false;
}

/* A URL must not contain a secret, because programs, peers and proxies write URLs into logs. The error shows
 * only the scheme. */
static enum jp_client_status refuse_secrets(struct text whole, struct text scheme,
                                            struct jp_client_error *error)
{
  struct text rest = text_slice(whole, scheme.len, whole.len);
  bool has_authority = text_starts_with(rest, TEXT("://"));
  size_t end = has_authority ? 3 : 0;
  while (has_authority && end < rest.len && strchr("/?#", rest.data[end]) == NULL)
    end++;
  if (has_authority && memchr(rest.data, '@', end) != NULL)
    return client_fail(error, JP_CLIENT_INVALID,
                       "the %.*s: URL has a user or a password before @; a peer knows clients by their token "
                       "(token_file) or certificate",
                       TEXT_ARGS(text_cut(scheme, 20)));
  if (has_peer_token(whole) || (has_authority && has_secret_parameter(text_slice(rest, end, rest.len))))
    return client_fail(
        error, JP_CLIENT_INVALID,
        "the %.*s: URL contains a token or another secret; give a token as token or token_file",
        TEXT_ARGS(text_cut(scheme, 20)));
  return JP_CLIENT_OK;
}

/* default_port absent: the port is named. */
static enum jp_client_status parse_authority(struct text authority, struct text default_port,
                                             struct client_url *parts, struct jp_client_error *error)
{
  if (text_starts_with(authority, TEXT("["))) {
    parts->host = cut_until(&authority, ']');
    parts->host = text_slice(parts->host, 1, parts->host.len);
    bool is_whole = authority.len == 0 && authority.data[-1] == ']' && default_port.data != NULL;
    if (!is_whole && !text_starts_with(authority, TEXT(":")))
      return refuse_url(parts, "an address in brackets is followed by ]:PORT", error);
    parts->port = is_whole ? default_port : text_slice(authority, 1, authority.len);
  } else {
    bool has_port = authority.len > 0 && memchr(authority.data, ':', authority.len) != NULL;
    parts->host = cut_until(&authority, ':');
    parts->port = has_port || default_port.data == NULL ? authority : default_port;
  }
  if (parts->host.len == 0)
    return refuse_url(parts, "there is no host", error);
  if (!is_port(parts->port))
    return refuse_url(parts, "there is no port, which is a number from 1 to 65535", error);
  return JP_CLIENT_OK;
}

static enum jp_client_status parse_host_and_port(struct text rest, bool may_have_path,
                                                 struct text default_port, struct client_url *parts,
                                                 struct jp_client_error *error)
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
  return parse_authority(authority, default_port, parts, error);
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

/* The name is written as it is, without %-escapes: the URL is no part of a request. */
static enum jp_client_status parse_directory(struct text rest, struct client_url *parts,
                                             struct jp_client_error *error)
{
  if (!text_starts_with(rest, TEXT("//")))
    return refuse_url(parts, "// is missing after the scheme", error);
  struct text target = text_slice(rest, 2, rest.len);
  struct text endpoints = cut_until(&target, '/');
  struct text left = endpoints;
  if (has_control_or_space(endpoints))
    return refuse_url(parts, "there is a space or a control character in the directory's address", error);
  for (bool has_next = true; has_next;) {
    struct client_url endpoint = {.whole = parts->whole};
    has_next = left.len > 0 && memchr(left.data, ',', left.len) != NULL;
    enum jp_client_status status = parse_authority(cut_until(&left, ','), TEXT_ABSENT, &endpoint, error);
    if (status != JP_CLIENT_OK)
      return status;
  }
  parts->is_service = text_starts_with(target, TEXT("service/"));
  if (parts->is_service)
    (void)cut_until(&target, '/');
  if (target.len == 0 || memchr(target.data, '/', target.len) != NULL)
    return refuse_url(parts, "dir://HOST:PORT is followed by /NAME, /UUID or /service/NAME", error);
  parts->endpoints = endpoints;
  parts->target = target;
  return JP_CLIENT_OK;
}

static enum jp_client_status parse_after_scheme(struct text rest, enum url_form form,
                                                struct text default_port, struct client_url *parts,
                                                struct jp_client_error *error)
{
  switch (form) {
  case URL_SOCKET:
    return parse_socket(rest, parts, error);
  case URL_SLASHED_SOCKET:
    if (!text_starts_with(rest, TEXT("//")))
      return refuse_url(parts, "// is missing after the scheme", error);
    return parse_socket(text_slice(rest, 2, rest.len), parts, error);
  case URL_DIRECTORY:
    return parse_directory(rest, parts, error);
  default:
    return parse_host_and_port(rest, form == URL_REQUEST, default_port, parts, error);
  }
}

enum jp_client_status client_url_parse(const char *url, struct client_url *parts,
                                       const struct transport_kind **kind, struct jp_client_error *error)
{
  *parts = (struct client_url){.whole = text_of(url)};
  struct text rest = parts->whole;
  struct text scheme = cut_until(&rest, ':');
  enum jp_client_status status = refuse_secrets(parts->whole, scheme, error);
  if (status != JP_CLIENT_OK)
    return status;
  if (strstr(url, "?peer-id=") != NULL || strstr(url, "?peer_id=") != NULL ||
      strstr(url, "&peer-id=") != NULL || strstr(url, "&peer_id=") != NULL)
    return refuse_url(parts, "the URL names a session, which is named by peer_id of the configuration",
                      error);
  for (size_t i = 0; i < sizeof SCHEMES / sizeof SCHEMES[0]; i++) {
    if (!text_equal(scheme, SCHEMES[i].scheme))
      continue;
    *kind = SCHEMES[i].kind;
    if (*kind == NULL)
      return client_fail(error, JP_CLIENT_UNSUPPORTED, "%.*s: the library was built without ZeroMQ",
                         TEXT_ARGS(parts->whole));
    parts->is_secure = SCHEMES[i].default_port.data != NULL;
    parts->may_have_curve = SCHEMES[i].form == URL_HOST_AND_PORT;
    return parse_after_scheme(rest, SCHEMES[i].form, SCHEMES[i].default_port, parts, error);
  }
  return client_fail(error, JP_CLIENT_UNSUPPORTED, "%.*s: the scheme is none of " SCHEME_NAMES,
                     TEXT_ARGS(parts->whole));
}

const struct transport_kind *client_url_binary_kind(void)
{
  return ZEROMQ;
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

#include "client/transports/client_credentials.h"

#include "base/curve_keys.h"
#include "base/http_syntax.h"
#include "client/messages/client_error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The limit for all fields of the program together. A peer accepts heads of 16 KiB, which also have the
 * library's own fields and the token. */
enum { FIELDS_MAX = 4096 };

/* ---- paths ---- */

/* Makes a path absolute, because the program may change its working folder before the next connection. NULL:
 * no memory. */
static char *copy_path(const char *path)
{
  char folder[PATH_MAX];
  char *copy = NULL;
  if (path[0] == '/' || getcwd(folder, sizeof folder) == NULL)
    return strdup(path);
  return asprintf(&copy, "%s/%s", folder, path) < 0 ? NULL : copy;
}

static enum jp_client_status copy_file(const char *name, const char *path, char **copy,
                                       struct jp_client_error *error)
{
  if (path == NULL)
    return JP_CLIENT_OK;
  if (path[0] == '\0')
    return client_fail(error, JP_CLIENT_INVALID, "%s is an empty path", name);
  *copy = copy_path(path);
  return *copy != NULL ? JP_CLIENT_OK
                       : client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for the path of %s", name);
}

/* ---- tokens ---- */

/* RFC 6750, 2.1: b64token. */
static bool is_token_char(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         (c != '\0' && strchr("-._~+/", c) != NULL);
}

/* from: the origin of the token, for the error: "token_file /run/token". The error contains no part of the
 * token. */
static enum jp_client_status check_token(const char *from, struct text token, struct jp_client_error *error)
{
  if (token.len == 0)
    return client_fail(error, JP_CLIENT_NO_TOKEN, "%s: the token is empty", from);
  if (token.len >= JP_TOKEN_SIZE)
    return client_fail(error, JP_CLIENT_NO_TOKEN, "%s: the token is longer than %d bytes", from,
                       JP_TOKEN_SIZE - 1);
  size_t length = 0;
  while (length < token.len && is_token_char(token.data[length]))
    length++;
  size_t end = length;
  while (length > 0 && end < token.len && token.data[end] == '=')
    end++;
  if (end == token.len)
    return JP_CLIENT_OK;
  return client_fail(
      error, JP_CLIENT_NO_TOKEN,
      "%s: byte %zu of the token is none that a token may have (letters, digits, -._~+/ and = at the "
      "end)",
      from, end + 1);
}

static enum jp_client_status read_file(int fd, char *bytes, size_t size, size_t *length)
{
  *length = 0;
  while (*length < size) {
    ssize_t count = read(fd, bytes + *length, size - *length);
    if (count == 0)
      return JP_CLIENT_OK;
    if (count < 0 && errno != EINTR)
      return JP_CLIENT_NO_TOKEN;
    *length += count > 0 ? (size_t)count : 0;
  }
  return JP_CLIENT_OK;
}

/* White space around the token is dropped. */
static enum jp_client_status read_token_file(const char *path, char token[JP_TOKEN_SIZE],
                                             struct jp_client_error *error)
{
  enum { SPACE = 64 };
  char from[PATH_MAX + sizeof "token_file "];
  char bytes[JP_TOKEN_SIZE + SPACE];
  struct stat file;
  size_t length = 0;
  snprintf(from, sizeof from, "token_file %s", path);
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* a FIFO does not block */
  if (fd < 0)
    return client_fail(error, JP_CLIENT_NO_TOKEN, "%s: %s", from, strerror(errno));
  enum jp_client_status status = JP_CLIENT_OK;
  if (fstat(fd, &file) == 0 && !S_ISREG(file.st_mode))
    status = client_fail(error, JP_CLIENT_NO_TOKEN, "%s: not a regular file", from);
  else if (read_file(fd, bytes, sizeof bytes, &length) != JP_CLIENT_OK)
    status = client_fail(error, JP_CLIENT_NO_TOKEN, "%s: %s", from, strerror(errno));
  close(fd);
  size_t begin = 0;
  while (begin < length && strchr(" \t\r\n", bytes[begin]) != NULL && bytes[begin] != '\0')
    begin++;
  while (length > begin && strchr(" \t\r\n", bytes[length - 1]) != NULL && bytes[length - 1] != '\0')
    length--;
  if (status == JP_CLIENT_OK)
    status = check_token(from, (struct text){bytes + begin, length - begin}, error);
  if (status == JP_CLIENT_OK) {
    memcpy(token, bytes + begin, length - begin);
    token[length - begin] = '\0';
  }
  explicit_bzero(bytes, sizeof bytes);
  return status;
}

/* The token functions that this thread is inside of, innermost first. */
struct asked {
  const struct client_credentials *credentials;
  const struct asked *outer;
};
static _Thread_local const struct asked *innermost;

bool client_credentials_are_asked(const struct client_credentials *credentials)
{
  const struct asked *asked = innermost;
  while (asked != NULL && asked->credentials != credentials)
    asked = asked->outer;
  return asked != NULL;
}

static enum jp_client_status call_token_function(const struct client_credentials *credentials,
                                                 char token[JP_TOKEN_SIZE], struct jp_client_error *error)
{
  struct jp_client_error why = {.status = JP_CLIENT_OK};
  memset(token, 0, JP_TOKEN_SIZE);
  const struct asked asked = {credentials, innermost};
  innermost = &asked;
  bool is_given = credentials->token_function(credentials->token_context, token, &why);
  innermost = asked.outer;
  why.text[sizeof why.text - 1] = '\0';
  if (is_given)
    return check_token("the token function", (struct text){token, strnlen(token, JP_TOKEN_SIZE)}, error);
  enum jp_client_status status = client_fail(error, JP_CLIENT_NO_TOKEN, "the token function has failed%s%s",
                                             why.text[0] == '\0' ? "" : ": ", why.text);
  token[JP_TOKEN_SIZE - 1] = '\0';
  client_credentials_hide_token(token, error);
  return status;
}

enum jp_client_status client_credentials_read_token(const struct client_credentials *credentials,
                                                    char token[JP_TOKEN_SIZE], struct jp_client_error *error)
{
  token[0] = '\0';
  if (credentials->token_function != NULL)
    return call_token_function(credentials, token, error);
  if (credentials->token_file != NULL)
    return read_token_file(credentials->token_file, token, error);
  if (credentials->token != NULL)
    memcpy(token, credentials->token, strlen(credentials->token) + 1);
  return JP_CLIENT_OK;
}

/* The length of the longest common prefix of the text and the token. */
static size_t match_token(const char *text, const char *token)
{
  size_t length = 0;
  while (token[length] != '\0' && text[length] == token[length])
    length++;
  return length;
}

/* Also hides a token whose end was cut off. */
void client_credentials_hide_token(const char *token, struct jp_client_error *error)
{
  static const char stars[] = "********"; /* a shorter match is not replaced: it reveals little, and occurs in
                                           * ordinary words */
  const size_t shown = sizeof stars - 1;
  for (char *at = error == NULL ? NULL : error->text; at != NULL && *at != '\0'; at++) {
    size_t length = match_token(at, token);
    if (length < shown)
      continue;
    memcpy(at, stars, shown);
    memmove(at + shown, at + length, strlen(at + length) + 1);
    at += shown - 1;
  }
}

/* ---- header fields ---- */

/* Fields that a program may not set, because the library sets them, or because they concern the connection or
 * the form of bodies. A name that ends with "-" stands for all names that begin with it. */
static const struct text RESERVED[] = {
    TEXT("Accept-Encoding"),
    TEXT("Authorization"),
    TEXT("Connection"),
    TEXT("Content-"),
    TEXT("Expect"),
    TEXT("Host"),
    TEXT("HTTP2-Settings"),
    TEXT("jpeer-"),
    TEXT("Keep-Alive"),
    TEXT("peer-id"),
    TEXT("peer_id"),
    TEXT("Proxy-Connection"),
    TEXT("Sec-"),
    TEXT("TE"),
    TEXT("Trailer"),
    TEXT("Transfer-Encoding"),
    TEXT("Upgrade"),
};

static bool is_reserved(struct text name)
{
  for (size_t i = 0; i < sizeof RESERVED / sizeof RESERVED[0]; i++) {
    struct text reserved = RESERVED[i];
    bool is_beginning = reserved.data[reserved.len - 1] == '-' && name.len >= reserved.len;
    if (text_equal_ignore_case(is_beginning ? text_slice(name, 0, reserved.len) : name, reserved))
      return true;
  }
  return false;
}

/* The values of fields may be secret, so errors contain only the names. */
static enum jp_client_status append_field(const char *line, struct buffer *fields,
                                          struct jp_client_error *error)
{
  enum { SHOWN_MAX = 100 };
  const char *colon = strchr(line, ':');
  struct text name = {line, colon == NULL ? 0 : (size_t)(colon - line)};
  struct text shown = text_cut(name, SHOWN_MAX);
  if (name.len == 0)
    return client_fail(error, JP_CLIENT_INVALID, "headers: one is not NAME: VALUE");
  for (size_t i = 0; i < name.len; i++) {
    if (!http_is_token_char((unsigned char)name.data[i]))
      return client_fail(error, JP_CLIENT_INVALID, "headers: the name \"%.*s\" has an invalid character",
                         TEXT_ARGS(shown));
  }
  if (is_reserved(name))
    return client_fail(
        error, JP_CLIENT_INVALID, "headers: %.*s is set by the library%s", TEXT_ARGS(shown),
        text_equal_ignore_case(name, TEXT("Authorization")) ? ": give the token as token or token_file" : "");
  const char *value = colon + 1;
  while (*value == ' ' || *value == '\t')
    value++;
  for (const char *at = value; *at != '\0'; at++) {
    if (!http_is_text_char((unsigned char)*at))
      return client_fail(error, JP_CLIENT_INVALID,
                         "headers: the value of %.*s has a line break or another control character",
                         TEXT_ARGS(shown));
  }
  buffer_append_text(fields, name);
  BUFFER_LITERAL(fields, ": ");
  buffer_append_text(fields, text_of(value));
  BUFFER_LITERAL(fields, "\r\n");
  if (fields->len > FIELDS_MAX)
    return client_fail(error, JP_CLIENT_INVALID, "headers: all together have more than %d bytes",
                       (int)FIELDS_MAX);
  return JP_CLIENT_OK;
}

void client_credentials_write_fields(const struct client_credentials *credentials, const char *token,
                                     struct buffer *out)
{
  if (token[0] != '\0') {
    BUFFER_LITERAL(out, "Authorization: Bearer ");
    buffer_append_text(out, text_of(token));
    BUFFER_LITERAL(out, "\r\n");
  }
  if (credentials->fields.len > 0)
    buffer_append_text(out, buffer_text(&credentials->fields));
}

/* ---- init and fini ---- */

static enum jp_client_status copy_token(struct client_credentials *credentials,
                                        const struct jp_client_config *config, struct jp_client_error *error)
{
  int sources = (config->token != NULL) + (config->token_file != NULL) + (config->token_function != NULL);
  if (sources > 1)
    return client_fail(error, JP_CLIENT_INVALID, "token, token_file and token_function exclude each other");
  credentials->token_function = config->token_function;
  credentials->token_context = config->token_context;
  if (config->token == NULL)
    return copy_file("token_file", config->token_file, &credentials->token_file, error);
  if (check_token("token", text_of(config->token), error) != JP_CLIENT_OK) {
    if (error != NULL)
      error->status = JP_CLIENT_INVALID;
    return JP_CLIENT_INVALID;
  }
  credentials->token = strdup(config->token);
  return credentials->token != NULL ? JP_CLIENT_OK
                                    : client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a token");
}

static enum jp_client_status copy_server_key(struct client_credentials *credentials,
                                             const struct jp_client_config *config,
                                             struct jp_client_error *error)
{
  if (config->server_key == NULL)
    return JP_CLIENT_OK;
  if (!curve_key_is_valid(text_of(config->server_key)))
    return client_fail(error, JP_CLIENT_INVALID,
                       "server_key is no public key of CURVE, which is 40 characters of Z85");
  if (config->cert_file != NULL || config->ca_file != NULL)
    return client_fail(error, JP_CLIENT_INVALID,
                       "server_key is for tcp: URLs, and ca_file and cert_file are for wss: and https:");
  if (config->key_file == NULL)
    return client_fail(error, JP_CLIENT_INVALID,
                       "server_key needs key_file, the client's own pair of keys (jpeer keygen FILE)");
  credentials->server_key = strdup(config->server_key);
  return credentials->server_key != NULL
             ? JP_CLIENT_OK
             : client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for server_key");
}

enum jp_client_status client_credentials_init(struct client_credentials *credentials,
                                              const struct jp_client_config *config,
                                              struct jp_client_error *error)
{
  *credentials = (struct client_credentials){0};
  if (config->key_file != NULL && config->cert_file == NULL && config->server_key == NULL)
    return client_fail(error, JP_CLIENT_INVALID,
                       "key_file has no effect without cert_file, or server_key for tcp: URLs");
  enum jp_client_status status = copy_server_key(credentials, config, error);
  if (status == JP_CLIENT_OK)
    status = copy_file("ca_file", config->ca_file, &credentials->ca_file, error);
  if (status == JP_CLIENT_OK)
    status = copy_file("cert_file", config->cert_file, &credentials->cert_file, error);
  if (status == JP_CLIENT_OK)
    status = copy_file("key_file", config->key_file != NULL ? config->key_file : config->cert_file,
                       &credentials->key_file, error);
  if (status == JP_CLIENT_OK)
    status = copy_token(credentials, config, error);
  for (const char *const *at = config->headers; status == JP_CLIENT_OK && at != NULL && *at != NULL; at++)
    status = append_field(*at, &credentials->fields, error);
  if (status == JP_CLIENT_OK && credentials->fields.failed)
    status = client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for headers");
  return status;
}

void client_credentials_fini(struct client_credentials *credentials)
{
  free(credentials->ca_file);
  free(credentials->cert_file);
  free(credentials->key_file);
  free(credentials->server_key);
  free(credentials->token_file);
  if (credentials->token != NULL)
    explicit_bzero(credentials->token, strlen(credentials->token));
  free(credentials->token);
  buffer_fini(&credentials->fields);
  *credentials = (struct client_credentials){0};
}

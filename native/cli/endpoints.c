#include "cli/endpoints.h"

#include "base/text.h"
#include "net/inherited_sockets.h"
#include "net/unix_socket.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum jp_status read_host(const char *text, size_t length, struct run_endpoint *endpoint)
{
  if (length >= 2 && text[0] == '[' && text[length - 1] == ']') {
    text++;
    length -= 2;
  }
  if (length == 0 || length >= sizeof endpoint->host)
    return JP_INVALID;
  for (size_t i = 0; i < length; i++) {
    if ((unsigned char)text[i] <= ' ' || strchr("[]/@", text[i]) != NULL)
      return JP_INVALID;
  }
  memcpy(endpoint->host, text, length);
  endpoint->host[length] = '\0';
  return JP_OK;
}

static enum jp_status read_tcp(const char *text, struct run_endpoint *endpoint, struct jp_error *error)
{
  *endpoint = (struct run_endpoint){.host = "127.0.0.1"};
  const char *colon = strrchr(text, ':');
  const char *port = colon != NULL ? colon + 1 : text;
  if (colon != NULL && read_host(text, (size_t)(colon - text), endpoint) != JP_OK)
    return JP_INVALID;
  /* Without brackets, the end of an IPv6 address could be a port. */
  if (strchr(endpoint->host, ':') != NULL && text[0] != '[')
    return jp_fail(error, JP_INVALID, "takes [HOST:]PORT or auto, with an IPv6 address in brackets");
  if (strcmp(port, "auto") == 0)
    return JP_OK;
  size_t digits = strspn(port, "0123456789");
  if (digits == 0 || digits > 5 || port[digits] != '\0')
    return JP_INVALID;
  long number = strtol(port, NULL, 10);
  if (number < 1 || number > UINT16_MAX)
    return jp_fail(error, JP_INVALID, "takes a port from 1 to 65535, or auto");
  endpoint->port = (uint16_t)number;
  return JP_OK;
}

static enum jp_status fail_for_count(struct jp_error *error)
{
  return jp_fail(error, JP_INVALID, "takes %d addresses at most", RUN_ENDPOINTS_MAX);
}

/* A socket unit may pass several sockets under one name. */
static enum jp_status read_inherited(const char *name, struct run_endpoints *endpoints,
                                     struct jp_error *error)
{
  const struct inherited_socket *socket = NULL;
  enum jp_status status = inherited_sockets_find(name, NULL, &socket, error);
  while (status == JP_OK && socket != NULL) {
    if (endpoints->count == RUN_ENDPOINTS_MAX)
      return fail_for_count(error);
    struct run_endpoint *endpoint = &endpoints->items[endpoints->count++];
    *endpoint = (struct run_endpoint){.port = socket->port, .fd = socket->fd};
    text_format(endpoint->host, sizeof endpoint->host, "%s", socket->host);
    if (socket->path[0] != '\0')
      endpoint->path = socket->path;
    status = inherited_sockets_find(name, socket, &socket, error);
  }
  return status;
}

static enum jp_status read_endpoint(const char *scheme, const char *text, struct run_endpoints *endpoints,
                                    struct jp_error *error)
{
  static const char inherited[] = "fd:";
  if (strncmp(text, inherited, sizeof inherited - 1) == 0)
    return read_inherited(text + sizeof inherited - 1, endpoints, error);
  if (endpoints->count == RUN_ENDPOINTS_MAX)
    return fail_for_count(error);
  struct run_endpoint *endpoint = &endpoints->items[endpoints->count];
  size_t length = strlen(scheme);
  enum jp_status status;
  if (strncmp(text, scheme, length) == 0) {
    *endpoint = (struct run_endpoint){.path = text + length};
    status = unix_socket_check_path(endpoint->path, error);
  } else {
    status = read_tcp(text, endpoint, error);
  }
  if (status == JP_OK)
    endpoints->count++;
  return status;
}

enum jp_status endpoints_read_json(const struct option *option, const char *text, void *value,
                                   struct jp_error *error)
{
  (void)option;
  return read_endpoint("unix:", text, value, error);
}

enum jp_status endpoints_read_zmq(const struct option *option, const char *text, void *value,
                                  struct jp_error *error)
{
  (void)option;
  return read_endpoint("ipc://", text, value, error);
}

static bool is_loopback(const char *host)
{
  unsigned a, b, c, d;
  int end = 0;
  if (strcmp(host, "localhost") == 0 || strcmp(host, "::1") == 0)
    return true;
  return sscanf(host, "%3u.%3u.%3u.%3u%n", &a, &b, &c, &d, &end) == 4 && host[end] == '\0' && a == 127 &&
         b < 256 && c < 256 && d < 256;
}

enum jp_status endpoints_check(const char *option, const struct run_endpoints *endpoints,
                               const struct endpoint_guard *guard, struct jp_error *error)
{
  bool is_guarded = guard->is_insecure || (guard->has_principals && guard->is_encrypted);
  for (size_t i = 0; i < endpoints->count && !is_guarded; i++) {
    const struct run_endpoint *endpoint = &endpoints->items[i];
    if (endpoint->path != NULL || is_loopback(endpoint->host))
      continue;
    if (guard->has_principals)
      return jp_fail(
          error, JP_INVALID,
          "%s takes a loopback address unless --insecure-listen%s%s is given: whoever is on the way to "
          "%s could read tokens and calls",
          option, guard->encryption == NULL ? "" : " or ", guard->encryption == NULL ? "" : guard->encryption,
          endpoint->host);
    return jp_fail(error, JP_INVALID,
                   "%s takes a loopback address unless --insecure-listen is given: anyone who reaches %s "
                   "could use the peer",
                   option, endpoint->host);
  }
  return JP_OK;
}

const char *endpoints_find_remote(const struct run_endpoints *endpoints)
{
  for (size_t i = 0; i < endpoints->count; i++) {
    if (endpoints->items[i].path == NULL && !is_loopback(endpoints->items[i].host))
      return endpoints->items[i].host;
  }
  return NULL;
}

static size_t count_sockets(const struct run_endpoints *endpoints)
{
  size_t count = 0;
  for (size_t i = 0; i < endpoints->count; i++)
    count += endpoints->items[i].path != NULL;
  return count;
}

bool endpoints_have_socket(const struct run_endpoints *endpoints)
{
  return count_sockets(endpoints) > 0;
}

bool endpoints_make_socket(const struct run_endpoints *endpoints)
{
  for (size_t i = 0; i < endpoints->count; i++) {
    if (endpoints->items[i].path != NULL && endpoints->items[i].fd == 0)
      return true;
  }
  return false;
}

bool endpoints_have_port(const struct run_endpoints *endpoints)
{
  return count_sockets(endpoints) < endpoints->count;
}

struct net_endpoints endpoints_for_net(const struct run_endpoints *endpoints)
{
  struct net_endpoints made = {.count = endpoints->count};
  for (size_t i = 0; i < endpoints->count; i++) {
    const struct run_endpoint *endpoint = &endpoints->items[i];
    made.items[i] = (struct net_endpoint){endpoint->host, endpoint->port, endpoint->path, endpoint->fd};
  }
  return made;
}

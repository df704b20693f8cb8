#include "link.h"

static const struct link_kind *const kinds[] = {&link_websocket, &link_http, &link_zeromq, &link_shm,
                                                &link_py4j};

static const struct link_kind *kind_of(struct text scheme, bool *is_unix)
{
  for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
    const char *unix_scheme = kinds[i]->unix_scheme;
    *is_unix = unix_scheme != NULL && text_equal(scheme, text_of(unix_scheme));
    if (*is_unix || text_equal(scheme, text_of(kinds[i]->scheme)))
      return kinds[i];
  }
  return NULL;
}

static bool copy(struct text from, char *to, size_t size)
{
  if (from.len >= size)
    return false;
  memcpy(to, from.data, from.len);
  to[from.len] = '\0';
  return true;
}

static enum jp_status parse_tcp(struct link_target *target, const char *host, struct jp_error *error)
{
  size_t end = strcspn(host, "/");
  size_t colon = text_find_last((struct text){host, end}, ':');
  if (colon == SIZE_MAX || !copy((struct text){host, colon}, target->host, sizeof(target->host)) ||
      !copy((struct text){host + colon + 1, end - colon - 1}, target->port, sizeof(target->port)) ||
      !copy(text_of(host[end] == '\0' ? "/" : host + end), target->path, sizeof(target->path)))
    return jp_fail(error, JP_INVALID, "%s: SCHEME://HOST:PORT/PATH is needed", target->address);
  return JP_OK;
}

enum jp_status link_target_parse(struct link_target *target, const char *address,
                                 const struct link_kind **kind, struct jp_error *error)
{
  *target = (struct link_target){.address = address, .host = "localhost", .port = "80", .path = "/rpc"};
  const char *colon = strchr(address, ':');
  bool is_unix = false;
  *kind = colon == NULL ? NULL : kind_of((struct text){address, (size_t)(colon - address)}, &is_unix);
  if (*kind == NULL || (!is_unix && strncmp(colon, "://", 3) != 0))
    return jp_fail(error, JP_INVALID,
                   "%s: ws://, http://, tcp://, py4j://, ws+unix:, http+unix:, ipc:// or shm: is needed",
                   address);
  if (!is_unix)
    return parse_tcp(target, colon + 3, error);
  target->socket_path = colon + 1;
  return JP_OK;
}

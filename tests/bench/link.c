#include "link.h"

static const struct link_kind *const kinds[] = {&link_websocket, &link_http, &link_zeromq, &link_py4j};

static const struct link_kind *kind_of(struct text scheme)
{
  for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
    if (text_equal(scheme, text_of(kinds[i]->scheme)))
      return kinds[i];
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

enum jp_status link_target_parse(struct link_target *target, const char *address,
                                 const struct link_kind **kind, struct jp_error *error)
{
  *target = (struct link_target){.address = address};
  const char *host = strstr(address, "://");
  *kind = host == NULL ? NULL : kind_of((struct text){address, (size_t)(host - address)});
  if (*kind == NULL)
    return jp_fail(error, JP_INVALID, "%s: ws://, http://, tcp:// or py4j:// is needed", address);
  host += 3;
  size_t end = strcspn(host, "/");
  size_t colon = text_find_last((struct text){host, end}, ':');
  if (colon == SIZE_MAX || !copy((struct text){host, colon}, target->host, sizeof(target->host)) ||
      !copy((struct text){host + colon + 1, end - colon - 1}, target->port, sizeof(target->port)) ||
      !copy(text_of(host[end] == '\0' ? "/" : host + end), target->path, sizeof(target->path)))
    return jp_fail(error, JP_INVALID, "%s: SCHEME://HOST:PORT/PATH is needed", address);
  return JP_OK;
}

#include "base/web_origin.h"

#include <stdlib.h>
#include <string.h>

struct web_origins {
  size_t count;
  char origins[][WEB_ORIGIN_SIZE];
};

/* --- one origin --- */

static bool is_letter(char c)
{
  return c >= 'a' && c <= 'z';
}

static bool is_digit(char c)
{
  return c >= '0' && c <= '9';
}

static bool is_one_of(char c, const char *set)
{
  return c != '\0' && strchr(set, c) != NULL;
}

/* RFC 3986, 3.1, in lower case. */
static bool is_scheme(struct text t)
{
  for (size_t i = 0; i < t.len; i++) {
    if (!is_letter(t.data[i]) && (i == 0 || (!is_digit(t.data[i]) && !is_one_of(t.data[i], "+-."))))
      return false;
  }
  return t.len > 0;
}

/* True for a name or an IPv4 address. Browsers send names beyond ASCII as "xn--...". */
static bool is_host(struct text t)
{
  for (size_t i = 0; i < t.len; i++) {
    if (!is_letter(t.data[i]) && !is_digit(t.data[i]) && !is_one_of(t.data[i], "-._"))
      return false;
  }
  return t.len > 0;
}

/* The length of the IPv6 address in brackets at the start; 0: the text does not begin with such an
 * address. */
static size_t literal_length(struct text t)
{
  size_t end = 1;
  while (end < t.len && (is_digit(t.data[end]) || (t.data[end] >= 'a' && t.data[end] <= 'f') ||
                         t.data[end] == ':' || t.data[end] == '.'))
    end++;
  return end > 3 && end < t.len && t.data[end] == ']' ? end + 1 : 0;
}

/* Reads ":80"; -1: the text is not a port. */
static long read_port(struct text t)
{
  long port = 0;
  for (size_t i = 1; i < t.len; i++) {
    if (!is_digit(t.data[i]) || (port = port * 10 + (t.data[i] - '0')) > UINT16_MAX)
      return -1;
  }
  return t.len < 2 || t.data[1] == '0' ? -1 : port;
}

/* Checks the host and the port, which are in lower case. *length becomes the length of `place` without a
 * default port. Returns NULL, or the fault. */
static const char *check_place(struct text scheme, struct text place, size_t *length)
{
  size_t host;
  if (place.len > 0 && place.data[0] == '[') {
    host = literal_length(place);
  } else {
    const char *colon = place.len == 0 ? NULL : memchr(place.data, ':', place.len);
    host = colon == NULL ? place.len : (size_t)(colon - place.data);
    if (!is_host(text_slice(place, 0, host)))
      host = 0;
  }
  if (host == 0)
    return "has no plain host after its scheme";
  *length = place.len;
  if (host == place.len)
    return NULL;
  long port = place.data[host] == ':' ? read_port(text_slice(place, host, place.len)) : -1;
  if ((port == 80 && text_equal(scheme, TEXT("http"))) || (port == 443 && text_equal(scheme, TEXT("https"))))
    *length = host;
  return port < 0 ? "has something other than a port after its host" : NULL;
}

const char *web_origin_serialise(struct text origin, char serialised[WEB_ORIGIN_SIZE])
{
  static const struct text separator = TEXT("://");
  if (origin.len == 0)
    return "is empty";
  if (origin.len >= WEB_ORIGIN_SIZE)
    return "is too long";
  memset(serialised, 0, WEB_ORIGIN_SIZE);
  for (size_t i = 0; i < origin.len; i++) {
    char c = origin.data[i];
    serialised[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
  }
  struct text lower = {serialised, origin.len};
  const char *found = memmem(serialised, origin.len, separator.data, separator.len);
  struct text scheme = text_slice(lower, 0, found == NULL ? 0 : (size_t)(found - serialised));
  if (!is_scheme(scheme))
    return "does not begin with a scheme";
  size_t begin = scheme.len + separator.len;
  size_t length;
  const char *problem = check_place(scheme, text_slice(lower, begin, lower.len), &length);
  if (problem == NULL)
    serialised[begin + length] = '\0';
  return problem;
}

/* --- a list --- */

static enum jp_status read_item(struct text item, char serialised[WEB_ORIGIN_SIZE], struct jp_error *error)
{
  if (text_equal(item, TEXT("*")))
    return jp_fail(error, JP_INVALID,
                   "takes origins one by one, since * would let every web page call the peer");
  if (text_equal_ignore_case(item, TEXT("null")))
    return jp_fail(error, JP_INVALID, "takes origins one by one, since any web page can have null for one");
  const char *problem = web_origin_serialise(item, serialised);
  if (problem == NULL)
    return JP_OK;
  return jp_fail(error, JP_INVALID, "takes origins (scheme://host[:port]) between commas (\"%.*s\" %s)",
                 TEXT_ARGS(text_cut(item, 200)), problem);
}

static struct text take_item(struct text *rest)
{
  const char *comma = rest->len == 0 ? NULL : memchr(rest->data, ',', rest->len);
  size_t length = comma == NULL ? rest->len : (size_t)(comma - rest->data);
  struct text item = text_slice(*rest, 0, length);
  *rest = comma == NULL ? TEXT_ABSENT : text_slice(*rest, length + 1, rest->len);
  return item;
}

enum jp_status web_origins_create(struct text list, struct web_origins **origins, struct jp_error *error)
{
  size_t count = 1;
  for (size_t i = 0; i < list.len; i++)
    count += list.data[i] == ',';
  struct web_origins *made = calloc(1, sizeof *made + count * sizeof made->origins[0]);
  if (made == NULL)
    return jp_fail(error, JP_NO_MEMORY, "no memory for a list of origins");
  enum jp_status status = JP_OK;
  for (; made->count < count && status == JP_OK; made->count++)
    status = read_item(take_item(&list), made->origins[made->count], error);
  if (status != JP_OK) {
    web_origins_destroy(made);
    return status;
  }
  *origins = made;
  return JP_OK;
}

const char *web_origins_find(const struct web_origins *origins, struct text origin)
{
  char serialised[WEB_ORIGIN_SIZE];
  if (origins == NULL || web_origin_serialise(origin, serialised) != NULL)
    return NULL;
  for (size_t i = 0; i < origins->count; i++) {
    if (strcmp(origins->origins[i], serialised) == 0)
      return origins->origins[i];
  }
  return NULL;
}

void web_origins_destroy(struct web_origins *origins)
{
  free(origins);
}

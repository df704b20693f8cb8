#include "classfile/manifest.h"

static bool read_line(struct text *rest, struct text *line)
{
  if (rest->len == 0)
    return false;
  size_t length = 0;
  while (length < rest->len && rest->data[length] != '\r' && rest->data[length] != '\n')
    length++;
  *line = text_slice(*rest, 0, length);
  if (length < rest->len)
    length += rest->data[length] == '\r' && length + 1 < rest->len && rest->data[length + 1] == '\n' ? 2 : 1;
  *rest = text_slice(*rest, length, rest->len);
  return true;
}

/* Joins a value with the lines that continue it, which begin with a space. */
static bool join_value(struct text first, struct text *rest, struct arena *arena, struct text *value)
{
  *value = first;
  if (rest->len == 0 || rest->data[0] != ' ')
    return true;
  char *joined = arena_alloc(arena, first.len + rest->len);
  if (joined == NULL)
    return false;
  size_t length = first.len;
  memcpy(joined, first.data, first.len);
  for (struct text line; rest->len > 0 && rest->data[0] == ' ' && read_line(rest, &line);) {
    memcpy(joined + length, line.data + 1, line.len - 1);
    length += line.len - 1;
  }
  *value = (struct text){joined, length};
  return true;
}

static bool split_attribute(struct text line, struct text *name, struct text *value)
{
  const char *colon = line.len == 0 ? NULL : memchr(line.data, ':', line.len);
  if (colon == NULL)
    return false;
  size_t at = (size_t)(colon - line.data);
  *name = text_slice(line, 0, at);
  *value = text_slice(line, at + 1, line.len);
  if (value->len > 0 && value->data[0] == ' ')
    *value = text_slice(*value, 1, value->len);
  return true;
}

bool manifest_parse(struct text bytes, struct arena *arena, struct manifest *manifest)
{
  *manifest = (struct manifest){false, TEXT("")};
  struct text line;
  while (read_line(&bytes, &line) && line.len > 0) { /* an empty line ends the main section */
    struct text name;
    struct text value;
    if (!split_attribute(line, &name, &value))
      continue;
    bool is_class_path = text_equal_ignore_case(name, TEXT("Class-Path"));
    bool is_multi_release = text_equal_ignore_case(name, TEXT("Multi-Release"));
    if (!is_class_path && !is_multi_release)
      continue;
    if (!join_value(value, &bytes, arena, &value))
      return false;
    if (is_class_path) {
      manifest->class_path = value;
      continue;
    }
    while (value.len > 0 && value.data[value.len - 1] == ' ')
      value.len--;
    manifest->multi_release = text_equal_ignore_case(value, TEXT("true"));
  }
  return true;
}

static int hex_value(char c)
{
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Writes url to out with its percent encoding (RFC 3986, 2.1) decoded and returns the length; 0 where an
 * escape is broken or means NUL. */
static size_t decode_url(struct text url, char *out)
{
  size_t length = 0;
  for (size_t i = 0; i < url.len; i++) {
    char c = url.data[i];
    if (c == '%') {
      if (url.len - i < 3 || hex_value(url.data[i + 1]) < 0 || hex_value(url.data[i + 2]) < 0)
        return 0;
      c = (char)(hex_value(url.data[i + 1]) << 4 | hex_value(url.data[i + 2]));
      i += 2;
    }
    if (c == '\0')
      return 0;
    out[length++] = c;
  }
  return length;
}

static struct text resolve_url(struct text url, const char *jar, struct arena *arena)
{
  if (text_starts_with(url, TEXT("file:")))
    url = text_slice(url, sizeof "file:" - 1, url.len);
  if (text_starts_with(url, TEXT("///")))
    url = text_slice(url, 2, url.len);
  const char *colon = memchr(url.data, ':', url.len);
  const char *slash = memchr(url.data, '/', url.len);
  if (colon != NULL && (slash == NULL || colon < slash))
    return TEXT_ABSENT; /* http: and the like */
  size_t last = text_find_last(text_of(jar), '/');
  size_t folder = url.len > 0 && url.data[0] == '/' ? 0 : last == SIZE_MAX ? 0 : last + 1;
  char *path = arena_alloc(arena, folder + url.len + 1);
  if (path == NULL)
    return TEXT_ABSENT;
  memcpy(path, jar, folder);
  size_t length = decode_url(url, path + folder);
  if (length == 0)
    return TEXT_ABSENT;
  path[folder + length] = '\0';
  return (struct text){path, folder + length};
}

bool manifest_next_path(struct text *class_path, const char *jar, struct arena *arena, struct text *path)
{
  size_t from = 0;
  while (from < class_path->len && class_path->data[from] == ' ')
    from++;
  if (from == class_path->len)
    return false;
  size_t to = from;
  while (to < class_path->len && class_path->data[to] != ' ')
    to++;
  *path = resolve_url(text_slice(*class_path, from, to), jar, arena);
  *class_path = text_slice(*class_path, to, class_path->len);
  return true;
}

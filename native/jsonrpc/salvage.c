#include "jsonrpc/jsonrpc.h"

/* A walk over text that may end, or stop being JSON, anywhere. */
struct walk {
  struct text text;
  size_t at;
  size_t depth; /* brackets that are open */
};

static bool is_space(char c)
{
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static size_t skip_space(struct text t, size_t at)
{
  while (at < t.len && is_space(t.data[at]))
    at++;
  return at;
}

/* The place behind the string that begins at `at`; 0 where the text ends inside it. */
static size_t skip_string(struct text t, size_t at)
{
  for (at++; at < t.len && t.data[at] != '"'; at++)
    at += t.data[at] == '\\';
  return at < t.len ? at + 1 : 0;
}

static bool is_opening(char c)
{
  return c == '{' || c == '[';
}

static bool is_closing(char c)
{
  return c == '}' || c == ']';
}

/* Finds the next string directly inside the outermost bracket. False at the end. */
static bool find_string(struct walk *walk, struct text *raw)
{
  struct text t = walk->text;
  while (walk->at < t.len) {
    char c = t.data[walk->at];
    if (c != '"') {
      walk->depth += is_opening(c);
      walk->depth -= is_closing(c) && walk->depth > 0;
      walk->at++;
      continue;
    }
    size_t start = walk->at;
    walk->at = skip_string(t, start);
    if (walk->at == 0)
      return false;
    *raw = text_slice(t, start + 1, walk->at - 1);
    if (walk->depth == 1)
      return true;
  }
  return false;
}

/* The place behind the value that begins at `at`, which need not be valid; 0 where the text ends inside
 * it. */
static size_t skip_value(struct text t, size_t at)
{
  if (at < t.len && t.data[at] == '"')
    return skip_string(t, at);
  if (at == t.len || !is_opening(t.data[at])) {
    while (at < t.len && !is_space(t.data[at]) && !is_closing(t.data[at]) && t.data[at] != ',' &&
           t.data[at] != '"')
      at++;
    return at;
  }
  size_t depth = 0;
  do {
    if (t.data[at] == '"') {
      at = skip_string(t, at);
      if (at == 0)
        return 0;
      continue;
    }
    depth += is_opening(t.data[at]);
    depth -= is_closing(t.data[at]);
    at++;
  } while (depth > 0 && at < t.len);
  return depth == 0 ? at : 0;
}

static bool is_id(struct text value, enum jsonrpc_version version)
{
  struct json_fault fault;
  if (json_validate(value, (struct json_limits){JSON_DEPTH_MAX}, TEXT_ABSENT, &fault) != JP_OK)
    return false;
  enum json_kind kind = json_root(value).kind;
  return version == JSONRPC_1_1 || kind == JSON_KIND_STRING || kind == JSON_KIND_NUMBER ||
         kind == JSON_KIND_NULL;
}

/* A key may only be unescaped where its escapes are valid. */
static bool is_id_key(struct text raw_key)
{
  enum { LONGEST = sizeof "\\u0069\\u0064" - 1 };
  struct json_fault fault;
  struct text quoted = {raw_key.data - 1, raw_key.len + 2};
  return raw_key.len <= LONGEST &&
         json_validate(quoted, (struct json_limits){1}, TEXT_ABSENT, &fault) == JP_OK &&
         json_key_is(raw_key, TEXT("id"));
}

/* The value of the only `id` on the walk, where it is a valid id. */
static struct text find_id(struct walk walk, enum jsonrpc_version version)
{
  struct text t = walk.text;
  struct text raw_key;
  struct text id = TEXT_ABSENT;
  size_t found = 0;
  while (find_string(&walk, &raw_key)) {
    size_t colon = skip_space(t, walk.at);
    if (colon == t.len || t.data[colon] != ':' || !is_id_key(raw_key))
      continue;
    size_t start = skip_space(t, colon + 1);
    size_t end = skip_value(t, start);
    found++;
    id = end == 0 ? TEXT_ABSENT : text_slice(t, start, end);
    if (end != 0)
      walk.at = end;
  }
  bool is_clear = found == 1 && id.data != NULL && is_id(id, version);
  return is_clear ? id : TEXT_ABSENT;
}

static size_t depth_at(struct text message, size_t at)
{
  struct walk walk = {.text = text_slice(message, 0, at)};
  struct text raw;
  while (find_string(&walk, &raw))
    ;
  return walk.depth;
}

struct text jsonrpc_salvage_id(struct text message, size_t fault, enum jsonrpc_version version)
{
  size_t first = skip_space(message, 0);
  if (first == message.len || message.data[first] != '{')
    return TEXT_ABSENT;
  struct text id = find_id((struct walk){.text = message}, version);
  /* Behind a string that has lost a quote, the walk takes strings for the text between them and the other way
   * round. A second walk begins at the fault, where that started. */
  if (id.data == NULL && fault > 0 && fault < message.len && depth_at(message, fault) == 1)
    id = find_id((struct walk){.text = message, .at = fault - 1, .depth = 1}, version);
  return id;
}

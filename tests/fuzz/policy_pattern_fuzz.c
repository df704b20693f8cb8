/*
 * A pattern, a line feed, a name. Matching always ends; and if both are short and ASCII, the result is the
 * same as for the simplest matcher, which tries all possibilities.
 */
#include "policy/match.h"

#include "tests/fuzz/fuzz.h"

enum { SHORT = 20 };

static char lower(char c)
{
  return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool plain_glob(struct text pattern, struct text name)
{
  if (pattern.len == 0)
    return name.len == 0;
  struct text tail = text_slice(pattern, 1, pattern.len);
  if (pattern.data[0] == '*')
    return plain_glob(tail, name) || (name.len > 0 && plain_glob(pattern, text_slice(name, 1, name.len)));
  if (name.len == 0 || (pattern.data[0] != '?' && lower(pattern.data[0]) != lower(name.data[0])))
    return false;
  return plain_glob(tail, text_slice(name, 1, name.len));
}

/* Removes the first segment from *rest, whose data is NULL at the end. */
static struct text next_segment(struct text *rest)
{
  const char *dot = memchr(rest->data, '.', rest->len);
  size_t len = dot == NULL ? rest->len : (size_t)(dot - rest->data);
  struct text segment = text_slice(*rest, 0, len);
  *rest = dot == NULL ? TEXT_ABSENT : text_slice(*rest, len + 1, rest->len);
  return segment;
}

static bool plain_match(struct text pattern, struct text name)
{
  if (pattern.data == NULL)
    return name.data == NULL;
  struct text pattern_rest = pattern;
  struct text segment = next_segment(&pattern_rest);
  bool deep = text_equal(segment, TEXT("**"));
  if (deep && plain_match(pattern_rest, name))
    return true;
  if (name.data == NULL)
    return false;
  struct text name_rest = name;
  struct text name_segment = next_segment(&name_rest);
  if (deep)
    return plain_match(pattern, name_rest);
  return plain_glob(segment, name_segment) && plain_match(pattern_rest, name_rest);
}

static bool is_short_ascii(struct text t)
{
  for (size_t i = 0; i < t.len; i++)
    if ((unsigned char)t.data[i] >= 0x80)
      return false;
  return t.len <= SHORT;
}

FUZZ_TARGET(name)
{
  struct text source;
  if (!next_line(&name, &source))
    return;
  struct arena arena;
  arena_init(&arena);
  struct policy_pattern pattern;
  if (policy_pattern_compile(source, &arena, &pattern, NULL) == JP_OK) {
    bool matches = policy_pattern_matches(&pattern, name);
    if (!has_empty_segment(name) && is_short_ascii(source) && is_short_ascii(name))
      require(matches == plain_match(source, name));
    require(!matches || policy_pattern_may_match(&pattern, name));
  }
  if (policy_pattern_compile_member(source, &arena, &pattern, NULL) == JP_OK)
    (void)policy_pattern_matches(&pattern, name);
  arena_fini(&arena);
}

#include "policy/match.h"

#include <locale.h>
#include <pthread.h>
#include <wctype.h>

enum { NO_CHARACTER = 0x110000 }; /* one more than Unicode's last code point */

enum segment_kind {
  SEGMENT_ANY_DEPTH, /* "**" */
  SEGMENT_GLOB       /* anything else, literal text included */
};

struct policy_segment {
  enum segment_kind kind;
  struct text glob;
};

/* The rest of a text that is read character by character. */
struct cursor {
  const unsigned char *at;
  const unsigned char *end;
};

static pthread_once_t folding_once = PTHREAD_ONCE_INIT;
static locale_t folding_locale;

static void open_folding_locale(void)
{
  /* glibc has this locale built in: the result depends neither on the user's locale nor on installed
   * files. */
  folding_locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

static uint32_t fold_wide(uint32_t character)
{
  pthread_once(&folding_once, open_folding_locale);
  if (folding_locale == (locale_t)0)
    return character;
  uint32_t lower = (uint32_t)towlower_l((wint_t)character, folding_locale);
  /* U+212A and U+0130 fold to "k" and "i": a name that merely looks like an allowed one must not equal it. */
  return lower < 0x80 ? character : lower;
}

static unsigned char fold_ascii(unsigned char c)
{
  return c >= 'A' && c <= 'Z' ? (unsigned char)(c + ('a' - 'A')) : c;
}

static size_t sequence_length(unsigned char lead)
{
  return lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
}

/* Callers choose the names: a byte of a broken or overlong sequence counts as one character above Unicode's
 * range, so that it equals no real one. */
static uint32_t read_wide(struct cursor *cursor)
{
  static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  size_t length = sequence_length(*cursor->at);
  if (length == 1 || length > (size_t)(cursor->end - cursor->at))
    return NO_CHARACTER + *cursor->at++;
  uint32_t character = *cursor->at & (0x7Fu >> length);
  for (size_t i = 1; i < length; i++) {
    if ((cursor->at[i] & 0xC0) != 0x80)
      return NO_CHARACTER + *cursor->at++;
    character = character << 6 | (cursor->at[i] & 0x3Fu);
  }
  if (character < smallest[length] || character >= NO_CHARACTER)
    return NO_CHARACTER + *cursor->at++;
  cursor->at += length;
  return fold_wide(character);
}

static uint32_t read_character(struct cursor *cursor)
{
  return *cursor->at < 0x80 ? fold_ascii(*cursor->at++) : read_wide(cursor);
}

static struct cursor cursor_over(struct text t)
{
  const unsigned char *start = (const unsigned char *)t.data;
  return (struct cursor){start, start + t.len};
}

/* Matches one segment against "?" and "*". Only the latest "*" has to be tried again: it can take whatever an
 * earlier one could. */
static bool glob_matches(struct text glob, struct cursor name)
{
  struct cursor pattern = cursor_over(glob);
  struct cursor retry_pattern = {NULL, NULL};
  struct cursor retry_name = name;
  while (name.at < name.end) {
    if (pattern.at < pattern.end && *pattern.at == '*') {
      pattern.at++;
      retry_pattern = pattern;
      retry_name = name;
      continue;
    }
    if (pattern.at < pattern.end) {
      bool any = *pattern.at == '?';
      if (read_character(&pattern) == read_character(&name) || any)
        continue;
    }
    if (retry_pattern.at == NULL)
      return false;
    read_character(&retry_name);
    pattern = retry_pattern;
    name = retry_name;
  }
  while (pattern.at < pattern.end && *pattern.at == '*')
    pattern.at++;
  return pattern.at == pattern.end;
}

/* Takes the next segment off *rest; false at the end. */
static bool next_segment(struct cursor *rest, struct cursor *segment)
{
  if (rest->at == NULL)
    return false;
  const unsigned char *dot = memchr(rest->at, '.', (size_t)(rest->end - rest->at));
  *segment = (struct cursor){rest->at, dot == NULL ? rest->end : dot};
  rest->at = dot == NULL ? NULL : dot + 1;
  return true;
}

/* Works as glob_matches does, with segments for characters and "**" for "*". */
static bool segments_match(const struct policy_segment *pattern, const struct policy_segment *end,
                           struct cursor rest)
{
  const struct policy_segment *retry_pattern = NULL;
  struct cursor retry_rest = rest;
  while (rest.at != NULL) {
    if (pattern < end && pattern->kind == SEGMENT_ANY_DEPTH) {
      retry_pattern = ++pattern;
      if (pattern == end)
        return true;
      retry_rest = rest;
      continue;
    }
    struct cursor segment;
    if (pattern < end && next_segment(&rest, &segment) && glob_matches(pattern->glob, segment)) {
      pattern++;
      continue;
    }
    if (retry_pattern == NULL || !next_segment(&retry_rest, &segment))
      return false;
    pattern = retry_pattern;
    rest = retry_rest;
  }
  while (pattern < end && pattern->kind == SEGMENT_ANY_DEPTH)
    pattern++;
  return pattern == end;
}

/*
 * Skips equal bytes by eights, because packages mostly begin alike and are in lower case. False: the two
 * differ in another bit than the one that tells upper case from lower. That is final, since an ASCII letter
 * equals ASCII letters alone.
 */
static bool skip_equal_words(struct cursor *pattern, struct cursor *name)
{
  const uint64_t case_bits = 0x2020202020202020u;
  uint64_t pattern_word;
  uint64_t name_word;
  while (pattern->end - pattern->at >= (ptrdiff_t)sizeof pattern_word &&
         name->end - name->at >= (ptrdiff_t)sizeof name_word) {
    memcpy(&pattern_word, pattern->at, sizeof pattern_word);
    memcpy(&name_word, name->at, sizeof name_word);
    if (pattern_word != name_word)
      return ((pattern_word ^ name_word) & ~case_bits) == 0;
    pattern->at += sizeof pattern_word;
    name->at += sizeof name_word;
  }
  return true;
}

/* Moves *name behind the prefix; false where it does not begin with it. */
static bool skip_prefix(struct text prefix, bool ascii, struct cursor *name)
{
  struct cursor pattern = cursor_over(prefix);
  if (ascii && !skip_equal_words(&pattern, name))
    return false;
  while (pattern.at < pattern.end) {
    if (name->at == name->end)
      return false;
    if (*name->at < 0x80) {
      if (fold_ascii(*name->at++) != *pattern.at++)
        return false;
    } else if (read_wide(name) != read_character(&pattern)) {
      return false;
    }
  }
  return true;
}

bool policy_pattern_matches(const struct policy_pattern *pattern, struct text name)
{
  if (name.len == 0)
    return false;
  if (pattern->every_name)
    return true;
  struct cursor rest = cursor_over(name);
  const struct policy_segment *end = pattern->segments + pattern->segment_count;
  if (pattern->prefix.len == 0)
    return segments_match(pattern->segments, end, rest);
  /* Folding keeps the length of ASCII letters, and they equal ASCII letters alone. */
  if (pattern->segment_count == 0 && pattern->ascii && pattern->prefix.len != name.len)
    return false;
  if (!skip_prefix(pattern->prefix, pattern->ascii, &rest))
    return false;
  if (rest.at == rest.end)
    rest.at = NULL;
  else if (*rest.at++ != '.')
    return false;
  return segments_match(pattern->segments, end, rest);
}

static bool has_wildcard(struct text t)
{
  return memchr(t.data, '*', t.len) != NULL || memchr(t.data, '?', t.len) != NULL;
}

static bool is_ascii(struct text t)
{
  for (size_t i = 0; i < t.len; i++)
    if ((unsigned char)t.data[i] >= 0x80)
      return false;
  return true;
}

/* "*", "?*", "*?" and "***" match any segment that is not empty. */
static bool is_any_segment(struct text glob)
{
  size_t stars = 0;
  size_t marks = 0;
  for (size_t i = 0; i < glob.len; i++) {
    stars += glob.data[i] == '*';
    marks += glob.data[i] == '?';
  }
  return stars + marks == glob.len && stars > 0 && marks <= 1;
}

static bool matches_every_name(const struct policy_segment *segments, size_t count)
{
  size_t deep = 0;
  size_t any = 0;
  for (size_t i = 0; i < count; i++) {
    if (segments[i].kind == SEGMENT_ANY_DEPTH)
      deep++;
    else if (is_any_segment(segments[i].glob))
      any++;
    else
      return false;
  }
  return deep > 0 && any <= 1;
}

static enum jp_status check_source(struct text source, struct jp_error *error)
{
  static const struct {
    char character;
    const char *problem;
  } refused[] = {
      {'/', "has a '/': names are written with '.'"},
      {';', "has a ';', which is in no name"},
      {'[', "names an array: it is judged by its element class, name that"},
      {'\0', "has a NUL"},
  };
  if (source.len == 0)
    return jp_fail(error, JP_INVALID, "is empty");
  if (source.len > POLICY_PATTERN_MAX)
    return jp_fail(error, JP_INVALID, "is longer than %d bytes", POLICY_PATTERN_MAX);
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
    if (memchr(source.data, refused[i].character, source.len) != NULL)
      return jp_fail(error, JP_INVALID, "%s", refused[i].problem);
  return JP_OK;
}

static struct text lower_copy(struct text source, struct arena *arena)
{
  char *copy = arena_alloc(arena, source.len);
  for (size_t i = 0; copy != NULL && i < source.len; i++)
    copy[i] = (char)fold_ascii((unsigned char)source.data[i]);
  return (struct text){copy, source.len};
}

static size_t count_segments(struct text source)
{
  size_t count = 1;
  for (size_t i = 0; i < source.len; i++)
    count += source.data[i] == '.';
  return count;
}

/* False where a segment is empty. */
static bool split_segments(struct text source, struct policy_segment *segments)
{
  size_t start = 0;
  for (size_t i = 0; i <= source.len; i++) {
    if (i < source.len && source.data[i] != '.')
      continue;
    if (i == start)
      return false;
    segments->glob = text_slice(source, start, i);
    segments->kind = text_equal(segments->glob, TEXT("**")) ? SEGMENT_ANY_DEPTH : SEGMENT_GLOB;
    segments++;
    start = i + 1;
  }
  return true;
}

enum jp_status policy_pattern_compile(struct text source, struct arena *arena, struct policy_pattern *pattern,
                                      struct jp_error *error)
{
  enum jp_status status = check_source(source, error);
  if (status != JP_OK)
    return status;
  struct text lower = lower_copy(source, arena);
  size_t count = count_segments(source);
  struct policy_segment *segments = arena_calloc(arena, count, sizeof *segments);
  if (lower.data == NULL || segments == NULL)
    return jp_fail(error, JP_NO_MEMORY, "out of memory");
  if (!split_segments(lower, segments))
    return jp_fail(error, JP_INVALID, "has an empty segment");

  size_t literal = 0;
  size_t prefix_len = 0;
  for (; literal < count && !has_wildcard(segments[literal].glob); literal++)
    prefix_len += segments[literal].glob.len + (literal > 0);
  *pattern = (struct policy_pattern){
      .prefix = text_slice(lower, 0, prefix_len),
      .segments = segments + literal,
      .segment_count = count - literal,
      .ascii = is_ascii(text_slice(lower, 0, prefix_len)),
      .every_name = matches_every_name(segments, count),
  };
  pattern->has_tail = pattern->ascii && prefix_len >= sizeof pattern->tail;
  if (pattern->has_tail)
    memcpy(&pattern->tail, lower.data + prefix_len - sizeof pattern->tail, sizeof pattern->tail);
  return JP_OK;
}

enum jp_status policy_pattern_compile_member(struct text source, struct arena *arena,
                                             struct policy_pattern *pattern, struct jp_error *error)
{
  if (source.len > 0 && memchr(source.data, '.', source.len) != NULL)
    return jp_fail(error, JP_INVALID, "has a '.', which is in no member's name");
  enum jp_status status = policy_pattern_compile(source, arena, pattern, error);
  if (status == JP_OK && is_any_segment(source))
    pattern->every_name = true;
  return status;
}

#include "policy/match.h"

#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
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
  /* U+212A and U+0130 fold to "k" and "i": a name that only looks like an allowed name must not match. */
  return lower < 0x80 ? character : lower;
}

static unsigned char fold_ascii(unsigned char c)
{
  return c >= 'A' && c <= 'Z' ? (unsigned char)(c + ('a' - 'A')) : c;
}

/* Callers choose the names, so a byte of a broken or overlong sequence counts as one character above
 * Unicode's range, which equals no real character. */
static uint32_t read_wide(struct cursor *cursor)
{
  static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  unsigned char lead = *cursor->at;
  size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
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

/* Matches one segment against "?" and "*". Only the latest "*" has to be tried again, because it can match
 * everything that an earlier "*" could match. */
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

/* Removes the next segment from *rest; false at the end. */
static bool next_segment(struct cursor *rest, struct cursor *segment)
{
  if (rest->at == NULL)
    return false;
  const unsigned char *dot = memchr(rest->at, '.', (size_t)(rest->end - rest->at));
  *segment = (struct cursor){rest->at, dot == NULL ? rest->end : dot};
  rest->at = dot == NULL ? NULL : dot + 1;
  return true;
}

/* Like glob_matches, with segments in place of characters and "**" in place of "*". */
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
 * differ in another bit than the bit for upper and lower case. In that case they are not equal, because an
 * ASCII letter equals only ASCII letters.
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

/* Moves *name after the prefix; false if *name does not begin with the prefix. */
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
  /* An ASCII letter keeps its length when it is folded, and equals only ASCII letters. */
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

bool policy_pattern_has_wildcard(struct text source)
{
  return memchr(source.data, '*', source.len) != NULL || memchr(source.data, '?', source.len) != NULL;
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

static size_t count_segments(struct text source)
{
  size_t count = 1;
  for (size_t i = 0; i < source.len; i++)
    count += source.data[i] == '.';
  return count;
}

/* False if a segment is empty. */
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

static enum jp_status compile(struct text source, struct arena *arena, struct policy_pattern *pattern,
                              struct jp_error *error)
{
  char *copy = arena_alloc(arena, source.len);
  for (size_t i = 0; copy != NULL && i < source.len; i++)
    copy[i] = (char)fold_ascii((unsigned char)source.data[i]);
  struct text lower = {copy, source.len};
  size_t count = count_segments(source);
  struct policy_segment *segments = arena_calloc(arena, count, sizeof *segments);
  if (lower.data == NULL || segments == NULL)
    return jp_fail_memory(error, NULL);
  if (!split_segments(lower, segments))
    return jp_fail(error, JP_INVALID, "has an empty segment");

  size_t literal = 0;
  size_t prefix_len = 0;
  for (; literal < count && !policy_pattern_has_wildcard(segments[literal].glob); literal++)
    prefix_len += segments[literal].glob.len + (literal > 0);
  *pattern = (struct policy_pattern){
      .prefix = text_slice(lower, 0, prefix_len),
      .segments = segments + literal,
      .segment_count = count - literal,
      .ascii = text_is_ascii(text_slice(lower, 0, prefix_len)),
      .every_name = matches_every_name(segments, count),
  };
  pattern->has_tail = pattern->ascii && prefix_len >= sizeof pattern->tail;
  if (pattern->has_tail)
    memcpy(&pattern->tail, lower.data + prefix_len - sizeof pattern->tail, sizeof pattern->tail);
  return JP_OK;
}

enum jp_status policy_pattern_compile(struct text source, struct arena *arena, struct policy_pattern *pattern,
                                      struct jp_error *error)
{
  const enum jp_status status = check_source(source, error);
  return status == JP_OK ? compile(source, arena, pattern, error) : status;
}

/* An element of an array is judged as a field "[]" of its class. */
enum jp_status policy_pattern_compile_member(struct text source, struct arena *arena,
                                             struct policy_pattern *pattern, struct jp_error *error)
{
  if (text_equal(source, TEXT("[]")))
    return compile(source, arena, pattern, error);
  if (source.len > 0 && memchr(source.data, '.', source.len) != NULL)
    return jp_fail(error, JP_INVALID, "has a '.', which is in no member's name");
  enum jp_status status = policy_pattern_compile(source, arena, pattern, error);
  if (status == JP_OK && is_any_segment(source))
    pattern->every_name = true;
  return status;
}

/* ---- whether one pattern covers another ---- */

/*
 * Both patterns become automata over characters, whose states are positions in a list of tokens. The search
 * visits the states of `specific` together with the set of states that `general` can be in after the same
 * characters, until `specific` accepts a name that `general` does not. All characters that `general` does not
 * name are equivalent.
 */
enum token_kind { TOKEN_LITERAL, TOKEN_ANY, TOKEN_STAR, TOKEN_SEGMENT_END, TOKEN_DEEP, TOKEN_END };

struct token {
  enum token_kind kind;
  uint32_t character;
};

struct automaton {
  struct token *tokens; /* the last is TOKEN_END */
  size_t count;
};

enum {
  OTHER_CHARACTER = NO_CHARACTER + 0x100, /* never returned by read_character */
  DOT = NO_CHARACTER + 0x101,
  COVER_STEPS_MAX = 4000
};

static bool make_automaton(const struct policy_pattern *pattern, struct automaton *automaton)
{
  /* The prefix's segments precede the other segments. */
  size_t prefix_count = pattern->prefix.len == 0 ? 0 : count_segments(pattern->prefix);
  const struct policy_segment *segments = pattern->segments - prefix_count;
  size_t count = prefix_count + pattern->segment_count;
  size_t room = 1;
  for (size_t i = 0; i < count; i++)
    room += segments[i].glob.len + 1;
  automaton->count = 0;
  automaton->tokens = calloc(room, sizeof *automaton->tokens);
  if (automaton->tokens == NULL)
    return false;
  for (size_t i = 0; i < count; i++) {
    struct token *token = &automaton->tokens[automaton->count];
    if (segments[i].kind == SEGMENT_ANY_DEPTH) {
      *token = (struct token){.kind = TOKEN_DEEP};
    } else {
      struct cursor glob = cursor_over(segments[i].glob);
      for (; glob.at < glob.end; token++) {
        char wildcard = (char)*glob.at;
        token->character = read_character(&glob);
        token->kind = wildcard == '*' ? TOKEN_STAR : wildcard == '?' ? TOKEN_ANY : TOKEN_LITERAL;
      }
      *token = (struct token){.kind = TOKEN_SEGMENT_END};
    }
    automaton->count = (size_t)(token - automaton->tokens) + 1;
  }
  automaton->tokens[automaton->count++] = (struct token){.kind = TOKEN_END};
  return true;
}

/* True if only "**" remains, so that a name may end here. */
static bool may_end(const struct automaton *automaton, size_t at)
{
  while (automaton->tokens[at].kind == TOKEN_DEEP)
    at++;
  return automaton->tokens[at].kind == TOKEN_END;
}

/* A state: a token, and for TOKEN_DEEP whether the name is inside a segment that the token matches. In the
 * search, for every token of `specific`: whether its segment has a character, because no segment of a name is
 * empty. */
static size_t make_state(size_t token, bool is_inside)
{
  return token * 2 + is_inside;
}

static bool accepts(const struct automaton *automaton, size_t state)
{
  enum token_kind kind = automaton->tokens[state / 2].kind;
  return (kind == TOKEN_SEGMENT_END || (kind == TOKEN_DEEP && state % 2 == 1)) &&
         may_end(automaton, state / 2 + 1);
}

/* Returns the next state of the set from `state` on, or SIZE_MAX. */
static size_t set_next(const uint64_t *set, size_t words, size_t state)
{
  for (size_t word = state / 64; word < words; word++) {
    uint64_t left = set[word] & (word == state / 64 ? ~(uint64_t)0 << state % 64 : ~(uint64_t)0);
    if (left != 0)
      return word * 64 + (size_t)__builtin_ctzll(left);
  }
  return SIZE_MAX;
}

/* Adds a state, and the states that follow without a character. */
static void set_add(uint64_t *set, const struct automaton *automaton, size_t state)
{
  for (;;) {
    set[state / 64] |= (uint64_t)1 << state % 64;
    enum token_kind kind = automaton->tokens[state / 2].kind;
    if (kind != TOKEN_STAR && (kind != TOKEN_DEEP || state % 2 == 1))
      return;
    state = make_state(state / 2 + 1, false);
  }
}

/* False if no state remains. */
static bool set_step(const struct automaton *automaton, const uint64_t *from, uint32_t character,
                     uint64_t *to, size_t words)
{
  bool any = false;
  memset(to, 0, words * sizeof *to);
  for (size_t state = 0; (state = set_next(from, words, state)) != SIZE_MAX; state++) {
    const struct token *token = &automaton->tokens[state / 2];
    size_t next = state / 2 + 1;
    bool steps = character == DOT
                     ? token->kind == TOKEN_SEGMENT_END || (token->kind == TOKEN_DEEP && state % 2 == 1)
                     : token->kind == TOKEN_ANY || token->kind == TOKEN_STAR || token->kind == TOKEN_DEEP ||
                           (token->kind == TOKEN_LITERAL && token->character == character);
    if (!steps)
      continue;
    any = true;
    bool stays = token->kind == TOKEN_STAR || token->kind == TOKEN_DEEP;
    set_add(to, automaton,
            stays ? make_state(state / 2, character != DOT && token->kind == TOKEN_DEEP)
                  : make_state(next, false));
  }
  return any;
}

struct cover_search {
  struct automaton general;
  struct automaton specific;
  uint32_t *characters; /* those that general names, and OTHER_CHARACTER */
  size_t character_count;
  size_t words;      /* the size of one set */
  uint64_t *entries; /* each is a state of specific and a set */
  size_t entry_count;
  size_t entry_room;
  uint32_t *slots; /* a hash table of entries: 0, or the index plus one */
  uint64_t *now;   /* a copy of the current set, because entries may move */
  uint64_t *next;  /* the set after a character */
  bool is_covered;
};

enum { COVER_SLOTS = 1 << 13 };

/* Queues a pair that was not visited before. */
static void visit(struct cover_search *search, size_t state, const uint64_t *set)
{
  size_t width = search->words + 1;
  uint64_t hash = state * 0x9E3779B97F4A7C15u;
  for (size_t i = 0; i < search->words; i++)
    hash = (hash ^ set[i]) * 0x9E3779B97F4A7C15u;
  size_t slot = hash % COVER_SLOTS;
  for (; search->slots[slot] != 0; slot = (slot + 1) % COVER_SLOTS) {
    const uint64_t *entry = &search->entries[(search->slots[slot] - 1) * width];
    if (entry[0] == state && memcmp(entry + 1, set, search->words * sizeof *set) == 0)
      return;
  }
  if (search->entry_count == search->entry_room) {
    size_t room = search->entry_room * 2 + 64;
    uint64_t *entries = NULL;
    if (search->entry_count < COVER_STEPS_MAX)
      entries = realloc(search->entries, room * width * sizeof *entries);
    if (entries == NULL) {
      search->is_covered = false;
      return;
    }
    search->entries = entries;
    search->entry_room = room;
  }
  uint64_t *entry = &search->entries[search->entry_count * width];
  entry[0] = state;
  memcpy(entry + 1, set, search->words * sizeof *set);
  search->slots[slot] = (uint32_t)++search->entry_count;
}

/* A name can follow from every state of specific except the last. */
static void step_character(struct cover_search *search, const uint64_t *set, uint32_t character, size_t state)
{
  if (search->specific.tokens[state / 2].kind == TOKEN_END)
    return;
  if (set_step(&search->general, set, character, search->next, search->words))
    visit(search, state, search->next);
  else
    search->is_covered = false;
}

static void expand(struct cover_search *search, size_t index)
{
  const uint64_t *entry = &search->entries[index * (search->words + 1)];
  const uint64_t *set = search->now;
  size_t here = entry[0];
  size_t at = here / 2;
  bool has_character = here % 2 == 1;
  memcpy(search->now, entry + 1, search->words * sizeof *set);
  const struct token *token = &search->specific.tokens[at];
  if (has_character && accepts(&search->specific, here)) {
    bool is_matched = false;
    for (size_t state = 0; !is_matched && (state = set_next(set, search->words, state)) != SIZE_MAX; state++)
      is_matched = accepts(&search->general, state);
    search->is_covered = search->is_covered && is_matched;
  }
  switch (token->kind) {
  case TOKEN_LITERAL: {
    uint32_t character = OTHER_CHARACTER;
    for (size_t i = 0; i < search->character_count; i++)
      if (search->characters[i] == token->character)
        character = token->character;
    step_character(search, set, character, make_state(at + 1, true));
    break;
  }
  case TOKEN_ANY:
  case TOKEN_STAR:
  case TOKEN_DEEP:
    for (size_t i = 0; i < search->character_count && search->is_covered; i++)
      step_character(search, set, search->characters[i],
                     make_state(token->kind == TOKEN_ANY ? at + 1 : at, true));
    if (token->kind == TOKEN_STAR)
      visit(search, make_state(at + 1, has_character), set);
    else if (token->kind == TOKEN_DEEP && !has_character)
      visit(search, make_state(at + 1, false), set);
    else if (token->kind == TOKEN_DEEP)
      step_character(search, set, DOT, make_state(at, false));
    break;
  case TOKEN_SEGMENT_END:
    if (has_character)
      step_character(search, set, DOT, make_state(at + 1, false));
    break;
  case TOKEN_END:
    break;
  }
}

static void run_search(struct cover_search *search)
{
  search->characters[search->character_count++] = OTHER_CHARACTER;
  for (size_t i = 0; i < search->general.count; i++) {
    bool is_known = search->general.tokens[i].kind != TOKEN_LITERAL;
    for (size_t j = 0; j < search->character_count && !is_known; j++)
      is_known = search->characters[j] == search->general.tokens[i].character;
    if (!is_known)
      search->characters[search->character_count++] = search->general.tokens[i].character;
  }
  set_add(search->next, &search->general, make_state(0, false));
  search->is_covered = true;
  visit(search, make_state(0, false), search->next);
  for (size_t i = 0; i < search->entry_count && search->is_covered; i++)
    expand(search, i);
}

bool policy_pattern_may_cover(const struct policy_pattern *general, const struct policy_pattern *specific)
{
  struct text prefix = general->prefix;
  struct text other = specific->prefix;
  if (general->every_name || specific->every_name)
    return general->every_name;
  if (!general->ascii || !specific->ascii)
    return true;
  if (general->segment_count == 0)
    return specific->segment_count == 0 && text_equal(prefix, other);
  /* A literal segment does not cover a segment with a wildcard, so specific must have the whole prefix,
   * too. */
  return text_starts_with(other, prefix) &&
         (prefix.len == 0 || other.len == prefix.len || other.data[prefix.len] == '.');
}

bool policy_pattern_covers(const struct policy_pattern *general, const struct policy_pattern *specific)
{
  if (!policy_pattern_may_cover(general, specific))
    return false;
  if (general->every_name || (general->ascii && specific->ascii && general->segment_count == 0))
    return true;
  struct cover_search search = {0};
  bool is_made = make_automaton(general, &search.general) && make_automaton(specific, &search.specific);
  search.words = search.general.count * 2 / 64 + 1;
  if (is_made) {
    search.characters = calloc(search.general.count + 1, sizeof *search.characters);
    search.slots = calloc(COVER_SLOTS, sizeof *search.slots);
    search.now = calloc(search.words, sizeof *search.now);
    search.next = calloc(search.words, sizeof *search.next);
  }
  bool covers = false;
  if (search.characters != NULL && search.slots != NULL && search.now != NULL && search.next != NULL) {
    run_search(&search);
    covers = search.is_covered;
  }
  free(search.general.tokens);
  free(search.specific.tokens);
  free(search.characters);
  free(search.entries);
  free(search.slots);
  free(search.now);
  free(search.next);
  return covers;
}

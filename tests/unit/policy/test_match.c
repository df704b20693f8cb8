#include "policy/match.h"
#include "tests/unit/cases.h"

static void check_name(const char *place, const char *written, const char *name, bool matches)
{
  char *copy = unit_exact_copy(name, strlen(name));
  const struct text text = {copy, strlen(name)};
  struct arena arena;
  arena_init(&arena);
  struct policy_pattern pattern;
  assert_int_equal(policy_pattern_compile(text_of(written), &arena, &pattern, NULL), JP_OK);
  if (policy_pattern_matches(&pattern, text) != matches)
    fail_msg("%s: '%s' and '%s': expected %s", place, written, name, matches ? "a match" : "no match");
  if (matches && !policy_pattern_may_match(&pattern, text))
    fail_msg("%s: '%s' and '%s': the test of eight bytes is wrong", place, written, name);
  arena_fini(&arena);
  test_free(copy);
}

static void check_names(const char *place, const char *pattern, const char *names)
{
  char name[UNIT_WORD_MAX];
  assert_true(*names != '\0');
  while (unit_next_word(&names, name))
    check_name(place, pattern, name + (*name == '!'), *name != '!');
}

UNIT_TEST(test_names)
{
  unit_cases(FILES "/names.txt", check_names);
  check_name("bytes", "a*", "\xC1\xA1", false);
  check_name("bytes", "a.**", "\xC1\xA1.b", false);
  check_name("bytes", "a", "\xC1\xA1", false); /* overlong "a" */
  check_name("bytes", "*", "\xFF\x80", true);
  check_name("bytes", "?", "\xED\xA0\x80", true); /* a lone surrogate is one character */
  check_name("nothing", "*", "", false);
  check_name("nothing", "**", "", false);
}

UNIT_TEST(test_every_name)
{
  static const struct {
    const char *pattern;
    bool as_class;
    bool as_member; /* if the pattern is one segment */
  } cases[] = {
      {"**", true, true},       {"*", false, true},       {"?*", false, true},       {"*?", false, true},
      {"***", false, true},     {"??*", false, false},    {"?", false, false},       {"a*", false, false},
      {"**.*", true, false},    {"*.**", true, false},    {"**.?*", true, false},    {"**.**", true, false},
      {"**.*.**", true, false}, {"*.*", false, false},    {"**.*.*", false, false},  {"**.?", false, false},
      {"**.a*", false, false},  {"com.**", false, false}, {"**.**.**", true, false}, {"*?*", false, true},
  };
  struct arena arena;
  arena_init(&arena);
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct policy_pattern pattern;
    assert_int_equal(policy_pattern_compile(text_of(cases[i].pattern), &arena, &pattern, NULL), JP_OK);
    if (pattern.every_name != cases[i].as_class)
      fail_msg("class '%s'", cases[i].pattern);
    if (strchr(cases[i].pattern, '.') != NULL)
      continue;
    assert_int_equal(policy_pattern_compile_member(text_of(cases[i].pattern), &arena, &pattern, NULL), JP_OK);
    if (pattern.every_name != cases[i].as_member)
      fail_msg("member '%s'", cases[i].pattern);
  }
  arena_fini(&arena);
}

UNIT_TEST(test_refused)
{
  static const struct {
    const char *pattern;
    const char *problem;
  } cases[] = {
      {"", "is empty"},
      {".", "has an empty segment"},
      {"a..b", "has an empty segment"},
      {".a", "has an empty segment"},
      {"a.", "has an empty segment"},
      {"com/example/**", "has a '/': names are written with '.'"},
      {"La.B;", "has a ';', which is in no name"},
      {"int[]", "names an array: it is judged by its element class, name that"},
  };
  struct arena arena;
  arena_init(&arena);
  struct policy_pattern pattern;
  struct jp_error error;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    assert_int_equal(policy_pattern_compile(text_of(cases[i].pattern), &arena, &pattern, &error), JP_INVALID);
    assert_string_equal(error.text, cases[i].problem);
  }
  assert_int_equal(policy_pattern_compile(TEXT("a\0b"), &arena, &pattern, &error), JP_INVALID);
  assert_string_equal(error.text, "has a NUL");
  assert_int_equal(policy_pattern_compile_member(TEXT("a.b"), &arena, &pattern, &error), JP_INVALID);
  assert_string_equal(error.text, "has a '.', which is in no member's name");
  assert_int_equal(policy_pattern_compile_member(TEXT("x[]"), &arena, &pattern, &error), JP_INVALID);
  assert_int_equal(policy_pattern_compile_member(TEXT("[]"), &arena, &pattern, &error), JP_OK);
  assert_true(policy_pattern_matches(&pattern, TEXT("[]"))); /* an element of an array */
  assert_false(policy_pattern_matches(&pattern, TEXT("x")));

  char longest[POLICY_PATTERN_MAX + 1];
  memset(longest, 'a', sizeof longest);
  struct text t = {longest, sizeof longest};
  assert_int_equal(policy_pattern_compile(t, &arena, &pattern, &error), JP_INVALID);
  assert_string_equal(error.text, "is longer than 1024 bytes");
  t.len--;
  assert_int_equal(policy_pattern_compile(t, &arena, &pattern, &error), JP_OK);
  assert_true(policy_pattern_matches(&pattern, t));
  arena_fini(&arena);
}

/* The worst names for a matcher that backtracks: a matcher that tries all ways would not end. */
UNIT_TEST(test_hostile_names)
{
  enum { LENGTH = 16 * 1024 };
  static char stars[LENGTH];
  static char dots[LENGTH];
  memset(stars, 'a', sizeof stars);
  for (size_t i = 0; i < sizeof dots; i++)
    dots[i] = i % 2 == 0 ? 'a' : '.';
  struct arena arena;
  arena_init(&arena);
  struct policy_pattern pattern;
  assert_int_equal(policy_pattern_compile(TEXT("*a*a*a*a*a*a*a*a*a*a*a*a*b"), &arena, &pattern, NULL), JP_OK);
  assert_false(policy_pattern_matches(&pattern, (struct text){stars, sizeof stars}));
  assert_int_equal(
      policy_pattern_compile(TEXT("**.a.**.a.**.a.**.a.**.a.**.a.**.a.b"), &arena, &pattern, NULL), JP_OK);
  assert_false(policy_pattern_matches(&pattern, (struct text){dots, sizeof dots}));
  arena_fini(&arena);
}

/* ---- covering ---- */

static void check_covering(const char *place, const char *input, const char *wanted)
{
  size_t length = strcspn(input, "\n");
  assert_true(input[length] == '\n');
  struct policy_pattern first;
  struct policy_pattern second;
  struct arena arena;
  arena_init(&arena);
  assert_int_equal(policy_pattern_compile((struct text){input, length}, &arena, &first, NULL), JP_OK);
  assert_int_equal(policy_pattern_compile(text_of(input + length + 1), &arena, &second, NULL), JP_OK);
  bool covers = policy_pattern_covers(&first, &second);
  bool is_covered = policy_pattern_covers(&second, &first);
  const char *got = covers && is_covered ? "both" : covers ? "first" : is_covered ? "second" : "neither";
  unit_assert_text(text_of(got), text_of(wanted), place, __LINE__);
  arena_fini(&arena);
}

UNIT_TEST(test_covering)
{
  unit_cases(FILES "/covering.txt", check_covering);
}

/* All words over an alphabet, ordered by length, except words with an empty segment. */
struct words {
  char (*all)[8];
  size_t count;
};

static void add_words(struct words *words, const char *alphabet, size_t longest, char *word, size_t length)
{
  if (length > 0 && word[length - 1] != '.')
    memcpy(words->all[words->count++], word, length + 1);
  for (const char *letter = alphabet; length < longest && *letter != '\0'; letter++) {
    if (*letter == '.' && (length == 0 || word[length - 1] == '.'))
      continue;
    word[length] = *letter;
    word[length + 1] = '\0';
    add_words(words, alphabet, longest, word, length + 1);
    word[length] = '\0';
  }
}

static struct words words_over(const char *alphabet, size_t longest)
{
  size_t room = 1;
  for (size_t i = 0; i < longest; i++)
    room = room * strlen(alphabet) + 1;
  struct words words = {.all = test_calloc(room, sizeof *words.all)};
  char word[8] = "";
  add_words(&words, alphabet, longest, word, 0);
  return words;
}

/* The oracle: each name of up to `longest` characters that a pattern matches, as a set. A pattern covers a
 * second pattern if the first set contains the second set. The alphabet of the names needs one letter that is
 * in no pattern. The answer "not covered" can be checked only if the names are longer than both patterns
 * (is_exact). The answer "covered" is wrong as soon as one name contradicts it. */
static void compare_with_names(const char *pattern_alphabet, size_t pattern_longest,
                               const char *name_alphabet, size_t longest, bool is_exact)
{
  struct words patterns = words_over(pattern_alphabet, pattern_longest);
  struct words names = words_over(name_alphabet, longest);
  size_t row = names.count / 64 + 1;
  struct policy_pattern *compiled = test_calloc(patterns.count, sizeof *compiled);
  uint64_t *matched = test_calloc(patterns.count * row, sizeof *matched);
  struct arena arena;
  arena_init(&arena);
  for (size_t i = 0; i < patterns.count; i++) {
    assert_int_equal(policy_pattern_compile(text_of(patterns.all[i]), &arena, &compiled[i], NULL), JP_OK);
    for (size_t j = 0; j < names.count; j++)
      if (policy_pattern_matches(&compiled[i], text_of(names.all[j])))
        matched[i * row + j / 64] |= (uint64_t)1 << j % 64;
  }
  size_t covering = 0;
  for (size_t i = 0; i < patterns.count; i++)
    for (size_t j = 0; j < patterns.count; j++) {
      bool covers = true;
      for (size_t k = 0; k < row && covers; k++)
        covers = (matched[j * row + k] & ~matched[i * row + k]) == 0;
      bool answer = policy_pattern_covers(&compiled[i], &compiled[j]);
      if (answer != covers && (answer || is_exact))
        fail_msg("%s covers %s: %s by the names", patterns.all[i], patterns.all[j], covers ? "yes" : "no");
      covering += covers;
    }
  assert_true(covering > patterns.count);
  arena_fini(&arena);
  test_free(matched);
  test_free(compiled);
  test_free(patterns.all);
  test_free(names.all);
}

UNIT_TEST(test_covering_agrees_with_the_names)
{
  compare_with_names("a.*?", 5, "ab.", 7, false);
  compare_with_names("a.*?", 4, "ab.", 7, true);
  compare_with_names("ab.*", 4, "abc.", 6, true);
  compare_with_names("ab*?", 4, "abc.", 6, true);
}

/* Beyond the bound the answer is "not covered". */
UNIT_TEST(test_covering_ends)
{
  char general[POLICY_PATTERN_MAX];
  char specific[POLICY_PATTERN_MAX];
  for (size_t i = 0; i < sizeof general; i++)
    general[i] = "*a?b"[i % 4];
  memset(specific, '?', sizeof specific);
  struct arena arena;
  struct policy_pattern left;
  struct policy_pattern right;
  arena_init(&arena);
  assert_int_equal(policy_pattern_compile((struct text){general, sizeof general}, &arena, &left, NULL),
                   JP_OK);
  assert_int_equal(policy_pattern_compile((struct text){specific, sizeof specific}, &arena, &right, NULL),
                   JP_OK);
  assert_false(policy_pattern_covers(&left, &right));
  assert_int_equal(policy_pattern_compile(TEXT("*a????????????????????*"), &arena, &left, NULL), JP_OK);
  assert_int_equal(policy_pattern_compile(TEXT("*a????????????????????b*"), &arena, &right, NULL), JP_OK);
  assert_false(policy_pattern_covers(&right, &left));
  (void)policy_pattern_covers(&left, &right);
  arena_fini(&arena);
}

UNIT_MAIN

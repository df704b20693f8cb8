/* Each case has the variable, the arguments, and the resulting words or the error. {F} is a path. */
#include "base/buffer.h"
#include "cli/java_arguments.h"

#include "tests/unit/temporary_file.h"

#include <stdio.h>

enum { WORDS_MAX = 16, TEXT_MAX = 1000 };

struct expansion_case {
  const char *file;      /* the content of {F}; NULL: the file does not exist */
  const char *variable;  /* NULL: not set */
  const char *arguments; /* between blanks */
  const char *words;     /* separated by '|'; an error begins with '!' */
};

/* Copies text with {F} replaced by the path. */
static void insert_path(const char *text, const char *path, char out[TEXT_MAX])
{
  size_t length = 0;
  out[0] = '\0';
  while (*text != '\0') {
    bool is_place = strncmp(text, "{F}", 3) == 0;
    length += (size_t)snprintf(out + length, TEXT_MAX - length, "%.*s", is_place ? (int)strlen(path) : 1,
                               is_place ? path : text);
    text += is_place ? 3 : 1;
  }
}

static void show_words(const struct java_arguments *expanded, struct buffer *out)
{
  for (size_t i = 0; i < expanded->count; i++)
    buffer_printf(out, "%s%s", i > 0 ? "|" : "", expanded->words[i]);
}

static void check_words(const struct expansion_case *row)
{
  char path[] = TEMPORARY_FILE;
  char variable[TEXT_MAX];
  char arguments[TEXT_MAX];
  char wanted[TEXT_MAX];
  char *words[WORDS_MAX];
  size_t count = 0;
  struct arena arena;
  struct java_arguments expanded;
  struct buffer shown;
  struct jp_error error = {0};
  temporary_file_write(path, row->file, row->file == NULL ? 0 : strlen(row->file));
  if (row->file == NULL)
    unlink(path);
  insert_path(row->variable == NULL ? "" : row->variable, path, variable);
  insert_path(row->arguments, path, arguments);
  insert_path(row->words, path, wanted);
  for (char *word = strtok(arguments, " "); word != NULL; word = strtok(NULL, " "))
    words[count++] = word;
  arena_init(&arena);
  buffer_init(&shown);
  if (java_arguments_expand(words, count, row->variable == NULL ? NULL : variable, &arena, &expanded,
                            &error) == JP_OK)
    show_words(&expanded, &shown);
  else
    buffer_printf(&shown, "!%s", error.text);
  unit_assert_text(buffer_text(&shown), text_of(wanted), __FILE__, __LINE__);
  buffer_fini(&shown);
  arena_fini(&arena);
  unlink(path);
}

static const struct expansion_case cases[] = {
    {NULL, NULL, "-cp a.jar Main x", "-cp|a.jar|Main|x"},
    {NULL, NULL, "", ""},
    /* files */
    {"-Xmx1g # comment\n-cp 'a b'", NULL, "@{F} Main", "-Xmx1g|-cp|a b|Main"},
    {"", NULL, "@{F} Main", "Main"},
    {"Main x", NULL, "-ea @{F} y", "-ea|Main|x|y"},
    {"@other", NULL, "@{F}", "@other"},
    {"-cp", NULL, "@{F} a.jar Main", "-cp|a.jar|Main"},
    {NULL, NULL, "-ea @@name Main", "-ea|@name|Main"},
    {NULL, NULL, "-ea @ Main", "-ea|@|Main"},
    {NULL, NULL, "@{F}", "!the argument file {F} cannot be opened: No such file or directory"},
    /* after the main class, -jar FILE and -m MODULE an @ is the application's */
    {"x", NULL, "Main @{F}", "Main|@{F}"},
    {"x", NULL, "-jar a.jar @{F}", "-jar|a.jar|@{F}"},
    {"x", NULL, "-m mod @{F}", "-m|mod|@{F}"},
    {"x", NULL, "--module=mod @{F}", "--module=mod|@{F}"},
    {"x", NULL, "-- @{F}", "--|@{F}"},
    {"x", NULL, "--disable-@files @{F}", "--disable-@files|@{F}"},
    {"a.jar", NULL, "-cp @{F} Main", "-cp|a.jar|Main"},
    /* the variable comes first */
    {NULL, "-Xmx1g \"-Da=b c\"", "Main", "-Xmx1g|-Da=b c|Main"},
    {NULL, " ", "Main", "Main"},
    {"-ea", "@{F}", "Main", "-ea|Main"},
    {NULL, "-cp a.jar", "Main", "-cp|a.jar|Main"},
    {NULL, "-Da='", "Main", "!JDK_JAVA_OPTIONS: a quote (') is open at its end"},
    {NULL, "-cp", "Main", "!JDK_JAVA_OPTIONS ends before the value of -cp"},
    {NULL, "Main", "", "!JDK_JAVA_OPTIONS cannot name a main class (\"Main\")"},
    {"Main", "@{F}", "", "!JDK_JAVA_OPTIONS cannot name a main class (\"Main\")"},
    {NULL, "-jar a.jar", "", "!JDK_JAVA_OPTIONS cannot have -jar: java accepts it only on its command line"},
    {NULL, "-m a", "", "!JDK_JAVA_OPTIONS cannot have -m: java accepts it only on its command line"},
    {NULL, "-version", "",
     "!JDK_JAVA_OPTIONS cannot have -version: java accepts it only on its command line"},
    {NULL, "@{F}", "", "!the argument file {F} cannot be opened: No such file or directory"},
    {NULL, "--json-rpc auto", "",
     "!JDK_JAVA_OPTIONS cannot have --json-rpc: the peer's options have their own variables"},
};

UNIT_TEST(test_expansions)
{
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    check_words(&cases[i]);
}

static void check_file(const char *bytes, size_t size, const char *error_end)
{
  char path[] = TEMPORARY_FILE;
  char word[sizeof path + 1];
  char wanted[200];
  char *words[] = {word};
  struct arena arena;
  struct java_arguments expanded;
  struct jp_error error = {0};
  temporary_file_write(path, bytes, size);
  snprintf(word, sizeof word, "@%s", path);
  snprintf(wanted, sizeof wanted, "the argument file %s %s", path, error_end);
  arena_init(&arena);
  assert_int_equal(java_arguments_expand(words, 1, NULL, &arena, &expanded, &error), JP_INVALID);
  assert_string_equal(error.text, wanted);
  arena_fini(&arena);
  unlink(path);
}

UNIT_TEST(test_files_that_are_refused)
{
  size_t size = 2 * (size_t)ARGUMENT_FILE_MAX;
  char *large = test_malloc(size);
  memset(large, ' ', size);
  check_file(large, size, "has more than 16777216 bytes");
  test_free(large);
  check_file("-ea\0-da", 7, "has a NUL in it");
}

UNIT_MAIN

/* cli/argument_file.c reads a text as java does; the header lists the differences. */
#include "cli/argument_file.h"
#include "tests/unit/unit.h"

#include <stdlib.h>

enum { MAX_ARGUMENTS = 6 };

static const struct {
  const char *text;
  const char *arguments[MAX_ARGUMENTS];
} files[] = {
    {"", {NULL}},
    {" \t\r\n\f", {NULL}},
    {"# all of it", {NULL}},
    {"a b\tc\nd\fe", {"a", "b", "c", "d", "e"}},
    {"abc #def\nghi", {"abc", "ghi"}},
    {"abc#def\nghi", {"abc", "ghi"}}, /* java: ghi */
    {"#c1\r#c2\rz", {"z"}},
    {"\"abc\ndef\" x", {"abc", "def x"}},
    {"\"abc\\\n   def\" x", {"abcdef", "x"}},
    {"\"a\\\n\n\n  b\"", {"ab"}},
    {"\"a\\\r\n  b\"", {"ab"}},
    {"'a b'c\"d e\" f", {"a bcd e", "f"}},
    {"\"\" x", {"", "x"}},
    {"x '' y", {"x", "", "y"}},
    {"x \"\"", {"x", ""}}, /* java: x */
    {"\"a\\tb\\\\c\\qd\\n\\r\\f\" a\\tb", {"a\tb\\cqd\n\r\f", "a\\tb"}},
    {"\"a\fb\"", {"a\fb"}},
    {"\"open", {"open"}},
    {"\"a\\", {"a"}}, /* java: nothing */
    {"a\\\nb", {"a\\", "b"}},
    {"\"a#b\" #c", {"a#b"}},
    {"'a\"b' \"c'd\"", {"a\"b", "c'd"}},
};

UNIT_TEST(test_files)
{
  for (size_t i = 0; i < COUNT_OF(files); i++) {
    char *copy = strdup(files[i].text);
    char *rest = copy;
    char *end = copy + strlen(copy);
    size_t count = 0;
    for (char *word; (word = argument_file_next(&rest, end)) != NULL; count++) {
      assert_non_null(files[i].arguments[count]);
      assert_string_equal(word, files[i].arguments[count]);
    }
    assert_null(files[i].arguments[count]);
    free(copy);
  }
}

static const struct {
  const char *text;
  const char *arguments[MAX_ARGUMENTS];
} variables[] = {
    {"", {NULL}},
    {"  \v", {NULL}},
    {" a  b\tc\n", {"a", "b", "c"}},
    {"-Da='x y' \"-Db=c d\"e", {"-Da=x y", "-Db=c de"}},
    {"a\\ b #c", {"a\\", "b", "#c"}},
    {"'' \"'\" '\"'", {"", "'", "\""}},
};

UNIT_TEST(test_variables)
{
  for (size_t i = 0; i < COUNT_OF(variables); i++) {
    char *copy = strdup(variables[i].text);
    char *rest = copy;
    char *word;
    struct jp_error error;
    for (size_t count = 0;; count++) {
      assert_int_equal(argument_variable_next(&rest, &word, &error), JP_OK);
      if (word == NULL) {
        assert_null(variables[i].arguments[count]);
        break;
      }
      assert_non_null(variables[i].arguments[count]);
      assert_string_equal(word, variables[i].arguments[count]);
    }
    free(copy);
  }
  char open[] = "a 'b c";
  char *rest = open;
  char *word;
  struct jp_error error;
  assert_int_equal(argument_variable_next(&rest, &word, &error), JP_OK);
  assert_int_equal(argument_variable_next(&rest, &word, &error), JP_INVALID);
  assert_string_equal(error.text, "a quote (') is open at its end");
}

UNIT_MAIN

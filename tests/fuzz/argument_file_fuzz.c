/* Argument files and JDK_JAVA_OPTIONS: the arguments are inside the text, and are the same after quoting and
 * reading them once more. */
#include "cli/argument_file.h"

#include "tests/fuzz/fuzz.h"
#include <stdint.h>
#include <string.h>

/* Quotes one argument for any file, and returns the end of the output. */
static char *quote(const char *word, char *out)
{
  static const char special[] = "\"\\\n\r\t\f";
  static const char letters[] = "\"\\nrtf";
  *out++ = '"';
  for (; *word != '\0'; word++) {
    const char *found = strchr(special, *word);
    if (found != NULL)
      *out++ = '\\';
    *out++ = found != NULL ? letters[found - special] : *word;
  }
  *out++ = '"';
  *out++ = ' ';
  return out;
}

static void read_file(struct text input)
{
  const size_t size = input.len;
  char *content = malloc(size + 1);
  char *again = malloc(size * 8 + 8); /* an argument of one byte has two quotes, a blank and a backslash */
  char **words = malloc((size + 1) * sizeof *words);
  require(content != NULL && again != NULL && words != NULL);
  memcpy(content, input.data, size);
  char *rest = content;
  char *out = again;
  size_t count = 0;
  for (char *word; (word = argument_file_next(&rest, content + size)) != NULL; count++) {
    require(count <= size && word >= content && word + strlen(word) <= content + size && rest > word);
    words[count] = word;
    out = quote(word, out);
  }
  require(argument_file_next(&rest, content + size) == NULL);
  rest = again;
  for (size_t i = 0; i < count; i++) {
    char *word = argument_file_next(&rest, out);
    require(word != NULL && strcmp(word, words[i]) == 0);
  }
  require(argument_file_next(&rest, out) == NULL);
  free(words);
  free(again);
  free(content);
}

static void read_variable(struct text input)
{
  const size_t size = input.len;
  char *copy = copy_with_end(input);
  char *rest = copy;
  char *word;
  struct jp_error error = {0};
  enum jp_status status;
  while ((status = argument_variable_next(&rest, &word, &error)) == JP_OK && word != NULL)
    require(word >= copy && word + strlen(word) <= copy + size && rest <= copy + size);
  require(status == JP_OK || error.text[0] != '\0');
  free(copy);
}

FUZZ_TARGET(input)
{
  /* A NUL is refused before the text is read. */
  if (input.len == 0 || memchr(input.data, '\0', input.len) != NULL)
    return;
  read_file(input);
  read_variable(input);
}

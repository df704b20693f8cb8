/* Argument files and JDK_JAVA_OPTIONS: what is read lies in the text, and says the same when it is quoted and
 * read once more. */
#include "cli/argument_file.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void check(bool holds)
{
  if (!holds)
    abort();
}

/* Quotes one argument so that any file may have it: returns the end of what it wrote. */
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

static void read_file(const char *text, size_t size)
{
  char *content = malloc(size + 1);
  char *again = malloc(size * 8 + 8); /* an argument of one byte has two quotes, a blank and a backslash */
  char **words = malloc((size + 1) * sizeof *words);
  if (content == NULL || again == NULL || words == NULL)
    abort();
  memcpy(content, text, size);
  char *rest = content;
  char *out = again;
  size_t count = 0;
  for (char *word; (word = argument_file_next(&rest, content + size)) != NULL; count++) {
    check(count <= size && word >= content && word + strlen(word) <= content + size && rest > word);
    words[count] = word;
    out = quote(word, out);
  }
  check(argument_file_next(&rest, content + size) == NULL);
  rest = again;
  for (size_t i = 0; i < count; i++) {
    char *word = argument_file_next(&rest, out);
    check(word != NULL && strcmp(word, words[i]) == 0);
  }
  check(argument_file_next(&rest, out) == NULL);
  free(words);
  free(again);
  free(content);
}

static void read_variable(const char *text, size_t size)
{
  char *copy = malloc(size + 1);
  if (copy == NULL)
    abort();
  memcpy(copy, text, size);
  copy[size] = '\0';
  char *rest = copy;
  char *word;
  struct jp_error error = {0};
  enum jp_status status;
  while ((status = argument_variable_next(&rest, &word, &error)) == JP_OK && word != NULL)
    check(word >= copy && word + strlen(word) <= copy + size && rest <= copy + size);
  check(status == JP_OK || error.text[0] != '\0');
  free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  /* A NUL is refused before the text is read. */
  if (size == 0 || memchr(data, '\0', size) != NULL)
    return 0;
  read_file((const char *)data, size);
  read_variable((const char *)data, size);
  return 0;
}

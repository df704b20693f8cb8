/* The command line of `jpeer run`: the input is its arguments, each ended by a NUL or a newline. Arguments
 * before a first "ENV" line are the command line; arguments after it are NAME=VALUE pairs of the environment.
 * No file of the machine is read: '@' becomes '%', except "@@". argument_file_fuzz covers the content of such
 * files. */
#include "cli/run_options.h"

#include "tests/fuzz/fuzz.h"

enum { MAX_ARGS = 64 };

static char **environment;

static const char *variable(const char *name)
{
  size_t length = strlen(name);
  for (char **at = environment; at != NULL && *at != NULL; at++) {
    if (strncmp(*at, name, length) == 0 && (*at)[length] == '=')
      return *at + length + 1;
  }
  return NULL;
}

static void hide_files(char *text)
{
  for (; *text != '\0'; text++) {
    if (text[0] == '@' && text[1] == '@')
      text++;
    else if (text[0] == '@')
      text[0] = '%';
  }
}

FUZZ_TARGET(input)
{
  const size_t size = input.len;
  char *copy = copy_with_end(input);
  char *args[MAX_ARGS + 1] = {NULL};
  size_t count = 0;
  size_t line_end = SIZE_MAX;
  for (size_t at = 0; at < size && count < MAX_ARGS; at += strlen(copy + at) + 1) {
    copy[at + strcspn(copy + at, "\n")] = '\0';
    hide_files(copy + at);
    if (line_end == SIZE_MAX && strcmp(copy + at, "ENV") == 0)
      line_end = count;
    else
      args[count++] = copy + at;
  }
  if (line_end == SIZE_MAX)
    line_end = count;
  environment = args + line_end;

  struct run_options options;
  struct jp_error error = {0};
  enum jp_status status = run_options_read(args, line_end, variable, &options, &error);
  require(status == JP_OK ? options.help || options.version || options.name != NULL : error.text[0] != '\0');
  run_options_fini(&options);
  free(copy);
}

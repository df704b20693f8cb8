/* The language of jpeer call and the shell: the input is a program. A tree is not deeper than promised, an error has a
 * place in the text, and an incomplete text is no complete one. */
#include "command/language.h"

#include "tests/fuzz/fuzz.h"

static bool is_variable(const struct language_names *names, struct text name)
{
  (void)names;
  return name.len == 1;
}

FUZZ_TARGET(input)
{
  const struct language_names names = {is_variable};
  struct language_error error;
  struct node *program;
  struct arena arena;
  struct buffer out;
  arena_init(&arena);
  buffer_init(&out);
  enum jp_status status = language_parse(input, &names, &arena, &program, &error);
  if (status == JP_OK) {
    require(program->depth <= LANGUAGE_DEPTH_MAX);
    language_write(&out, program);
  } else {
    require(error.at <= input.len && error.error.text[0] != '\0');
    language_write_fault(&out, "-", input, error.at, error.error.text);
  }
  buffer_fini(&out);
  arena_fini(&arena);
}

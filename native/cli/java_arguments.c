#include "cli/java_arguments.h"

#include "base/transitions.h"
#include "cli/argument_file.h"
#include "cli/java_options.h"
#include "cli/run_option_rows.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char variable_name[] = "JDK_JAVA_OPTIONS";

/*
 * The meaning of the next word. Two functions make the transitions: note_option and read_word.
 *
 * | state           | meaning                                                | what ends it                   |
 * | NEXT_OPTION     | the next word is an option, an @FILE or the main class | an option that takes a value;  |
 * |                 |                                                        | the end of the options         |
 * | NEXT_VALUE      | the next word is the value of an option                | that value                     |
 * | NEXT_LAST_VALUE | the next word is the value of an option that ends the  | that value                     |
 * |                 | options: -jar FILE                                     |                                |
 * | NEXT_ARGUMENT   | the words that follow belong to the application, even  | nothing                        |
 * |                 | @FILEs                                                 |                                |
 */
enum next_word {
  NEXT_OPTION,     /* the next word is an option, an @FILE or the main class */
  NEXT_VALUE,      /* the next word is the value of an option */
  NEXT_LAST_VALUE, /* the next word is the value of an option that ends the options */
  NEXT_ARGUMENT    /* the words that follow belong to the application */
};

static const uint16_t next_word_transitions[] = {
    [NEXT_OPTION] = TO(NEXT_OPTION) | TO(NEXT_VALUE) | TO(NEXT_LAST_VALUE) | TO(NEXT_ARGUMENT),
    [NEXT_VALUE] = TO(NEXT_OPTION),
    [NEXT_LAST_VALUE] = TO(NEXT_ARGUMENT),
    [NEXT_ARGUMENT] = 0,
};

struct expansion {
  struct arena *arena;
  struct java_arguments *out;
  size_t capacity;
  enum next_word next;
  bool is_literal;  /* --disable-@files was given */
  bool in_variable; /* the words come from JDK_JAVA_OPTIONS, which is read first */
};

static void set_next(struct expansion *expansion, enum next_word to)
{
  ASSERT_TRANSITION(next_word_transitions, expansion->next, to);
  expansion->next = to;
}

/* ---- limits of the variable ---- */

static enum jp_status check_for_variable(const struct expansion *expansion, const char *word,
                                         struct jp_error *error)
{
  if (expansion->next == NEXT_ARGUMENT)
    return jp_fail(error, JP_INVALID, "%s cannot name a main class (\"%.*s\")", variable_name,
                   OPTION_SHOWN(word));
  if (word[0] == '-' && java_option_is_for_line(word))
    return jp_fail(error, JP_INVALID, "%s cannot have %.*s: java accepts it only on its command line",
                   variable_name, OPTION_SHOWN(word));
  /* The class path is an option of java, too. Any other option of the peer would stop a java that reads
   * the same variable. */
  bool is_class_path = strncmp(word, "-cp", strlen("-cp")) == 0 ||
                       strncmp(word, "-classpath", strlen("-classpath")) == 0 ||
                       strncmp(word, "--class-path", strlen("--class-path")) == 0;
  if (word[0] == '-' && !is_class_path && options_have(run_option_rows, run_option_count, word))
    return jp_fail(error, JP_INVALID, "%s cannot have %.*s: the peer's options have their own variables",
                   variable_name, OPTION_SHOWN(word));
  return JP_OK;
}

/* ---- words ---- */

static void note_option(struct expansion *expansion, const char *word)
{
  if (strcmp(word, "--") == 0 || strncmp(word, "--module=", strlen("--module=")) == 0) {
    set_next(expansion, NEXT_ARGUMENT);
    return;
  }
  expansion->is_literal |= strcmp(word, "--disable-@files") == 0;
  bool takes_value =
      options_take_next(run_option_rows, run_option_count, word) || java_option_takes_next(word);
  bool is_last = strcmp(word, "-jar") == 0 || strcmp(word, "-m") == 0 || strcmp(word, "--module") == 0;
  set_next(expansion, !takes_value ? NEXT_OPTION : is_last ? NEXT_LAST_VALUE : NEXT_VALUE);
}

/* Reads a word that is not an @FILE. */
static enum jp_status read_word(struct expansion *expansion, char *word, struct jp_error *error)
{
  if (expansion->next == NEXT_VALUE) {
    set_next(expansion, NEXT_OPTION);
  } else if (expansion->next == NEXT_LAST_VALUE) {
    set_next(expansion, NEXT_ARGUMENT);
  } else if (expansion->next == NEXT_OPTION) {
    if (word[0] == '-' && word[1] != '\0')
      note_option(expansion, word);
    else
      set_next(expansion, NEXT_ARGUMENT);
    enum jp_status status = expansion->in_variable ? check_for_variable(expansion, word, error) : JP_OK;
    if (status != JP_OK)
      return status;
  }
  struct java_arguments *out = expansion->out;
  char **words =
      arena_grow(expansion->arena, out->words, out->count, &expansion->capacity, sizeof *out->words);
  if (words == NULL)
    return jp_fail_memory(error, NULL);
  out->words = words;
  out->words[out->count++] = word;
  return JP_OK;
}

/* ---- files ---- */

/* Reads the whole file. *end is the place after its last byte, and is writable. */
static enum jp_status read_whole(const char *path, FILE *file, struct arena *arena, char **content,
                                 char **end, struct jp_error *error)
{
  size_t capacity = 4096;
  size_t length = 0;
  char *bytes = arena_alloc(arena, capacity);
  for (;;) {
    if (bytes == NULL)
      return jp_fail_memory(error, NULL);
    length += fread(bytes + length, 1, capacity - 1 - length, file);
    if (ferror(file))
      return jp_fail(error, JP_INVALID, "the argument file %.*s cannot be read: %m", OPTION_SHOWN(path));
    if (length < capacity - 1)
      break;
    if (length > ARGUMENT_FILE_MAX)
      return jp_fail(error, JP_INVALID, "the argument file %.*s has more than %d bytes", OPTION_SHOWN(path),
                     ARGUMENT_FILE_MAX);
    capacity *= 2;
    char *more = arena_alloc(arena, capacity);
    if (more != NULL)
      memcpy(more, bytes, length);
    bytes = more;
  }
  if (memchr(bytes, '\0', length) != NULL)
    return jp_fail(error, JP_INVALID, "the argument file %.*s has a NUL in it", OPTION_SHOWN(path));
  *content = bytes;
  *end = bytes + length;
  return JP_OK;
}

static enum jp_status expand_file(struct expansion *expansion, const char *path, struct jp_error *error)
{
  FILE *file = fopen(path, "re");
  if (file == NULL)
    return jp_fail(error, JP_INVALID, "the argument file %.*s cannot be opened: %m", OPTION_SHOWN(path));
  char *rest = NULL;
  char *end = NULL;
  enum jp_status status = read_whole(path, file, expansion->arena, &rest, &end, error);
  fclose(file);
  while (status == JP_OK) {
    char *word = argument_file_next(&rest, end);
    if (word == NULL)
      break;
    /* An @ inside a file has no meaning. */
    status = read_word(expansion, word, error);
  }
  return status;
}

static enum jp_status expand_argument(struct expansion *expansion, char *word, struct jp_error *error)
{
  if (expansion->next == NEXT_ARGUMENT || expansion->is_literal || word[0] != '@' || word[1] == '\0')
    return read_word(expansion, word, error);
  if (word[1] == '@')
    return read_word(expansion, word + 1, error);
  return expand_file(expansion, word + 1, error);
}

/* ---- */

static enum jp_status read_variable(struct expansion *expansion, const char *variable, struct jp_error *error)
{
  struct text copy = arena_printf(expansion->arena, "%s", variable);
  if (copy.data == NULL)
    return jp_fail_memory(error, NULL);
  char *rest = (char *)copy.data;
  expansion->in_variable = true;
  for (;;) {
    char *word;
    enum jp_status status = argument_variable_next(&rest, &word, error);
    if (status != JP_OK) {
      jp_error_prefix(error, "%s", variable_name);
      return status;
    }
    if (word == NULL)
      break;
    status = expand_argument(expansion, word, error);
    if (status != JP_OK)
      return status;
  }
  expansion->in_variable = false;
  if (expansion->next == NEXT_VALUE || expansion->next == NEXT_LAST_VALUE)
    return jp_fail(error, JP_INVALID, "%s ends before the value of %.*s", variable_name,
                   OPTION_SHOWN(expansion->out->words[expansion->out->count - 1]));
  return JP_OK;
}

enum jp_status java_arguments_expand(char *const *args, size_t arg_count, const char *variable,
                                     struct arena *arena, struct java_arguments *expanded,
                                     struct jp_error *error)
{
  *expanded = (struct java_arguments){0};
  struct expansion expansion = {.arena = arena, .out = expanded};
  enum jp_status status = variable != NULL ? read_variable(&expansion, variable, error) : JP_OK;
  for (size_t i = 0; status == JP_OK && i < arg_count; i++)
    status = expand_argument(&expansion, args[i], error);
  return status;
}

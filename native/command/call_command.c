/* `jpeer call`: an expression, or a name and words. */
#include "command/command.h"

#include "base/primitives.h"

#include <errno.h>
#include <stdlib.h>

/* ---- an expression ---- */

static int check_expression(const struct command *command, struct text source)
{
  struct language_error error;
  struct node *program;
  struct arena arena;
  struct buffer out;
  arena_init(&arena);
  enum jp_status status = language_parse(source, NULL, &arena, &program, &error);
  arena_fini(&arena);
  if (status == JP_OK)
    return COMMAND_GOOD;
  buffer_init(&out);
  language_write_fault(&out, NULL, source, error.at, error.error.text);
  fprintf(stderr, "jpeer %s: %.*s", command->name, (int)out.len, out.data);
  buffer_fini(&out);
  return COMMAND_USAGE;
}

static int call_expression(struct command *command, struct text source)
{
  struct value *value;
  const struct failure *failure;
  if (!evaluator_run(command->evaluator, source, &value, &failure))
    return command_report(command, failure, source);
  int code = command_print_value(command, value);
  value_release(value);
  return code;
}

/* ---- words ---- */

static bool is_dotted_name(struct text name)
{
  size_t dots = 0;
  for (size_t i = 0; i < name.len; i++) {
    char c = name.data[i];
    bool is_letter =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || (unsigned char)c >= 0x80;
    bool is_first = i == 0 || name.data[i - 1] == '.';
    if (c == '.' ? is_first : !is_letter && (is_first || c < '0' || c > '9'))
      return false;
    dots += c == '.';
  }
  return dots > 0 && name.data[name.len - 1] != '.';
}

struct words {
  const struct command *command;
  struct arena arena;
  struct jp_argument *args;
};

static bool is_json(struct text word)
{
  struct jp_json json;
  return jp_json_parse((struct jp_text){word.data, word.len}, 100, &json, NULL) == JP_JSONRPC_OK;
}

static struct jp_argument text_argument(struct text t)
{
  return jp_text_argument((struct jp_text){t.data, t.len});
}

/* A text without a type fits whatever a text can become: a char, an enum, a date. */
static struct jp_argument bare_argument(struct text word)
{
  if (is_json(word))
    return jp_json_argument((struct jp_text){word.data, word.len});
  return jp_as_type(NULL, text_argument(word));
}

/* "int[]:1,2,3" */
static bool read_array(struct words *words, const char *type, struct text rest, struct jp_argument *out)
{
  struct jp_argument *items = arena_calloc(&words->arena, rest.len + 1, sizeof *items);
  size_t count = 0;
  if (items == NULL)
    return false;
  for (size_t at = 0; rest.len > 0 && at <= rest.len;) {
    size_t end = at;
    while (end < rest.len && rest.data[end] != ',')
      end++;
    items[count++] = bare_argument(text_slice(rest, at, end));
    at = end + 1;
  }
  *out = jp_list(type, items, count);
  return true;
}

/* A word with a prefix: "int:5". *is_typed is false if it has none that counts. */
static bool read_typed(struct words *words, struct text word, struct jp_argument *out, bool *is_typed)
{
  const char *colon = memchr(word.data, ':', word.len);
  *is_typed = false;
  if (colon == NULL)
    return true;
  struct text prefix = text_slice(word, 0, (size_t)(colon - word.data));
  struct text rest = text_slice(word, prefix.len + 1, word.len);
  const char *type = arena_printf(&words->arena, "%.*s", TEXT_ARGS(prefix)).data;
  const char *name = arena_printf(&words->arena, "%.*s", TEXT_ARGS(rest)).data;
  char *end;
  if (type == NULL || name == NULL)
    return false;
  *is_typed = true;
  if (text_equal(prefix, TEXT("text"))) {
    *out = text_argument(rest);
  } else if (text_equal(prefix, TEXT("null"))) {
    *out = jp_null(name);
  } else if (text_equal(prefix, TEXT("ref"))) {
    unsigned long number = strtoul(name, &end, 10);
    if (*name < '1' || *name > '9' || *end != '\0' || number > INT32_MAX)
      return command_fail_usage(words->command, "ref: takes a number, not \"%.*s\"", OPTION_SHOWN(name)),
             false;
    *out = jp_object_number((uint32_t)number);
  } else if (text_ends_with(prefix, TEXT("[]"))) {
    return read_array(words, type, rest, out);
  } else if (primitive_find_keyword(prefix) != NULL || is_dotted_name(prefix)) {
    *out = jp_text_of_type(type, name);
  } else {
    *is_typed = false;
  }
  return true;
}

static bool read_file(struct words *words, const char *path, struct jp_argument *out)
{
  FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
  struct buffer content;
  buffer_init(&content);
  bool is_good = file != NULL;
  while (is_good && !feof(file)) {
    char *room = buffer_reserve(&content, 65536);
    size_t count = room == NULL ? 0 : fread(room, 1, 65536, file);
    content.len += count;
    is_good = room != NULL && !ferror(file);
  }
  if (!is_good)
    (void)command_fail_usage(words->command, "cannot read %s: %s", path, strerror(errno));
  struct text kept =
      is_good ? arena_text(&words->arena, content.len == 0 ? TEXT("") : buffer_text(&content)) : TEXT_ABSENT;
  if (file != NULL && file != stdin)
    fclose(file);
  buffer_fini(&content);
  *out = kept.data == NULL ? jp_null(NULL) : jp_as_type(NULL, text_argument(kept));
  return kept.data != NULL;
}

/* False: a usage error was printed, or there is no memory. */
static bool read_word(struct words *words, const char *word, struct jp_argument *out)
{
  bool is_typed;
  if (strcmp(word, "-") == 0)
    return read_file(words, word, out);
  if (word[0] == '@')
    return read_file(words, word + 1, out);
  if (!read_typed(words, text_of(word), out, &is_typed))
    return false;
  if (!is_typed)
    *out = bare_argument(text_of(word));
  return true;
}

static int call_name(struct command *command)
{
  struct words words = {.command = command};
  struct value *value = NULL;
  const struct failure *failure;
  size_t count = command->word_count - 1;
  int code = COMMAND_GOOD;
  arena_init(&words.arena);
  words.args = arena_calloc(&words.arena, count + 1, sizeof *words.args);
  for (size_t i = 0; code == COMMAND_GOOD && i < count; i++) {
    if (words.args == NULL || !read_word(&words, command->words[i + 1], &words.args[i]))
      code = COMMAND_USAGE;
  }
  if (code == COMMAND_GOOD)
    code = evaluator_call(command->evaluator, text_of(command->words[0]), words.args, count, &value, &failure)
               ? command_print_value(command, value)
               : command_report(command, failure, text_of(command->words[0]));
  value_release(value);
  arena_fini(&words.arena);
  return code;
}

int command_check_call(const struct command *command)
{
  if (command->word_count == 1)
    return check_expression(command, text_of(command->words[0]));
  if (is_dotted_name(text_of(command->words[0])))
    return COMMAND_GOOD;
  return command_fail_usage(command,
                            "before words there is a name, CLASS.METHOD, not \"%.*s\"; an expression is one "
                            "argument, in quotes",
                            OPTION_SHOWN(command->words[0]));
}

int command_call(struct command *command)
{
  return command->word_count == 1 ? call_expression(command, text_of(command->words[0])) : call_name(command);
}

#include "base/options.h"

#include "base/near_name.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- readers ---- */

bool option_is_name(struct text name)
{
  bool is_good = name.len > 0 && name.len <= OPTION_NAME_MAX && text_valid_utf8(name) == name.len;
  for (size_t i = 0; is_good && i < name.len; i++)
    is_good = (unsigned char)name.data[i] >= ' ' && name.data[i] != 0x7F;
  return is_good;
}

enum jp_status option_read_switch(const struct option *option, const char *text, void *value,
                                  struct jp_error *error)
{
  static const char *const words[] = {"0", "1", "false", "true", "no", "yes"};
  (void)option;
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (strcmp(text, words[i]) == 0) {
      *(bool *)value = i % 2 == 1;
      return JP_OK;
    }
  }
  return jp_fail(error, JP_INVALID, "takes 1, true, yes, 0, false or no");
}

enum jp_status option_read_text(const struct option *option, const char *text, void *value,
                                struct jp_error *error)
{
  (void)option;
  (void)error;
  if (*text == '\0')
    return JP_INVALID;
  *(const char **)value = text;
  return JP_OK;
}

enum jp_status option_read_list(const struct option *option, const char *text, void *value,
                                struct jp_error *error)
{
  (void)option;
  struct option_list *list = value;
  if (*text == '\0')
    return JP_INVALID;
  const char **items = realloc(list->items, (list->count + 1) * sizeof *items);
  if (items == NULL)
    return jp_fail_memory(error, NULL);
  list->items = items;
  list->items[list->count++] = text;
  return JP_OK;
}

void option_list_fini(struct option_list *list)
{
  free(list->items);
  free(list->copy);
  *list = (struct option_list){0};
}

static void reverse_items(const char **items, size_t count)
{
  for (size_t i = 0; i < count / 2; i++) {
    const char *item = items[i];
    items[i] = items[count - 1 - i];
    items[count - 1 - i] = item;
  }
}

void option_list_rotate(struct option_list *list, size_t count)
{
  if (count == 0 || count == list->count)
    return;
  reverse_items(list->items, count);
  reverse_items(list->items + count, list->count - count);
  reverse_items(list->items, list->count);
}

struct unit {
  const char *name;
  int64_t factor;
};

static const struct unit no_units[] = {{"", 1}, {NULL, 0}};
static const struct unit size_units[] = {{"", 1},        {"K", 1 << 10}, {"k", 1 << 10}, {"M", 1 << 20},
                                         {"m", 1 << 20}, {"G", 1 << 30}, {"g", 1 << 30}, {NULL, 0}};
static const struct unit time_units[] = {{"", 1},      {"ms", 1},      {"s", 1000},
                                         {"m", 60000}, {"h", 3600000}, {NULL, 0}};

static bool read_number(const struct option *option, const char *text, const struct unit *units,
                        int64_t *number)
{
  if (*text < '0' || *text > '9')
    return false;
  char *end;
  errno = 0;
  long long digits = strtoll(text, &end, 10);
  if (errno != 0)
    return false;
  while (units->name != NULL && strcmp(units->name, end) != 0)
    units++;
  return units->name != NULL && !__builtin_mul_overflow(digits, units->factor, number) &&
         *number >= option->min && *number <= option->max;
}

static enum jp_status read_bytes_or_count(const struct option *option, const char *text,
                                          const struct unit *units, size_t *value, struct jp_error *error)
{
  int64_t number;
  if (!read_number(option, text, units, &number))
    return jp_fail(error, JP_INVALID, "takes %s, from %lld to %lld", option->takes, (long long)option->min,
                   (long long)option->max);
  *value = (size_t)number;
  return JP_OK;
}

enum jp_status option_read_count(const struct option *option, const char *text, void *value,
                                 struct jp_error *error)
{
  return read_bytes_or_count(option, text, no_units, value, error);
}

enum jp_status option_read_size(const struct option *option, const char *text, void *value,
                                struct jp_error *error)
{
  return read_bytes_or_count(option, text, size_units, value, error);
}

enum jp_status option_read_duration(const struct option *option, const char *text, void *value,
                                    struct jp_error *error)
{
  int64_t number;
  if (!read_number(option, text, time_units, &number))
    return jp_fail(error, JP_INVALID,
                   "takes %s: milliseconds, or a number with ms, s, m or h, from %lld to %lld ms",
                   option->takes, (long long)option->min, (long long)option->max);
  *(int64_t *)value = number;
  return JP_OK;
}

enum jp_status option_read_word(const struct option *option, const char *text, void *value,
                                struct jp_error *error)
{
  (void)error;
  for (int i = 0; option->words[i] != NULL; i++) {
    if (strcmp(option->words[i], text) == 0) {
      *(int *)value = i;
      return JP_OK;
    }
  }
  return JP_INVALID;
}

/* ---- the command line ---- */

static enum jp_status read_value(const struct option *option, const char *name, const char *text,
                                 void *values, struct jp_error *error)
{
  struct jp_error detail = {0};
  enum jp_status status = option->read(option, text, (char *)values + option->offset, &detail);
  if (status == JP_OK)
    return JP_OK;
  if (detail.text[0] == '\0')
    jp_fail(&detail, status, "takes %s", option->takes);
  return jp_fail(error, status, "%s %s, not \"%.*s\"", name, detail.text, OPTION_SHOWN(text));
}

/* True if the argument is the row's option; *value is then the value attached to it, or NULL. */
static bool matches_name(const struct option *option, const char *argument, const char **value)
{
  for (size_t i = 0; i < OPTION_NAMES && option->names[i] != NULL; i++) {
    const char *name = option->names[i];
    size_t length = strlen(name);
    if (strncmp(argument, name, length) != 0)
      continue;
    const char *rest = argument + length;
    *value = NULL;
    if (*rest == '\0')
      return true;
    if (name[1] == '-' && *rest == '=') {
      *value = rest + 1;
      return true;
    }
    if (option->attaches && name[1] != '-') {
      *value = rest;
      return true;
    }
  }
  return false;
}

static const struct option *find_option(const struct option_input *input, const char *argument,
                                        const char **value, size_t *row)
{
  for (*row = 0; *row < input->option_count; (*row)++) {
    if (matches_name(&input->options[*row], argument, value))
      return &input->options[*row];
  }
  return NULL;
}

static enum jp_status fail_unknown(const struct option_input *input, const char *argument,
                                   struct jp_error *error)
{
  struct near_name search;
  near_name_init(&search, (struct text){argument, strcspn(argument, "=")});
  for (size_t row = 0; row < input->option_count; row++) {
    const struct option *option = &input->options[row];
    for (size_t i = 0; i < OPTION_NAMES && option->names[i] != NULL; i++)
      near_name_offer(&search, text_of(option->names[i]));
  }
  for (size_t i = 0; input->other_name != NULL && input->other_name(i) != NULL; i++)
    near_name_offer(&search, text_of(input->other_name(i)));
  if (search.best.data == NULL)
    return jp_fail(error, JP_INVALID, "unknown option \"%.*s\" (--help lists them)", OPTION_SHOWN(argument));
  return jp_fail(error, JP_INVALID, "unknown option \"%.*s\": did you mean %s? (--help lists them)",
                 OPTION_SHOWN(argument), search.best.data);
}

/* Reads an option without a row. */
static enum jp_status read_other(const struct option_input *input, size_t at, void *values, size_t *taken,
                                 bool *ends, struct jp_error *error)
{
  enum jp_status status = JP_NOT_FOUND;
  if (input->read_other != NULL)
    status = input->read_other(values, input->args + at, input->arg_count - at, taken, ends, error);
  return status == JP_NOT_FOUND ? fail_unknown(input, input->args[at], error) : status;
}

/* Reads the option at args[at]. *taken is the number of arguments read. */
static enum jp_status read_option(const struct option_input *input, size_t at, void *values,
                                  struct option_result *result, size_t *taken, bool *ends,
                                  struct jp_error *error)
{
  const char *argument = input->args[at];
  const char *value;
  size_t row;
  const struct option *option = find_option(input, argument, &value, &row);
  if (option == NULL)
    return read_other(input, at, values, taken, ends, error);
  const char *name = option->names[0];
  if (result->origin[row] == OPTION_GIVEN && !option->repeats && !option->last_counts)
    return jp_fail(error, JP_INVALID, "%s is given twice", name);
  result->origin[row] = OPTION_GIVEN;
  *ends = option->ends;
  *taken = 1;
  if (option->takes == NULL) {
    if (value != NULL)
      return jp_fail(error, JP_INVALID, "%s takes no value", name);
    *(bool *)((char *)values + option->offset) = true;
    return JP_OK;
  }
  if (value == NULL) {
    if (at + 1 == input->arg_count)
      return jp_fail(error, JP_INVALID, "%s takes %s, and nothing follows it", name, option->takes);
    value = input->args[at + 1];
    *taken = 2;
  }
  return read_value(option, name, value, values, error);
}

bool options_have(const struct option *options, size_t count, const char *argument)
{
  const struct option_input input = {.options = options, .option_count = count};
  const char *value;
  size_t row;
  return find_option(&input, argument, &value, &row) != NULL;
}

bool options_take_next(const struct option *options, size_t count, const char *argument)
{
  const struct option_input input = {.options = options, .option_count = count};
  const char *value;
  size_t row;
  const struct option *option = find_option(&input, argument, &value, &row);
  return option != NULL && option->takes != NULL && value == NULL;
}

/* ---- the environment ---- */

/* Splits the list in a variable at its blanks. */
static enum jp_status read_list_variable(const struct option *option, const char *text, void *values,
                                         struct jp_error *error)
{
  struct option_list *list = (struct option_list *)((char *)values + option->offset);
  list->copy = strdup(text);
  if (list->copy == NULL)
    return jp_fail_memory(error, NULL);
  char *rest;
  for (char *item = strtok_r(list->copy, " \t\n", &rest); item != NULL;
       item = strtok_r(NULL, " \t\n", &rest)) {
    enum jp_status status = read_value(option, option->variable, item, values, error);
    if (status != JP_OK)
      return status;
  }
  return JP_OK;
}

static enum jp_status read_variables(const struct option_input *input, void *values,
                                     struct option_result *result, struct jp_error *error)
{
  for (size_t row = 0; row < input->option_count; row++) {
    const struct option *option = &input->options[row];
    if (option->variable == NULL || result->origin[row] == OPTION_GIVEN)
      continue;
    const char *text = input->variable(option->variable);
    if (text == NULL || *text == '\0')
      continue;
    enum jp_status status = option->repeats ? read_list_variable(option, text, values, error)
                                            : read_value(option, option->variable, text, values, error);
    if (status != JP_OK)
      return status;
    result->origin[row] = OPTION_FROM_VARIABLE;
  }
  return JP_OK;
}

enum jp_status options_parse(const struct option_input *input, void *values, struct option_result *result,
                             struct jp_error *error)
{
  assert(input->option_count <= OPTION_ROWS_MAX);
  *result = (struct option_result){0};
  size_t at = 0;
  bool ends = false;
  while (at < input->arg_count && !ends) {
    const char *argument = input->args[at];
    if (argument[0] != '-')
      break;
    if (strcmp(argument, "--") == 0) {
      at++;
      break;
    }
    size_t taken = 0;
    enum jp_status status = read_option(input, at, values, result, &taken, &ends, error);
    if (status != JP_OK)
      return status;
    at += taken;
  }
  result->used = at;
  return input->variable != NULL ? read_variables(input, values, result, error) : JP_OK;
}

/* ---- help ---- */

enum { HELP_COLUMN = 34 };

/* Prints a text so that troff takes no line as a request, and prints hyphens and backslashes as they are. */
static void print_roff(FILE *out, const char *text)
{
  bool begins_line = true;
  for (; *text != '\0'; text++) {
    if (begins_line && (*text == '.' || *text == '\''))
      fputs("\\&", out);
    if (*text == '\\')
      fputs("\\e", out);
    else if (*text == '-')
      fputs("\\-", out);
    else
      fputc(*text, out);
    begins_line = *text == '\n';
  }
}

void options_print_manual(FILE *out, const char *name, const char *summary, const char *synopsis,
                          const char *text, const struct option *options, size_t count)
{
  char title[64];
  text_format(title, sizeof title, "%s", name);
  for (char *c = title; *c != '\0'; c++)
    *c = *c == ' ' ? '-' : *c;
  fprintf(out, ".TH \"%s\" 1\n.SH NAME\n%s \\- ", title, title);
  print_roff(out, summary);
  fputs("\n.SH SYNOPSIS\n.nf\n", out);
  print_roff(out, synopsis);
  fputs("\n.fi\n", out);
  if (text != NULL && *text != '\0') {
    fputs(".SH DESCRIPTION\n.nf\n", out);
    print_roff(out, text + strspn(text, "\n"));
    fputs("\n.fi\n", out);
  }
  if (count > 0)
    fputs(".SH OPTIONS\n", out);
  for (size_t row = 0; row < count; row++) {
    const struct option *option = &options[row];
    if (option->group != NULL) {
      fputs(".SS ", out);
      print_roff(out, option->group);
      fputc('\n', out);
    }
    fputs(".TP\n", out);
    for (size_t i = 0; i < OPTION_NAMES && option->names[i] != NULL; i++) {
      fputs(i == 0 ? "\\fB" : ", \\fB", out);
      print_roff(out, option->names[i]);
      fputs("\\fR", out);
    }
    if (option->takes != NULL) {
      fputs(" \\fI", out);
      print_roff(out, option->takes);
      fputs("\\fR", out);
    }
    fputc('\n', out);
    print_roff(out, option->help);
    if (option->standard != NULL) {
      fputs(" [", out);
      print_roff(out, option->standard);
      fputc(']', out);
    }
    fputc('\n', out);
  }
  fputs(".SH SEE ALSO\njpeer(1)\n", out);
}

void options_print_help(FILE *out, const struct option *options, size_t count)
{
  for (size_t row = 0; row < count; row++) {
    const struct option *option = &options[row];
    if (option->group != NULL)
      fprintf(out, "\n%s\n", option->group);
    int width = fprintf(out, "  %s", option->names[0]);
    for (size_t i = 1; i < OPTION_NAMES && option->names[i] != NULL; i++)
      width += fprintf(out, ", %s", option->names[i]);
    if (option->takes != NULL)
      width += fprintf(out, " %s", option->takes);
    if (width + 2 > HELP_COLUMN) {
      fputc('\n', out);
      width = 0;
    }
    fprintf(out, "%*s%s", HELP_COLUMN - width, "", option->help);
    if (option->standard != NULL)
      fprintf(out, " [%s]", option->standard);
    fputc('\n', out);
  }
}

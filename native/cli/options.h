#ifndef JPEER_CLI_OPTIONS_H
#define JPEER_CLI_OPTIONS_H
/*
 * Command-line options from a table: one row drives parsing, the environment twin, help and errors.
 *
 * Pure functions over what they are given, main's thread. Values are borrowed from the arguments and the
 * environment, but for lists, which own their array (option_list_fini).
 */
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct option;

/* Reads one value into *value, whose type the reader knows. Anything but JP_OK: the value is wrong; where the
 * row's `takes` does not say enough, the reader puts "takes ..." into *error, and the caller adds the
 * option's name. */
typedef enum jp_status option_reader(const struct option *option, const char *text, void *value,
                                     struct jp_error *error);

enum { OPTION_NAMES = 3 };

struct option {
  const char *names[OPTION_NAMES]; /* the first is the one that messages use; unused ones are NULL */
  const char *variable;            /* the environment twin; NULL: none */
  const char *takes;               /* what the value looks like: "MS"; NULL: a switch, which takes none */
  const char *standard;            /* the default, as help shows it; NULL: nothing to show */
  const char *help;                /* one sentence without a full stop */
  const char *group;               /* on the first row of a group: its heading */
  const char *refused;             /* of an option that is known and not to be had: why */
  option_reader *read;
  size_t offset; /* of the value in the structure that options_parse fills */
  int64_t min;   /* of numbers */
  int64_t max;
  const char *const *words; /* of option_read_word: NULL-terminated */
  bool repeats;             /* may be given more than once: the value is a struct option_list */
  bool last_counts;         /* may be given more than once, as java's own: the last value counts */
  bool attaches;            /* the value may follow a short name directly: -J-Xmx1g */
  bool ends;                /* what follows its value is not ours to read */
};

struct option_list {
  const char **items; /* borrowed texts in an owned array */
  size_t count;
  char *copy; /* owned: what an environment variable was split from */
};

void option_list_fini(struct option_list *list);
/* Puts the first `count` items behind the others. */
void option_list_rotate(struct option_list *list, size_t count);

/* For rows with these types of value. */
option_reader option_read_switch;   /* bool; from the environment: 1, true, yes, 0, false, no */
option_reader option_read_text;     /* const char *; not empty */
option_reader option_read_list;     /* struct option_list: appends */
option_reader option_read_count;    /* size_t within min and max */
option_reader option_read_size;     /* size_t bytes within min and max: 4096, 64K, 16M, 1G */
option_reader option_read_duration; /* int64_t milliseconds within min and max: 250, 250ms, 10s, 5m, 1h */
option_reader option_read_word;     /* int: the index in words */

struct option_input {
  const struct option *options;
  size_t option_count; /* at most 64 */
  char *const *args;   /* without the program and the subcommand */
  size_t arg_count;
  const char *(*variable)(const char *name); /* getenv, or a test's own; NULL: no environment */

  /* Options of another table: asked where no row has the option at args[0]. JP_NOT_FOUND: it is none of
   * these, either. *taken is how many arguments it used; *ends: what follows is not ours to read. NULL: no
   * such. */
  enum jp_status (*read_other)(void *values, char *const *args, size_t arg_count, size_t *taken, bool *ends,
                               struct jp_error *error);
  /* Its names for an unknown option's error, one after the other; NULL behind the last. */
  const char *(*other_name)(size_t index);
};

struct option_result {
  size_t used;            /* arguments that were options; the rest is the application's */
  uint64_t given;         /* bit i: row i stood on the command line */
  uint64_t from_variable; /* bit i: row i came from the environment */
};

/* Reads options up to the first argument that is none, `--`, or a row that ends them; then the environment
 * for rows that were not given. JP_INVALID: the text names the option and what it takes. */
enum jp_status options_parse(const struct option_input *input, void *values, struct option_result *result,
                             struct jp_error *error) JP_MUST_CHECK;

/* True where the argument is an option of the table whose value is the next argument. */
bool options_take_next(const struct option *options, size_t count, const char *argument);

/* True where the argument is an option of the table, in any spelling. */
bool options_have(const struct option *options, size_t count, const char *argument);

/* One or two lines a row, under the groups' headings. */
void options_print_help(FILE *out, const struct option *options, size_t count);

#endif

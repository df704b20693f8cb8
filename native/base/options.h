#ifndef JPEER_BASE_OPTIONS_H
#define JPEER_BASE_OPTIONS_H
/*
 * Command-line options from a table: one row drives parsing, the variable in the environment, help and
 * errors.
 *
 * Pure functions, main's thread. Values are borrowed from the arguments and the environment; a list owns its
 * array (option_list_fini).
 */
#include "base/status.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct option;

/* Reads one value into *value. The reader of the option knows the type of *value. Any result except JP_OK
 * means that the value is wrong. The error then says what the option takes, from the row's `takes`. If this
 * does not describe the fault, the reader puts "takes ..." into *error; the caller adds the option's name. */
typedef enum jp_status option_reader(const struct option *option, const char *text, void *value,
                                     struct jp_error *error);

enum { OPTION_NAMES = 3 };

struct option {
  const char *names[OPTION_NAMES]; /* errors use the first name; unused names are NULL */
  const char *variable;            /* the variable in the environment with the same meaning; NULL: none */
  const char *takes;               /* the form of the value: "MS"; NULL: a switch, which has no value */
  const char *standard;            /* the default, as help shows it; NULL: not shown */
  const char *help;                /* one sentence without a full stop */
  const char *group;               /* the heading of a group, on its first row */
  option_reader *read;
  size_t offset; /* of the value in the struct that options_parse fills */
  int64_t min;   /* for numbers */
  int64_t max;
  const char *const *words; /* for option_read_word: NULL-terminated */
  bool repeats;             /* may be given more than once: the value is a struct option_list */
  bool last_counts;         /* may be given more than once: the last value counts, as with java's options */
  bool attaches;            /* the value may follow a short name directly: -J-Xmx1g */
  bool ends;                /* the arguments after its value belong to the application */
};

struct option_list {
  const char **items; /* borrowed texts in an owned array */
  size_t count;
  char *copy; /* owned: a copy of the variable's text, which contains the items */
};

void option_list_fini(struct option_list *list);
/* Moves the first `count` items after the others. */
void option_list_rotate(struct option_list *list, size_t count);

enum { OPTION_NAME_MAX = 255 };

/* True for a valid name of a peer or an executor: 1 to OPTION_NAME_MAX bytes of UTF-8 without control characters. */
bool option_is_name(struct text name);

/* The arguments for "%.*s" that show a word in an error: at most its first 200 bytes, cut between two
 * characters. */
#define OPTION_SHOWN(word) TEXT_ARGS(text_cut(text_of(word), 200))

/* Readers. The comment beside each reader names the type of its value. */
option_reader option_read_switch;   /* bool; the variable is 1, true, yes, 0, false or no */
option_reader option_read_text;     /* const char *; not empty */
option_reader option_read_list;     /* struct option_list: appends */
option_reader option_read_count;    /* size_t within min and max */
option_reader option_read_size;     /* size_t bytes within min and max: 4096, 64K, 16M, 1G */
option_reader option_read_duration; /* int64_t milliseconds within min and max: 250, 250ms, 10s, 5m, 1h */
option_reader option_read_word;     /* int: the index in words */

struct option_input {
  const struct option *options;
  size_t option_count; /* at most OPTION_ROWS_MAX */
  char *const *args;   /* without the program and the subcommand */
  size_t arg_count;
  const char *(*variable)(const char *name); /* getenv, or a test's own; NULL: no environment */

  /* Reads an option at args[0] that has no row, because it belongs to another table. NULL: no other table
   * exists. JP_NOT_FOUND: the other table lacks the option, too. *taken is the number of arguments read.
   * *ends true: the remaining arguments belong to the application. */
  enum jp_status (*read_other)(void *values, char *const *args, size_t arg_count, size_t *taken, bool *ends,
                               struct jp_error *error);
  /* The names of the other table, for the error of an unknown option; NULL after the last. */
  const char *(*other_name)(size_t index);
};

enum { OPTION_ROWS_MAX = 128 };

/* How the option of a row was set. */
enum option_origin {
  OPTION_NOT_SET,
  OPTION_GIVEN,        /* on the command line */
  OPTION_FROM_VARIABLE /* in the environment */
};

struct option_result {
  /* the number of arguments that were options; the remaining arguments belong to the application */
  size_t used;
  uint8_t origin[OPTION_ROWS_MAX]; /* enum option_origin of each row */
};

/* Reads options up to the first argument that is not an option, up to `--`, or up to an option that ends the
 * options. Then reads the variables of the rows whose options were not given. JP_INVALID: the error's text
 * names the option and its form. */
enum jp_status options_parse(const struct option_input *input, void *values, struct option_result *result,
                             struct jp_error *error) JP_MUST_CHECK;

/* True if the argument is an option of the table whose value is the next argument. */
bool options_take_next(const struct option *options, size_t count, const char *argument);

/* True if the argument is an option of the table, with or without an attached value. */
bool options_have(const struct option *options, size_t count, const char *argument);

/* Prints a man page (man(7), section 1) with the options. name: "jpeer call"; synopsis and text may have several lines. */
void options_print_manual(FILE *out, const char *name, const char *summary, const char *synopsis,
                          const char *text, const struct option *options, size_t count);
/* Prints one or two lines for each row, under the groups' headings. */
void options_print_help(FILE *out, const struct option *options, size_t count);

#endif

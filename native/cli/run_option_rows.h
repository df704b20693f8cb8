#ifndef JPEER_CLI_RUN_OPTION_ROWS_H
#define JPEER_CLI_RUN_OPTION_ROWS_H
/* The table of the options of `jpeer run`, with their readers: which member of struct run_options each sets. Help and the
 * test of docs/flags.md read it, too. Those of java are in cli/java_options.h. */
#include "cli/options.h"

extern const struct option run_option_rows[];
extern const size_t run_option_count;

#endif

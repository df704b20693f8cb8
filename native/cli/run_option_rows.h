#ifndef JPEER_CLI_RUN_OPTION_ROWS_H
#define JPEER_CLI_RUN_OPTION_ROWS_H
/* The table of the options of `jpeer run`: for each the reader, and the member of struct run_options that it sets. Help
 * and the test of docs/flags.md read the table, too. The options of java are in cli/java_options.h. */
#include "base/options.h"

extern const struct option run_option_rows[];
extern const size_t run_option_count;

#endif

#ifndef JPEER_CLI_RUN_RULES_H
#define JPEER_CLI_RUN_RULES_H
/* The defaults of `jpeer run` and the rules between its options, for run_options_read. Pure functions, main's
 * thread. */
#include "cli/run_options.h"

/* Clears *options first. */
void run_rules_set_defaults(struct run_options *options);

/* Of options that are known as a whole: names the peer where nobody did. JP_INVALID: a usage error in one
 * line. */
enum jp_status run_rules_check(struct run_options *options, struct jp_error *error) JP_MUST_CHECK;

#endif

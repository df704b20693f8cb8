#ifndef JPEER_CLI_RUN_RULES_H
#define JPEER_CLI_RUN_RULES_H
/* The defaults of `jpeer run` and the rules between its options, for run_options_read. Pure functions, main's
 * thread. */
#include "cli/run_options.h"

/* True if a peer may have the name: 1 to 128 bytes of UTF-8 without control characters. */
bool run_rules_is_name(struct text name);

/* Clears *options first. */
void run_rules_set_defaults(struct run_options *options);

/* Checks the rules between options, and gives the peer a name where it has none. JP_INVALID: a usage error in
 * one line. */
enum jp_status run_rules_check(struct run_options *options, struct jp_error *error) JP_MUST_CHECK;

#endif

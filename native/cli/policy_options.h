#ifndef JPEER_CLI_POLICY_OPTIONS_H
#define JPEER_CLI_POLICY_OPTIONS_H
/* The values that `jpeer run` and `jpeer policy` take for options of the policy. Pure functions, main's
 * thread. */
#include "cli/options.h"

/* int, an enum policy_action; the row's words are policy_option_actions. */
option_reader policy_option_read_action;
extern const char *const policy_option_actions[];

/* unsigned, a set of one enum policy_channel. */
option_reader policy_option_read_channel;

#endif

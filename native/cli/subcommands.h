#ifndef JPEER_CLI_SUBCOMMANDS_H
#define JPEER_CLI_SUBCOMMANDS_H
/* One function for each subcommand. Its arguments are the words after the subcommand's name. It returns the
 * exit code of the process. Main's thread. */
#include <stddef.h>
#include <stdio.h>

enum exit_code { EXIT_GOOD = 0, EXIT_RUN_TIME = 1, EXIT_USAGE = 2 };

int subcommand_run(char *const *args, size_t arg_count);
int subcommand_policy(char *const *args, size_t arg_count);
int subcommand_keygen(char *const *args, size_t arg_count);
int subcommand_token(char *const *args, size_t arg_count);
/* Prints the man page. */
void token_print_manual(FILE *out);
void keygen_print_manual(FILE *out);

#endif

#ifndef JPEER_CLI_RUN_APPLICATION_H
#define JPEER_CLI_RUN_APPLICATION_H
/* Decides from the options and the words behind them what `jpeer run` is to run. Pure functions, main's
 * thread. */
#include "cli/run_options.h"

struct run_words {
  char *const *items; /* behind the options */
  size_t count;
  bool jar_given; /* on the command line, not in the environment */
  bool service_given;
  const char *(*variable)(const char *name); /* as run_options_read takes it */
};

/* Sets main_class, jar, main_module or as_service, args and class_path. With options->show or
 * options->version nothing need be given to run. JP_INVALID: a usage error in one line. */
enum jp_status run_application_settle(struct run_options *options, const struct run_words *words,
                                      struct jp_error *error) JP_MUST_CHECK;

#endif

#ifndef JPEER_CLI_RUN_NOTICES_H
#define JPEER_CLI_RUN_NOTICES_H
/* Says at the start of `jpeer run` what is odd about its options and its environment, and is no error. Main's
 * thread. */
#include "cli/run_options.h"

/* Prints java's line about JDK_JAVA_OPTIONS. */
void run_notices_java_variable(const struct run_options *options);

/* Logs a line for each option of java that does nothing, each unknown JPEER_ variable, and each entry of the
 * class path and the module path that does not exist. environment has NAME=VALUE texts and ends with NULL. */
void run_notices_log(const struct run_options *options, char *const *environment);

/* The known variable that is nearest to an unknown one; NULL: none is near. */
const char *run_notices_near_variable(struct text name);

#endif

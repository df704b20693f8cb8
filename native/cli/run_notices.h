#ifndef JPEER_CLI_RUN_NOTICES_H
#define JPEER_CLI_RUN_NOTICES_H
/* What the start of `jpeer run` has to say about its options and its environment, none of which ends it.
 * Main's thread. */
#include "cli/run_options.h"

/* The line that java has for JDK_JAVA_OPTIONS. */
void run_notices_java_variable(const struct run_options *options);

/* A line in the log for each option of java that does nothing, each JPEER_ variable that is none, and each
 * entry of the class path (wildcards aside) and of the module path that is not there. environment:
 * NAME=VALUE, ended by NULL. */
void run_notices_log(const struct run_options *options, char *const *environment);

/* The variable that may have been meant by an unknown one; NULL: none is near. */
const char *run_notices_near_variable(struct text name);

#endif

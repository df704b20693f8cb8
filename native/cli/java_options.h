#ifndef JPEER_CLI_JAVA_OPTIONS_H
#define JPEER_CLI_JAVA_OPTIONS_H
/*
 * Reads the options of the `java` command ("The java Command" in the JDK's tool specifications). Most of them
 * are passed to the JVM; the others are options of the launcher itself, such as -cp and -version. Pure
 * functions, main's thread.
 */
#include "cli/run_options.h"

/* read_other and other_name of struct option_input; values is a struct run_options. */
enum jp_status java_option_read(void *values, char *const *args, size_t arg_count, size_t *taken, bool *ends,
                                struct jp_error *error) JP_MUST_CHECK;
const char *java_option_name(size_t index);

/* True if the argument is an option of java whose value is the next argument. */
bool java_option_takes_next(const char *argument);

/* True for an option that java accepts on its command line and not in JDK_JAVA_OPTIONS. */
bool java_option_is_for_line(const char *argument);

#endif

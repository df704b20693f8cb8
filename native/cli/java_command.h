#ifndef JPEER_CLI_JAVA_COMMAND_H
#define JPEER_CLI_JAVA_COMMAND_H
/*
 * Runs the `java` command of the JDK whose JVM was found, for options that only show something and need no
 * peer, such as -version and --list-modules. Main's thread, before anything is started.
 */
#include "cli/run_options.h"
#include "jni/jvm.h"

/* Prints jpeer's version if the options have -version or --version. */
void java_command_print_version(const struct run_options *options);

/* Replaces this process by java with the options for the JVM and options->show (or --version, or --dry-run
 * and the application). class_path has no wildcards. Returns only if java cannot be run; *error says why. */
void java_command_become(const struct jvm_home *home, const struct run_options *options,
                         const char *class_path, struct jp_error *error);

/* Prints jpeer's version, runs java with this one option (-version, --version) and waits for it. JP_IO: java
 * cannot be run. */
enum jp_status java_command_run(const struct jvm_home *home, const char *option,
                                struct jp_error *error) JP_MUST_CHECK;

#endif

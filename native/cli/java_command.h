#ifndef JPEER_CLI_JAVA_COMMAND_H
#define JPEER_CLI_JAVA_COMMAND_H
/*
 * The `java` command of the JDK whose JVM was found: it does what shows something and needs no peer, such as
 * -version and --list-modules. Main's thread, before anything was started.
 */
#include "cli/run_options.h"
#include "jni/jvm.h"

/* Says jpeer's own version where the options ask for versions. */
void java_command_say_version(const struct run_options *options);

/* Replaces this process by java with the options for the JVM and options->show (or --version, or --dry-run
 * with what is to be run). class_path: without wildcards. Comes back only where java cannot be run: *error
 * says why. */
void java_command_become(const struct jvm_home *home, const struct run_options *options,
                         const char *class_path, struct jp_error *error);

/* Says jpeer's version, runs java with this one option (-version, --version) and waits for its end. JP_IO: it
 * cannot be run. */
enum jp_status java_command_run(const struct jvm_home *home, const char *option,
                                struct jp_error *error) JP_MUST_CHECK;

#endif

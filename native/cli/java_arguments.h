#ifndef JPEER_CLI_JAVA_ARGUMENTS_H
#define JPEER_CLI_JAVA_ARGUMENTS_H
/*
 * Expands the arguments of `jpeer run` as the `java` command does. The arguments in JDK_JAVA_OPTIONS come
 * first. Each @FILE before the main class is replaced by the arguments in the file. Main's thread.
 */
#include "base/arena.h"
#include "base/status.h"

#include <stddef.h>

enum { ARGUMENT_FILE_MAX = 16 << 20 }; /* bytes of one @FILE */

struct java_arguments {
  char **words; /* borrowed from the arena and the arguments */
  size_t count;
};

/* variable is the text of JDK_JAVA_OPTIONS; NULL: not set. The words are valid as long as the arena and
 * the arguments. JP_INVALID: the error's text names the file or the variable, and the fault. */
enum jp_status java_arguments_expand(char *const *args, size_t arg_count, const char *variable,
                                     struct arena *arena, struct java_arguments *expanded,
                                     struct jp_error *error) JP_MUST_CHECK;

#endif

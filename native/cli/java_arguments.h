#ifndef JPEER_CLI_JAVA_ARGUMENTS_H
#define JPEER_CLI_JAVA_ARGUMENTS_H
/*
 * The arguments of `jpeer run` as they are meant: those of JDK_JAVA_OPTIONS first, and in place of each @FILE
 * before the main class the arguments that the file has. Main's thread; reads the files that are named.
 */
#include "base/arena.h"
#include "base/status.h"

#include <stddef.h>

enum { ARGUMENT_FILE_MAX = 16 << 20 }; /* bytes of one @FILE */

struct java_arguments {
  char **words; /* borrowed from the arena and from the arguments */
  size_t count;
};

/* variable: the text of JDK_JAVA_OPTIONS; NULL: not set. What is found lives as long as the arena and the
 * arguments. JP_INVALID: the text names the file or the variable, and what is wrong there. */
enum jp_status java_arguments_expand(char *const *args, size_t arg_count, const char *variable,
                                     struct arena *arena, struct java_arguments *expanded,
                                     struct jp_error *error) JP_MUST_CHECK;

#endif

#ifndef JPEER_CLI_ARGUMENT_FILE_H
#define JPEER_CLI_ARGUMENT_FILE_H
/*
 * Splits the content of an @FILE and of JDK_JAVA_OPTIONS into arguments, as the `java` command does ("java
 * Command-Line Argument Files", "Using the JDK_JAVA_OPTIONS Launcher Environment Variable").
 *
 * Both functions work in place: an argument is unquoted inside the text, ends with a NUL, and is valid as
 * long as the text. Pure functions, any thread.
 */
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Removes the next argument from [*rest, end), and returns it; NULL: no argument is left. The range has no
 * NUL. *end must be writable.
 *
 * Blanks, tabs, form feeds and line ends divide arguments. # begins a comment that ends with the line. '...'
 * and "..." keep blanks and #. Inside quotes \n \r \t \f are control characters. A backslash before any other
 * character is dropped; a backslash at the end of a line joins the next line, without the blanks at the start
 * of that line. A quote without a closing quote ends with its line. Outside quotes a backslash is an ordinary
 * character.
 *
 * java drops an argument that is directly followed by a #, and "" at the end of a file; this function keeps
 * both.
 */
char *argument_file_next(char **rest, char *end);

/* Removes the next argument from a variable's text; *argument is NULL if no argument is left. White space
 * divides arguments, both kinds of quotes keep white space, and a backslash is an ordinary character.
 * JP_INVALID: a quote has no closing quote. */
enum jp_status argument_variable_next(char **rest, char **argument, struct jp_error *error) JP_MUST_CHECK;

#endif

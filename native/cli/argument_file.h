#ifndef JPEER_CLI_ARGUMENT_FILE_H
#define JPEER_CLI_ARGUMENT_FILE_H
/*
 * Arguments out of text: the content of an @FILE, and that of JDK_JAVA_OPTIONS, by the rules of the `java`
 * command ("java Command-Line Argument Files", "Using the JDK_JAVA_OPTIONS Launcher Environment Variable").
 *
 * Both read in place: each argument is unquoted where it stands, ends with a NUL, and is valid as long as the
 * text. Pure functions, any thread.
 */
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Takes the next argument off [*rest, end), which has no NUL in it; NULL: none is left. *end must be
 * writable.
 *
 * Blanks, tabs, form feeds and line ends divide arguments. # begins a comment, up to the end of the line.
 * '...' and "..." keep blanks and #; inside them a backslash makes \n \r \t \f, takes any other character as
 * it is, and joins lines where it stands at the end of one (the blanks that begin the next are dropped). A
 * quote that is still open at the end of its line ends there. Outside quotes a backslash is a character.
 *
 * Where a # follows an argument directly, or "" is the last of a file, java drops the argument; here it is
 * kept.
 */
char *argument_file_next(char **rest, char *end);

/* The same of a variable, up to its NUL, with *argument NULL where none is left: white space divides, both
 * kinds of quote keep it, and a backslash is a character. JP_INVALID: a quote is open at the end. */
enum jp_status argument_variable_next(char **rest, char **argument, struct jp_error *error) JP_MUST_CHECK;

#endif

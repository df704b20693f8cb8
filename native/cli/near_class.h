#ifndef JPEER_CLI_NEAR_CLASS_H
#define JPEER_CLI_NEAR_CLASS_H
/* Suggests a class for a main class that was not found. Any thread; reads the class path. */
#include "base/status.h"

/* Adds ": did you mean NAME?" to *error if a class with a main method has a near name: the name without
 * .class or .java, the same simple name in another package, or a name with a few other letters. Otherwise
 * *error is unchanged. class_path is in the form of `java -cp`. */
void near_class_suggest(const char *class_path, const char *name, struct jp_error *error);

#endif

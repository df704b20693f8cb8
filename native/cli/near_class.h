#ifndef JPEER_CLI_NEAR_CLASS_H
#define JPEER_CLI_NEAR_CLASS_H
/* Which class may have been meant by a main class that is not there. Any thread; reads the class path. */
#include "base/status.h"

/* Adds ": did you mean NAME?" to *error where a class with a main is near to the name: the same one without
 * .class or .java, of the same simple name in another package, or with a few letters changed. Where none is
 * near or the class path cannot be read, *error stays as it is. class_path: as `java -cp` takes it. */
void near_class_suggest(const char *class_path, const char *name, struct jp_error *error);

#endif

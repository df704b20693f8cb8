#ifndef JPEER_CLASSFILE_CLASS_PATH_H
#define JPEER_CLASSFILE_CLASS_PATH_H
/* Class paths and module paths as the `java` command takes them. Any thread. */
#include "base/buffer.h"

/* Appends class_path with each wildcard replaced by the folder's .jar and .JAR files, sorted by name. The
 * `java` command does so before it starts the JVM, which knows no wildcards. A wildcard that finds no jar
 * stays. */
void class_path_expand(struct text class_path, struct buffer *out);

/* Appends the modules of a module path ("mods:lib/a.jar") as a class path: jars and folders with a
 * module-info.class stay, any other folder is replaced by the jars and such folders in it, sorted by name. */
void module_path_expand(struct text module_path, struct buffer *out);

/* Takes the first element off *rest; false: none is left. An empty element is given as ".". */
bool class_path_next(struct text *rest, struct text *element);

/* True where the element is a wildcard: a star, alone or behind a '/'. *folder is then the text before the
 * star ("lib/", or empty for the current folder). */
bool class_path_is_wildcard(struct text element, struct text *folder);

#endif

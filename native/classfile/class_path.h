#ifndef JPEER_CLASSFILE_CLASS_PATH_H
#define JPEER_CLASSFILE_CLASS_PATH_H
/* A class path as the `java` command takes it. Any thread. */
#include "base/buffer.h"

/* Appends class_path with each wildcard ("lib/" and a star) replaced by the folder's .jar and .JAR files,
 * sorted by name: what the `java` command does before it starts the JVM, which itself knows no wildcards. One
 * that finds no jar stays as it is. */
void class_path_expand(struct text class_path, struct buffer *out);

/* Appends what a module path ("mods:lib/a.jar") holds, as a class path: modular jars and folders with a
 * module-info.class stay, and any other folder stands for the jars and such folders in it, sorted by name. */
void module_path_expand(struct text module_path, struct buffer *out);

/* Takes the first element off *rest; false: there is none left. An empty element is the current folder. */
bool class_path_next(struct text *rest, struct text *element);

/* True where the element is a wildcard: a star, alone or behind a '/'. *folder is then the text before the star
 * ("lib/", or empty for the current folder). */
bool class_path_is_wildcard(struct text element, struct text *folder);

#endif

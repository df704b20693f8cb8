#ifndef JPEER_CLASSFILE_MANIFEST_H
#define JPEER_CLASSFILE_MANIFEST_H
/* Reads the main section of a jar's manifest (JAR File Specification, "JAR Manifest"). Pure text, any
 * thread. */
#include "base/arena.h"
#include "base/text.h"

struct manifest {
  bool multi_release;
  struct text class_path; /* relative URLs between spaces; empty: none. In the arena or borrowed */
};

/* Accepts any bytes and skips unknown lines. False: no memory. */
bool manifest_parse(struct text bytes, struct arena *arena, struct manifest *manifest);

/* Removes the next URL from *class_path and resolves it against the jar's folder: it decodes "%20" and the
 * like and drops a leading "file:". False: no entry is left. *path is in the arena and NUL-terminated; *path
 * has the data NULL if the URL is of another kind, or memory is short. */
bool manifest_next_path(struct text *class_path, const char *jar, struct arena *arena, struct text *path);

#endif

#ifndef JPEER_CLASSFILE_MANIFEST_H
#define JPEER_CLASSFILE_MANIFEST_H
/* The main section of a jar's manifest (JAR File Specification, "JAR Manifest"). Pure text, any thread. */
#include "base/arena.h"
#include "base/text.h"

struct manifest {
  bool multi_release;
  struct text class_path; /* relative URLs with spaces between; empty: none. In the arena or borrowed */
};

/* Takes any bytes: a line that is none of its business is passed over. False: no memory. */
bool manifest_parse(struct text bytes, struct arena *arena, struct manifest *manifest);

/* Takes the next URL off *class_path and resolves it as a path beside the jar: "%20" and the like decoded, a
 * "file:" in front taken off. False: none is left. An URL of another kind gives an absent *path, as does no
 * memory. The path is in the arena and NUL-terminated. */
bool manifest_next_path(struct text *class_path, const char *jar, struct arena *arena, struct text *path);

#endif

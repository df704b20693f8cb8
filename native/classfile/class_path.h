#ifndef JPEER_CLASSFILE_CLASS_PATH_H
#define JPEER_CLASSFILE_CLASS_PATH_H
/* Class paths and module paths as the `java` command reads them, and the elements of a class path. Any thread. */
#include "base/arena.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/status.h"

/* Appends class_path with each wildcard replaced by the folder's .jar and .JAR files, sorted by name. The
 * `java` command does this before it starts the JVM, because the JVM does not support wildcards. A wildcard
 * without a jar is kept. */
void class_path_expand(struct text class_path, struct buffer *out);

/* Appends the modules of a module path ("mods:lib/a.jar") as a class path: jars, and folders with a
 * module-info.class, are kept. Any other folder is replaced by its jars and by its subfolders with a
 * module-info.class, sorted by name. */
void module_path_expand(struct text module_path, struct buffer *out);

/* Removes the first element from *rest; false: no element is left. An empty element is returned as ".". */
bool class_path_next(struct text *rest, struct text *element);

/* True if the element is a wildcard: a star, alone or after a '/'. *folder is then the text before the star
 * ("lib/", or empty for the current folder). */
bool class_path_is_wildcard(struct text element, struct text *folder);

/*
 * The elements of a class path in their order. The list grows while the elements are read, because the files
 * of a jar's Class-Path come directly after the jar (JAR File Specification). Each file counts once, at its
 * first place. One thread at a time. Used only by the catalog.
 */
struct element {
  const char *path;
  size_t next;    /* index of the next element, or ELEMENTS_END */
  unsigned depth; /* the length of the chain of jars that leads to this jar by their Class-Paths */
};

enum { ELEMENTS_END = SIZE_MAX };
enum element_kind { ELEMENT_NONE /* it does not exist, or came before */, ELEMENT_FOLDER, ELEMENT_JAR };

struct elements {
  struct array all;  /* struct element */
  struct array seen; /* struct file_id */
  size_t first;
  struct arena arena;
};

/* Lists the elements of a class path, wildcards expanded. JP_NO_MEMORY. Caller calls elements_fini, also after a
 * failure. */
enum jp_status elements_init(struct elements *elements, const char *class_path,
                             struct jp_error *error) JP_MUST_CHECK;
void elements_fini(struct elements *elements);

static inline const struct element *elements_at(const struct elements *elements, size_t index)
{
  return (const struct element *)elements->all.items + index;
}

/* Finds out the kind of an element. Call this function for each element, in their order. JP_LIMIT: there are
 * absurdly many elements. JP_NO_MEMORY. */
enum jp_status elements_examine(struct elements *elements, size_t index, enum element_kind *kind,
                                struct jp_error *error) JP_MUST_CHECK;
/* Inserts the files of a jar's Class-Path after the jar at this index. JP_NO_MEMORY. */
enum jp_status elements_insert(struct elements *elements, size_t index, struct text class_path,
                               struct jp_error *error) JP_MUST_CHECK;

#endif

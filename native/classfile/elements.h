#ifndef JPEER_CLASSFILE_ELEMENTS_H
#define JPEER_CLASSFILE_ELEMENTS_H
/*
 * The elements of a class path in their order, a list that grows while it is read: what a jar names as its Class-Path
 * comes directly after the jar (JAR File Specification). Each file counts once, where it comes first. One owner, one
 * thread at a time. Only for the catalog.
 */
#include "base/arena.h"
#include "base/status.h"
#include "classfile/table.h"

struct element {
  const char *path;
  size_t next;    /* index of the one after it, or ELEMENTS_END */
  unsigned depth; /* how many jars name each other up to this one */
};

enum { ELEMENTS_END = SIZE_MAX };
enum element_kind { ELEMENT_NONE /* it is not there, or came before */, ELEMENT_FOLDER, ELEMENT_JAR };

struct elements {
  struct table all;  /* struct element */
  struct table seen; /* struct file_id */
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

/* Finds out what an element is; asked for each in their order. JP_LIMIT: there are absurdly many. JP_NO_MEMORY. */
enum jp_status elements_look_at(struct elements *elements, size_t index, enum element_kind *kind,
                                struct jp_error *error) JP_MUST_CHECK;
/* Inserts what the jar at this index names as its Class-Path after it. JP_NO_MEMORY. */
enum jp_status elements_insert(struct elements *elements, size_t index, struct text class_path,
                               struct jp_error *error) JP_MUST_CHECK;

#endif

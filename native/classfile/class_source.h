#ifndef JPEER_CLASSFILE_CLASS_SOURCE_H
#define JPEER_CLASSFILE_CLASS_SOURCE_H
/*
 * Finds the file of one class in the JDK and on a class path without reading other class files. Also lists
 * the names of all classes without reading a class file. It caches the elements of the class path and the
 * names in the jars. One thread at a time, except for class_source_each. Used only by the catalog.
 */
#include "classfile/catalog.h"
#include "classfile/class_file.h"

struct class_source;

/* Reads nothing. The configuration is borrowed. NULL: no memory. Caller frees with class_source_destroy. */
struct class_source *class_source_create(const struct catalog_config *config);
/* Adds a holder and returns the source. The holder calls class_source_destroy. */
struct class_source *class_source_retain(struct class_source *source);
/* Removes a holder; any thread. Removing the last holder frees the source. NULL is fine. */
void class_source_destroy(struct class_source *source);

/*
 * Reads the class of this binary name with dots into *file. *file borrows from the arena, and from the source
 * until the next call. element: the jar or folder of the class path that is searched first; NULL: unknown. If
 * the class is not there, the whole class path is searched. JP_NOT_FOUND: the class does not exist; the error
 * is not set. JP_LIMIT: only the whole catalog can find the class, because the JDK does not have it and the
 * class path has jars with parts (struct catalog_part). JP_NO_MEMORY, JP_IO.
 */
enum jp_status class_source_read(struct class_source *source, struct text name, const char *element,
                                 struct arena *arena, struct class_file *file, enum catalog_origin *origin,
                                 struct jp_error *error) JP_MUST_CHECK;

/* Finds out where the classes are, for class_source_each. The errors are those of class_source_read. */
enum jp_status class_source_list(struct class_source *source, struct jp_error *error) JP_MUST_CHECK;

/* Calls visit with the binary name of each class, after class_source_list has succeeded once. The names have
 * no order, and some are passed twice. The thread of any holder may call this function, even while other
 * threads read classes. JP_NO_MEMORY, JP_IO. */
enum jp_status class_source_each(const struct class_source *source, catalog_visitor *visit, void *context,
                                 struct jp_error *error) JP_MUST_CHECK;

#endif

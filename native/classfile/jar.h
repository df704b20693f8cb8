#ifndef JPEER_CLASSFILE_JAR_H
#define JPEER_CLASSFILE_JAR_H
/*
 * Reads the classes of a jar into a builder: first the classes of the jar itself (in a multi-release jar the versions
 * for this Java) together with the classes below BOOT-INF/classes and WEB-INF/classes, sorted by path without that
 * folder; then the classes of the jars inside it. If several entries have the same path, the highest version is read;
 * of the same version, the entry that is first in the jar. One thread.
 *
 * Entries that cannot be read are left out with a warning. JP_NO_MEMORY, JP_LIMIT; JP_IO: no file descriptor
 * is left.
 */
#include "classfile/builder.h"

/* *class_path is set to the jar's own Class-Path, in the arena; empty: the jar has no Class-Path. */
enum jp_status jar_read_file(struct builder *builder, const char *path, unsigned feature_version,
                             struct arena *arena, struct text *class_path,
                             struct jp_error *error) JP_MUST_CHECK;

/*
 * A jar whose classes are read one at a time, without the classes of jars inside it. In a multi-release jar
 * these are the versions for this Java. One owner. Caller closes with jar_close. *jar is NULL if the file is
 * not a readable jar; in that case a warning is added to `warnings`, a builder that outlives the jar.
 * JP_NO_MEMORY; JP_IO: no file descriptor is left.
 */
struct jar;
enum jp_status jar_open(struct builder *warnings, const char *path, unsigned feature_version,
                        struct jar **jar, struct jp_error *error) JP_MUST_CHECK;
void jar_close(struct jar *jar); /* NULL is fine */

/* Sorts the classes. Call it once before the two functions below; jar_find does not need it. */
void jar_sort(struct jar *jar);
/* The paths of the classes ("com/example/A"), sorted by bytes. Borrowed from the jar. */
size_t jar_class_count(const struct jar *jar);
struct text jar_class_path(const struct jar *jar, size_t index);
struct text jar_manifest_class_path(const struct jar *jar); /* empty: the jar has no Class-Path */
/* True if the jar has classes that the application's class loader does not search: classes in the jars inside
 * it, or below a folder such as BOOT-INF/classes. The path of a class below such a folder (jar_class_path,
 * jar_find) is the path without the folder. */
bool jar_has_parts(const struct jar *jar);

/* Unpacks a class. *bytes is valid until the next call. JP_NOT_FOUND: the class does not exist, or cannot be
 * read; the error is not set. JP_NO_MEMORY. */
enum jp_status jar_find(struct jar *jar, struct text path, const uint8_t **bytes, size_t *size,
                        struct jp_error *error) JP_MUST_CHECK;

#endif

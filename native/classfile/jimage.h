#ifndef JPEER_CLASSFILE_JIMAGE_H
#define JPEER_CLASSFILE_JIMAGE_H
/*
 * Reads the classes of a JDK from its image, lib/modules, by the JDK's lib/libjimage.so, which remains
 * loaded. One thread at a time, except for jimage_read: after jimage_begin_read any number of threads may
 * call jimage_read.
 */
#include "base/buffer.h"
#include "classfile/builder.h"

struct jimage;

enum { JIMAGE_PATH_MAX = 2048 }; /* no class of a JDK has a longer path */

/* JP_NOT_FOUND, JP_IO: the library or the image cannot be used; the error's text names the path. JP_NO_MEMORY. Caller
 * closes with jimage_close. */
enum jp_status jimage_open(const char *java_home, struct jimage **jimage,
                           struct jp_error *error) JP_MUST_CHECK;
void jimage_close(struct jimage *jimage); /* NULL is fine */

/* Lists the classes and returns their number. The list is kept. JP_IO, JP_NO_MEMORY. */
enum jp_status jimage_list(struct jimage *jimage, size_t *count, struct jp_error *error) JP_MUST_CHECK;
/* "java/util/Map$Entry", of a listed class; data NULL: it is a module-info. */
struct text jimage_class_path(const struct jimage *jimage, size_t index);

/* Lists the classes in the order in which they are best read, and finds out which packages are exported to everyone.
 * Errors as above. */
enum jp_status jimage_begin_read(struct jimage *jimage, size_t *count, struct jp_error *error) JP_MUST_CHECK;
/* Adds the listed classes from index `from` up to `to`. JP_IO, JP_NO_MEMORY, JP_LIMIT. */
enum jp_status jimage_read(struct builder *builder, const struct jimage *jimage, size_t from, size_t to,
                           struct jp_error *error) JP_MUST_CHECK;

/* Finds one class ("java/util/Map$Entry") without a list; its file replaces the content of bytes.
 * JP_NOT_FOUND: the class does not exist, and the error is not set; JP_IO, JP_NO_MEMORY. */
enum jp_status jimage_find(struct jimage *jimage, struct text path, struct buffer *bytes, bool *is_exported,
                           struct jp_error *error) JP_MUST_CHECK;

/* Receives a class's binary name with dots; returning false ends the visit. */
typedef bool jimage_name_visitor(struct text name, void *context);

/* Visits the names of the JDK's classes: the classes in the modules java.* and jdk.* of the image. Other
 * modules are skipped, because an image may also have an application's modules. Keeps no list and reads no
 * class file. */
void jimage_visit_names(const struct jimage *jimage, jimage_name_visitor *visitor, void *context);

/* The JDK's feature version (17 of "17.0.21") from the file `release` in java_home; 0: unknown. */
unsigned jimage_feature_version(const char *java_home);

#endif

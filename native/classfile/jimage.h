#ifndef JPEER_CLASSFILE_JIMAGE_H
#define JPEER_CLASSFILE_JIMAGE_H
/*
 * Reads the classes of a JDK out of its image, lib/modules, by the JDK's own lib/libjimage.so, which stays
 * loaded. One thread.
 */
#include "classfile/builder.h"

/* JP_NOT_FOUND, JP_IO: the library or the image cannot be used; the text names the path. JP_NO_MEMORY,
 * JP_LIMIT. */
enum jp_status jimage_read(struct builder *builder, const char *java_home,
                           struct jp_error *error) JP_MUST_CHECK;

/* The JDK's feature version (17 of "17.0.21") from the file `release` in java_home; 0: unknown. */
unsigned jimage_feature_version(const char *java_home);

#endif

#ifndef JPEER_CLASSFILE_JAR_H
#define JPEER_CLASSFILE_JAR_H
/*
 * Reads the classes of a jar into a builder: its own, those of a multi-release jar that are for this Java,
 * those below BOOT-INF/classes and WEB-INF/classes, then those of the jars inside it. One thread.
 *
 * What cannot be read is left out with a warning; only JP_NO_MEMORY and JP_LIMIT come back.
 */
#include "classfile/builder.h"

/* class_path gets the jar's own Class-Path as a text in the arena; empty: none. */
enum jp_status jar_read_file(struct builder *builder, const char *path, unsigned feature_version,
                             struct arena *arena, struct text *class_path,
                             struct jp_error *error) JP_MUST_CHECK;

/* The same from bytes, which are borrowed during the call. name is for messages. */
enum jp_status jar_read_bytes(struct builder *builder, const void *bytes, size_t size, const char *name,
                              unsigned feature_version, struct jp_error *error) JP_MUST_CHECK;

#endif

#ifndef JPEER_CLASSFILE_JAR_H
#define JPEER_CLASSFILE_JAR_H
/*
 * Reads the classes of a jar into a builder: its own (of a multi-release jar those for this Java), those
 * below BOOT-INF/classes and WEB-INF/classes, then those of the jars inside it. One thread.
 *
 * Entries that cannot be read are left out with a warning. JP_NO_MEMORY, JP_LIMIT; JP_IO: no file descriptor
 * is left.
 */
#include "classfile/builder.h"

/* *class_path is set to the jar's own Class-Path, in the arena; empty: it has none. */
enum jp_status jar_read_file(struct builder *builder, const char *path, unsigned feature_version,
                             struct arena *arena, struct text *class_path,
                             struct jp_error *error) JP_MUST_CHECK;

/* Reads a jar from bytes, which are borrowed during the call. name is for messages. */
enum jp_status jar_read_bytes(struct builder *builder, const void *bytes, size_t size, const char *name,
                              unsigned feature_version, struct jp_error *error) JP_MUST_CHECK;

#endif

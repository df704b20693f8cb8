#ifndef JPEER_CLASSFILE_FOLDER_H
#define JPEER_CLASSFILE_FOLDER_H
/* Reads the classes below a folder of the class path into a builder. One thread. */
#include "classfile/builder.h"

/* Files that cannot be read are left out with a warning. JP_NO_MEMORY, JP_LIMIT; JP_IO: no file descriptor is
 * left. */
enum jp_status folder_read(struct builder *builder, const char *path, struct jp_error *error) JP_MUST_CHECK;

#endif

#ifndef JPEER_CLASSFILE_FOLDER_H
#define JPEER_CLASSFILE_FOLDER_H
/* Reads the classes below a folder of the class path into a builder. One thread. */
#include "classfile/builder.h"

/* What cannot be read is left out with a warning; only JP_NO_MEMORY and JP_LIMIT come back. */
enum jp_status folder_read(struct builder *builder, const char *path, struct jp_error *error) JP_MUST_CHECK;

#endif

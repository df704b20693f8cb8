#ifndef JPEER_CLASSFILE_FOLDER_H
#define JPEER_CLASSFILE_FOLDER_H
/* Reads classes below a folder of the class path. Any thread. */
#include "base/buffer.h"
#include "classfile/builder.h"

/* Files that cannot be read are left out with a warning. JP_NO_MEMORY, JP_LIMIT; JP_IO: no file descriptor is
 * left. */
enum jp_status folder_read(struct builder *builder, const char *path, struct jp_error *error) JP_MUST_CHECK;

/* Visits the path of each class below the folder ("com/example/A"), which is valid during the call. Opens no
 * class file. Errors as above. */
typedef void folder_visitor(void *context, struct text path);
enum jp_status folder_list(const char *path, folder_visitor *visit, void *context,
                           struct jp_error *error) JP_MUST_CHECK;

/* Reads one file below the folder, which replaces the content of bytes. JP_NOT_FOUND: it does not exist or cannot be
 * read; the error is not set. JP_NO_MEMORY, JP_IO. */
enum jp_status folder_read_class(const char *path, const char *name, struct buffer *bytes,
                                 struct jp_error *error) JP_MUST_CHECK;

#endif

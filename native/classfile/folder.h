#ifndef JPEER_CLASSFILE_FOLDER_H
#define JPEER_CLASSFILE_FOLDER_H
/* Reads classes below a folder of the class path. Any thread. */
#include "base/buffer.h"
#include "classfile/builder.h"

/* Files that cannot be read are left out with a warning. JP_NO_MEMORY, JP_LIMIT; JP_IO: no file descriptor is
 * left. */
enum jp_status folder_read(struct builder *builder, const char *path, struct jp_error *error) JP_MUST_CHECK;

/* Calls visit with the path of each class below the folder ("com/example/A"). The path is valid during the
 * call of visit. Opens no class file. The errors are those of folder_read. */
typedef void folder_visitor(void *context, struct text path);
enum jp_status folder_list(const char *path, folder_visitor *visit, void *context,
                           struct jp_error *error) JP_MUST_CHECK;

/* Reads one file below the folder. The content of the file replaces the content of *bytes. JP_NOT_FOUND: the
 * file does not exist or cannot be read, and the error is not set. JP_NO_MEMORY, JP_IO. */
enum jp_status folder_read_class(const char *path, const char *name, struct buffer *bytes,
                                 struct jp_error *error) JP_MUST_CHECK;

#endif

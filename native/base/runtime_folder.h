#ifndef JPEER_BASE_RUNTIME_FOLDER_H
#define JPEER_BASE_RUNTIME_FOLDER_H
/*
 * The folder of this user in which running peers have a file each, and sessions of commands are noted:
 * $XDG_RUNTIME_DIR/jpeer, else /run/jpeer for root, else /tmp/jpeer-UID. Any thread; reads the environment.
 */
#include "base/status.h"

#include <stddef.h>

/* Writes its path, and creates the folder if it does not exist. JP_IO: it cannot be created, or others could write to
 * it. */
enum jp_status runtime_folder_make(char *out, size_t size, struct jp_error *error) JP_MUST_CHECK;

#endif

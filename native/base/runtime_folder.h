#ifndef JPEER_BASE_RUNTIME_FOLDER_H
#define JPEER_BASE_RUNTIME_FOLDER_H
/*
 * The folder of this user that has a file for each running peer, and the sessions of commands. The folder is
 * $XDG_RUNTIME_DIR/jpeer if the variable is set, otherwise /run/jpeer for root, and /tmp/jpeer-UID for other
 * users. Any thread; reads the environment.
 */
#include "base/status.h"

#include <stddef.h>

/* Writes the folder's path to out, and creates the folder if it does not exist. JP_IO: the folder cannot be
 * created, or other users could write to it. */
enum jp_status runtime_folder_make(char *out, size_t size, struct jp_error *error) JP_MUST_CHECK;

#endif

#ifndef JPEER_COMMAND_SESSION_FILE_H
#define JPEER_COMMAND_SESSION_FILE_H
/*
 * Sessions between commands (-s NAME): a file in the runtime folder has the address, the session's UUID, and the variables,
 * objects by their numbers. The file is locked while a command uses the session. Main's thread.
 */
#include "command/command.h"

struct session_file;

/* Opens the session, or begins it: *session_id and *url (NULL: a new session) are borrowed from it. Returns an exit
 * status, after it has printed what failed. */
int session_file_open(const struct command *command, const char *name, struct session_file **file,
                      const char **session_id, const char **url);
/* Makes the variables of the session those of the evaluator. Says which objects are gone. Returns an exit status, after it
 * has printed what failed: the file must not be saved then. */
int session_file_load(struct session_file *file, struct command *command);
/* Writes the variables; the objects of the session stay in the peer if the client then leaves it (client_leave_session). */
int session_file_save(struct session_file *file, const struct command *command, const char *url);
/* Removes the file, in place of session_file_save. */
void session_file_remove(struct session_file *file);
void session_file_close(struct session_file *file);

#endif

#ifndef JPEER_COMMAND_COMPLETER_H
#define JPEER_COMMAND_COMPLETER_H
/* What TAB proposes in the shell, and what completion scripts of other shells ask for. Main's thread. */
#include "command/command.h"
#include "command/line_editor.h"

struct completer;

/* NULL: no memory. */
struct completer *completer_create(struct command *command);
void completer_destroy(struct completer *completer);
/* For line_editor_config: context is the completer. */
void completer_complete(void *context, struct text line, size_t cursor, struct completion *completion);

#endif

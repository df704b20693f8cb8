#ifndef JPEER_COMMAND_TABLE_H
#define JPEER_COMMAND_TABLE_H
/* Results as tables: a ResultSet, a Map, and a collection or array of Maps, records or beans. Main's thread. */
#include "command/command.h"

/* Prints the object as a table. *is_table false: it is none, and nothing was printed. Otherwise an exit status. */
int command_print_table(struct command *command, const struct value *object, bool *is_table);

#endif

#ifndef JPEER_OP_CONTROL_METHODS_H
#define JPEER_OP_CONTROL_METHODS_H
/*
 * The table of control methods, the methods of the peer itself. The JSON codec reads requests by this table,
 * and descriptions show it. The binary codec has its own table. A new method needs a row here, a function in
 * rpc/control.c, and a conformance case. Constant data; any thread.
 */
#include "base/text.h"

#include <stdbool.h>

/*
 * ROW(COMMAND, name, facts): the facts are members of struct op_control_method.
 */
#define OP_CONTROL_TABLE(ROW)                                                                                \
  ROW(PING, "ping", .is_safe = true, .needs_no_runner = true, .is_brief = true)                              \
  ROW(DELETE_OBJECT, "delete_object", .takes_refs = true)                                                    \
  ROW(DELETE_SESSION, "delete_session")                                                                      \
  ROW(GC, "gc")                                                                                              \
  ROW(STATS, "stats", .is_safe = true, .is_addition = true, .is_brief = true)                                \
  ROW(SHARE_SESSION, "share_session", .is_addition = true, .is_brief = true)                                 \
  ROW(SESSION, "session", .is_safe = true, .is_addition = true, .is_brief = true, .text = TEXT("process"))   \
  ROW(WHOAMI, "whoami", .is_safe = true, .is_addition = true)                                                \
  ROW(CALLS, "calls", .is_safe = true, .is_addition = true, .is_brief = true)                                \
  ROW(CANCEL, "cancel", .is_addition = true, .is_brief = true, .takes_id = true)                             \
  ROW(PIN_THREAD, "pin_thread", .is_addition = true, .text = TEXT("name"))                                   \
  ROW(UNPIN_THREAD, "unpin_thread", .is_addition = true)

#define OP_CONTROL_COMMAND(command, ...) OP_##command,
enum op_command { OP_CONTROL_TABLE(OP_CONTROL_COMMAND) OP_COMMANDS };
#undef OP_CONTROL_COMMAND

struct op_control_method {
  struct text name;
  enum op_command command;
  bool takes_refs;  /* its arguments are OP_REF values, at least one */
  struct text text; /* the name of the method's text argument; empty: the method has no such argument */
  /* its argument is the id of a request or the number of a call. An id becomes command_text, as JSON that
   * json_write_string writes. A number becomes command_text, as written, and command_call */
  bool takes_id;
  bool is_addition; /* an addition of this peer, absent with --compat pal */
  bool is_safe;     /* it changes nothing, so HTTP GET may call it */
  /* it needs neither Java nor a session, so the peer answers it even if all its threads are busy */
  bool needs_no_runner;
  /* it runs no code of the application and never blocks, so the thread that is reserved for control may serve
   * it */
  bool is_brief;
};

/* By enum op_command. */
extern const struct op_control_method op_control_methods[OP_COMMANDS];

/* The method of this name, in upper or lower case; NULL: none. */
const struct op_control_method *op_control_find(struct text name);

#endif

#ifndef JPEER_OP_CONTROL_METHODS_H
#define JPEER_OP_CONTROL_METHODS_H
/*
 * The table of control methods: what a caller can ask of the peer itself. Codecs read requests by it, and
 * descriptions show it. A new method is a row here, its function in rpc/control.c, and a conformance case.
 * Constant data; any thread.
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
  ROW(PIN_THREAD, "pin_thread", .is_addition = true, .text = TEXT("name"))                                   \
  ROW(UNPIN_THREAD, "unpin_thread", .is_addition = true)

#define OP_CONTROL_COMMAND(command, ...) OP_##command,
enum op_command { OP_CONTROL_TABLE(OP_CONTROL_COMMAND) OP_COMMANDS };
#undef OP_CONTROL_COMMAND

struct op_control_method {
  struct text name;
  enum op_command command;
  bool takes_refs;  /* its arguments are OP_REF values, one at least */
  struct text text; /* the name of the text that it may be given as an argument; otherwise it takes none */
  bool is_addition; /* of this peer, so that --compat pal does not have it */
  bool is_safe;     /* it changes nothing, so that HTTP GET may call it */
  /* it needs neither Java nor a session: a peer whose threads are all busy answers it */
  bool needs_no_runner;
  /* it runs no code of the application and waits for nothing, so that the thread that is reserved for control may
   * serve it */
  bool is_brief;
};

/* By enum op_command. */
extern const struct op_control_method op_control_methods[OP_COMMANDS];

/* The method of this name, in upper or lower case; NULL: there is none. */
const struct op_control_method *op_control_find(struct text name);

#endif

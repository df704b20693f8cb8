#ifndef JPEER_RPC_METHODS_JAVA_TYPE_ARGUMENTS_H
#define JPEER_RPC_METHODS_JAVA_TYPE_ARGUMENTS_H
/* The type arguments of a class type's signature (JVMS 4.7.9.1), as far as they tell what a container holds.
 * Pure text, any thread. Only for the java_methods_*.c files. */
#include "base/text.h"

struct java_type_arguments {
  struct text first; /* as written, with its '+', '-' or '*'; data NULL: there are none */
  struct text last;
  unsigned count;
};

/* Reads from a '<' to its '>'. */
struct java_type_arguments java_type_arguments_read(struct text written);

/* The type that an argument stands for: "TT;" of "+TT;". data NULL: the type is unknown ("*", "-TT;", or no
 * argument). */
struct text java_type_argument_type(struct text argument);

#endif

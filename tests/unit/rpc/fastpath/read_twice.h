#ifndef JPEER_TESTS_UNIT_RPC_FASTPATH_READ_TWICE_H
#define JPEER_TESTS_UNIT_RPC_FASTPATH_READ_TWICE_H
/* Reads a message in full and by the shapes of messages before it, and compares what both make of it. */
#include "rpc/fastpath/shape_cache.h"

enum read_twice {
  READ_IN_FULL,    /* it fitted no shape; what it was read as is kept */
  READ_AS_REPEAT,  /* it fitted one, and both ways came to the same */
  READ_DIFFERENTLY /* they did not */
};

/* shown: what the message means, as a text ended by a NUL, where it is one valid request. */
enum read_twice read_twice(struct rpc_repeats *repeats, struct text message, struct buffer *shown);

#endif

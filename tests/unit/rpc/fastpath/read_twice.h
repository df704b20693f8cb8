#ifndef JPEER_TESTS_UNIT_RPC_FASTPATH_READ_TWICE_H
#define JPEER_TESTS_UNIT_RPC_FASTPATH_READ_TWICE_H
/* Reads a message on the general path and by the shapes of messages before it, and compares the two. */
#include "rpc/fastpath/fastpath.h"

enum read_twice {
  READ_GENERALLY,  /* it fitted no shape; what it was read as is kept */
  READ_FROM_CACHE, /* it fitted one, and both paths came to the same */
  READ_DIFFERENTLY /* they did not */
};

/* *fastpath is NULL at first, and the caller's to free(). shown: what the message means, as a text ended by a
 * NUL, where it is one valid request. */
enum read_twice read_twice(struct rpc_fastpath **fastpath, struct text message, struct buffer *shown);

#endif

#ifndef JPEER_TESTS_UNIT_RPC_FASTPATH_READ_TWICE_H
#define JPEER_TESTS_UNIT_RPC_FASTPATH_READ_TWICE_H
/* Reads a message on the general path and by the shapes of earlier messages, and compares the two. */
#include "rpc/fastpath/fastpath.h"

enum read_twice {
  READ_GENERALLY,  /* the message fitted no shape; its shape is kept now */
  READ_FROM_CACHE, /* the message fitted a shape, and both paths had the same result */
  READ_DIFFERENTLY /* the message fitted a shape, and the results of both paths differ */
};

/* fastpath is NULL at first; the caller frees it with free(). shown: if the message is one valid request,
 * its meaning, as a text ended by a NUL. */
enum read_twice read_twice(struct rpc_fastpath **fastpath, struct text message, struct buffer *shown);

#endif

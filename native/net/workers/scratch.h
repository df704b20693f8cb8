#ifndef JPEER_NET_WORKERS_SCRATCH_H
#define JPEER_NET_WORKERS_SCRATCH_H
/*
 * Memory that a thread lends to what it serves, for a turn: a connection that is idle owns no buffer.
 *
 * At the start of a turn the source takes a buffer (scratch_lend swaps it in where the source has none), at
 * the end it gives it back where nothing is left in it (scratch_return). What is not returned stays the
 * source's, and the thread makes itself another one. One owner, one thread.
 */
#include "base/buffer.h"

/* What a thread keeps of a buffer that an unusual message made large. */
enum { SCRATCH_KEPT_SIZE = 256 * 1024 };

enum scratch_use { SCRATCH_INPUT, SCRATCH_MESSAGE, SCRATCH_ANSWER, SCRATCH_OUTPUT, SCRATCH_USES };

/* Objects that a protocol makes and a thread keeps for it, one of a kind. */
enum scratch_object { SCRATCH_HTTP_HEADS, SCRATCH_WS_DECODER, SCRATCH_OBJECTS };

struct scratch {
  struct buffer buffers[SCRATCH_USES];
  struct {
    void *object; /* NULL: lent, or not made yet */
    void (*destroy)(void *object);
  } kept[SCRATCH_OBJECTS];
};

void scratch_init(struct scratch *scratch);
void scratch_fini(struct scratch *scratch);

/* Where *buffer has no memory, it gets the thread's. */
void scratch_lend(struct scratch *scratch, enum scratch_use use, struct buffer *buffer);
/* Where *buffer is empty, its memory goes to the thread, or back to the system where the thread has enough.
 */
void scratch_return(struct scratch *scratch, enum scratch_use use, struct buffer *buffer);

/* The object of this kind, which stays the thread's; NULL: none. */
static inline void *scratch_object(const struct scratch *scratch, enum scratch_object kind)
{
  return scratch->kept[kind].object;
}
/* The same, but it is the caller's now. */
static inline void *scratch_take_object(struct scratch *scratch, enum scratch_object kind)
{
  void *object = scratch->kept[kind].object;
  scratch->kept[kind].object = NULL;
  return object;
}
/* Takes the object; destroys it where the thread has one. */
void scratch_keep_object(struct scratch *scratch, enum scratch_object kind, void *object,
                         void (*destroy)(void *object));

#endif

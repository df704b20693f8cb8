#ifndef JPEER_NET_WORKERS_SCRATCH_H
#define JPEER_NET_WORKERS_SCRATCH_H
/*
 * Memory that a thread lends to a source for a turn, so that an idle connection owns no buffer.
 *
 * At the begin of a turn, a source without a buffer borrows a buffer (scratch_lend). At the end of the turn,
 * the source returns the buffer if the buffer is empty (scratch_return). A buffer that is not returned
 * belongs to the source, and the thread allocates a new buffer. Only the thread that owns a struct scratch
 * uses it.
 */
#include "base/buffer.h"

enum {
  SCRATCH_KEPT_SIZE = 256 * 1024, /* a thread does not keep a buffer that is larger than this, */
  SCRATCH_SPARES = 7,             /* and keeps so many more, */
  SCRATCH_SPARE_SIZE = 16 * 1024  /* if they are not larger than this: of deferred output (crew_defer) */
};

enum scratch_use { SCRATCH_INPUT, SCRATCH_MESSAGE, SCRATCH_ANSWER, SCRATCH_OUTPUT, SCRATCH_USES };

/* Objects that a protocol makes. A thread keeps one object of each kind for the next turn. */
enum scratch_object { SCRATCH_HTTP_HEADS, SCRATCH_WS_DECODER, SCRATCH_OBJECTS };

struct scratch {
  struct buffer buffers[SCRATCH_USES];
  struct buffer spares[SCRATCH_SPARES]; /* for any use */
  unsigned spare_count;
  struct {
    void *object; /* NULL: lent, or not made yet */
    void (*destroy)(void *object);
  } kept[SCRATCH_OBJECTS];
};

void scratch_init(struct scratch *scratch);
void scratch_fini(struct scratch *scratch);

/* Moves a buffer of the thread to *buffer, if *buffer has no memory. */
void scratch_lend(struct scratch *scratch, enum scratch_use use, struct buffer *buffer);
/* If *buffer is empty, moves it back to the thread, or frees it if it is large or if the thread has enough
 * already. */
void scratch_return(struct scratch *scratch, enum scratch_use use, struct buffer *buffer);

/* The object of this kind, borrowed for the turn. NULL: none. */
static inline void *scratch_object(const struct scratch *scratch, enum scratch_object kind)
{
  return scratch->kept[kind].object;
}
/* Returns the object of this kind, which the caller then owns. NULL: none. */
static inline void *scratch_take_object(struct scratch *scratch, enum scratch_object kind)
{
  void *object = scratch->kept[kind].object;
  scratch->kept[kind].object = NULL;
  return object;
}
/* Takes the object, and destroys it if the thread has an object of this kind already. */
void scratch_keep_object(struct scratch *scratch, enum scratch_object kind, void *object,
                         void (*destroy)(void *object));

#endif

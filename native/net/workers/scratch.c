#include "net/workers/scratch.h"

void scratch_init(struct scratch *scratch)
{
  *scratch = (struct scratch){0};
}

void scratch_fini(struct scratch *scratch)
{
  for (int use = 0; use < SCRATCH_USES; use++)
    buffer_fini(&scratch->buffers[use]);
  for (int kind = 0; kind < SCRATCH_OBJECTS; kind++) {
    if (scratch->kept[kind].object != NULL)
      scratch->kept[kind].destroy(scratch->kept[kind].object);
  }
  *scratch = (struct scratch){0};
}

void scratch_lend(struct scratch *scratch, enum scratch_use use, struct buffer *buffer)
{
  if (buffer->data != NULL)
    return;
  *buffer = scratch->buffers[use];
  scratch->buffers[use] = (struct buffer){0};
}

void scratch_return(struct scratch *scratch, enum scratch_use use, struct buffer *buffer)
{
  if (buffer->len > 0)
    return;
  buffer_clear(buffer);
  if (scratch->buffers[use].data != NULL || buffer->cap > SCRATCH_KEPT_SIZE)
    buffer_fini(buffer);
  else
    scratch->buffers[use] = *buffer;
  *buffer = (struct buffer){0};
}

void scratch_keep_object(struct scratch *scratch, enum scratch_object kind, void *object,
                         void (*destroy)(void *object))
{
  if (scratch->kept[kind].object != NULL) {
    destroy(object);
    return;
  }
  scratch->kept[kind].object = object;
  scratch->kept[kind].destroy = destroy;
}

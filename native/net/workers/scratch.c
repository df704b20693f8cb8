#include "net/workers/scratch.h"

void scratch_init(struct scratch *scratch)
{
  *scratch = (struct scratch){0};
}

void scratch_fini(struct scratch *scratch)
{
  for (int use = 0; use < SCRATCH_USES; use++)
    buffer_fini(&scratch->buffers[use]);
  for (unsigned i = 0; i < scratch->spare_count; i++)
    buffer_fini(&scratch->spares[i]);
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
  if (scratch->buffers[use].data == NULL && scratch->spare_count > 0) {
    *buffer = scratch->spares[--scratch->spare_count];
    return;
  }
  *buffer = scratch->buffers[use];
  scratch->buffers[use] = (struct buffer){0};
}

void scratch_return(struct scratch *scratch, enum scratch_use use, struct buffer *buffer)
{
  if (buffer->len > 0)
    return;
  buffer_clear(buffer);
  if (scratch->buffers[use].data == NULL && buffer->cap <= SCRATCH_KEPT_SIZE)
    scratch->buffers[use] = *buffer;
  else if (buffer->data != NULL && buffer->cap <= SCRATCH_SPARE_SIZE && scratch->spare_count < SCRATCH_SPARES)
    scratch->spares[scratch->spare_count++] = *buffer;
  else
    buffer_fini(buffer);
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

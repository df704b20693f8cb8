#include "net/workers/scratch.h"

#include "net/http/http_heads.h"
#include "net/websocket/ws_frames.h"

void scratch_init(struct scratch *scratch)
{
  *scratch = (struct scratch){0};
}

void scratch_fini(struct scratch *scratch)
{
  for (int use = 0; use < SCRATCH_USES; use++)
    buffer_fini(&scratch->buffers[use]);
  http_heads_destroy(scratch->heads);
  ws_decoder_destroy(scratch->decoder);
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

#include "client/completions.h"

#include <assert.h>
#include <stdlib.h>

enum { FIRST_CAPACITY = 128 };

void completion_queue_fini(struct completion_queue *queue)
{
  free(queue->ring);
  *queue = (struct completion_queue){0};
}

static struct completion *place_of(const struct completion_queue *queue, size_t number)
{
  return &queue->ring[(queue->first + number) & (queue->capacity - 1)];
}

bool completion_queue_reserve(struct completion_queue *queue, size_t count)
{
  if (count <= queue->capacity)
    return true;
  size_t capacity = queue->capacity == 0 ? FIRST_CAPACITY : queue->capacity;
  while (capacity < count)
    capacity *= 2;
  struct completion *ring = calloc(capacity, sizeof *ring);
  if (ring == NULL)
    return false;
  for (size_t i = 0; i < queue->count; i++)
    ring[i] = *place_of(queue, i);
  free(queue->ring);
  *queue = (struct completion_queue){.ring = ring, .capacity = capacity, .count = queue->count};
  return true;
}

void completion_queue_push(struct completion_queue *queue, const struct completion *completion)
{
  assert(queue->count < queue->capacity);
  *place_of(queue, queue->count) = *completion;
  queue->count++;
}

bool completion_queue_pop(struct completion_queue *queue, struct completion *completion)
{
  if (queue->count == 0)
    return false;
  *completion = queue->ring[queue->first];
  queue->first = (queue->first + 1) & (queue->capacity - 1);
  queue->count--;
  return true;
}

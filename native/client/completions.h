#ifndef JPEER_CLIENT_COMPLETIONS_H
#define JPEER_CLIENT_COMPLETIONS_H
/*
 * What is done, and whose completion is still to be called: a ring that grows before it is needed, so that
 * an answer that came is never lost for want of memory. It is under the client's lock.
 */
#include "jpeer/client.h"

#include <stdbool.h>
#include <stddef.h>

struct completion {
  jp_client_completion *function;
  void *context;
  enum jp_client_status status;
  struct jp_answer *answer;
};

struct completion_queue {
  struct completion *ring;
  size_t capacity; /* a power of two, or 0 */
  size_t first;
  size_t count;
};

void completion_queue_fini(struct completion_queue *queue);
/* Room for `count` in all. False: no memory. */
bool completion_queue_reserve(struct completion_queue *queue, size_t count);
/* There must be room. */
void completion_queue_push(struct completion_queue *queue, const struct completion *completion);
/* False: there is none. */
bool completion_queue_pop(struct completion_queue *queue, struct completion *completion);

#endif

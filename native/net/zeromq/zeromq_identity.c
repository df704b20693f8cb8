#include "net/zeromq/zeromq_state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { FREE_PENDING_MAX = 1024 };

static size_t bucket_of(const void *routing_id, size_t length)
{
  return text_hash((struct text){routing_id, length}) % IDENTITY_BUCKETS;
}

static struct zeromq_identity *make_identity(struct zeromq *zeromq)
{
  struct zeromq_identity *identity = zeromq->free_identities;
  if (identity != NULL) {
    zeromq->free_identities = identity->next;
    return identity;
  }
  identity = calloc(1, sizeof *identity);
  if (identity == NULL)
    return NULL;
  /* Written only once, because a late turn may read both before it takes the lock. */
  identity->source.turn = zeromq_identity_turn;
  identity->zeromq = zeromq;
  return identity;
}

static bool has_routing_id(const struct zeromq_identity *identity, const void *routing_id, size_t length)
{
  return identity->routing_id_length == length && memcmp(identity->routing_id, routing_id, length) == 0;
}

static struct zeromq_identity *find_identity(const struct zeromq *zeromq, const void *routing_id,
                                             size_t length)
{
  struct zeromq_identity *last = zeromq->last_filed;
  if (last != NULL && last->is_filed && has_routing_id(last, routing_id, length))
    return last;
  struct zeromq_identity *identity = zeromq->buckets[bucket_of(routing_id, length)];
  while (identity != NULL && !has_routing_id(identity, routing_id, length))
    identity = identity->next;
  return identity;
}

static struct zeromq_identity *file_identity(struct zeromq *zeromq, const void *routing_id, size_t length)
{
  assert(length <= ROUTING_ID_MAX); /* libzmq's own bound */
  struct zeromq_identity *identity = make_identity(zeromq);
  if (identity == NULL)
    return NULL;
  struct zeromq_identity **bucket = &zeromq->buckets[bucket_of(routing_id, length)];
  identity->routing_id_length = length;
  memcpy(identity->routing_id, routing_id, length);
  identity->is_filed = true;
  identity->next = *bucket;
  *bucket = identity;
  return identity;
}

struct zeromq_identity *zeromq_identity_get(struct zeromq *zeromq, const void *routing_id, size_t length)
{
  struct zeromq_identity *identity = find_identity(zeromq, routing_id, length);
  if (identity == NULL)
    identity = file_identity(zeromq, routing_id, length);
  zeromq->last_filed = identity;
  return identity;
}

void zeromq_identity_release(struct zeromq_identity *identity)
{
  if (!identity->is_filed || identity->owned || identity->first != NULL || identity->first_held != NULL)
    return;
  if (atomic_load(&identity->lent_bytes) > 0) {
    zeromq_full_push(identity);
    return;
  }
  struct zeromq *zeromq = identity->zeromq;
  struct zeromq_identity **link =
      &zeromq->buckets[bucket_of(identity->routing_id, identity->routing_id_length)];
  while (*link != identity)
    link = &(*link)->next;
  *link = identity->next;
  identity->is_filed = false;
  identity->next = zeromq->free_identities;
  zeromq->free_identities = identity;
}

struct zeromq_pending *zeromq_pending_take(struct zeromq *zeromq)
{
  struct zeromq_pending *pending = zeromq->free_pending;
  if (pending != NULL) {
    zeromq->free_pending = pending->next;
    zeromq->free_pending_count--;
  } else {
    pending = malloc(sizeof *pending);
    if (pending == NULL)
      return NULL;
  }
  pending->size = 0;
  pending->fault = ZEROMQ_FINE;
  pending->delimiter = false;
  pending->passes_input = false;
  pending->since_ms = 0;
  zmq_msg_init(&pending->payload);
  return pending;
}

void zeromq_pending_give_back(struct zeromq *zeromq, struct zeromq_pending *pending)
{
  zmq_msg_close(&pending->payload);
  zeromq_pending_give_back_answered(zeromq, pending);
}

void zeromq_pending_give_back_answered(struct zeromq *zeromq, struct zeromq_pending *pending)
{
  if (zeromq->free_pending_count == FREE_PENDING_MAX) {
    free(pending);
    return;
  }
  pending->next = zeromq->free_pending;
  zeromq->free_pending = pending;
  zeromq->free_pending_count++;
}

void zeromq_identity_push(struct zeromq_identity *identity, struct zeromq_pending *pending)
{
  pending->next = NULL;
  if (identity->last == NULL)
    identity->first = pending;
  else
    identity->last->next = pending;
  identity->last = pending;
  identity->pending++;
  identity->zeromq->pending_bytes += pending->size;
  if (pending->size > INPUT_SMALL)
    atomic_fetch_add(&identity->zeromq->config.input->total, pending->size);
}

struct zeromq_pending *zeromq_identity_pop(struct zeromq_identity *identity)
{
  struct zeromq_pending *pending = identity->first;
  identity->first = pending->next;
  if (identity->first == NULL)
    identity->last = NULL;
  identity->pending--;
  identity->zeromq->pending_bytes -= pending->size;
  if (pending->size > INPUT_SMALL)
    atomic_fetch_sub(&identity->zeromq->config.input->total, pending->size);
  return pending;
}

void zeromq_identity_push_answer(struct zeromq_identity *identity, struct zeromq_pending *pending)
{
  zmq_msg_close(&pending->payload);
  pending->next = NULL;
  if (identity->last_answer == NULL) {
    identity->first_answer = pending;
    identity->zeromq->answering++;
  } else {
    identity->last_answer->next = pending;
  }
  identity->last_answer = pending;
  identity->answer_count++;
  identity->answer_bytes += pending->answer.size;
}

struct zeromq_pending *zeromq_identity_pop_answer(struct zeromq_identity *identity)
{
  struct zeromq_pending *answered = identity->first_answer;
  if (answered == NULL)
    return NULL;
  identity->first_answer = answered->next;
  identity->answer_count--;
  identity->answer_bytes -= answered->answer.size;
  if (identity->first_answer == NULL) {
    identity->last_answer = NULL;
    identity->zeromq->answering--;
  }
  return answered;
}

/* True if the answers before this one leave no room. The answer itself does not count, so that one of any
 * size reaches a client that reads; nor do the lent bytes of such an answer above half of the limit. Refusals
 * alone can add up here, because no call runs while an answer is held. */
static bool holds_too_much(struct zeromq_identity *identity)
{
  size_t limit = identity->zeromq->config.send_buffer_max;
  size_t lent = atomic_load(&identity->lent_bytes);
  return identity->held_bytes + (lent < limit / 2 ? lent : limit / 2) > limit;
}

bool zeromq_identity_hold(struct zeromq_identity *identity, struct zeromq_answer *answer)
{
  if (holds_too_much(identity))
    return false;
  struct zeromq_held *held = malloc(sizeof *held);
  if (held == NULL)
    return false;
  held->next = NULL;
  held->answer.size = answer->size;
  held->answer.delimiter = answer->delimiter;
  zmq_msg_init(&held->answer.message);
  zmq_msg_move(&held->answer.message, &answer->message);
  if (identity->last_held == NULL) {
    identity->first_held = held;
    identity->zeromq->holding++;
    zeromq_full_push(identity);
  } else {
    identity->last_held->next = held;
  }
  identity->last_held = held;
  identity->held_bytes += answer->size;
  return true;
}

void zeromq_full_push(struct zeromq_identity *identity)
{
  struct zeromq *zeromq = identity->zeromq;
  if (identity->in_full)
    return;
  identity->in_full = true;
  identity->next_full = NULL;
  if (zeromq->last_full == NULL)
    zeromq->first_full = identity;
  else
    zeromq->last_full->next_full = identity;
  zeromq->last_full = identity;
  zeromq->full_count++;
}

struct zeromq_identity *zeromq_full_pop(struct zeromq *zeromq)
{
  struct zeromq_identity *identity = zeromq->first_full;
  if (identity == NULL)
    return NULL;
  zeromq->first_full = identity->next_full;
  if (zeromq->first_full == NULL)
    zeromq->last_full = NULL;
  zeromq->full_count--;
  identity->in_full = false;
  return identity;
}

void zeromq_identity_drop_first_held(struct zeromq_identity *identity)
{
  struct zeromq_held *held = identity->first_held;
  identity->first_held = held->next;
  identity->held_bytes -= held->answer.size;
  if (identity->first_held == NULL) {
    identity->last_held = NULL;
    identity->zeromq->holding--;
  }
  zmq_msg_close(&held->answer.message);
  free(held);
}

void zeromq_identity_drop_held(struct zeromq_identity *identity)
{
  while (identity->first_held != NULL)
    zeromq_identity_drop_first_held(identity);
}

static void free_identity(struct zeromq_identity *identity)
{
  while (identity->first != NULL)
    zeromq_pending_give_back(identity->zeromq, zeromq_identity_pop(identity));
  struct zeromq_pending *answered;
  while ((answered = zeromq_identity_pop_answer(identity)) != NULL) {
    zmq_msg_close(&answered->answer.message);
    zeromq_pending_give_back_answered(identity->zeromq, answered);
  }
  zeromq_identity_drop_held(identity);
  assert(atomic_load(&identity->lent_bytes) == 0); /* the context has ended */
  free(identity);
}

static void free_identities(struct zeromq_identity *identity)
{
  while (identity != NULL) {
    struct zeromq_identity *next = identity->next;
    free_identity(identity);
    identity = next;
  }
}

void zeromq_identities_fini(struct zeromq *zeromq)
{
  for (size_t i = 0; i < IDENTITY_BUCKETS; i++)
    free_identities(zeromq->buckets[i]);
  free_identities(zeromq->free_identities);
  while (zeromq->free_pending != NULL) {
    struct zeromq_pending *next = zeromq->free_pending->next;
    free(zeromq->free_pending);
    zeromq->free_pending = next;
  }
}

#include "net/zeromq/zeromq_state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { FREE_PENDING_MAX = 1024 };

static size_t bucket_of(const void *identity, size_t length)
{
  return text_hash((struct text){identity, length}) % PEER_BUCKETS;
}

static struct zeromq_peer *make_peer(struct zeromq *zeromq)
{
  struct zeromq_peer *peer = zeromq->free_peers;
  if (peer != NULL) {
    zeromq->free_peers = peer->next;
    return peer;
  }
  peer = calloc(1, sizeof *peer);
  if (peer == NULL)
    return NULL;
  /* Once: a late turn may read both, before it takes the lock, while the peer is used again. */
  peer->source.turn = zeromq_peer_turn;
  peer->zeromq = zeromq;
  return peer;
}

struct zeromq_peer *zeromq_peer_get(struct zeromq *zeromq, const void *identity, size_t length)
{
  struct zeromq_peer **bucket = &zeromq->buckets[bucket_of(identity, length)];
  for (struct zeromq_peer *peer = *bucket; peer != NULL; peer = peer->next) {
    if (peer->identity_length == length && memcmp(peer->identity, identity, length) == 0)
      return peer;
  }
  assert(length <= IDENTITY_MAX); /* libzmq's own bound */
  struct zeromq_peer *peer = make_peer(zeromq);
  if (peer == NULL)
    return NULL;
  peer->identity_length = length;
  memcpy(peer->identity, identity, length);
  peer->is_filed = true;
  peer->next = *bucket;
  *bucket = peer;
  return peer;
}

void zeromq_peer_release(struct zeromq_peer *peer)
{
  if (!peer->is_filed || peer->owned || peer->first != NULL || peer->first_held != NULL)
    return;
  if (atomic_load(&peer->lent_bytes) > 0) {
    zeromq_full_push(peer);
    return;
  }
  struct zeromq *zeromq = peer->zeromq;
  struct zeromq_peer **link = &zeromq->buckets[bucket_of(peer->identity, peer->identity_length)];
  while (*link != peer)
    link = &(*link)->next;
  *link = peer->next;
  peer->is_filed = false;
  peer->next = zeromq->free_peers;
  zeromq->free_peers = peer;
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

void zeromq_peer_push(struct zeromq_peer *peer, struct zeromq_pending *pending)
{
  pending->next = NULL;
  if (peer->last == NULL)
    peer->first = pending;
  else
    peer->last->next = pending;
  peer->last = pending;
  peer->pending++;
  peer->zeromq->pending_bytes += pending->size;
  if (pending->size > INPUT_SMALL)
    atomic_fetch_add(&peer->zeromq->config.input->total, pending->size);
}

struct zeromq_pending *zeromq_peer_pop(struct zeromq_peer *peer)
{
  struct zeromq_pending *pending = peer->first;
  peer->first = pending->next;
  if (peer->first == NULL)
    peer->last = NULL;
  peer->pending--;
  peer->zeromq->pending_bytes -= pending->size;
  if (pending->size > INPUT_SMALL)
    atomic_fetch_sub(&peer->zeromq->config.input->total, pending->size);
  return pending;
}

void zeromq_peer_push_answer(struct zeromq_peer *peer, struct zeromq_pending *pending)
{
  zmq_msg_close(&pending->payload);
  pending->next = NULL;
  if (peer->last_answer == NULL) {
    peer->first_answer = pending;
    peer->zeromq->answering++;
  } else {
    peer->last_answer->next = pending;
  }
  peer->last_answer = pending;
  peer->answer_bytes += pending->answer.size;
}

struct zeromq_pending *zeromq_peer_pop_answer(struct zeromq_peer *peer)
{
  struct zeromq_pending *answered = peer->first_answer;
  if (answered == NULL)
    return NULL;
  peer->first_answer = answered->next;
  peer->answer_bytes -= answered->answer.size;
  if (peer->first_answer == NULL) {
    peer->last_answer = NULL;
    peer->zeromq->answering--;
  }
  return answered;
}

/* Whether what is there before an answer leaves no room for any. The answer itself does not count, so that
 * one of any size reaches a client that reads, only not as fast; nor does what one such answer has lent above
 * what may be. Calls cannot come to much here, since none runs while something is held; refusals can. */
static bool holds_too_much(struct zeromq_peer *peer)
{
  size_t limit = peer->zeromq->config.send_buffer_max;
  size_t lent = atomic_load(&peer->lent_bytes);
  return peer->held_bytes + (lent < limit / 2 ? lent : limit / 2) > limit;
}

bool zeromq_peer_hold(struct zeromq_peer *peer, struct zeromq_answer *answer)
{
  if (holds_too_much(peer))
    return false;
  struct zeromq_held *held = malloc(sizeof *held);
  if (held == NULL)
    return false;
  held->next = NULL;
  held->answer.size = answer->size;
  held->answer.delimiter = answer->delimiter;
  zmq_msg_init(&held->answer.message);
  zmq_msg_move(&held->answer.message, &answer->message);
  if (peer->last_held == NULL) {
    peer->first_held = held;
    peer->zeromq->holding++;
    zeromq_full_push(peer);
  } else {
    peer->last_held->next = held;
  }
  peer->last_held = held;
  peer->held_bytes += answer->size;
  return true;
}

void zeromq_full_push(struct zeromq_peer *peer)
{
  struct zeromq *zeromq = peer->zeromq;
  if (peer->in_full)
    return;
  peer->in_full = true;
  peer->next_full = NULL;
  if (zeromq->last_full == NULL)
    zeromq->first_full = peer;
  else
    zeromq->last_full->next_full = peer;
  zeromq->last_full = peer;
  zeromq->full_count++;
}

struct zeromq_peer *zeromq_full_pop(struct zeromq *zeromq)
{
  struct zeromq_peer *peer = zeromq->first_full;
  if (peer == NULL)
    return NULL;
  zeromq->first_full = peer->next_full;
  if (zeromq->first_full == NULL)
    zeromq->last_full = NULL;
  zeromq->full_count--;
  peer->in_full = false;
  return peer;
}

void zeromq_peer_drop_first_held(struct zeromq_peer *peer)
{
  struct zeromq_held *held = peer->first_held;
  peer->first_held = held->next;
  peer->held_bytes -= held->answer.size;
  if (peer->first_held == NULL) {
    peer->last_held = NULL;
    peer->zeromq->holding--;
  }
  zmq_msg_close(&held->answer.message);
  free(held);
}

void zeromq_peer_drop_held(struct zeromq_peer *peer)
{
  while (peer->first_held != NULL)
    zeromq_peer_drop_first_held(peer);
}

static void free_peer(struct zeromq_peer *peer)
{
  while (peer->first != NULL)
    zeromq_pending_give_back(peer->zeromq, zeromq_peer_pop(peer));
  struct zeromq_pending *answered;
  while ((answered = zeromq_peer_pop_answer(peer)) != NULL) {
    zmq_msg_close(&answered->answer.message);
    zeromq_pending_give_back_answered(peer->zeromq, answered);
  }
  zeromq_peer_drop_held(peer);
  assert(atomic_load(&peer->lent_bytes) == 0); /* the context has ended */
  free(peer);
}

static void free_peers(struct zeromq_peer *peer)
{
  while (peer != NULL) {
    struct zeromq_peer *next = peer->next;
    free_peer(peer);
    peer = next;
  }
}

void zeromq_peers_fini(struct zeromq *zeromq)
{
  for (size_t i = 0; i < PEER_BUCKETS; i++)
    free_peers(zeromq->buckets[i]);
  free_peers(zeromq->free_peers);
  while (zeromq->free_pending != NULL) {
    struct zeromq_pending *next = zeromq->free_pending->next;
    free(zeromq->free_pending);
    zeromq->free_pending = next;
  }
}

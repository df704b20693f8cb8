/* Identities: the table of routing ids, and each identity's requests and answers. */
#include "net/zeromq/zeromq_state.h"

#include "audit/audit.h"
#include "base/clock.h"
#include "base/log.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { FREE_PENDING_MAX = 1024, RESUMES_A_SECTION = 16 };

/* The memory of an answer larger than COUNTED_ABOVE. */
struct counted {
  _Atomic(struct zeromq_identity *) identity; /* whose pipe has the answer; NULL: it was not sent yet */
  size_t size;
  char bytes[];
};

/* --- the queue of identities whose held answers have to be sent again --- */

static void push_full(struct zeromq_identity *identity)
{
  struct zeromq_router *zeromq = identity->zeromq;
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

static struct zeromq_identity *pop_full(struct zeromq_router *zeromq)
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

/* --- identities by their routing ids --- */

static size_t bucket_of(const void *routing_id, size_t length)
{
  return text_hash((struct text){routing_id, length}) % IDENTITY_BUCKETS;
}

static struct zeromq_identity *make_identity(struct zeromq_router *zeromq)
{
  struct zeromq_identity *identity = zeromq->free_identities;
  if (identity != NULL) {
    zeromq->free_identities = identity->next;
    return identity;
  }
  identity = calloc(1, sizeof *identity);
  if (identity == NULL)
    return NULL;
  /* Written only once, because a late turn may read these fields before it locks. */
  identity->source.turn = zeromq_identity_turn;
  identity->source.call_ops = &zeromq_identity_call_ops;
  identity->zeromq = zeromq;
  return identity;
}

static bool has_routing_id(const struct zeromq_identity *identity, const void *routing_id, size_t length)
{
  return identity->routing_id_length == length && memcmp(identity->routing_id, routing_id, length) == 0;
}

static struct zeromq_identity *find_identity(const struct zeromq_router *zeromq, const void *routing_id,
                                             size_t length)
{
  struct zeromq_identity *last = zeromq->last_filed;
  if (last != NULL && last->state != ZEROMQ_IDENTITY_FREE && has_routing_id(last, routing_id, length))
    return last;
  struct zeromq_identity *identity = zeromq->buckets[bucket_of(routing_id, length)];
  while (identity != NULL && !has_routing_id(identity, routing_id, length))
    identity = identity->next;
  return identity;
}

static struct zeromq_identity *file_identity(struct zeromq_router *zeromq, const void *routing_id,
                                             size_t length)
{
  assert(length <= ROUTING_ID_MAX); /* libzmq's own bound */
  struct zeromq_identity *identity = make_identity(zeromq);
  if (identity == NULL)
    return NULL;
  struct zeromq_identity **bucket = &zeromq->buckets[bucket_of(routing_id, length)];
  identity->routing_id_length = length;
  memcpy(identity->routing_id, routing_id, length);
  zeromq_identity_set_state(identity, ZEROMQ_IDENTITY_FILED);
  monitor_add_connection(zeromq->config.monitor, METRICS_TRANSPORT_ZMQ);
  identity->next = *bucket;
  *bucket = identity;
  return identity;
}

struct zeromq_identity *zeromq_identity_get(struct zeromq_router *zeromq, const void *routing_id,
                                            size_t length)
{
  struct zeromq_identity *identity = find_identity(zeromq, routing_id, length);
  if (identity == NULL)
    identity = file_identity(zeromq, routing_id, length);
  zeromq->last_filed = identity;
  return identity;
}

void zeromq_identity_release(struct zeromq_identity *identity)
{
  if (identity->state != ZEROMQ_IDENTITY_FILED || identity->first != NULL || identity->first_held != NULL)
    return;
  if (atomic_load(&identity->lent_bytes) > 0) {
    push_full(identity);
    return;
  }
  struct zeromq_router *zeromq = identity->zeromq;
  struct zeromq_identity **link =
      &zeromq->buckets[bucket_of(identity->routing_id, identity->routing_id_length)];
  while (*link != identity)
    link = &(*link)->next;
  *link = identity->next;
  zeromq_identity_set_state(identity, ZEROMQ_IDENTITY_FREE);
  monitor_remove_connection(zeromq->config.monitor, METRICS_TRANSPORT_ZMQ);
  identity->next = zeromq->free_identities;
  zeromq->free_identities = identity;
}

/* --- requests --- */

struct zeromq_pending *zeromq_pending_create(struct zeromq_router *zeromq)
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
  pending->expires_ms = 0;
  pending->cause = RPC_CALL_TIMED_OUT;
  pending->has_ids = false;
  pending->ids = (struct buffer){0};
  pending->arrived_ns = clock_coarse_ms() * 1000000;
  zmq_msg_init(&pending->payload);
  return pending;
}

/* Frees a request without payload and answer, or keeps its memory for the next request. */
static void keep_free_pending(struct zeromq_router *zeromq, struct zeromq_pending *pending)
{
  if (pending->has_ids)
    buffer_fini(&pending->ids);
  if (zeromq->free_pending_count == FREE_PENDING_MAX) {
    free(pending);
    return;
  }
  pending->next = zeromq->free_pending;
  zeromq->free_pending = pending;
  zeromq->free_pending_count++;
}

void zeromq_pending_destroy(struct zeromq_router *zeromq, struct zeromq_pending *pending)
{
  zmq_msg_close(&pending->payload);
  keep_free_pending(zeromq, pending);
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

static void count_popped(struct zeromq_identity *identity, const struct zeromq_pending *pending)
{
  identity->pending--;
  identity->zeromq->pending_bytes -= pending->size;
  if (pending->size > INPUT_SMALL)
    atomic_fetch_sub(&identity->zeromq->config.input->total, pending->size);
}

struct zeromq_pending *zeromq_identity_pop(struct zeromq_identity *identity)
{
  struct zeromq_pending *pending = identity->first;
  identity->first = pending->next;
  if (identity->first == NULL)
    identity->last = NULL;
  count_popped(identity, pending);
  return pending;
}

struct zeromq_pending *zeromq_identity_pop_after(struct zeromq_identity *identity,
                                                 struct zeromq_pending *before)
{
  struct zeromq_pending *pending = before->next;
  before->next = pending->next;
  if (before->next == NULL)
    identity->last = before;
  count_popped(identity, pending);
  return pending;
}

/* --- answers of a turn, and held answers --- */

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

/* Removes the first answered request; the caller owns it. NULL: there is none. */
static struct zeromq_pending *pop_answer(struct zeromq_identity *identity)
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

/* Moves an answer to the end of the held answers. False: no memory, or the held and lent answers exceed send_buffer_max
 * already; the caller still owns the answer. */
static bool hold_answer(struct zeromq_identity *identity, struct zeromq_answer *answer)
{
  /* The answer itself does not count, so that an answer of any size reaches a client that reads. Lent bytes
   * count for at most half of the limit for the same reason, because a single large answer can exceed this
   * half. Only refusals can accumulate here, because no call runs while an answer is held. */
  size_t limit = identity->zeromq->config.send_buffer_max;
  size_t lent = atomic_load(&identity->lent_bytes);
  if (identity->held_bytes + (lent < limit / 2 ? lent : limit / 2) > limit)
    return false;
  struct zeromq_held *held = malloc(sizeof *held);
  if (held == NULL)
    return false;
  held->next = NULL;
  held->answer.size = answer->size;
  held->answer.delimiter = answer->delimiter;
  held->answer.audited = answer->audited;
  zmq_msg_init(&held->answer.message);
  zmq_msg_move(&held->answer.message, &answer->message);
  if (identity->last_held == NULL) {
    identity->first_held = held;
    identity->zeromq->holding++;
    push_full(identity);
  } else {
    identity->last_held->next = held;
  }
  identity->last_held = held;
  identity->held_bytes += answer->size;
  return true;
}

static void drop_first_held(struct zeromq_identity *identity)
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

static void drop_held(struct zeromq_identity *identity)
{
  while (identity->first_held != NULL)
    drop_first_held(identity);
}

/* --- sending --- */

static size_t find_lent_max(const struct zeromq_router *zeromq)
{
  return zeromq->config.send_buffer_max / 2;
}

/* zmq_free_fn. libzmq calls it on any thread, perhaps while that thread holds zeromq->lock. The memory of the identity
 * is valid until the context has ended. */
static void free_counted(void *data, void *hint)
{
  (void)data;
  struct counted *counted = hint;
  struct zeromq_identity *identity = atomic_load(&counted->identity);
  if (identity != NULL) {
    struct zeromq_router *zeromq = identity->zeromq;
    size_t left = atomic_fetch_sub(&identity->lent_bytes, counted->size) - counted->size;
    if (left <= find_lent_max(zeromq) / 2 && atomic_exchange(&identity->wants_bytes, false))
      crew_submit(zeromq->crew, &zeromq->source);
  }
  free(counted);
}

static bool init_counted(zmq_msg_t *message, size_t size)
{
  struct counted *counted = malloc(sizeof *counted + size);
  if (counted == NULL)
    return false;
  atomic_init(&counted->identity, NULL);
  counted->size = size;
  if (zmq_msg_init_data(message, counted->bytes, size, free_counted, counted) == 0)
    return true;
  free(counted);
  return false;
}

void zeromq_make_answer(struct zeromq_answer *answer, const struct buffer *bytes, bool delimiter)
{
  zmq_msg_t *message = &answer->message;
  size_t size = bytes->failed ? 0 : bytes->len;
  if (bytes->failed)
    log_error_rarely("no memory for an answer: an empty one is sent");
  bool made = size > COUNTED_ABOVE ? init_counted(message, size) : zmq_msg_init_size(message, size) == 0;
  if (!made)
    zmq_msg_init(message);
  else if (size > 0)
    memcpy(zmq_msg_data(message), bytes->data, size);
  answer->size = made ? size : 0;
  answer->delimiter = delimiter;
  answer->audited = audit_is_on() ? audit_own_line() : 0;
}

static bool fits_in_pipe(const struct zeromq_identity *identity, const struct zeromq_answer *answer)
{
  size_t lent = answer->size > COUNTED_ABOVE ? atomic_load(&identity->lent_bytes) : 0;
  return lent == 0 || lent + answer->size <= find_lent_max(identity->zeromq);
}

/* Sends the answer with its envelope. Returns 0 or the error number. libzmq can refuse only the first frame. If it
 * accepts that frame, the pipe accepts the whole message. */
static int send_envelope(struct zeromq_identity *identity, struct zeromq_answer *answer)
{
  void *socket = identity->zeromq->socket;
  if (!fits_in_pipe(identity, answer)) {
    atomic_store(&identity->wants_bytes, true);
    if (!fits_in_pipe(identity, answer)) /* checked again, because bytes may have been freed before the flag
                                          * was set */
      return EAGAIN;
  }
  if (zmq_send(socket, identity->routing_id, identity->routing_id_length, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0)
    return errno;
  if (answer->delimiter && zmq_send(socket, "", 0, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0)
    return errno;
  if (answer->size > COUNTED_ABOVE) {
    char *bytes = zmq_msg_data(&answer->message);
    struct counted *counted = (struct counted *)(void *)(bytes - offsetof(struct counted, bytes));
    atomic_fetch_add(&identity->lent_bytes, counted->size);
    atomic_store(&counted->identity, identity);
  }
  return zmq_msg_send(&answer->message, socket, ZMQ_DONTWAIT) < 0 ? errno : 0;
}

void zeromq_settle_audit(struct zeromq_router *zeromq)
{
  if (!audit_is_on() || audit_has_settled(audit_own_line()))
    return;
  pthread_mutex_unlock(&zeromq->lock);
  audit_settle();
  pthread_mutex_lock(&zeromq->lock);
}

void zeromq_deliver(struct zeromq_identity *identity, struct zeromq_answer *answer)
{
  struct zeromq_router *zeromq = identity->zeromq;
  const bool is_audited = !audit_is_on() || audit_settle_line(answer->audited, AUDIT_BRIEF);
  int failure = EAGAIN; /* an answer after a held answer is held, too */
  if (zeromq->socket == NULL)
    failure = ENOTSOCK;
  else if (identity->first_held == NULL && is_audited)
    failure = send_envelope(identity, answer);
  if (failure == EAGAIN && !hold_answer(identity, answer)) {
    log_warn_rarely("a ZeroMQ client does not read: %zu bytes of answers dropped (send-buffer-max)",
                    identity->held_bytes + answer->size);
    drop_held(identity);
    if (identity->first != NULL && !zeromq_identity_is_owned(identity))
      crew_submit(zeromq->crew, &identity->source); /* the identity's requests have waited for the answers,
                                                     * which are now dropped */
  }
  if (failure != 0)
    zmq_msg_close(&answer->message);
}

void zeromq_send_answers(struct zeromq_identity *identity)
{
  struct zeromq_pending *answered;
  while ((answered = pop_answer(identity)) != NULL) {
    zeromq_deliver(identity, &answered->answer);
    keep_free_pending(identity->zeromq, answered);
  }
}

void zeromq_send_all_answers(struct zeromq_router *zeromq)
{
  for (size_t i = 0; zeromq->answering > 0 && i < IDENTITY_BUCKETS; i++) {
    for (struct zeromq_identity *identity = zeromq->buckets[i]; identity != NULL; identity = identity->next)
      zeromq_send_answers(identity);
  }
}

/* Sends the held answers, until the pipe is full or a line is not in the audit yet. False: some answers are still held. */
static bool send_held(struct zeromq_identity *identity)
{
  while (identity->first_held != NULL) {
    struct zeromq_held *held = identity->first_held;
    const bool is_audited = !audit_is_on() || audit_has_settled(held->answer.audited);
    if (!is_audited || send_envelope(identity, &held->answer) == EAGAIN)
      return false;
    drop_first_held(identity);
  }
  return true;
}

void zeromq_resume_held(struct zeromq_router *zeromq, size_t most)
{
  for (size_t left = most < zeromq->full_count ? most : zeromq->full_count; left > 0; left--) {
    struct zeromq_identity *identity = pop_full(zeromq);
    bool holds = identity->first_held != NULL;
    if (holds && !send_held(identity))
      push_full(identity);
    else if (holds && identity->first != NULL)
      crew_submit(zeromq->crew, &identity->source);
    else
      zeromq_identity_release(identity);
  }
}

static bool has_pollin(struct zeromq_router *zeromq)
{
  int events = 0;
  size_t size = sizeof events;
  return zmq_getsockopt(zeromq->socket, ZMQ_EVENTS, &events, &size) == 0 && (events & ZMQ_POLLIN) != 0;
}

bool zeromq_has_input(struct zeromq_router *zeromq, bool is_dry)
{
  if (zeromq->socket == NULL)
    return false;
  bool input = !is_dry && has_pollin(zeromq);
  if (zeromq->holding == 0)
    return input;
  zeromq_resume_held(zeromq, RESUMES_A_SECTION);
  return has_pollin(zeromq);
}

/* --- the end --- */

static void free_identity(struct zeromq_identity *identity)
{
  while (identity->first != NULL)
    zeromq_pending_destroy(identity->zeromq, zeromq_identity_pop(identity));
  struct zeromq_pending *answered;
  while ((answered = pop_answer(identity)) != NULL) {
    zmq_msg_close(&answered->answer.message);
    keep_free_pending(identity->zeromq, answered);
  }
  drop_held(identity);
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

void zeromq_identities_fini(struct zeromq_router *zeromq)
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

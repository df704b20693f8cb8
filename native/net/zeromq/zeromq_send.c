#include "net/zeromq/zeromq_state.h"

#include "base/log.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { RESUMES_A_SECTION = 16 };

/* The memory of an answer above COUNTED_ABOVE. */
struct counted {
  _Atomic(struct zeromq_identity *) identity; /* whose pipe has the answer; NULL before it is sent */
  size_t size;
  char bytes[];
};

static size_t lent_max(const struct zeromq *zeromq)
{
  return zeromq->config.send_buffer_max / 2;
}

/* libzmq calls it, on its own threads too, and perhaps under our lock. The memory of the identity is kept
 * until the context has ended. */
static void free_counted(void *data, void *hint)
{
  (void)data;
  struct counted *counted = hint;
  struct zeromq_identity *identity = atomic_load(&counted->identity);
  if (identity != NULL) {
    struct zeromq *zeromq = identity->zeromq;
    size_t left = atomic_fetch_sub(&identity->lent_bytes, counted->size) - counted->size;
    if (left <= lent_max(zeromq) / 2 && atomic_exchange(&identity->wants_bytes, false))
      crew_submit(zeromq->crew, &zeromq->source);
  }
  free(counted);
}

static bool fits_in_pipe(const struct zeromq_identity *identity, const struct zeromq_answer *answer)
{
  size_t lent = answer->size > COUNTED_ABOVE ? atomic_load(&identity->lent_bytes) : 0;
  return lent == 0 || lent + answer->size <= lent_max(identity->zeromq);
}

static bool may_lend(struct zeromq_identity *identity, const struct zeromq_answer *answer)
{
  if (fits_in_pipe(identity, answer))
    return true;
  atomic_store(&identity->wants_bytes, true);
  return fits_in_pipe(identity, answer); /* bytes may have come back before the flag was up */
}

static void lend_answer(struct zeromq_identity *identity, struct zeromq_answer *answer)
{
  struct counted *counted =
      (struct counted *)((char *)zmq_msg_data(&answer->message) - offsetof(struct counted, bytes));
  atomic_fetch_add(&identity->lent_bytes, counted->size);
  atomic_store(&counted->identity, identity);
}

/* Returns 0 or the error number. Only the first frame can be refused: after it, the pipe takes the whole
 * message. */
static int send_envelope(struct zeromq_identity *identity, struct zeromq_answer *answer)
{
  void *socket = identity->zeromq->socket;
  if (!may_lend(identity, answer))
    return EAGAIN;
  if (zmq_send(socket, identity->routing_id, identity->routing_id_length, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0)
    return errno;
  if (answer->delimiter && zmq_send(socket, "", 0, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0)
    return errno;
  if (answer->size > COUNTED_ABOVE)
    lend_answer(identity, answer);
  return zmq_msg_send(&answer->message, socket, ZMQ_DONTWAIT) < 0 ? errno : 0;
}

void zeromq_deliver(struct zeromq_identity *identity, struct zeromq_answer *answer)
{
  struct zeromq *zeromq = identity->zeromq;
  int failure = EAGAIN; /* an answer behind a held one is held, too */
  if (zeromq->socket == NULL)
    failure = ENOTSOCK;
  else if (identity->first_held == NULL)
    failure = send_envelope(identity, answer);
  if (failure == EAGAIN && !zeromq_identity_hold(identity, answer)) {
    log_warn_rarely("a ZeroMQ client does not read: %zu bytes of answers dropped (send-buffer-max)",
                    identity->held_bytes + answer->size);
    zeromq_identity_drop_held(identity);
    if (identity->first != NULL && !identity->owned)
      crew_submit(zeromq->crew, &identity->source); /* its requests waited for the answers that are dropped */
  }
  if (failure != 0)
    zmq_msg_close(&answer->message);
}

/* Sends the held answers, as far as the pipe takes them. False: it is still full. */
static bool send_held(struct zeromq_identity *identity)
{
  while (identity->first_held != NULL) {
    struct zeromq_held *held = identity->first_held;
    int failure = send_envelope(identity, &held->answer);
    if (failure == EAGAIN)
      return false;
    zeromq_identity_drop_first_held(identity);
  }
  return true;
}

void zeromq_resume_held(struct zeromq *zeromq, size_t most)
{
  for (size_t left = most < zeromq->full_count ? most : zeromq->full_count; left > 0; left--) {
    struct zeromq_identity *identity = zeromq_full_pop(zeromq);
    bool holds = identity->first_held != NULL;
    if (holds && !send_held(identity))
      zeromq_full_push(identity);
    else if (holds && identity->first != NULL)
      crew_submit(zeromq->crew, &identity->source);
    else
      zeromq_identity_release(identity);
  }
}

static bool polls_in(struct zeromq *zeromq)
{
  int events = 0;
  size_t size = sizeof events;
  return zmq_getsockopt(zeromq->socket, ZMQ_EVENTS, &events, &size) == 0 && (events & ZMQ_POLLIN) != 0;
}

bool zeromq_has_input(struct zeromq *zeromq, bool is_dry)
{
  if (zeromq->socket == NULL)
    return false;
  bool input = !is_dry && polls_in(zeromq);
  if (zeromq->holding == 0)
    return input;
  zeromq_resume_held(zeromq, RESUMES_A_SECTION);
  return polls_in(zeromq);
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
}

void zeromq_send_answers(struct zeromq_identity *identity)
{
  struct zeromq_pending *answered;
  while ((answered = zeromq_identity_pop_answer(identity)) != NULL) {
    zeromq_deliver(identity, &answered->answer);
    zeromq_pending_give_back_answered(identity->zeromq, answered);
  }
}

void zeromq_send_all_answers(struct zeromq *zeromq)
{
  for (size_t i = 0; zeromq->answering > 0 && i < IDENTITY_BUCKETS; i++) {
    for (struct zeromq_identity *identity = zeromq->buckets[i]; identity != NULL; identity = identity->next)
      zeromq_send_answers(identity);
  }
}

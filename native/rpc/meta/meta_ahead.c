#include "rpc/meta/meta_ahead.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

enum { PIECES = 4, PIECE_BYTES = 128 * 1024 };

struct meta_ahead {
  pthread_t thread;
  struct meta_json *json;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  /* guarded by the lock; the piece that is being written by the thread alone */
  struct buffer pieces[PIECES]; /* a ring */
  size_t written;               /* pieces so far; the next one goes to written % PIECES */
  size_t taken;
  enum jp_status status; /* JP_CLOSED: the last piece is written */
  bool is_stopped;
};

/* False: the reader has stopped. */
static bool await_room(struct meta_ahead *ahead)
{
  pthread_mutex_lock(&ahead->lock);
  while (ahead->written - ahead->taken == PIECES && !ahead->is_stopped)
    pthread_cond_wait(&ahead->changed, &ahead->lock);
  bool goes_on = !ahead->is_stopped;
  pthread_mutex_unlock(&ahead->lock);
  return goes_on;
}

static void *write_pieces(void *context)
{
  struct meta_ahead *ahead = context;
  enum jp_status status = JP_OK;
  while (status == JP_OK && await_room(ahead)) {
    struct buffer *piece = &ahead->pieces[ahead->written % PIECES];
    buffer_clear(piece);
    while (status == JP_OK && piece->len < PIECE_BYTES)
      status = meta_json_next(ahead->json, piece);
    pthread_mutex_lock(&ahead->lock);
    ahead->written++;
    ahead->status = status;
    pthread_cond_signal(&ahead->changed);
    pthread_mutex_unlock(&ahead->lock);
  }
  return NULL;
}

static void destroy(struct meta_ahead *ahead)
{
  for (size_t i = 0; i < PIECES; i++)
    buffer_fini(&ahead->pieces[i]);
  pthread_mutex_destroy(&ahead->lock);
  pthread_cond_destroy(&ahead->changed);
  free(ahead);
}

struct meta_ahead *meta_ahead_start(struct meta_json *json)
{
  struct meta_ahead *ahead = calloc(1, sizeof *ahead);
  sigset_t all;
  sigset_t before;
  if (ahead == NULL)
    return NULL;
  ahead->json = json;
  pthread_mutex_init(&ahead->lock, NULL);
  pthread_cond_init(&ahead->changed, NULL);
  for (size_t i = 0; i < PIECES; i++)
    buffer_init(&ahead->pieces[i]);
  sigfillset(&all); /* the peer handles signals on a thread of its own */
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int fault = pthread_create(&ahead->thread, NULL, write_pieces, ahead);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (fault == 0)
    return ahead;
  destroy(ahead);
  return NULL;
}

void meta_ahead_stop(struct meta_ahead *ahead)
{
  if (ahead == NULL)
    return;
  pthread_mutex_lock(&ahead->lock);
  ahead->is_stopped = true;
  pthread_cond_signal(&ahead->changed);
  pthread_mutex_unlock(&ahead->lock);
  pthread_join(ahead->thread, NULL);
  destroy(ahead);
}

enum jp_status meta_ahead_next(struct meta_ahead *ahead, struct buffer *piece, bool *is_last)
{
  pthread_mutex_lock(&ahead->lock);
  while (ahead->written == ahead->taken)
    pthread_cond_wait(&ahead->changed, &ahead->lock);
  struct buffer *next = &ahead->pieces[ahead->taken % PIECES];
  struct buffer taken = *next;
  *next = *piece;
  *piece = taken;
  ahead->taken++;
  bool has_failed = ahead->status != JP_OK && ahead->status != JP_CLOSED;
  *is_last = ahead->status == JP_CLOSED && ahead->written == ahead->taken;
  pthread_cond_signal(&ahead->changed);
  pthread_mutex_unlock(&ahead->lock);
  return has_failed || piece->failed ? JP_NO_MEMORY : JP_OK;
}

#include "stub_service.h"
#include "tests/unit/await.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct stub_thread {
  struct stub *stub;
  void (*run)(void *argument, struct rpc_worker *worker);
  void *argument;
};

static void *stub_main(void *argument)
{
  struct stub_thread *thread = argument;
  struct stub_worker worker = {0};
  thread->run(thread->argument, (struct rpc_worker *)(void *)&worker);
  atomic_fetch_sub(&thread->stub->threads, 1);
  free(thread);
  return NULL;
}

static enum jp_status stub_spawn(void *context, const char *name,
                                 void (*run)(void *argument, struct rpc_worker *worker), void *argument,
                                 struct jp_error *error)
{
  (void)name;
  struct stub *stub = context;
  if (atomic_load(&stub->threads) >= stub->thread_limit)
    return jp_fail(error, JP_IO, "no more threads");
  struct stub_thread *thread = malloc(sizeof *thread);
  if (thread == NULL)
    return jp_fail(error, JP_NO_MEMORY, "no memory");
  *thread = (struct stub_thread){stub, run, argument};
  atomic_fetch_add(&stub->threads, 1);
  pthread_t id;
  if (pthread_create(&id, NULL, stub_main, thread) != 0)
    abort();
  pthread_detach(id);
  return JP_OK;
}

static void stub_set_waits(void *context, struct rpc_worker *worker, const struct rpc_waits *waits)
{
  (void)context;
  ((struct stub_worker *)(void *)worker)->waits = waits == NULL ? (struct rpc_waits){0} : *waits;
}

static bool stub_is_exiting(void *context, struct rpc_worker *worker)
{
  (void)context;
  return atomic_load(&((struct stub_worker *)(void *)worker)->is_exiting);
}

static bool is_open(void *state)
{
  struct stub *stub = state;
  pthread_mutex_lock(&stub->lock);
  bool open = stub->open;
  pthread_mutex_unlock(&stub->lock);
  return open;
}

/* The caller holds the lock. */
static struct rpc_waits *find_waiting(struct stub *stub, const void *thread)
{
  struct rpc_waits *waiting = stub->waiting;
  while (waiting->thread != thread)
    waiting++;
  return waiting;
}

static void wait_inside(struct stub *stub, const struct rpc_waits *waits)
{
  pthread_mutex_lock(&stub->lock);
  stub->inside++;
  *find_waiting(stub, NULL) = *waits;
  pthread_cond_broadcast(&stub->changed);
  pthread_mutex_unlock(&stub->lock);
  waits->wait(waits->thread, is_open, stub, INT64_MAX);
  pthread_mutex_lock(&stub->lock);
  stub->inside--;
  find_waiting(stub, waits->thread)->thread = NULL;
  pthread_mutex_unlock(&stub->lock);
}

static void block_inside(struct stub *stub)
{
  pthread_mutex_lock(&stub->lock);
  stub->inside++;
  pthread_cond_broadcast(&stub->changed);
  for (const int64_t since_ms = clock_now_ms(); !stub->open;)
    await_signal(&stub->changed, &stub->lock, since_ms, "stub_release");
  stub->inside--;
  pthread_mutex_unlock(&stub->lock);
}

static enum rpc_served stub_serve(void *context, struct rpc_worker *worker, struct rpc_client *client,
                                  struct text message, struct buffer *out, size_t reply_max,
                                  struct rpc_stream *stream)
{
  (void)client, (void)reply_max, (void)stream;
  struct stub *stub = context;
  const struct rpc_waits *waits = &((struct stub_worker *)(void *)worker)->waits;
  if (text_equal(message, TEXT("wait")))
    wait_inside(stub, waits);
  if (text_equal(message, TEXT("block")))
    block_inside(stub);
  if (text_equal(message, TEXT("note")))
    return RPC_NO_REPLY;
  atomic_fetch_add(&stub->served, 1);
  buffer_append_text(out, message);
  return RPC_REPLY;
}

static void stub_take_back(void *context, struct rpc_worker *worker, struct rpc_client *client)
{
  (void)worker, (void)client;
  struct stub *stub = context;
  atomic_fetch_add(&stub->taken_back, 1);
}

static bool stub_serve_without_worker(void *context, const struct rpc_client *client, struct text message,
                                      struct buffer *out, enum rpc_served *served)
{
  (void)client;
  if (text_equal(message, TEXT("hold")))
    block_inside(context);
  if (!text_equal(message, TEXT("ping")))
    return false;
  BUFFER_LITERAL(out, "pong");
  *served = RPC_REPLY;
  return true;
}

static enum rpc_served stub_refuse(void *context, const struct rpc_client *client, struct text message,
                                   const char *reason, struct buffer *out)
{
  (void)client;
  (void)message;
  struct stub *stub = context;
  atomic_fetch_add(&stub->refused, 1);
  buffer_append_text(out, text_of(reason));
  return RPC_REPLY;
}

static void stub_reject(void *context, const struct rpc_client *client, enum rpc_rejection rejection,
                        struct text beginning, const char *reason, struct buffer *out)
{
  (void)client;
  static const char *const names[] = {
      [RPC_REJECT_UNREADABLE] = "unreadable",
      [RPC_REJECT_INVALID] = "invalid",
      [RPC_REJECT_OVERLOADED] = "overloaded",
  };
  (void)context, (void)beginning;
  buffer_printf(out, "%s: %s", names[rejection], reason);
}

static enum jp_status stub_client_open(void *context, const struct rpc_client_info *info,
                                       struct rpc_client **client, struct jp_error *error)
{
  (void)error;
  struct stub *stub = context;
  atomic_fetch_add(&stub->clients, 1);
  *client = (struct rpc_client *)(uintptr_t)(1 + info->channel);
  return JP_OK;
}

static void stub_client_close(void *context, struct rpc_worker *worker, struct rpc_client *client,
                              struct rpc_session_info *session)
{
  (void)worker, (void)client, (void)session;
  struct stub *stub = context;
  atomic_fetch_sub(&stub->clients, 1);
}

static const struct rpc_codec stub_codec = {.name = "stub",
                                            .serve = stub_serve,
                                            .serve_without_worker = stub_serve_without_worker,
                                            .refuse = stub_refuse,
                                            .reject = stub_reject};

/* Another codec, whose messages begin with '!'. */
static bool recognizes_other(struct text message)
{
  return message.len > 0 && message.data[0] == '!';
}

static void reject_other(void *context, const struct rpc_client *client, enum rpc_rejection rejection,
                         struct text beginning, const char *reason, struct buffer *out)
{
  BUFFER_LITERAL(out, "other ");
  stub_reject(context, client, rejection, beginning, reason, out);
}

static const struct rpc_codec other_codec = {.name = "other",
                                             .recognizes = recognizes_other,
                                             .serve = stub_serve,
                                             .serve_without_worker = stub_serve_without_worker,
                                             .refuse = stub_refuse,
                                             .reject = reject_other};

const struct rpc_codec *const stub_codecs[RPC_CODECS] = {
    [RPC_CODEC_JSONRPC] = &stub_codec, [RPC_CODEC_COLFER] = &other_codec};

void stub_open(struct stub *stub, int thread_limit, struct rpc_service *service)
{
  *stub = (struct stub){.thread_limit = thread_limit};
  pthread_mutex_init(&stub->lock, NULL);
  pthread_cond_init(&stub->changed, NULL);
  *service = (struct rpc_service){.context = stub,
                                  .codecs = stub_codecs,
                                  .spawn = stub_spawn,
                                  .set_waits = stub_set_waits,
                                  .is_exiting = stub_is_exiting,
                                  .client_open = stub_client_open,
                                  .client_close = stub_client_close,
                                  .release_unsent = stub_take_back};
}

void stub_close(struct stub *stub)
{
  AWAIT(atomic_load(&stub->threads) == 0);
  pthread_cond_destroy(&stub->changed);
  pthread_mutex_destroy(&stub->lock);
}

void stub_release(struct stub *stub)
{
  pthread_mutex_lock(&stub->lock);
  stub->open = true;
  for (int i = 0; i < STUB_WAITING_MAX; i++) {
    if (stub->waiting[i].thread != NULL)
      stub->waiting[i].wake(stub->waiting[i].thread);
  }
  pthread_cond_broadcast(&stub->changed);
  pthread_mutex_unlock(&stub->lock);
}

void stub_wait_inside(struct stub *stub, int count)
{
  pthread_mutex_lock(&stub->lock);
  for (int64_t since_ms = clock_now_ms(); stub->inside < count;)
    await_signal(&stub->changed, &stub->lock, since_ms, "so many calls inside");
  pthread_mutex_unlock(&stub->lock);
}

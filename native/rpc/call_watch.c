#include "rpc/call_watch.h"

#include "rpc/peer_state.h"

#include <inttypes.h>
#include <stdio.h>

enum { MEMBER_NAME_MAX = 160, THREAD_NAME_MAX = 256 };

void rpc_call_watch_init(struct rpc_call_watch *watch, const char *own_name)
{
  pthread_mutex_init(&watch->lock, NULL);
  snprintf(watch->own_name, sizeof watch->own_name, "%s", own_name);
}

void rpc_call_watch_fini(struct rpc_call_watch *watch)
{
  /* A visitor that has left may not have unlocked yet. */
  pthread_mutex_lock(&watch->lock);
  pthread_mutex_unlock(&watch->lock);
  pthread_mutex_destroy(&watch->lock);
}

/* A visitor may be waiting for the JVM, which may be at a safepoint: this thread is in C, and the JVM waits for it
 * nowhere. */
void rpc_call_end_visited(struct rpc_call_watch *watch, struct jvm_thread *thread)
{
  pthread_mutex_lock(&watch->lock);
  (void)in_call_end(&watch->word); /* false: it had ended without a visitor */
  if (watch->given.name != NULL)
    jvm_thread_restore_name(thread, &watch->given);
  pthread_mutex_unlock(&watch->lock);
}

/* ---- visitors ---- */

/* Never waits. False: the thread is in no call, or another visitor is there. */
static bool begin_visit(struct rpc_call_watch *watch)
{
  if (pthread_mutex_trylock(&watch->lock) != 0)
    return false;
  if (in_call_visit(&watch->word))
    return true;
  pthread_mutex_unlock(&watch->lock);
  return false;
}

static void end_visit(struct rpc_call_watch *watch)
{
  in_call_leave(&watch->word);
  pthread_mutex_unlock(&watch->lock);
}

/* As much of a text as a name may have: the length of what a client writes is its own choice. */
static struct text cut_text(struct text t)
{
  return text_slice(t, 0, t.len < MEMBER_NAME_MAX ? t.len : MEMBER_NAME_MAX);
}

/* The class as the call has found it or, before that, as it was written. */
static void write_name(const struct rpc_call_watch *watch, char *name, size_t size)
{
  const struct operation *operation = watch->operation;
  bool is_reached = atomic_load_explicit(&watch->is_reached, memory_order_acquire) &&
                    watch->reached->class_name.data != NULL;
  struct text class_name = is_reached ? watch->reached->class_name : operation->type;
  struct text member = is_reached ? watch->reached->member : operation->member;
  char reference[16];
  if (class_name.data == NULL) {
    snprintf(reference, sizeof reference, "ref %" PRIu32, operation->instance);
    class_name = text_of(reference);
  }
  if (operation->kind == OP_FETCH)
    member = TEXT("jpeer.fetch");
  else if (operation->kind == OP_DESCRIBE)
    member = TEXT("jpeer.describe");
  else if (operation->kind == OP_ASSEMBLE)
    member = TEXT("jpeer.assemble");
  size_t length = text_escape(cut_text(class_name), "", "", name, size);
  if (member.data == NULL || length + 1 >= size)
    return;
  name[length] = '.';
  text_escape(cut_text(member), "", "", name + length + 1, size - length - 1);
}

bool rpc_call_tell(void *context, struct rpc_worker *worker, char *name, size_t size)
{
  (void)context;
  if (!begin_visit(&worker->watch))
    return false;
  write_name(&worker->watch, name, size);
  end_visit(&worker->watch);
  return true;
}

bool rpc_call_wants_name(void *context, struct rpc_worker *worker, int64_t now_ms)
{
  (void)context;
  struct rpc_call_watch *watch = &worker->watch;
  uint32_t calls = atomic_load_explicit(&watch->calls, memory_order_relaxed);
  if (calls != watch->seen_calls || watch->seen_ms == 0) {
    watch->seen_calls = calls;
    watch->seen_ms = now_ms;
    watch->was_told = false;
  }
  if (watch->was_told || !in_call_is_inside(&watch->word) || now_ms - watch->seen_ms < RPC_LONG_CALL_MS)
    return false;
  watch->was_told = true;
  return true;
}

bool rpc_call_hold(void *context, struct rpc_worker *worker)
{
  (void)context;
  return begin_visit(&worker->watch);
}

/* Another call may have begun since the watcher looked: it gets the name of a call that has just begun, which its end
 * takes back, too. */
void rpc_call_name(void *context, struct rpc_worker *own, struct rpc_worker *held)
{
  (void)context;
  struct rpc_call_watch *watch = &held->watch;
  char member[MEMBER_NAME_MAX];
  char name[THREAD_NAME_MAX];
  if (!watch->is_elsewhere && watch->given.name == NULL) {
    write_name(watch, member, sizeof member);
    text_format(name, sizeof name, "%s session %" PRIu64 " %s", watch->own_name, watch->client, member);
    jvm_thread_give_name(own->runner.thread, held->runner.thread, watch->own_name, name, &watch->given);
  }
  end_visit(watch);
}

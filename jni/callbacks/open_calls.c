#include "jni/callbacks/open_calls.h"

#include <pthread.h>
#include <stdlib.h>

enum { BUCKETS = 1024 };

/* Nothing calls JNI under the lock: a Java thread that returns from JNI may be suspended, and would keep the lock. */
static struct {
  pthread_mutex_t lock;
  uint64_t last_number;
  struct open_call *buckets[BUCKETS];
} calls = {.lock = PTHREAD_MUTEX_INITIALIZER};

void open_calls_add(struct open_call *call)
{
  pthread_mutex_lock(&calls.lock);
  call->number = ++calls.last_number;
  call->holders = 2;
  call->next = calls.buckets[call->number % BUCKETS];
  calls.buckets[call->number % BUCKETS] = call;
  pthread_mutex_unlock(&calls.lock);
}

void open_call_release(JNIEnv *env, struct open_call *call)
{
  pthread_mutex_lock(&calls.lock);
  bool was_last = --call->holders == 0;
  pthread_mutex_unlock(&calls.lock);
  if (!was_last)
    return;
  if (call->waiter != NULL)
    jvm_waiter_release(call->waiter);
  if (call->own == NULL) {
    (*env)->DeleteGlobalRef(env, call->waiting);
    (*env)->DeleteGlobalRef(env, call->java_thread);
  }
  callback_proxy_release(env, call->proxy);
  free(call);
}

void open_calls_remove(struct open_call *call)
{
  pthread_mutex_lock(&calls.lock);
  struct open_call **at = &calls.buckets[call->number % BUCKETS];
  while (*at != call)
    at = &(*at)->next;
  *at = call->next;
  call->holders--;
  pthread_mutex_unlock(&calls.lock);
}

struct open_call *open_calls_find(JNIEnv *env, uint64_t number, jobject waiting)
{
  pthread_mutex_lock(&calls.lock);
  struct open_call *call = calls.buckets[number % BUCKETS];
  while (call != NULL && call->number != number)
    call = call->next;
  if (call != NULL)
    call->holders++;
  pthread_mutex_unlock(&calls.lock);
  if (call == NULL || call->own != NULL || (*env)->IsSameObject(env, call->waiting, waiting))
    return call;
  open_call_release(env, call);
  return NULL;
}

void open_call_park(struct open_call *call)
{
  pthread_mutex_lock(&calls.lock);
  call->is_parked = true;
  pthread_mutex_unlock(&calls.lock);
}

static bool take_parked(struct open_call *call)
{
  pthread_mutex_lock(&calls.lock);
  bool was_parked = call->is_parked;
  call->is_parked = false;
  pthread_mutex_unlock(&calls.lock);
  return was_parked;
}

static bool is_this_thread(JNIEnv *env, const struct jvm *jvm, jobject java_thread)
{
  jobject current =
      (*env)->CallStaticObjectMethod(env, jvm->known.class_thread, jvm->known.static_thread_current);
  (*env)->ExceptionClear(env);
  bool is_same = java_thread != NULL && (*env)->IsSameObject(env, current, java_thread);
  (*env)->DeleteLocalRef(env, current);
  return is_same;
}

struct open_call *open_calls_unpark(JNIEnv *env, const struct jvm *jvm, jobject waiting)
{
  uint64_t number = (uint64_t)(*env)->GetLongField(env, waiting, jvm->callback.number);
  struct open_call *call = open_calls_find(env, number, waiting);
  if (call == NULL)
    return NULL;
  if (is_this_thread(env, jvm, call->java_thread) && take_parked(call))
    return call;
  open_call_release(env, call);
  return NULL;
}

#include "jni/proxies/proxies.h"

#include "jni/runtime/throwables.h"
#include "judge/judge.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { FIRST_BUCKETS = 64 };

/* Proxies by number. No JNI call is made under the lock: a Java thread that returns from JNI may be suspended
 * while it holds the lock. */
static struct {
  pthread_mutex_t lock;
  const struct jvm *jvm; /* NULL before the first proxy */
  struct callback_proxy **buckets;
  size_t bucket_count; /* a power of two */
  size_t count;
  uint64_t last_number;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the table: with the lock held ---- */

static struct callback_proxy **find_place(uint64_t number)
{
  struct callback_proxy **at = &table.buckets[number & (table.bucket_count - 1)];
  while (*at != NULL && (*at)->number != number)
    at = &(*at)->next;
  return at;
}

static bool grow_table(void)
{
  size_t wanted = table.bucket_count == 0 ? FIRST_BUCKETS : table.bucket_count * 2;
  struct callback_proxy **buckets = calloc(wanted, sizeof(struct callback_proxy *));
  if (buckets == NULL)
    return table.bucket_count > 0;
  for (size_t i = 0; i < table.bucket_count; i++)
    for (struct callback_proxy *next, *proxy = table.buckets[i]; proxy != NULL; proxy = next) {
      next = proxy->next;
      struct callback_proxy **bucket = &buckets[proxy->number & (wanted - 1)];
      proxy->next = *bucket;
      *bucket = proxy;
    }
  free(table.buckets);
  table.buckets = buckets;
  table.bucket_count = wanted;
  return true;
}

/* ---- proxies ---- */

static bool list_proxy(const struct jvm *jvm, struct callback_proxy *proxy)
{
  pthread_mutex_lock(&table.lock);
  bool has_room = table.count < table.bucket_count || grow_table();
  if (has_room) {
    table.jvm = jvm;
    proxy->number = ++table.last_number;
    proxy->holders = 2; /* the table and the caller */
    struct callback_proxy **bucket = &table.buckets[proxy->number & (table.bucket_count - 1)];
    proxy->next = *bucket;
    *bucket = proxy;
    table.count++;
  }
  pthread_mutex_unlock(&table.lock);
  return has_room;
}

/* The table releases the proxy; the caller still holds it. False: it was removed before. */
static bool unlist_proxy(struct callback_proxy *proxy)
{
  pthread_mutex_lock(&table.lock);
  struct callback_proxy **at = find_place(proxy->number);
  bool was_listed = *at == proxy;
  if (was_listed) {
    *at = proxy->next;
    table.count--;
    proxy->holders--;
  }
  pthread_mutex_unlock(&table.lock);
  return was_listed;
}

static void free_proxy(JNIEnv *env, struct callback_proxy *proxy)
{
  if (proxy->handler != NULL)
    (*env)->DeleteWeakGlobalRef(env, proxy->handler);
  callback_kind_release(env, proxy->kind);
  free(proxy);
}

void callback_proxy_release(JNIEnv *env, struct callback_proxy *proxy)
{
  if (proxy != NULL && atomic_fetch_sub(&proxy->holders, 1) == 1)
    free_proxy(env, proxy);
}

void callback_proxy_forget(struct callback_proxy *proxy)
{
  (void)unlist_proxy(proxy);
}

void callback_proxy_settle(struct callback_proxy *proxy)
{
  pthread_mutex_lock(&table.lock);
  proxy->is_made = true;
  pthread_mutex_unlock(&table.lock);
}

/* Sets proxy->handler before any other thread can find the number. */
static enum jp_status make_handler(struct jvm_thread *thread, struct callback_proxy *proxy,
                                   jobject kind_object, size_t classes_max, jobject *handler,
                                   struct jp_error *error)
{
  JNIEnv *env = thread->env;
  const struct jvm_callback_ids *ids = &thread->jvm->callback;
  *handler = (*env)->CallStaticObjectMethod(env, ids->callback_class, ids->make, kind_object,
                                            (jlong)proxy->number, (jlong)proxy->given.id, (jint)classes_max);
  jthrowable thrown = throwable_catch(env);
  if (thrown == NULL && *handler == NULL)
    return jp_fail(
        error, JP_LIMIT,
        "the limit of %zu classes of callbacks is reached, and these interfaces would need one more "
        "(callback-classes-max)",
        classes_max);
  if (thrown == NULL) {
    proxy->handler = (*env)->NewWeakGlobalRef(env, *handler);
    (*env)->ExceptionClear(env);
    return proxy->handler == NULL ? jp_fail_memory(error, NULL) : JP_OK;
  }
  enum jp_status status = JP_JAVA;
  if ((*env)->IsInstanceOf(env, thrown, thread->jvm->known.class_illegal_argument_exception))
    status = callback_explain_refusal(thread, thrown, error);
  else
    (*env)->Throw(env, thrown);
  (*env)->DeleteLocalRef(env, thrown);
  return status;
}

enum jp_status callback_proxy_make(const struct jvm_request *request, const struct jvm_callback_given *given,
                                   struct callback_kind *kind, jobject kind_object,
                                   struct callback_proxy **made, jobject *handler, struct jp_error *error)
{
  struct jvm_thread *thread = request->thread;
  struct callback_proxy *proxy = calloc(1, sizeof *proxy);
  if (proxy == NULL)
    return jp_fail_memory(error, NULL);
  proxy->callbacks = request->callbacks;
  proxy->given = *given;
  proxy->kind = callback_kind_hold(kind);
  proxy->allowed_stamp = judge_stamp(request->judge);
  if (!list_proxy(thread->jvm, proxy)) {
    free_proxy(thread->env, proxy);
    return jp_fail_memory(error, NULL);
  }
  enum jp_status status =
      make_handler(thread, proxy, kind_object, request->limits->callback_classes_max, handler, error);
  if (status != JP_OK) {
    jthrowable pending = throwable_catch(thread->env);
    callback_proxy_forget(proxy);
    callback_proxy_release(thread->env, proxy);
    if (pending != NULL)
      (*thread->env)->Throw(thread->env, pending);
    (*thread->env)->DeleteLocalRef(thread->env, pending);
    return status;
  }
  *made = proxy;
  return JP_OK;
}

static struct callback_proxy *hold_number(uint64_t number)
{
  pthread_mutex_lock(&table.lock);
  struct callback_proxy *proxy = table.bucket_count == 0 ? NULL : *find_place(number);
  if (proxy != NULL)
    proxy->holders++;
  pthread_mutex_unlock(&table.lock);
  return proxy;
}

struct callback_proxy *callback_proxy_find(JNIEnv *env, uint64_t number, jobject *handler)
{
  struct callback_proxy *proxy = hold_number(number);
  *handler = proxy == NULL ? NULL : (*env)->NewLocalRef(env, proxy->handler);
  if (*handler != NULL)
    return proxy;
  callback_proxy_release(env, proxy);
  return NULL;
}

struct callback_proxy *callback_proxy_take(JNIEnv *env, uint64_t number, jobject handler)
{
  struct callback_proxy *proxy = hold_number(number);
  if (proxy != NULL && (*env)->IsSameObject(env, proxy->handler, handler))
    return proxy;
  callback_proxy_release(env, proxy);
  return NULL;
}

jobject callback_proxy_object(JNIEnv *env, const struct jvm *jvm, jobject handler)
{
  return (*env)->GetObjectField(env, handler, jvm->callback.proxy);
}

bool callback_proxy_identify(JNIEnv *env, const struct jvm *jvm, jobject object,
                             struct op_callback_identity *identity)
{
  if (jvm->callback_hooks == NULL)
    return false;
  jobject handler = (*env)->GetObjectField(env, object, jvm->known.field_proxy_handler);
  struct callback_proxy *proxy = NULL;
  if (handler != NULL && (*env)->IsInstanceOf(env, handler, jvm->callback.callback_class)) {
    jlong number = (*env)->GetLongField(env, handler, jvm->callback.proxy_number);
    proxy = callback_proxy_take(env, (uint64_t)number, handler);
  }
  if (proxy != NULL) {
    /* Any code can make another proxy with the same handler. */
    jobject own = callback_proxy_object(env, jvm, handler);
    identity->id = proxy->given.id;
    identity->client = (*env)->IsSameObject(env, own, object)
                           ? jvm->callback_hooks->owner(proxy->callbacks, identity->id, proxy->number)
                           : 0;
    (*env)->DeleteLocalRef(env, own);
  }
  (*env)->DeleteLocalRef(env, handler);
  bool is_identified = proxy != NULL && identity->client != 0;
  callback_proxy_release(env, proxy);
  return is_identified;
}

/* The collector clears weak references before the Cleaner runs. */
void JNICALL callback_proxy_collected(JNIEnv *env, jclass class, jlong number)
{
  (void)class;
  struct callback_proxy *proxy = hold_number((uint64_t)number);
  if (proxy == NULL)
    return;
  bool is_collected = proxy->handler != NULL && (*env)->IsSameObject(env, proxy->handler, NULL);
  if (is_collected && unlist_proxy(proxy) && proxy->is_made)
    table.jvm->callback_hooks->released(proxy->callbacks, proxy->given.id, proxy->number);
  callback_proxy_release(env, proxy);
}

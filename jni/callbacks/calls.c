/* A call of a callback's method, from the handler to what it returns or throws. */
#include "jni/callbacks/answers.h"
#include "jni/callbacks/callback_arguments.h"
#include "jni/callbacks/natives.h"
#include "jni/callbacks/open_calls.h"
#include "jni/callbacks/waiters.h"
#include "jni/runtime/peer_threads.h"
#include "jni/runtime/throwables.h"

#include <stdio.h>
#include <stdlib.h>

enum { CODE_FAILED = -32000, CODE_MISFIT = -32602 };

/* One stretch in C of a call's thread. */
struct running {
  JNIEnv *env;
  struct open_call *call;
  jobject waiting; /* the stretch's own reference */
  const struct jvm_callback_hooks *hooks;
  struct jvm_callback_failure failure;
  struct callback_result result;
  bool must_ask; /* the thread may have been interrupted otherwise than through its wait */
};

/* ---- how a call ends ---- */

/* For what needs no nested worker. */
static struct callback_result make_exception(struct jvm *jvm, JNIEnv *env, int code, struct text message)
{
  struct jvm_thread passing;
  jvm_thread_init(&passing, jvm, env, NULL);
  struct callback_result result = callback_exception(&passing, code, message);
  jvm_thread_fini(&passing);
  return result;
}

static void fail_with(struct running *running, int code, struct text message)
{
  running->result = make_exception(running->call->jvm, running->env, code, message);
}

static void fail_call(struct running *running)
{
  fail_with(running, running->failure.code, text_of(running->failure.text));
}

/* Gives Java what came of the call. */
static jobject end_call(struct running *running)
{
  JNIEnv *env = running->env;
  struct open_call *call = running->call;
  running->hooks->close(call->hooked);
  open_calls_remove(call);
  open_call_release(env, call);
  if (!running->result.is_thrown)
    return running->result.value;
  (*env)->Throw(env, running->result.value);
  return NULL;
}

/* ---- its message ---- */

static void set_failure(struct running *running, int code, const struct outcome *failed)
{
  struct text why = failed->message.data != NULL ? failed->message : failed->throwable_type;
  struct text shown = text_cut(why, sizeof running->failure.text - 1);
  running->failure.code = code;
  snprintf(running->failure.text, sizeof running->failure.text, "%.*s", TEXT_ARGS(shown));
}

/* Borrows a worker's thread for this one. The request's operation is the caller's. */
static bool begin_stretch(struct running *running, struct jvm_request *request,
                          struct jvm_thread_place *place, const struct operation *operation)
{
  if (running->hooks->enter(running->call->hooked, request) != JP_OK) {
    set_failure(running, CODE_FAILED, &(struct outcome){.message = TEXT("out of memory")});
    return false;
  }
  request->operation = operation;
  request->result = NULL;
  *place = jvm_thread_lend(request->thread, running->env);
  if (jvm_request_begin(request->thread) == JP_OK)
    return true;
  set_failure(running, CODE_FAILED, &(struct outcome){.message = TEXT("out of memory")});
  jvm_thread_take_back(request->thread, place);
  running->hooks->leave(running->call->hooked);
  return false;
}

/* What is left of the stretch is the result's reference. */
static void end_stretch(struct running *running, struct jvm_request *request,
                        const struct jvm_thread_place *place)
{
  running->result.value = jvm_thread_drop_frames_but(request->thread, running->result.value);
  jvm_request_end(request->thread);
  jvm_thread_take_back(request->thread, place);
  running->hooks->leave(running->call->hooked);
}

static enum jvm_callback_sent send_message(struct running *running, jobjectArray arguments)
{
  static const struct operation plain = {.kind = OP_CALL};
  const struct callback_method *method = running->call->method;
  enum jvm_callback_sent sent = JVM_CALLBACK_NOT_SENT;
  struct jvm_request request;
  struct jvm_thread_place place;
  if (!begin_stretch(running, &request, &place, &plain))
    return sent;
  struct outcome failed;
  const struct outcome *made = callback_arguments_make(&request, method, arguments, &failed);
  if (made != NULL)
    sent = running->hooks->send(running->call->hooked, made, method->told.parameter_count, &running->failure);
  else
    set_failure(running, CODE_FAILED, &failed);
  end_stretch(running, &request, &place);
  return sent;
}

static bool is_oneway(const struct open_call *call)
{
  return call->proxy->given.is_oneway && call->method->told.is_void;
}

/* True: the call has ended. */
static bool take_sent(struct running *running, enum jvm_callback_sent sent)
{
  running->call->wants_room = sent == JVM_CALLBACK_NO_ROOM;
  if (sent == JVM_CALLBACK_NOT_SENT) {
    fail_call(running);
    return true;
  }
  return sent == JVM_CALLBACK_SENT && is_oneway(running->call);
}

/* ---- its answer ---- */

static void fail_misfit(struct running *running, const struct outcome *failed)
{
  set_failure(running, CODE_MISFIT, failed);
  running->hooks->log_misfit(running->call->hooked, text_of(running->failure.text));
}

/* False: the failure says why there is no result. */
static bool read_answer(struct running *running, const struct jvm_request *request)
{
  struct outcome failed = {.kind = OUTCOME_VOID};
  struct jvm_callback_answer answer = {.is_error = false};
  if (running->hooks->take_answer(running->call->hooked, request, &answer, &failed) != JP_OK) {
    fail_misfit(running, &failed);
    return false;
  }
  if (answer.is_error) {
    callback_answer_throw(request, &answer, &running->result);
    return true;
  }
  if (callback_answer_return(request, running->call->method, &answer.value, &running->result, &failed))
    return true;
  fail_misfit(running, &failed);
  return false;
}

static void take_answer(struct running *running)
{
  static const struct operation plain = {.kind = OP_PUT};
  struct jvm_request request;
  struct jvm_thread_place place;
  if (!begin_stretch(running, &request, &place, &plain)) {
    fail_call(running);
    return;
  }
  bool is_read = read_answer(running, &request);
  end_stretch(running, &request, &place);
  if (!is_read)
    fail_call(running);
}

/* ---- the wait ---- */

/* An interrupt tells the wait of a thread that waits in C. One before that was seen in Java, and one in a nested request
 * may have told another wait. */
static bool may_be_interrupted(const struct running *running)
{
  const struct open_call *call = running->call;
  return call->own == NULL || running->must_ask ||
         (*running->env)->GetBooleanField(running->env, running->waiting, call->jvm->callback.is_interrupted);
}

static bool was_interrupted(struct running *running)
{
  if (!may_be_interrupted(running))
    return false;
  running->must_ask = false;
  JNIEnv *env = running->env;
  const struct jvm_known *known = &running->call->jvm->known;
  jobject current = (*env)->CallStaticObjectMethod(env, known->class_thread, known->static_thread_current);
  bool is_set = !(*env)->ExceptionCheck(env) &&
                (*env)->CallBooleanMethod(env, current, known->method_thread_is_interrupted) != JNI_FALSE;
  (*env)->ExceptionClear(env);
  (*env)->DeleteLocalRef(env, current);
  return is_set;
}

/* Nothing has come. True: the thread has to park in Java. */
static bool wait_here(struct running *running, bool *has_ended)
{
  struct open_call *call = running->call;
  if (was_interrupted(running)) {
    fail_with(running, CODE_FAILED, TEXT("the thread was interrupted while it waited for the client"));
    *has_ended = true;
    return false;
  }
  if (call->waiter != NULL)
    return true;
  running->hooks->wait(call->hooked);
  return false;
}

/* Does what there is to do. True: the thread has to park in Java; *has_ended: the call is over. */
static bool make_step(struct running *running, bool *has_ended)
{
  struct rpc_callback_call *hooked = running->call->hooked;
  switch (running->hooks->look(hooked, &running->failure)) {
  case JVM_CALLBACK_NOTHING:
    return wait_here(running, has_ended);
  case JVM_CALLBACK_SEND:
    if (running->call->wants_room)
      *has_ended = take_sent(running, running->hooks->send(hooked, NULL, 0, &running->failure));
    return false;
  case JVM_CALLBACK_REQUEST:
    running->hooks->serve(hooked);
    running->must_ask = true;
    return false;
  case JVM_CALLBACK_ANSWER:
    take_answer(running);
    break;
  case JVM_CALLBACK_ENDED:
    fail_call(running);
    break;
  }
  *has_ended = true;
  return false;
}

static void set_park(struct running *running)
{
  JNIEnv *env = running->env;
  struct open_call *call = running->call;
  int64_t left = running->hooks->nanoseconds_left(call->hooked);
  jlong nanos = left == INT64_MAX ? 0 : left < 1 ? 1 : (jlong)left;
  (*env)->SetLongField(env, running->waiting, call->jvm->callback.nanos, nanos);
  open_call_park(call);
}

/* Goes on until there is a result, or the thread has to park: then the wait itself is the result. */
static jobject go_on(struct running *running)
{
  bool has_ended = false;
  while (!has_ended) {
    if (!make_step(running, &has_ended))
      continue;
    set_park(running);
    open_call_release(running->env, running->call);
    return running->waiting;
  }
  return end_call(running);
}

/* ---- its beginning ---- */

static jobject throw_result(JNIEnv *env, struct callback_result result)
{
  (*env)->Throw(env, result.value);
  return NULL;
}

static void throw_refusal(JNIEnv *env, const struct jvm *jvm, const char *why)
{
  (*env)->ThrowNew(env, jvm->known.class_illegal_argument_exception, why);
}

/* The references that the call has of Java. False: memory is short. */
static bool refer_to_java(struct open_call *call, JNIEnv *env, jobject waiting)
{
  const struct jvm *jvm = call->jvm;
  if (call->own != NULL)
    return true;
  call->waiting = (*env)->NewGlobalRef(env, waiting);
  jobject current =
      (*env)->CallStaticObjectMethod(env, jvm->known.class_thread, jvm->known.static_thread_current);
  (*env)->ExceptionClear(env);
  call->java_thread = (*env)->NewGlobalRef(env, current);
  (*env)->DeleteLocalRef(env, current);
  call->waiter = jvm_waiter_create(call->jvm, env, waiting, call->java_thread);
  return call->waiting != NULL && call->java_thread != NULL && call->waiter != NULL;
}

/* Takes the proxy. NULL: an exception is pending. */
static struct open_call *begin_call(JNIEnv *env, struct jvm *jvm, struct callback_proxy *proxy, jint index,
                                    jobject waiting)
{
  struct open_call *call = calloc(1, sizeof *call);
  if (call == NULL) {
    callback_proxy_release(env, proxy);
    (void)throw_result(env, make_exception(jvm, env, CODE_FAILED, TEXT("out of memory")));
    return NULL;
  }
  call->jvm = jvm;
  call->proxy = proxy;
  call->method = &proxy->kind->methods[index];
  call->own = jvm->callback_hooks->waits() ? jvm_thread_own() : NULL;
  bool is_ready = refer_to_java(call, env, waiting);
  open_calls_add(call);
  if (is_ready)
    return call;
  open_calls_remove(call);
  open_call_release(env, call);
  (void)throw_result(env, make_exception(jvm, env, CODE_FAILED, TEXT("out of memory")));
  return NULL;
}

static jobject run_call(struct running *running, jobjectArray arguments)
{
  JNIEnv *env = running->env;
  struct open_call *call = running->call;
  (*env)->SetLongField(env, running->waiting, call->jvm->callback.number, (jlong)call->number);
  const struct callback_proxy *proxy = call->proxy;
  if (running->hooks->open(proxy->callbacks, &proxy->given, proxy->number, &call->method->told, call->waiter,
                           &call->hooked, &running->failure) != JP_OK) {
    open_calls_remove(call);
    struct callback_result failed =
        make_exception(call->jvm, env, running->failure.code, text_of(running->failure.text));
    open_call_release(env, call);
    return throw_result(env, failed);
  }
  return take_sent(running, send_message(running, arguments)) ? end_call(running) : go_on(running);
}

/* ---- events ---- */

/* What finds room needs nothing that others could wake: no call is listed. False: it has to wait for room. */
static bool send_event(struct running *running, jobjectArray arguments)
{
  struct open_call *call = running->call;
  const struct callback_proxy *proxy = call->proxy;
  const struct jvm_callback_hooks *hooks = running->hooks;
  if (hooks->open(proxy->callbacks, &proxy->given, proxy->number, &call->method->told, NULL, &call->hooked,
                  &running->failure) != JP_OK) {
    fail_call(running);
    return true;
  }
  enum jvm_callback_sent sent = send_message(running, arguments);
  if (sent == JVM_CALLBACK_NOT_SENT)
    fail_call(running);
  hooks->close(call->hooked);
  return sent != JVM_CALLBACK_NO_ROOM;
}

/* True: the call is over, and *result is what Java gets. Else the proxy is still the caller's. */
static bool call_without_answer(JNIEnv *env, struct jvm *jvm, struct callback_proxy *proxy, jint index,
                                jobjectArray arguments, jobject *result)
{
  struct open_call call = {.jvm = jvm, .proxy = proxy, .method = &proxy->kind->methods[index]};
  struct running running = {.env = env, .call = &call, .hooks = jvm->callback_hooks};
  *result = NULL;
  if (!is_oneway(&call) || !send_event(&running, arguments))
    return false;
  callback_proxy_release(env, proxy);
  if (running.result.is_thrown)
    (*env)->Throw(env, running.result.value);
  return true;
}

/* ---- for Java ---- */

jobject JNICALL callback_call(JNIEnv *env, jobject handler, jlong number, jint index, jobjectArray arguments,
                              jobject waiting, jboolean is_interrupted)
{
  struct jvm *jvm = callback_jvm();
  struct callback_proxy *proxy = callback_proxy_take(env, (uint64_t)number, handler);
  if (proxy == NULL || waiting == NULL || index < 0 || (size_t)index >= proxy->kind->method_count ||
      !proxy->kind->methods[index].is_sent) {
    callback_proxy_release(env, proxy);
    throw_refusal(env, jvm, "no such method of a callback");
    return NULL;
  }
  jobject result;
  if (call_without_answer(env, jvm, proxy, index, arguments, &result))
    return result;
  struct open_call *call = begin_call(env, jvm, proxy, index, waiting);
  if (call == NULL)
    return NULL;
  struct running running = {.env = env,
                            .call = call,
                            .waiting = waiting,
                            .hooks = jvm->callback_hooks,
                            .must_ask = is_interrupted != JNI_FALSE};
  if (!is_oneway(call) && is_interrupted != JNI_FALSE) {
    open_calls_remove(call);
    open_call_release(env, call);
    return throw_result(env, make_exception(jvm, env, CODE_FAILED, TEXT("the thread is interrupted")));
  }
  return run_call(&running, arguments);
}

jobject JNICALL callback_resume(JNIEnv *env, jobject handler, jobject waiting)
{
  (void)handler;
  struct jvm *jvm = callback_jvm();
  struct open_call *call = waiting == NULL ? NULL : open_calls_unpark(env, jvm, waiting);
  if (call == NULL) {
    throw_refusal(env, jvm, "this thread waits for no such call");
    return NULL;
  }
  struct running running = {.env = env, .call = call, .waiting = waiting, .hooks = jvm->callback_hooks};
  return go_on(&running);
}

void JNICALL callback_abandon(JNIEnv *env, jobject handler, jobject waiting)
{
  (void)handler;
  struct jvm *jvm = callback_jvm();
  struct open_call *call = waiting == NULL ? NULL : open_calls_unpark(env, jvm, waiting);
  if (call == NULL)
    return;
  struct running running = {.env = env, .call = call, .hooks = jvm->callback_hooks};
  (void)end_call(&running);
}

void JNICALL callback_interrupted(JNIEnv *env, jobject waiting)
{
  struct jvm *jvm = callback_jvm();
  uint64_t number = (uint64_t)(*env)->GetLongField(env, waiting, jvm->callback.number);
  struct open_call *call = open_calls_find(env, number, waiting);
  if (call == NULL)
    return;
  struct jvm_thread *own = call->own;
  open_call_release(env, call);
  if (own != NULL)
    jvm->callback_hooks->interrupted(own);
}

enum jp_status jvm_callbacks_start(struct jvm *jvm, const struct jvm_callback_hooks *hooks,
                                   struct jp_error *error)
{
  jvm->callback_hooks = hooks;
  return jvm_waiters_start(jvm, error);
}

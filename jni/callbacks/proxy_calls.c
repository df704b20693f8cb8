/*
 * A call of a proxy's method: from the native methods of jpeer.peer.Callback to the result or the exception
 * of the method.
 *
 * Application code can reach the peer's callback classes, so the native methods check all their parameters: a
 * handler by its number, a wait by its number and its thread, arguments by their classes.
 */
#include "jni/callbacks/proxy_calls.h"

#include "jni/callbacks/thrown_answers.h"
#include "jni/callbacks/waiting_threads.h"
#include "jni/convert/arguments.h"
#include "jni/convert/results.h"
#include "jni/objects/object_table.h"
#include "jni/proxies/proxies.h"
#include "jni/resolve/resolve.h"
#include "jni/runtime/dispatch.h"
#include "jni/runtime/peer_threads.h"
#include "jni/runtime/strings.h"
#include "jni/runtime/throwables.h"

#include <pthread.h>
#include <stdlib.h>

enum { CODE_FAILED = -32000, CODE_MISFIT = -32602, CODE_INTERNAL = -32603 };
enum { BUCKETS = 1024 };
enum { ARGUMENTS_MAX = 255 }; /* JVMS 4.3.3 */

static struct jvm *the_jvm;

/*
 * The Java object that waits (jpeer.peer.Waiting) holds the number of its open call. A number is accepted
 * only from that object.
 */
struct open_call {
  uint64_t number; /* from 1; never used again */
  struct jvm *jvm;
  struct callback_proxy *proxy; /* held */
  const struct callback_method *method;
  struct rpc_callback_call *hooked; /* rpc's part of the call, made by the hook `open` */
  struct jvm_waiter *waiter;        /* of a thread that parks; else NULL */
  struct jvm_thread *own;           /* of a thread that waits in C; other threads only compare it */
  jobject waiting; /* global: the Java object that a parked thread waits in; NULL: the thread waits in C */
  /* global: the parked thread, which alone may continue the call; NULL: the thread waits in C */
  jobject java_thread;

  /* Under the lock of `calls`: */
  bool is_parked; /* the thread waits in Java. Always false if `own` is set */
  unsigned holders;
  struct open_call *next;
};

/* What Java receives from a call. */
struct callback_result {
  jobject value;  /* local; NULL for null and for no value */
  bool is_thrown; /* `value`, which is not NULL then, is thrown */
};

/* The state of a call while its thread runs in C. */
struct running {
  JNIEnv *env;
  struct open_call *call;
  jobject waiting; /* a local reference of this run */
  const struct jvm_callback_hooks *hooks;
  struct jvm_callback_failure failure;
  struct callback_result result;
  bool must_ask; /* an interrupt of the thread may have set the Java flag without notifying this wait */
};

/* ---- open calls by number ---- */

/* No JNI call is made under the lock: a Java thread that returns from JNI may be suspended while it holds the
 * lock. */
static struct {
  pthread_mutex_t lock;
  uint64_t last_number;
  struct open_call *buckets[BUCKETS];
} calls = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void release_call(JNIEnv *env, struct open_call *call)
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

/* Removes the call from the list. The list's reference to the call ends, and the caller's reference
 * remains. */
static void unlist_call(struct open_call *call)
{
  pthread_mutex_lock(&calls.lock);
  struct open_call **at = &calls.buckets[call->number % BUCKETS];
  while (*at != call)
    at = &(*at)->next;
  *at = call->next;
  call->holders--;
  pthread_mutex_unlock(&calls.lock);
}

/* Finds and holds the call that `waiting` waits for; NULL: none. The call of a thread that waits in C is
 * found by its number alone, because the caller can only wake such a call. */
static struct open_call *find_call(JNIEnv *env, uint64_t number, jobject waiting)
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
  release_call(env, call);
  return NULL;
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

/* For a thread that has returned from Java: unparks its call and holds it. NULL: the call is not parked, or
 * another thread began it. */
static struct open_call *unpark_call(JNIEnv *env, const struct jvm *jvm, jobject waiting)
{
  uint64_t number = (uint64_t)(*env)->GetLongField(env, waiting, jvm->callback.number);
  struct open_call *call = find_call(env, number, waiting);
  if (call == NULL)
    return NULL;
  bool was_parked = false;
  if (is_this_thread(env, jvm, call->java_thread)) {
    pthread_mutex_lock(&calls.lock);
    was_parked = call->is_parked;
    call->is_parked = false;
    pthread_mutex_unlock(&calls.lock);
  }
  if (was_parked)
    return call;
  release_call(env, call);
  return NULL;
}

/* ---- from Java's arguments to outcomes for the message ---- */

/* The conversion of the arguments of one call. */
struct passing {
  const struct jvm_request *request;
  JNIEnv *env;
  uint64_t epoch;
  struct outcome *failed;
};

static bool fail_passing(struct passing *passing, const char *what)
{
  outcome_fail(passing->failed, passing->request->arena, FAILURE_SERVER, NULL, "%s", what);
  return false;
}

static bool make_primitive(struct passing *passing, const struct jvm_type *declared, jobject object,
                           struct outcome *out)
{
  /* Application code may have called the native method itself. The class of the object is therefore checked
   * here. */
  jclass wrapper = jvm_known_wrapper(&passing->request->thread->jvm->known, declared->kind);
  if (object == NULL || !(*passing->env)->IsInstanceOf(passing->env, object, wrapper))
    return fail_passing(passing, "an argument is not of its parameter's type");
  struct jvm_type type = {.kind = declared->kind, .name = declared->name};
  jvalue value;
  argument_unbox(passing->request->thread, object, declared->kind, &value);
  (*passing->env)->DeleteLocalRef(passing->env, object);
  result_fill(passing->request, passing->epoch, &type, &value, out);
  return true;
}

static bool make_argument(struct passing *passing, const struct jvm_type *declared, jobject object,
                          struct outcome *out)
{
  if (declared->kind != 'L')
    return make_primitive(passing, declared, object, out);
  struct jvm_type type = {.kind = 'L', .name = declared->name};
  const jvalue value = {.l = object};
  result_fill(passing->request, passing->epoch, &type, &value, out);
  return true;
}

/*
 * Converts the arguments of a call. Call it between jvm_request_begin and jvm_request_end. arguments: an
 * Object[] with boxed primitives; NULL: no arguments. The result is in the request's arena, and the request's
 * objects have its refs. If the result is NULL, *failed is an OUTCOME_ERROR.
 */
static const struct outcome *make_arguments(const struct jvm_request *request,
                                            const struct callback_method *method, jobjectArray arguments,
                                            struct outcome *failed)
{
  struct passing passing = {.request = request,
                            .env = request->thread->env,
                            .epoch = jvm_objects_epoch(request->objects),
                            .failed = failed};
  size_t count = method->method->param_count;
  struct outcome *made = arena_calloc(request->arena, count, sizeof *made);
  if (made == NULL) {
    outcome_fail_memory(failed);
    return NULL;
  }
  jsize length = arguments == NULL ? 0 : (*passing.env)->GetArrayLength(passing.env, arguments);
  bool is_made = (size_t)length == count || fail_passing(&passing, "a wrong number of arguments");
  for (size_t i = 0; is_made && i < count; i++) {
    jobject object = (*passing.env)->GetObjectArrayElement(passing.env, arguments, (jsize)i);
    is_made = make_argument(&passing, &method->method->params[i], object, &made[i]);
    if (is_made && made[i].kind == OUTCOME_ERROR) {
      *failed = made[i];
      is_made = false;
    }
  }
  return is_made ? made : NULL;
}

/* ---- from an answer to Java: between jvm_request_begin and jvm_request_end ---- */

/* The fast path for most functions that return a primitive: the value needs no conversion. */
static bool read_primitive(const struct callback_method *method, const struct op_value *value, jvalue *out)
{
  return value->type.data == NULL && value->kind != OP_TEXT && value->kind != OP_REF &&
         op_scalar_read(value, method->result.kind, out) == OP_SCALAR_FITS;
}

/* The fast path for most other functions: a text for a method that returns a String or an Object. */
static bool is_plain_text(const struct callback_method *method, const struct op_value *value)
{
  const struct text string = TEXT("java.lang.String");
  return value->kind == OP_TEXT && (value->type.data == NULL || text_equal(value->type, string)) &&
         (text_equal(method->result.name, string) ||
          text_equal(method->result.name, TEXT("java.lang.Object")));
}

static bool convert_value(const struct jvm_request *request, const struct callback_method *method,
                          struct op_value *value, jvalue *out, struct outcome *failed)
{
  const struct operation operation = {.kind = OP_PUT,
                                      .type = method->description.interface,
                                      .member = method->description.name,
                                      .args = value,
                                      .arg_count = 1};
  struct jvm_request putting = *request;
  struct jvm_type type = {
      .kind = method->result.kind, .unboxed = method->result.unboxed, .name = method->result.name};
  atomic_store_explicit(&type.class, atomic_load_explicit(&method->result.class, memory_order_relaxed),
                        memory_order_relaxed);
  putting.operation = &operation;
  return resolve_value(&putting, &type, method->declared, method->method->owner, out, failed);
}

/* Converts the method's result. False: *failed is an OUTCOME_ERROR that says why. */
static bool convert_result(const struct jvm_request *request, const struct callback_method *method,
                           struct op_value *value, struct callback_result *result, struct outcome *failed)
{
  jvalue converted = {0};
  *result = (struct callback_result){.value = NULL};
  if (method->description.is_void) {
    if (value->kind != OP_NULL)
      outcome_fail(failed, request->arena, FAILURE_INVALID_PARAMS, NULL,
                   "the method returns void: the answer must be null");
    return value->kind == OP_NULL;
  }
  char letter = method->result.kind;
  struct jvm_thread *thread = request->thread;
  bool is_text = letter == 'L' && is_plain_text(method, value);
  bool is_read = letter != 'L' && read_primitive(method, value, &converted);
  if (is_text)
    converted.l = jvm_string_new(thread, value->text);
  else if (!is_read && !convert_value(request, method, value, &converted, failed))
    return false;
  result->value =
      letter == 'L' ? converted.l : jvm_known_box(&thread->jvm->known, thread->env, letter, &converted);
  return !throwable_take_outcome(thread, request->arena, request->limits->stack_frames_max, failed);
}

/* ---- the end of a call ---- */

/* Used for failures that happen outside a nested worker. */
static struct callback_result make_exception(struct jvm *jvm, JNIEnv *env, int code, struct text message)
{
  struct jvm_thread passing;
  jvm_thread_init(&passing, jvm, env, NULL);
  struct callback_result result = {.value = callback_exception_make(&passing, code, message),
                                   .is_thrown = true};
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

/* Ends the call and gives Java its result. */
static jobject end_call(struct running *running)
{
  JNIEnv *env = running->env;
  struct open_call *call = running->call;
  running->hooks->close(call->hooked);
  unlist_call(call);
  release_call(env, call);
  if (!running->result.is_thrown)
    return running->result.value;
  (*env)->Throw(env, running->result.value);
  return NULL;
}

/* ---- sending ---- */

/* Sets the failure of the call. Its code is `code`, or CODE_INTERNAL if `failed` is a FAILURE_INTERNAL. */
static void set_failure(struct running *running, int code, const struct outcome *failed)
{
  struct text why = failed->message.data != NULL ? failed->message : failed->throwable_type;
  running->failure.code = failed->failure == FAILURE_INTERNAL ? CODE_INTERNAL : code;
  text_format(running->failure.text, sizeof running->failure.text, "%.*s", TEXT_ARGS(why));
}

static void fail_memory(struct running *running)
{
  struct outcome failed;
  outcome_fail_memory(&failed);
  set_failure(running, CODE_INTERNAL, &failed);
}

/* Borrows the jvm_thread of the worker that serves nested requests for this thread, and sets the request's operation. */
static bool enter_worker(struct running *running, struct jvm_request *request, struct jvm_thread_place *place,
                         const struct operation *operation)
{
  if (running->hooks->enter(running->call->hooked, request) != JP_OK) {
    fail_memory(running);
    return false;
  }
  request->operation = operation;
  request->result = NULL;
  *place = jvm_thread_lend(request->thread, running->env);
  if (jvm_request_begin(request->thread) == JP_OK)
    return true;
  fail_memory(running);
  jvm_thread_return(request->thread, place);
  running->hooks->leave(running->call->hooked);
  return false;
}

/* Only the reference of the result remains. */
static void leave_worker(struct running *running, struct jvm_request *request,
                         const struct jvm_thread_place *place)
{
  running->result.value = jvm_thread_drop_frames_except(request->thread, running->result.value);
  jvm_request_end(request->thread);
  jvm_thread_return(request->thread, place);
  running->hooks->leave(running->call->hooked);
}

static enum jvm_callback_sent send_message(struct running *running, jobjectArray arguments)
{
  static const struct operation plain = {.kind = OP_CALL};
  const struct callback_method *method = running->call->method;
  enum jvm_callback_sent sent = JVM_CALLBACK_NOT_SENT;
  struct jvm_request request;
  struct jvm_thread_place place;
  if (!enter_worker(running, &request, &place, &plain))
    return sent;
  struct outcome failed;
  const struct outcome *made = make_arguments(&request, method, arguments, &failed);
  if (made != NULL)
    sent = running->hooks->send(running->call->hooked, made, method->description.parameter_count,
                                &running->failure);
  else
    set_failure(running, CODE_FAILED, &failed);
  leave_worker(running, &request, &place);
  return sent;
}

static bool is_oneway(const struct open_call *call)
{
  return call->proxy->given.is_oneway && call->method->description.is_void;
}

/* True: the call has ended. */
static bool take_sent(struct running *running, enum jvm_callback_sent sent)
{
  if (sent == JVM_CALLBACK_NOT_SENT) {
    fail_call(running);
    return true;
  }
  return sent == JVM_CALLBACK_SENT && is_oneway(running->call);
}

/* ---- the answer ---- */

static void fail_misfit(struct running *running, const struct outcome *failed)
{
  set_failure(running, CODE_MISFIT, failed);
  running->hooks->log_misfit(running->call->hooked, text_of(running->failure.text));
}

/* False: the call has no result, and the failure says why. */
static bool read_answer(struct running *running, const struct jvm_request *request)
{
  struct outcome failed = {.kind = OUTCOME_VOID};
  struct jvm_callback_answer answer = {.is_error = false};
  if (running->hooks->take_answer(running->call->hooked, request, &answer, &failed) != JP_OK) {
    fail_misfit(running, &failed);
    return false;
  }
  if (answer.is_error) {
    running->result =
        (struct callback_result){.value = callback_throwable_make(request, &answer), .is_thrown = true};
    return true;
  }
  if (convert_result(request, running->call->method, &answer.value, &running->result, &failed)) {
    judge_note_uses(request->judge);
    return true;
  }
  fail_misfit(running, &failed);
  return false;
}

static void take_answer(struct running *running)
{
  static const struct operation plain = {.kind = OP_PUT};
  struct jvm_request request;
  struct jvm_thread_place place;
  if (!enter_worker(running, &request, &place, &plain)) {
    fail_call(running);
    return;
  }
  bool is_read = read_answer(running, &request);
  leave_worker(running, &request, &place);
  if (!is_read)
    fail_call(running);
}

/* ---- waiting ---- */

static bool was_interrupted(struct running *running)
{
  /* Asks Java for the interrupt flag only if the flag may be set. An interrupt during a wait in C sets
   * is_interrupted. must_ask is set if the flag was set before the call, which Java has reported. must_ask is
   * also set after a nested request, because an interrupt during that request may have woken another wait. */
  const struct open_call *call = running->call;
  if (call->own != NULL && !running->must_ask &&
      !(*running->env)->GetBooleanField(running->env, running->waiting, call->jvm->callback.is_interrupted))
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

/* Waits until the call may have an event. True: the thread has to park in Java instead. */
static bool wait_in_c(struct running *running, bool *has_ended)
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

/* Does the next step. True: the thread has to park in Java; *has_ended: the call is over. */
static bool run_step(struct running *running, bool *has_ended)
{
  struct rpc_callback_call *hooked = running->call->hooked;
  switch (running->hooks->poll(hooked, &running->failure)) {
  case JVM_CALLBACK_NOTHING:
    return wait_in_c(running, has_ended);
  case JVM_CALLBACK_SEND:
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

/* Continues until there is a result or the thread has to park. In the second case it returns `waiting`. */
static jobject continue_call(struct running *running)
{
  bool has_ended = false;
  while (!has_ended) {
    if (!run_step(running, &has_ended))
      continue;
    JNIEnv *env = running->env;
    struct open_call *call = running->call;
    int64_t left = running->hooks->nanoseconds_left(call->hooked);
    jlong nanos = left == INT64_MAX ? 0 : left < 1 ? 1 : (jlong)left;
    (*env)->SetLongField(env, running->waiting, call->jvm->callback.nanos, nanos);
    pthread_mutex_lock(&calls.lock);
    call->is_parked = true;
    pthread_mutex_unlock(&calls.lock);
    release_call(running->env, running->call);
    return running->waiting;
  }
  return end_call(running);
}

/* ---- the beginning of a call ---- */

static jobject throw_result(JNIEnv *env, struct callback_result result)
{
  (*env)->Throw(env, result.value);
  return NULL;
}

static void throw_refusal(JNIEnv *env, const struct jvm *jvm, const char *why)
{
  (*env)->ThrowNew(env, jvm->known.class_illegal_argument_exception, why);
}

/* Creates the call's Java references. False: memory is short. */
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

/* Takes ownership of the proxy. NULL: an exception is pending. */
static struct open_call *begin_call(JNIEnv *env, struct jvm *jvm, struct callback_proxy *proxy, jint index,
                                    jobject waiting)
{
  struct open_call *call = calloc(1, sizeof *call);
  if (call == NULL) {
    callback_proxy_release(env, proxy);
    (void)throw_result(env, make_exception(jvm, env, CODE_INTERNAL, TEXT("out of memory")));
    return NULL;
  }
  call->jvm = jvm;
  call->proxy = proxy;
  call->method = &proxy->kind->methods[index];
  call->own = jvm->callback_hooks->waits() ? jvm_thread_own() : NULL;
  bool is_ready = refer_to_java(call, env, waiting);
  pthread_mutex_lock(&calls.lock);
  call->number = ++calls.last_number;
  call->holders = 2; /* the list and the caller */
  call->next = calls.buckets[call->number % BUCKETS];
  calls.buckets[call->number % BUCKETS] = call;
  pthread_mutex_unlock(&calls.lock);
  if (is_ready)
    return call;
  unlist_call(call);
  release_call(env, call);
  (void)throw_result(env, make_exception(jvm, env, CODE_INTERNAL, TEXT("out of memory")));
  return NULL;
}

static jobject run_call(struct running *running, jobjectArray arguments)
{
  JNIEnv *env = running->env;
  struct open_call *call = running->call;
  (*env)->SetLongField(env, running->waiting, call->jvm->callback.number, (jlong)call->number);
  const struct callback_proxy *proxy = call->proxy;
  if (running->hooks->open(proxy->callbacks, &proxy->given, proxy->number, &call->method->description,
                           call->waiter, &call->hooked, &running->failure) != JP_OK) {
    unlist_call(call);
    struct callback_result failed =
        make_exception(call->jvm, env, running->failure.code, text_of(running->failure.text));
    release_call(env, call);
    return throw_result(env, failed);
  }
  return take_sent(running, send_message(running, arguments)) ? end_call(running) : continue_call(running);
}

/* ---- oneway calls ---- */

/* A oneway call that is sent at once is not listed, because no other thread ever wakes it. False: the call
 * has to wait for room. */
static bool send_event(struct running *running, jobjectArray arguments)
{
  struct open_call *call = running->call;
  const struct callback_proxy *proxy = call->proxy;
  const struct jvm_callback_hooks *hooks = running->hooks;
  if (hooks->open(proxy->callbacks, &proxy->given, proxy->number, &call->method->description, NULL,
                  &call->hooked, &running->failure) != JP_OK) {
    fail_call(running);
    return true;
  }
  enum jvm_callback_sent sent = send_message(running, arguments);
  if (sent == JVM_CALLBACK_NOT_SENT)
    fail_call(running);
  hooks->close(call->hooked);
  return sent != JVM_CALLBACK_NO_ROOM;
}

/* True: the call is over, and *result is for Java. Otherwise the caller still owns the proxy. */
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

/* ---- default methods of a callback's interfaces, which run in Java ---- */

/* The state of one call of a default method. */
struct default_run {
  JNIEnv *env;
  struct jvm *jvm;
  struct jvm_method *method;
  jvalue arguments[ARGUMENTS_MAX];
};

/* Checks the object's type, because JNI does not check it. */
static bool read_argument(struct default_run *run, struct jvm_type *type, jobject object, jvalue *out)
{
  JNIEnv *env = run->env;
  struct jvm_thread passing;
  jvm_thread_init(&passing, run->jvm, env, NULL);
  bool fits;
  if (type->kind == 'L') {
    const struct jvm_class *class = jvm_type_class(&passing, type); /* loaded when the kind was made */
    fits = class != NULL && (object == NULL || (*env)->IsInstanceOf(env, object, class->ref));
    out->l = object;
  } else {
    fits =
        object != NULL && (*env)->IsInstanceOf(env, object, jvm_known_wrapper(&run->jvm->known, type->kind));
    if (fits)
      argument_unbox(&passing, object, type->kind, out);
  }
  jvm_thread_fini(&passing);
  return fits;
}

static bool read_arguments(struct default_run *run, jobjectArray arguments)
{
  JNIEnv *env = run->env;
  size_t count = run->method->param_count;
  jsize length = arguments == NULL ? 0 : (*env)->GetArrayLength(env, arguments);
  if ((size_t)length != count)
    return false;
  for (size_t i = 0; i < count; i++) {
    jobject object = (*env)->GetObjectArrayElement(env, arguments, (jsize)i);
    if (!read_argument(run, &run->method->params[i], object, &run->arguments[i]))
      return false;
  }
  return true;
}

static jobject run_method(struct default_run *run, jobject target)
{
  JNIEnv *env = run->env;
  struct jvm_method *method = run->method;
  char letter = method->result.kind;
  jvalue result = {0};
  dispatch_call_nonvirtual(env, letter, target, method->owner->ref, method->id, run->arguments, &result);
  if ((*env)->ExceptionCheck(env) || letter == 'V')
    return NULL;
  return letter == 'L' ? result.l : jvm_known_box(&run->jvm->known, env, letter, &result);
}

static jobject run_default(JNIEnv *env, struct jvm *jvm, struct jvm_method *method, jobject handler,
                           jobjectArray arguments)
{
  struct default_run run = {.env = env, .jvm = jvm, .method = method};
  if ((*env)->PushLocalFrame(env, (jint)method->param_count + 8) != 0)
    return NULL; /* an OutOfMemoryError is pending */
  jobject result = NULL;
  jobject target = callback_proxy_object(env, jvm, handler);
  bool is_right = target != NULL && (*env)->IsInstanceOf(env, target, method->owner->ref) &&
                  read_arguments(&run, arguments);
  if (is_right)
    result = run_method(&run, target);
  else
    throw_refusal(env, jvm, "no such method of a callback");
  jthrowable pending = (*env)->ExceptionOccurred(env);
  (*env)->ExceptionClear(env);
  jobject kept = (*env)->PopLocalFrame(env, pending != NULL ? pending : result);
  if (pending == NULL)
    return kept;
  (*env)->Throw(env, kept);
  return NULL;
}

/* ---- the native methods of jpeer.peer.Callback and Waiting ---- */

static jobject JNICALL call_method(JNIEnv *env, jobject handler, jlong number, jint index,
                                   jobjectArray arguments, jobject waiting, jboolean is_interrupted)
{
  struct jvm *jvm = the_jvm;
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
    unlist_call(call);
    release_call(env, call);
    return throw_result(env, make_exception(jvm, env, CODE_FAILED, TEXT("the thread is interrupted")));
  }
  return run_call(&running, arguments);
}

static jboolean JNICALL is_reachable(JNIEnv *env, jobject handler, jlong number)
{
  struct callback_proxy *proxy = callback_proxy_take(env, (uint64_t)number, handler);
  bool is_owned =
      proxy != NULL && the_jvm->callback_hooks->owner(proxy->callbacks, proxy->given.id, proxy->number) != 0;
  callback_proxy_release(env, proxy);
  return is_owned ? JNI_TRUE : JNI_FALSE;
}

static jobject JNICALL resume_call(JNIEnv *env, jobject handler, jobject waiting)
{
  (void)handler;
  struct jvm *jvm = the_jvm;
  struct open_call *call = waiting == NULL ? NULL : unpark_call(env, jvm, waiting);
  if (call == NULL) {
    throw_refusal(env, jvm, "this thread waits for no call with this number");
    return NULL;
  }
  struct running running = {.env = env, .call = call, .waiting = waiting, .hooks = jvm->callback_hooks};
  return continue_call(&running);
}

static void JNICALL abandon_call(JNIEnv *env, jobject handler, jobject waiting)
{
  (void)handler;
  struct jvm *jvm = the_jvm;
  struct open_call *call = waiting == NULL ? NULL : unpark_call(env, jvm, waiting);
  if (call == NULL)
    return;
  struct running running = {.env = env, .call = call, .hooks = jvm->callback_hooks};
  (void)end_call(&running);
}

static void JNICALL note_interrupt(JNIEnv *env, jobject waiting)
{
  struct jvm *jvm = the_jvm;
  uint64_t number = (uint64_t)(*env)->GetLongField(env, waiting, jvm->callback.number);
  struct open_call *call = find_call(env, number, waiting);
  if (call == NULL)
    return;
  struct jvm_thread *own = call->own;
  release_call(env, call);
  if (own != NULL)
    jvm->callback_hooks->interrupted(own);
}

static jobject JNICALL run_default_method(JNIEnv *env, jobject handler, jlong number, jint index,
                                          jobjectArray arguments)
{
  struct jvm *jvm = the_jvm;
  struct callback_proxy *proxy = callback_proxy_take(env, (uint64_t)number, handler);
  bool is_default = proxy != NULL && index >= 0 && (size_t)index < proxy->kind->method_count &&
                    !proxy->kind->methods[index].is_sent;
  struct jvm_method *method = is_default ? proxy->kind->methods[index].method : NULL;
  callback_proxy_release(env, proxy); /* the handler on the caller's stack keeps the interface loaded */
  if (method != NULL)
    return run_default(env, jvm, method, handler, arguments);
  throw_refusal(env, jvm, "no such method of a callback");
  return NULL;
}

/* ---- start ---- */

enum jp_status jvm_callbacks_start(struct jvm *jvm, const struct jvm_callback_hooks *hooks,
                                   struct jp_error *error)
{
  jvm->callback_hooks = hooks;
  return jvm_waiters_start(jvm, error);
}

#define OBJECT  "Ljava/lang/Object;"
#define WAITING "Ljpeer/peer/Waiting;"

/* The names below are the names in the compiled classes, so the result needs no further check. */
static bool bind_natives(JNIEnv *env, const struct jvm_callback_ids *ids)
{
  const JNINativeMethod of_callback[] = {
      {"call", "(JI[" OBJECT WAITING "Z)" OBJECT, (void *)call_method},
      {"isReachable", "(J)Z", (void *)is_reachable},
      {"resume", "(" WAITING ")" OBJECT, (void *)resume_call},
      {"abandon", "(" WAITING ")V", (void *)abandon_call},
      {"run", "(JI[" OBJECT ")" OBJECT, (void *)run_default_method},
  };
  const JNINativeMethod of_waiting = {"interrupted", "()V", (void *)note_interrupt};
  const JNINativeMethod of_released = {"reportCollected", "(J)V", (void *)callback_proxy_collected};
  return (*env)->RegisterNatives(env, ids->callback_class, of_callback,
                                 sizeof of_callback / sizeof *of_callback) == 0 &&
         (*env)->RegisterNatives(env, ids->waiting_class, &of_waiting, 1) == 0 &&
         (*env)->RegisterNatives(env, ids->released_class, &of_released, 1) == 0;
}

static bool find_methods(JNIEnv *env, struct jvm_callback_ids *ids)
{
  const struct {
    jclass class;
    jmethodID *id;
    bool is_static;
    const char *name;
    const char *descriptor;
  } rows[] = {
      {ids->callback_class, &ids->make, true, "make", "(Ljpeer/peer/CallbackKind;JJI)Ljpeer/peer/Callback;"},
      {ids->kind_class, &ids->make_kind, true, "make",
       "([Ljava/lang/Class;[Ljava/lang/String;Ljava/lang/Class;)Ljpeer/peer/CallbackKind;"},
      {ids->kind_class, &ids->function_of, true, "functionOf", "(Ljava/lang/Class;)I"},
      {ids->kind_class, &ids->function_name_of, true, "functionNameOf",
       "(Ljava/lang/Class;)Ljava/lang/String;"},
      {ids->exception_class, &ids->new_exception, false, "<init>", "(ILjava/lang/String;)V"},
      {ids->waiting_class, &ids->wake, false, "wake", "()V"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    *rows[i].id = rows[i].is_static
                      ? (*env)->GetStaticMethodID(env, rows[i].class, rows[i].name, rows[i].descriptor)
                      : (*env)->GetMethodID(env, rows[i].class, rows[i].name, rows[i].descriptor);
    if (*rows[i].id == NULL)
      return false;
  }
  return true;
}

static bool find_fields(JNIEnv *env, struct jvm_callback_ids *ids)
{
  const struct {
    jclass class;
    jfieldID *id;
    const char *name;
    const char *descriptor;
  } rows[] = {
      {ids->callback_class, &ids->proxy, "proxy", OBJECT},
      {ids->callback_class, &ids->proxy_number, "number", "J"},
      {ids->kind_class, &ids->methods, "methods", "[Ljava/lang/reflect/Method;"},
      {ids->kind_class, &ids->results, "results", "[Ljava/lang/Class;"},
      {ids->kind_class, &ids->sent, "sent", "[Z"},
      {ids->waiting_class, &ids->number, "number", "J"},
      {ids->waiting_class, &ids->nanos, "nanos", "J"},
      {ids->waiting_class, &ids->is_interrupted, "isInterrupted", "Z"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    *rows[i].id = (*env)->GetFieldID(env, rows[i].class, rows[i].name, rows[i].descriptor);
    if (*rows[i].id == NULL)
      return false;
  }
  return true;
}

bool callback_natives_bind(JNIEnv *env, struct jvm *jvm)
{
  the_jvm = jvm;
  struct jvm_callback_ids *ids = &jvm->callback;
  return bind_natives(env, ids) && find_methods(env, ids) && find_fields(env, ids);
}

/* Executors of the application: finding them by their members, and running work on their threads. */
#include "jni/executors.h"

#include "jni/members.h"
#include "jni/runtime/dispatch.h"
#include "jni/runtime/tasks.h"
#include "jni/runtime/throwables.h"
#include "jni/types/member_table.h"

#include <stdarg.h>
#include <stdio.h>

enum { WHAT_MAX = 512 };

/* How a task is passed to an executor. */
struct executor_entry {
  jobject executor; /* local: the executor, whose method execute is called. NULL: a static method with a
                     * Runnable parameter is called */
  jclass class;     /* borrowed */
  jmethodID method;
  char result; /* of that static method: the letter of its result type */
};

struct lookup {
  struct jvm_thread *thread;
  const struct jvm_executor_call *call;
  struct outcome *outcome;

  /* The nearest static members of the name; NULL: none. */
  const struct jvm_method *taker; /* has a Runnable parameter */
  const struct jvm_method *giver; /* has no parameters and returns an object */
  const struct jvm_field *field;  /* holds an object */
  bool has_instance_member;
  bool has_other_member;
};

/* ---- errors ---- */

static void fail_with(const struct jvm_executor_call *call, struct outcome *outcome,
                      enum outcome_failure failure, struct text what)
{
  const struct jvm_executor *executor = call->executor;
  outcome_fail(outcome, call->arena, failure, NULL, "thread affinity %.*s (%.*s.%.*s): %.*s",
               TEXT_ARGS(executor->name), TEXT_ARGS(executor->class_name), TEXT_ARGS(executor->member),
               TEXT_ARGS(what));
}

/* Makes *outcome an error that names the executor. Returns JP_INVALID. */
__attribute__((format(printf, 3, 4))) static enum jp_status
fail_executor(const struct jvm_executor_call *call, struct outcome *outcome, const char *format, ...)
{
  char what[WHAT_MAX];
  va_list arguments;
  va_start(arguments, format);
  text_format_va(what, sizeof what, format, arguments);
  va_end(arguments);
  fail_with(call, outcome, FAILURE_SERVER, text_of(what));
  return JP_INVALID;
}

/* The same as fail_executor, for a throwable. Deletes the local reference of the throwable. what: "its class
 * cannot be loaded". Returns JP_JAVA. */
static enum jp_status fail_thrown(struct jvm_thread *thread, const struct jvm_executor_call *call,
                                  jthrowable thrown, const char *what, struct outcome *outcome)
{
  struct outcome described;
  throwable_to_outcome(thread, thrown, call->arena, call->stack_frames_max, &described);
  (*thread->env)->DeleteLocalRef(thread->env, thrown);
  struct text message = described.message.data == NULL
                            ? arena_printf(call->arena, "%s: %.*s", what, TEXT_ARGS(described.throwable_type))
                            : arena_printf(call->arena, "%s: %.*s: %.*s", what,
                                           TEXT_ARGS(described.throwable_type), TEXT_ARGS(described.message));
  fail_with(call, outcome, FAILURE_SERVER, message.data == NULL ? text_of(what) : message);
  outcome->throwable = described.throwable;
  outcome->throwable_type = described.throwable_type;
  return JP_JAVA;
}

static enum jp_status fail_memory(struct lookup *lookup)
{
  fail_with(lookup->call, lookup->outcome, FAILURE_INTERNAL, TEXT("out of memory"));
  return JP_NO_MEMORY;
}

/* For a failed Java call: reports the exception, or that memory is short. */
static enum jp_status fail_pending(struct lookup *lookup, const char *what)
{
  jthrowable thrown = throwable_catch(lookup->thread->env);
  if (thrown != NULL)
    return fail_thrown(lookup->thread, lookup->call, thrown, what, lookup->outcome);
  return fail_memory(lookup);
}

/* ---- the members with the name ---- */

static void note_method(struct lookup *lookup, const struct jvm_method *method)
{
  bool takes = method->param_count == 1 && text_equal(method->params[0].name, TEXT("java.lang.Runnable"));
  bool gives = method->param_count == 0 && method->result.kind == 'L';
  if (!takes && !gives)
    lookup->has_other_member = true;
  else if ((method->modifiers & OP_ACC_STATIC) == 0)
    lookup->has_instance_member = true;
  else if (takes && lookup->taker == NULL)
    lookup->taker = method;
  else if (gives && lookup->giver == NULL)
    lookup->giver = method;
}

static void note_field(struct lookup *lookup, const struct jvm_field *field)
{
  if (field->type.kind != 'L')
    lookup->has_other_member = true;
  else if ((field->modifiers & OP_ACC_STATIC) == 0)
    lookup->has_instance_member = true;
  else if (lookup->field == NULL)
    lookup->field = field;
}

/* Searches the class and its superclasses. */
static enum jp_status find_members(struct lookup *lookup)
{
  struct jvm_thread *thread = lookup->thread;
  struct text name = lookup->call->executor->member;
  struct jvm_class *class =
      jvm_class_load(thread, lookup->call->executor->class_name, thread->jvm->class_loader);
  while (class != NULL) {
    const struct member_table *table = member_table_of(thread, class);
    if (table == NULL)
      return fail_pending(lookup, "its class cannot be linked");
    for (size_t i = 0; i < table->method_count; i++) {
      if (text_equal(table->methods[i].name, name))
        note_method(lookup, &table->methods[i]);
    }
    for (size_t i = 0; i < table->field_count; i++) {
      if (text_equal(table->fields[i].name, name))
        note_field(lookup, &table->fields[i]);
    }
    if (table->super == NULL)
      return JP_OK;
    class = table->super;
  }
  return fail_pending(lookup, "its class cannot be loaded");
}

/* ---- the executor ---- */

static jobject call_giver(JNIEnv *env, const struct jvm_method *giver)
{
  jclass class = jvm_class_ref(giver->owner);
  jmethodID id = (*env)->GetStaticMethodID(env, class, giver->raw_name, giver->raw_descriptor);
  return id == NULL ? NULL : (*env)->CallStaticObjectMethod(env, class, id);
}

static jobject read_field(JNIEnv *env, const struct jvm_field *field)
{
  jclass class = jvm_class_ref(field->owner);
  jfieldID id = (*env)->GetStaticFieldID(env, class, field->raw_name, field->raw_descriptor);
  return id == NULL ? NULL : (*env)->GetStaticObjectField(env, class, id);
}

static enum jp_status enter_executor(struct lookup *lookup, struct executor_entry *entry)
{
  struct jvm_thread *thread = lookup->thread;
  JNIEnv *env = thread->env;
  jobject given = lookup->giver != NULL ? call_giver(env, lookup->giver) : read_field(env, lookup->field);
  if ((*env)->ExceptionCheck(env))
    return fail_pending(lookup, "the member threw");
  if (given == NULL)
    return fail_executor(lookup->call, lookup->outcome, "the member returned null");
  if ((*env)->IsInstanceOf(env, given, thread->jvm->known.class_executor)) {
    entry->executor = given;
    return JP_OK;
  }
  const struct jvm_class *class = jvm_class_of_object(thread, given);
  (*env)->DeleteLocalRef(env, given);
  if (class == NULL)
    return fail_memory(lookup);
  return fail_executor(lookup->call, lookup->outcome,
                       "the member returned a %.*s, which is no java.util.concurrent.Executor",
                       TEXT_ARGS(arena_shorten(lookup->call->arena, class->name, OUTCOME_NAME_SHOWN)));
}

/* Finds the executor by its name. Any result except JP_OK leaves an OUTCOME_ERROR in *outcome. Runs the
 * initialiser of the class, and the method that returns the executor. */
static enum jp_status find_executor(struct jvm_thread *thread, const struct jvm_executor_call *call,
                                    struct executor_entry *entry, struct outcome *outcome)
{
  struct lookup lookup = {.thread = thread, .call = call, .outcome = outcome};
  *entry = (struct executor_entry){0};
  enum jp_status status = find_members(&lookup);
  if (status != JP_OK)
    return status;
  const struct jvm_method *taker = lookup.taker;
  if (taker != NULL) {
    entry->class = jvm_class_ref(taker->owner);
    entry->result = taker->result.kind;
    /* Taking an id initialises the class. */
    entry->method =
        (*thread->env)->GetStaticMethodID(thread->env, entry->class, taker->raw_name, taker->raw_descriptor);
    return entry->method == NULL ? fail_pending(&lookup, "its class cannot be initialised") : JP_OK;
  }
  if (lookup.giver != NULL || lookup.field != NULL)
    return enter_executor(&lookup, entry);
  if (lookup.has_instance_member)
    return fail_executor(call, outcome, "the member is not static");
  if (lookup.has_other_member)
    return fail_executor(call, outcome,
                         "the member is neither a method that takes one Runnable, nor a method without "
                         "parameters or a field that holds an Executor");
  return fail_executor(call, outcome, "its class has no such method or field");
}

/* ---- running the task ---- */

/* Passes the task to the executor. Returns what the executor threw: a local reference; NULL: nothing. From
 * now on the executor's thread may use the caller's struct jvm_thread. */
static jthrowable submit_task(JNIEnv *env, const struct jvm_known *known, const struct executor_entry *entry,
                              jobject object)
{
  const jvalue arguments[] = {{.l = object}};
  jvalue result = {.l = NULL};
  if (entry->executor != NULL) {
    (*env)->CallVoidMethodA(env, entry->executor, known->method_executor_execute, arguments);
  } else {
    dispatch_call_static(env, entry->result, entry->class, entry->method, arguments, &result);
    if (entry->result == 'L')
      (*env)->DeleteLocalRef(env, result.l);
  }
  return throwable_catch(env);
}

static enum jp_status await_task(const struct jvm_executor_call *call, struct jvm_task *task,
                                 struct outcome *outcome)
{
  switch (jvm_task_await(task)) {
  case JVM_TASK_DONE:
    return JP_OK;
  case JVM_TASK_DROPPED:
    return fail_executor(call, outcome, "the executor dropped the request without running it");
  case JVM_TASK_CRAMPED:
    break;
  }
  return fail_executor(call, outcome, "less than %d KiB of stack are left on the executor's thread",
                       JVM_TASK_STACK_MIN / 1024);
}

enum jp_status jvm_executor_run(struct jvm_thread *thread, const struct jvm_executor_call *call,
                                struct outcome *outcome)
{
  JNIEnv *env = thread->env; /* while `thread` is lent, thread->env is the borrower's */
  struct executor_entry entry;
  struct jvm_task *task;
  jobject object;
  struct jp_error error;
  enum jp_status status = find_executor(thread, call, &entry, outcome);
  if (status != JP_OK)
    return status;
  if (jvm_task_create(thread, call->run, call->argument, &task, &object, &error) != JP_OK) {
    fail_with(call, outcome, error.status == JP_NO_MEMORY ? FAILURE_INTERNAL : FAILURE_SERVER,
              text_of(error.text));
    status = error.status;
    goto out;
  }
  jthrowable thrown = submit_task(env, &thread->jvm->known, &entry, object);
  (*env)->DeleteLocalRef(env, object);
  if (thrown != NULL && jvm_task_withdraw(task)) {
    status = fail_thrown(thread, call, thrown, "the executor threw", outcome);
  } else {
    /* The executor runs the task. If the executor threw all the same, only the task's own outcome counts. */
    (*env)->DeleteLocalRef(env, thrown);
    status = await_task(call, task, outcome);
  }
  jvm_task_release(env, task);
out:
  (*env)->DeleteLocalRef(env, entry.executor);
  return status;
}

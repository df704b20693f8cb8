#include "jni/executors/executor_lookup.h"

#include "jni/members.h"
#include "jni/runtime/dispatch.h"
#include "jni/runtime/throwables.h"
#include "jni/types/member_table.h"

#include <stdarg.h>
#include <stdio.h>

enum { WHAT_MAX = 512 };

struct lookup {
  struct jvm_thread *thread;
  const struct jvm_executor_call *call;
  struct outcome *outcome;

  /* The nearest static members of the name; NULL: none. */
  const struct jvm_method *taker; /* takes a Runnable */
  const struct jvm_method *giver; /* takes nothing, and gives an object */
  const struct jvm_field *field;  /* holds an object */
  bool has_instance_member;
  bool has_other_member;
};

/* ---- errors ---- */

static void fail_with(const struct jvm_executor_call *call, struct outcome *outcome, struct text what)
{
  const struct jvm_executor *executor = call->executor;
  outcome_fail(outcome, call->arena, FAILURE_SERVER, NULL, "thread affinity %.*s (%.*s.%.*s): %.*s",
               TEXT_ARGS(executor->name), TEXT_ARGS(executor->class_name), TEXT_ARGS(executor->member),
               TEXT_ARGS(what));
}

enum jp_status executor_fail(const struct jvm_executor_call *call, struct outcome *outcome,
                             const char *format, ...)
{
  char what[WHAT_MAX];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  fail_with(call, outcome, text_of(what));
  return JP_INVALID;
}

enum jp_status executor_fail_thrown(struct jvm_thread *thread, const struct jvm_executor_call *call,
                                    jthrowable thrown, const char *what, struct outcome *outcome)
{
  struct outcome told;
  throwable_to_outcome(thread, thrown, call->arena, call->stack_frames_max, &told);
  (*thread->env)->DeleteLocalRef(thread->env, thrown);
  struct text message = told.message.data == NULL
                            ? arena_printf(call->arena, "%s: %.*s", what, TEXT_ARGS(told.throwable_type))
                            : arena_printf(call->arena, "%s: %.*s: %.*s", what,
                                           TEXT_ARGS(told.throwable_type), TEXT_ARGS(told.message));
  fail_with(call, outcome, message.data == NULL ? text_of(what) : message);
  outcome->throwable = told.throwable;
  outcome->throwable_type = told.throwable_type;
  return JP_JAVA;
}

/* After something of Java's has failed: what it threw, or that memory is short. */
static enum jp_status fail_pending(struct lookup *lookup, const char *what)
{
  jthrowable thrown = throwable_catch(lookup->thread->env);
  if (thrown != NULL)
    return executor_fail_thrown(lookup->thread, lookup->call, thrown, what, lookup->outcome);
  return executor_fail(lookup->call, lookup->outcome, "out of memory");
}

/* ---- the members of the name ---- */

static bool takes_runnable(const struct jvm_method *method)
{
  return method->param_count == 1 && text_equal(method->params[0].name, TEXT("java.lang.Runnable"));
}

static void note_method(struct lookup *lookup, const struct jvm_method *method)
{
  bool takes = takes_runnable(method);
  bool gives = method->param_count == 0 && method->result.kind == 'L';
  if (!takes && !gives)
    lookup->has_other_member = true;
  else if ((method->modifiers & JVM_ACC_STATIC) == 0)
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
  else if ((field->modifiers & JVM_ACC_STATIC) == 0)
    lookup->has_instance_member = true;
  else if (lookup->field == NULL)
    lookup->field = field;
}

static void note_members(struct lookup *lookup, const struct member_table *table)
{
  struct text name = lookup->call->executor->member;
  for (size_t i = 0; i < table->method_count; i++) {
    if (text_equal(table->methods[i].name, name))
      note_method(lookup, &table->methods[i]);
  }
  for (size_t i = 0; i < table->field_count; i++) {
    if (text_equal(table->fields[i].name, name))
      note_field(lookup, &table->fields[i]);
  }
}

/* Of the class and its superclasses. */
static enum jp_status find_members(struct lookup *lookup)
{
  struct jvm_thread *thread = lookup->thread;
  struct jvm_class *class =
      jvm_class_load(thread, lookup->call->executor->class_name, thread->jvm->class_loader);
  while (class != NULL) {
    const struct member_table *table = member_table_of(thread, class);
    if (table == NULL)
      return fail_pending(lookup, "its class cannot be linked");
    note_members(lookup, table);
    if (table->super == NULL)
      return JP_OK;
    class = table->super;
  }
  return fail_pending(lookup, "its class cannot be loaded");
}

static enum jp_status fail_to_find(struct lookup *lookup)
{
  const struct jvm_executor_call *call = lookup->call;
  if (lookup->has_instance_member)
    return executor_fail(call, lookup->outcome, "the member is not static");
  if (lookup->has_other_member)
    return executor_fail(call, lookup->outcome,
                         "the member is neither a method that takes one Runnable, nor a method without "
                         "parameters or a field that gives an Executor");
  return executor_fail(call, lookup->outcome, "its class has no such method or field");
}

/* ---- the executor ---- */

/* Taking an id initialises the class. */
static enum jp_status enter_taker(struct lookup *lookup, struct executor_entry *entry)
{
  JNIEnv *env = lookup->thread->env;
  const struct jvm_method *taker = lookup->taker;
  entry->class = jvm_class_ref(taker->owner);
  entry->result = taker->result.kind;
  entry->method = (*env)->GetStaticMethodID(env, entry->class, taker->raw_name, taker->raw_descriptor);
  return entry->method == NULL ? fail_pending(lookup, "its class cannot be initialised") : JP_OK;
}

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
    return executor_fail(lookup->call, lookup->outcome, "the member gave null");
  if ((*env)->IsInstanceOf(env, given, thread->jvm->known.class_executor)) {
    entry->executor = given;
    return JP_OK;
  }
  const struct jvm_class *class = jvm_class_of_object(thread, given);
  (*env)->DeleteLocalRef(env, given);
  if (class == NULL)
    return executor_fail(lookup->call, lookup->outcome, "out of memory");
  return executor_fail(lookup->call, lookup->outcome,
                       "the member gave a %.*s, which is no java.util.concurrent.Executor",
                       TEXT_ARGS(arena_shorten(lookup->call->arena, class->name, OUTCOME_NAME_SHOWN)));
}

enum jp_status executor_find(struct jvm_thread *thread, const struct jvm_executor_call *call,
                             struct executor_entry *entry, struct outcome *outcome)
{
  struct lookup lookup = {.thread = thread, .call = call, .outcome = outcome};
  *entry = (struct executor_entry){0};
  enum jp_status status = find_members(&lookup);
  if (status != JP_OK)
    return status;
  if (lookup.taker != NULL)
    return enter_taker(&lookup, entry);
  if (lookup.giver != NULL || lookup.field != NULL)
    return enter_executor(&lookup, entry);
  return fail_to_find(&lookup);
}

#include "jni/callbacks/answers.h"

#include "base/primitives.h"
#include "jni/convert/arguments.h"
#include "jni/objects/object_table.h"
#include "jni/resolve/resolve_value.h"
#include "jni/runtime/strings.h"
#include "jni/runtime/throwables.h"

jobject callback_box(const struct jvm *jvm, JNIEnv *env, char letter, const jvalue *value)
{
  const struct jvm_known *known = &jvm->known;
  switch (letter) {
#define CASE(letter, member, keyword, type, Word, box, ...)                                                  \
  case letter:                                                                                               \
    return (*env)->CallStaticObjectMethodA(env, known->class_##box, known->static_##box##_value_of, value);
    PRIMITIVES(CASE)
#undef CASE
  default:
    return NULL;
  }
}

/* ---- a value ---- */

static bool fail_result(const struct jvm_request *request, struct outcome *failed, const char *what)
{
  outcome_fail(failed, request->arena, FAILURE_INVALID_PARAMS, NULL, "%s", what);
  return false;
}

/* Most answers of functions that return a primitive: one that is written as it is. */
static bool read_primitive(const struct callback_method *method, const struct op_value *value, jvalue *out)
{
  return value->type.data == NULL && value->kind != OP_TEXT && value->kind != OP_REF &&
         op_scalar_read(value, method->result.kind, out) == OP_SCALAR_FITS;
}

/* A text for a method that returns a String, or may: most answers of other functions. */
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
                                      .type = method->told.interface,
                                      .member = method->told.name,
                                      .args = value,
                                      .arg_count = 1};
  struct jvm_request putting = *request;
  struct jvm_type type = {
      .kind = method->result.kind, .unboxed = method->result.unboxed, .name = method->result.name};
  atomic_store_explicit(&type.class, atomic_load_explicit(&method->result.class, memory_order_relaxed),
                        memory_order_relaxed);
  putting.operation = &operation;
  bool is_container = value->kind == OP_LIST || value->kind == OP_MAP;
  const struct element_types *elements =
      is_container ? element_types_of_result(request->thread, method->method, method->given, request->arena)
                   : NULL;
  return resolve_value(&putting, &type, elements, method->method->owner, out, failed);
}

bool callback_answer_return(const struct jvm_request *request, const struct callback_method *method,
                            struct op_value *value, struct callback_result *result, struct outcome *failed)
{
  jvalue converted = {0};
  *result = (struct callback_result){.value = NULL};
  if (method->told.is_void)
    return value->kind == OP_NULL || fail_result(request, failed, "a method that returns nothing takes null");
  char letter = method->result.kind;
  struct jvm_thread *thread = request->thread;
  bool is_text = letter == 'L' && is_plain_text(method, value);
  bool is_read = letter != 'L' && read_primitive(method, value, &converted);
  if (is_text)
    converted.l = jvm_string_new(thread, value->text);
  else if (!is_read && !convert_value(request, method, value, &converted, failed))
    return false;
  result->value = letter == 'L' ? converted.l : callback_box(thread->jvm, thread->env, letter, &converted);
  return !throwable_take_outcome(thread, request->arena, request->limits->stack_frames_max, failed);
}

/* ---- throwables ---- */

struct callback_result callback_exception(struct jvm_thread *thread, int code, struct text message)
{
  JNIEnv *env = thread->env;
  const struct jvm_callback_ids *ids = &thread->jvm->callback;
  jstring text = message.data == NULL ? NULL : jvm_string_new(thread, message);
  jobject made = NULL;
  if (!(*env)->ExceptionCheck(env))
    made = (*env)->NewObject(env, ids->exception_class, ids->new_exception, (jint)code, text);
  jthrowable thrown = throwable_catch(env);
  (*env)->DeleteLocalRef(env, text);
  return (struct callback_result){.value = thrown != NULL ? thrown : made, .is_thrown = true};
}

static bool is_throwable(struct jvm_thread *thread, jobject object)
{
  return object != NULL &&
         (*thread->env)->IsInstanceOf(thread->env, object, thread->jvm->known.class_throwable);
}

static jobject find_throwable(const struct jvm_request *request, uint32_t ref)
{
  jobject held = jvm_objects_get(request->thread, request->objects, ref, NULL);
  return is_throwable(request->thread, held) ? held : NULL;
}

/* Runs the operation of a new object, which the guard judges before anything is loaded. NULL: it may not, or cannot,
 * be made. */
static jobject make_throwable(const struct jvm_request *request, const struct jvm_callback_answer *answer)
{
  struct op_value message = {.kind = OP_TEXT, .text = answer->message};
  const struct operation operation = {.kind = OP_NEW,
                                      .type = answer->throwable_type,
                                      .member = TEXT("<init>"),
                                      .args = &message,
                                      .arg_count = answer->message.data != NULL};
  struct jvm_result result = {.object = NULL};
  struct jvm_request making = *request;
  making.operation = &operation;
  making.drops_result = true;
  making.result = &result;
  struct jvm_target target;
  struct outcome outcome = {.kind = OUTCOME_VOID};
  if (jvm_resolve(&making, &target, &outcome) == JP_OK)
    jvm_invoke(&making, &target, &outcome);
  return is_throwable(request->thread, result.object) ? result.object : NULL;
}

void callback_answer_throw(const struct jvm_request *request, const struct jvm_callback_answer *answer,
                           struct callback_result *result)
{
  jobject thrown = answer->ref == 0 ? NULL : find_throwable(request, answer->ref);
  if (thrown == NULL && answer->throwable_type.data != NULL)
    thrown = make_throwable(request, answer);
  *result = (struct callback_result){.value = thrown, .is_thrown = true};
  if (thrown == NULL)
    *result = callback_exception(request->thread, answer->code, answer->message);
}

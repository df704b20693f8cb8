#include "jni/callbacks/callback_arguments.h"

#include "jni/objects/object_table.h"

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

/* Called code may have called the native method itself, so that the object's own class decides. */
static bool is_boxed(struct passing *passing, const struct jvm_type *declared, jobject object)
{
  jclass wrapper = jvm_known_wrapper(&passing->request->thread->jvm->known, declared->kind);
  return object != NULL && (*passing->env)->IsInstanceOf(passing->env, object, wrapper);
}

static bool make_primitive(struct passing *passing, const struct jvm_type *declared, jobject object,
                           struct outcome *out)
{
  if (!is_boxed(passing, declared, object))
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

static bool has_arguments(struct passing *passing, jobjectArray arguments, size_t count)
{
  jsize length = arguments == NULL ? 0 : (*passing->env)->GetArrayLength(passing->env, arguments);
  return (size_t)length == count || fail_passing(passing, "a wrong number of arguments");
}

const struct outcome *callback_arguments_make(const struct jvm_request *request,
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
    (void)fail_passing(&passing, "out of memory");
    return NULL;
  }
  bool is_made = has_arguments(&passing, arguments, count);
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

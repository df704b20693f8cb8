#include "jni/callbacks/natives.h"

#include "jni/proxies/proxies.h"

#define OBJECT  "Ljava/lang/Object;"
#define WAITING "Ljpeer/peer/Waiting;"

static struct jvm *the_jvm;

struct jvm *callback_jvm(void)
{
  return the_jvm;
}

/* C trusts the compiler that wrote the classes: the names below are theirs. */
static bool bind_natives(JNIEnv *env, const struct jvm_callback_ids *ids)
{
  const JNINativeMethod of_callback[] = {
      {"call", "(JI[" OBJECT WAITING "Z)" OBJECT, (void *)callback_call},
      {"resume", "(" WAITING ")" OBJECT, (void *)callback_resume},
      {"abandon", "(" WAITING ")V", (void *)callback_abandon},
      {"run", "(JI[" OBJECT ")" OBJECT, (void *)callback_run},
  };
  const JNINativeMethod of_waiting = {"interrupted", "()V", (void *)callback_interrupted};
  const JNINativeMethod of_released = {"tell", "(J)V", (void *)callback_proxy_tell_released};
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
       "([Ljava/lang/Class;[Ljava/lang/String;)Ljpeer/peer/CallbackKind;"},
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

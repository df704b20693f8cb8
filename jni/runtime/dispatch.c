#include "jni/runtime/dispatch.h"

#include "base/primitives.h"

/* The primitives, and the columns of Object that this file uses. */
#define TYPES(X) PRIMITIVES(X) X('L', l, , , Object, )

void dispatch_call(JNIEnv *env, char result, jobject on, jmethodID id, const jvalue *arguments, jvalue *out)
{
  switch (result) {
#define CASE(letter, member, keyword, type, Word, ...)                                                       \
  case letter:                                                                                               \
    out->member = (*env)->Call##Word##MethodA(env, on, id, arguments);                                       \
    break;
    TYPES(CASE)
#undef CASE
  default:
    (*env)->CallVoidMethodA(env, on, id, arguments);
    break;
  }
}

void dispatch_call_nonvirtual(JNIEnv *env, char result, jobject on, jclass class, jmethodID id,
                              const jvalue *arguments, jvalue *out)
{
  switch (result) {
#define CASE(letter, member, keyword, type, Word, ...)                                                       \
  case letter:                                                                                               \
    out->member = (*env)->CallNonvirtual##Word##MethodA(env, on, class, id, arguments);                      \
    break;
    TYPES(CASE)
#undef CASE
  default:
    (*env)->CallNonvirtualVoidMethodA(env, on, class, id, arguments);
    break;
  }
}

void dispatch_call_static(JNIEnv *env, char result, jclass on, jmethodID id, const jvalue *arguments,
                          jvalue *out)
{
  switch (result) {
#define CASE(letter, member, keyword, type, Word, ...)                                                       \
  case letter:                                                                                               \
    out->member = (*env)->CallStatic##Word##MethodA(env, on, id, arguments);                                 \
    break;
    TYPES(CASE)
#undef CASE
  default:
    (*env)->CallStaticVoidMethodA(env, on, id, arguments);
    break;
  }
}

void dispatch_get(JNIEnv *env, char type, jobject on, jfieldID id, jvalue *out)
{
  switch (type) {
#define CASE(letter, member, keyword, type, Word, ...)                                                       \
  case letter:                                                                                               \
    out->member = (*env)->Get##Word##Field(env, on, id);                                                     \
    break;
    TYPES(CASE)
#undef CASE
  }
}

void dispatch_get_static(JNIEnv *env, char type, jclass on, jfieldID id, jvalue *out)
{
  switch (type) {
#define CASE(letter, member, keyword, type, Word, ...)                                                       \
  case letter:                                                                                               \
    out->member = (*env)->GetStatic##Word##Field(env, on, id);                                               \
    break;
    TYPES(CASE)
#undef CASE
  }
}

void dispatch_put(JNIEnv *env, char type, jobject on, jfieldID id, const jvalue *value)
{
  switch (type) {
#define CASE(letter, member, keyword, type, Word, ...)                                                       \
  case letter:                                                                                               \
    (*env)->Set##Word##Field(env, on, id, value->member);                                                    \
    break;
    TYPES(CASE)
#undef CASE
  }
}

void dispatch_put_static(JNIEnv *env, char type, jclass on, jfieldID id, const jvalue *value)
{
  switch (type) {
#define CASE(letter, member, keyword, type, Word, ...)                                                       \
  case letter:                                                                                               \
    (*env)->SetStatic##Word##Field(env, on, id, value->member);                                              \
    break;
    TYPES(CASE)
#undef CASE
  }
}

jobject dispatch_new_array(JNIEnv *env, char element, jsize count)
{
  switch (element) {
#define CASE(letter, member, keyword, type, Word, ...)                                                       \
  case letter:                                                                                               \
    return (*env)->New##Word##Array(env, count);
    PRIMITIVES(CASE)
#undef CASE
  default:
    return NULL;
  }
}

void dispatch_set_region(JNIEnv *env, char element, jobject array, jsize count, const void *data)
{
  dispatch_set_range(env, element, array, 0, count, data);
}

void dispatch_set_range(JNIEnv *env, char element, jobject array, jsize from, jsize count, const void *data)
{
  switch (element) {
#define CASE(letter, member, keyword, type, Word, ...)                                                       \
  case letter:                                                                                               \
    (*env)->Set##Word##ArrayRegion(env, array, from, count, data);                                           \
    break;
    PRIMITIVES(CASE)
#undef CASE
  }
}

void dispatch_get_range(JNIEnv *env, char element, jobject array, jsize from, jsize count, void *data)
{
  switch (element) {
#define CASE(letter, member, keyword, type, Word, ...)                                                       \
  case letter:                                                                                               \
    (*env)->Get##Word##ArrayRegion(env, array, from, count, data);                                           \
    break;
    PRIMITIVES(CASE)
#undef CASE
  }
}

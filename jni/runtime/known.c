#include "jni/runtime/known.h"

#include "base/primitives.h"

#include <stdbool.h>
#include <stddef.h>

struct class_row {
  size_t offset;
  const char *name;
};

struct member_row {
  size_t offset;
  size_t class_offset;
  const char *name;
  const char *descriptor;
};

static const struct class_row class_rows[] = {
#define ROW(field, name) {offsetof(struct jvm_known, class_##field), name},
    JVM_KNOWN_CLASSES(ROW)
#undef ROW
};

static const struct member_row method_rows[] = {
#define ROW(field, class, name, descriptor)                                                                  \
  {offsetof(struct jvm_known, method_##field), offsetof(struct jvm_known, class_##class), name, descriptor},
    JVM_KNOWN_METHODS(ROW)
#undef ROW
};

static const struct member_row static_method_rows[] = {
#define ROW(field, class, name, descriptor)                                                                  \
  {offsetof(struct jvm_known, static_##field), offsetof(struct jvm_known, class_##class), name, descriptor},
    JVM_KNOWN_STATIC_METHODS(ROW)
#undef ROW
};

static const struct member_row field_rows[] = {
#define ROW(field, class, name, descriptor)                                                                  \
  {offsetof(struct jvm_known, field_##field), offsetof(struct jvm_known, class_##class), name, descriptor},
    JVM_KNOWN_FIELDS(ROW)
#undef ROW
};

enum {
  CLASS_ROWS = sizeof class_rows / sizeof class_rows[0],
  METHOD_ROWS = sizeof method_rows / sizeof method_rows[0],
  STATIC_METHOD_ROWS = sizeof static_method_rows / sizeof static_method_rows[0],
  FIELD_ROWS = sizeof field_rows / sizeof field_rows[0]
};

static void *field_at(struct jvm_known *known, size_t offset)
{
  return (char *)known + offset;
}

static enum jp_status load_class(JNIEnv *env, struct jvm_known *known, const struct class_row *row,
                                 struct jp_error *error)
{
  jclass local = (*env)->FindClass(env, row->name);
  jclass global = local == NULL ? NULL : (*env)->NewGlobalRef(env, local);
  if (global == NULL) {
    (*env)->ExceptionClear(env);
    return jp_fail(error, JP_INTERNAL, "this JVM has no class %s", row->name);
  }
  (*env)->DeleteLocalRef(env, local);
  *(jclass *)field_at(known, row->offset) = global;
  return JP_OK;
}

static enum jp_status load_method(JNIEnv *env, struct jvm_known *known, const struct member_row *row,
                                  bool is_static, struct jp_error *error)
{
  jclass class = *(jclass *)field_at(known, row->class_offset);
  jmethodID id = is_static ? (*env)->GetStaticMethodID(env, class, row->name, row->descriptor)
                           : (*env)->GetMethodID(env, class, row->name, row->descriptor);
  if (id == NULL) {
    (*env)->ExceptionClear(env);
    return jp_fail(error, JP_INTERNAL, "this JVM has no method %s%s", row->name, row->descriptor);
  }
  *(jmethodID *)field_at(known, row->offset) = id;
  return JP_OK;
}

static enum jp_status load_field(JNIEnv *env, struct jvm_known *known, const struct member_row *row,
                                 struct jp_error *error)
{
  jclass class = *(jclass *)field_at(known, row->class_offset);
  jfieldID id = (*env)->GetFieldID(env, class, row->name, row->descriptor);
  if (id == NULL) {
    (*env)->ExceptionClear(env);
    return jp_fail(error, JP_INTERNAL, "this JVM has no field %s of type %s", row->name, row->descriptor);
  }
  *(jfieldID *)field_at(known, row->offset) = id;
  return JP_OK;
}

jclass jvm_known_wrapper(const struct jvm_known *known, char letter)
{
  switch (letter) {
#define CASE(letter, member, keyword, type, Word, box, ...)                                                  \
  case letter:                                                                                               \
    return known->class_##box;
    PRIMITIVES(CASE)
#undef CASE
  default:
    return NULL;
  }
}

jobject jvm_known_box(const struct jvm_known *known, JNIEnv *env, char letter, const jvalue *value)
{
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

enum jp_status jvm_known_load(JNIEnv *env, struct jvm_known *known, struct jp_error *error)
{
  enum jp_status status = JP_OK;
  for (size_t i = 0; status == JP_OK && i < CLASS_ROWS; i++)
    status = load_class(env, known, &class_rows[i], error);
  for (size_t i = 0; status == JP_OK && i < METHOD_ROWS; i++)
    status = load_method(env, known, &method_rows[i], false, error);
  for (size_t i = 0; status == JP_OK && i < STATIC_METHOD_ROWS; i++)
    status = load_method(env, known, &static_method_rows[i], true, error);
  for (size_t i = 0; status == JP_OK && i < FIELD_ROWS; i++)
    status = load_field(env, known, &field_rows[i], error);
  return status;
}

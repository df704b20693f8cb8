#include "jni/runtime/strings.h"

#include "base/primitives.h"

#include <limits.h>

enum { ELLIPSIS = 3, UNIT_BYTES_MAX = 3, SMALL = 4096, LONG_ASCII = 128 };

/* NewString reads each unit twice, one at a time; Java's constructor copies the bytes as a block. */
static jstring make_ascii_string(struct jvm_thread *thread, struct text t)
{
  JNIEnv *env = thread->env;
  jbyteArray bytes = (*env)->NewByteArray(env, (jsize)t.len);
  if (bytes == NULL)
    return NULL;
  (*env)->SetByteArrayRegion(env, bytes, 0, (jsize)t.len, (const jbyte *)t.data);
  const jvalue arguments[] = {{.l = bytes}, {.i = 0}, {.i = 0}, {.i = (jsize)t.len}};
  jstring string = (*env)->NewObjectA(env, thread->jvm->known.class_string,
                                      thread->jvm->known.method_string_of_bytes, arguments);
  (*env)->DeleteLocalRef(env, bytes);
  return string;
}

jstring jvm_string_new(struct jvm_thread *thread, struct text t)
{
  if (t.len >= LONG_ASCII && t.len <= INT_MAX && text_is_ascii(t))
    return make_ascii_string(thread, t);
  /* Reserving the upper bound is cheaper than counting. */
  size_t room = t.len <= INT_MAX ? t.len : text_utf16_length(t);
  uint16_t *units = room > INT_MAX ? NULL : jvm_thread_units(thread, room);
  if (units == NULL)
    return NULL;
  return (*thread->env)->NewString(thread->env, units, (jsize)text_to_utf16(t, units));
}

struct text jvm_text_of_units(const uint16_t *units, size_t count, struct arena *arena)
{
  size_t room = count * UNIT_BYTES_MAX <= SMALL ? count * UNIT_BYTES_MAX : text_wtf8_length(units, count);
  char *bytes = arena_alloc(arena, room);
  return bytes == NULL ? TEXT_ABSENT : (struct text){bytes, text_from_utf16(units, count, bytes)};
}

struct text jvm_string_get_whole(struct jvm_thread *thread, jstring string, size_t length,
                                 struct arena *arena)
{
  uint16_t *units = jvm_thread_units(thread, length);
  if (units == NULL)
    return TEXT_ABSENT;
  (*thread->env)->GetStringRegion(thread->env, string, 0, (jsize)length, units);
  return jvm_text_of_units(units, length, arena);
}

struct text jvm_string_get(struct jvm_thread *thread, jstring string, struct arena *arena)
{
  jsize length = (*thread->env)->GetStringLength(thread->env, string);
  return jvm_string_get_whole(thread, string, (size_t)length, arena);
}

struct text jvm_string_get_cut(struct jvm_thread *thread, jstring string, struct arena *arena, size_t max)
{
  JNIEnv *env = thread->env;
  size_t count = (size_t)(*env)->GetStringLength(env, string);
  if (count <= max)
    return jvm_string_get_whole(thread, string, count, arena);
  uint16_t *units = jvm_thread_units(thread, max + ELLIPSIS);
  if (units == NULL)
    return TEXT_ABSENT;
  (*env)->GetStringRegion(env, string, 0, (jsize)max, units);
  if (max > 0 && (units[max - 1] & 0xFC00) == 0xD800) /* never cut inside a surrogate pair */
    max--;
  for (size_t i = 0; i < ELLIPSIS; i++)
    units[max + i] = '.';
  return jvm_text_of_units(units, max + ELLIPSIS, arena);
}

struct text jvm_text_of_modified(struct jvm_thread *thread, const char *modified, struct arena *arena)
{
  struct text t = text_of(modified);
  if (text_is_ascii(t))
    return arena_text(arena, t);
  size_t count = text_utf16_length(t);
  uint16_t *units = jvm_thread_units(thread, count);
  if (units == NULL)
    return TEXT_ABSENT;
  /* Modified UTF-8 has sequences of one, two and three bytes, which this function reads. The two special
   * forms, 0xC0 0x80 and encoded surrogates, become the units that they encode. */
  text_to_utf16(t, units);
  return jvm_text_of_units(units, count, arena);
}

struct text jvm_class_name(struct jvm_thread *thread, jclass class, struct arena *arena)
{
  jvmtiEnv *jvmti = thread->jvmti;
  char *signature = NULL;
  if ((*jvmti)->GetClassSignature(jvmti, class, &signature, NULL) != JVMTI_ERROR_NONE)
    return TEXT_ABSENT;

  struct text name;
  if (signature[0] != '[' && signature[0] != 'L') {
    name = primitive_keyword(signature[0]);
  } else {
    name = jvm_text_of_modified(thread, signature, arena);
    char *bytes = (char *)name.data;
    for (size_t i = 0; i < name.len; i++) {
      /* JVMTI writes a hidden class with one '.', where Class.getName() has a '/'; all other names are
       * reversed. */
      if (bytes[i] == '/')
        bytes[i] = '.';
      else if (bytes[i] == '.')
        bytes[i] = '/';
    }
    if (name.data != NULL && signature[0] == 'L')
      name = text_slice(name, 1, name.len - 1);
  }
  (*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
  return name;
}

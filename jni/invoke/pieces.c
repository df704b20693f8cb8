#include "jni/invoke/pieces.h"

#include "jni/runtime/dispatch.h"

enum { WRITTEN_SHOWN = 64 };

/* In the words of java.util.Objects.checkIndex and checkFromToIndex. */
static bool fail_bounds(struct conversion *conversion, const struct op_piece *piece, jsize length)
{
  struct text shown = arena_shorten(conversion->request->arena, piece->written, WRITTEN_SHOWN);
  if (piece->kind == OP_PIECE_ELEMENT && shown.len == piece->written.len)
    shown = text_slice(shown, 1, shown.len - 1);
  outcome_fail(conversion->outcome, conversion->request->arena, FAILURE_SERVER,
               "java.lang.ArrayIndexOutOfBoundsException", "%s %.*s out of bounds for length %d",
               piece->kind == OP_PIECE_RANGE ? "Range" : "Index", TEXT_ARGS(shown), length);
  return false;
}

bool piece_find(struct conversion *conversion, jobject array, jsize *from, jsize *count)
{
  JNIEnv *env = conversion->thread->env;
  const struct op_piece *piece = conversion->request->operation->piece;
  jsize length = (*env)->GetArrayLength(env, array);
  return op_piece_locate(piece, length, from, count) || fail_bounds(conversion, piece, length);
}

void piece_read_element(JNIEnv *env, char element, jobject array, jsize at, jvalue *out)
{
  if (element == 'L')
    out->l = (*env)->GetObjectArrayElement(env, array, at);
  else
    dispatch_get_range(env, element, array, at, 1, out);
}

void piece_write_element(JNIEnv *env, char element, jobject array, jsize at, const jvalue *value)
{
  if (element == 'L')
    (*env)->SetObjectArrayElement(env, array, at, value->l);
  else
    dispatch_set_range(env, element, array, at, 1, value);
}

jobject piece_copy(struct conversion *conversion, struct jvm_class *class, jobject array, jsize from,
                   jsize count)
{
  JNIEnv *env = conversion->thread->env;
  const struct jvm_known *known = &conversion->thread->jvm->known;
  jobject copy = argument_new_array(conversion, class, count);
  if (copy == NULL)
    return NULL;
  (*env)->CallStaticVoidMethod(env, known->class_system, known->static_system_arraycopy, array, from, copy, 0,
                               count);
  return argument_take(conversion) ? NULL : copy;
}

#include "jni/convert/result_texts.h"

#include "base/decimal.h"
#include "jni/runtime/strings.h"
#include "jni/runtime/throwables.h"

enum { YEAR_DIGITS = 4 };

/* What a method without arguments that returns a String gives; data NULL: it failed. */
static struct text call_for_text(const struct jvm_request *request, jobject object, jmethodID method)
{
  JNIEnv *env = request->thread->env;
  jstring string = (*env)->CallObjectMethod(env, object, method);
  if (throwable_take(request->thread, NULL) || string == NULL)
    return TEXT_ABSENT;
  struct text text = jvm_string_get(request->thread, string, request->arena);
  (*env)->DeleteLocalRef(env, string);
  return text;
}

static struct text call_to_string(const struct jvm_request *request, jobject object)
{
  return call_for_text(request, object, request->thread->jvm->known.method_object_to_string);
}

/* Year and YearMonth write "5" and "12345", but parse wants four digits, and a sign before more than these. */
static struct text write_year(const struct jvm_request *request, jobject object)
{
  struct text text = call_to_string(request, object);
  if (text.data == NULL)
    return text;
  size_t sign = text_starts_with(text, TEXT("-")) ? 1 : 0;
  size_t end = sign;
  while (end < text.len && text.data[end] >= '0' && text.data[end] <= '9')
    end++;
  size_t digits = end - sign;
  if (digits == YEAR_DIGITS || (digits > YEAR_DIGITS && sign == 1))
    return text;
  int zeros = digits < YEAR_DIGITS ? (int)(YEAR_DIGITS - digits) : 0;
  return arena_printf(request->arena, "%s%.*s%.*s",
                      sign == 1              ? "-"
                      : digits > YEAR_DIGITS ? "+"
                                             : "",
                      zeros, "000", TEXT_ARGS(text_slice(text, sign, text.len)));
}

/* ---- numbers ---- */

/* True where the BigInteger may be within the digits that are allowed, so that its text can be looked at: a text costs
 * time with the square of its length. A class of the application's is never asked. */
static bool is_short_integer(const struct jvm_request *request, jobject integer)
{
  JNIEnv *env = request->thread->env;
  const struct jvm_class *class = jvm_class_of_object(request->thread, integer);
  if (class == NULL || class->text != CLASS_TEXT_INTEGER)
    return false;
  jint bits = (*env)->CallIntMethod(env, integer, request->thread->jvm->known.method_big_integer_bit_length);
  /* A digit has more than three bits. */
  return !throwable_take(request->thread, NULL) && (size_t)bits / 4 <= request->limits->number_digits_max;
}

/* A BigDecimal may have been made of an application's own kind of BigInteger. */
static bool is_short_decimal(const struct jvm_request *request, jobject decimal)
{
  JNIEnv *env = request->thread->env;
  jobject unscaled =
      (*env)->CallObjectMethod(env, decimal, request->thread->jvm->known.method_big_decimal_unscaled_value);
  if (throwable_take(request->thread, NULL) || unscaled == NULL)
    return false;
  bool is_short = is_short_integer(request, unscaled);
  (*env)->DeleteLocalRef(env, unscaled);
  return is_short;
}

static struct text write_number(const struct jvm_request *request, jobject number, bool is_short)
{
  struct text text = is_short ? call_to_string(request, number) : TEXT_ABSENT;
  bool is_within = text.data != NULL && decimal_is_within(text, request->limits->number_digits_max);
  return is_within ? text : TEXT_ABSENT;
}

/* ---- classes ---- */

/* Judged as an argument that names the class is: who may not use a class does not learn of it. */
static bool may_name(const struct jvm_request *request, const struct jvm_class *class)
{
  const struct jvm_guard *guard = request->guard;
  const struct jvm_target target = {.kind = JVM_STATIC_FIELD,
                                    .modifiers = JVM_ACC_PUBLIC | JVM_ACC_STATIC | JVM_ACC_FINAL,
                                    .named_class = class->element_name,
                                    .declaring_class = class->element_name,
                                    .member = TEXT("class")};
  return guard == NULL || guard->allows == NULL || guard->allows(guard->context, OP_GET, &target);
}

static struct text write_class_name(const struct jvm_request *request, jobject object)
{
  const struct jvm_class *class = jvm_class_of(request->thread, object);
  return class != NULL && may_name(request, class) ? class->name : TEXT_ABSENT;
}

/* ---- any ---- */

static struct text write_text(const struct jvm_request *request, enum class_text kind, jobject object)
{
  switch (kind) {
  case CLASS_TEXT_NAME:
    return call_for_text(request, object, request->thread->jvm->known.method_enum_name);
  case CLASS_TEXT_STRING:
    return call_to_string(request, object);
  case CLASS_TEXT_YEAR:
    return write_year(request, object);
  case CLASS_TEXT_INTEGER:
    return write_number(request, object, is_short_integer(request, object));
  case CLASS_TEXT_DECIMAL:
    return write_number(request, object, is_short_decimal(request, object));
  case CLASS_TEXT_CLASS:
    return write_class_name(request, object);
  case CLASS_TEXT_NONE:
  case CLASS_TEXT_OPTIONAL:
    break;
  }
  return TEXT_ABSENT;
}

static bool read_plain_text(const struct jvm_request *request, const struct jvm_class *class, jobject object,
                            struct op_value *out)
{
  *out = (struct op_value){.kind = OP_TEXT, .text = write_text(request, class->text, object)};
  return out->text.data != NULL;
}

/* A Class in an Optional has no text: it would lose its loader. */
static bool read_content(const struct jvm_request *request, jobject content, struct op_value *out)
{
  const struct jvm_class *class = jvm_class_of_object(request->thread, content);
  if (class == NULL || class->text == CLASS_TEXT_CLASS)
    return false;
  if (result_is_value_class(class))
    return result_read_value_object(request, class, content, out);
  return read_plain_text(request, class, content, out);
}

static bool read_optional(const struct jvm_request *request, jobject optional, struct op_value *out)
{
  JNIEnv *env = request->thread->env;
  jobject content =
      (*env)->CallObjectMethod(env, optional, request->thread->jvm->known.method_optional_or_else, NULL);
  *out = (struct op_value){.kind = OP_NULL};
  if (throwable_take(request->thread, NULL))
    return false;
  bool is_read = content == NULL || read_content(request, content, out);
  (*env)->DeleteLocalRef(env, content);
  return is_read;
}

bool result_read_text(const struct jvm_request *request, const struct jvm_class *class, jobject object,
                      struct op_value *out)
{
  return class->text == CLASS_TEXT_OPTIONAL ? read_optional(request, object, out)
                                            : read_plain_text(request, class, object, out);
}

bool result_has_text(const struct jvm_request *request, const struct jvm_class *class)
{
  bool is_wanted = class->text == CLASS_TEXT_INTEGER && request->operation->longs_as_text;
  return class->text != CLASS_TEXT_NONE && (!request->compat_pal || is_wanted);
}

/* Elements that tell their types. */
#include "base/number_format.h"
#include "base/primitives.h"
#include "jni/convert/result_texts.h"

static bool fail_memory(const struct jvm_request *request, struct outcome *failed)
{
  outcome_fail(failed, request->arena, FAILURE_SERVER, NULL, "out of memory");
  return false;
}

static struct op_value typed_text(struct text type, struct text text)
{
  return (struct op_value){.kind = OP_TYPED_TEXT, .type = type, .text = text};
}

static struct text text_of_unit(const struct jvm_request *request, uint16_t unit)
{
  char bytes[4];
  text_from_utf16(&unit, 1, bytes);
  return arena_text(request->arena, (struct text){bytes, text_wtf8_length(&unit, 1)});
}

/* The text of a value that JSON alone would not tell from another; data NULL: it needs none. */
static bool needs_type(const struct op_value *value, char letter)
{
  switch (value->kind) {
  case OP_FLOAT:
  case OP_DOUBLE:
    return value->decimal - value->decimal != 0;
  case OP_CHAR:
    return true;
  default:
    return value->kind == OP_TEXT && letter != 0; /* a long that is a text */
  }
}

/* A wrapper is told as its primitive. */
static bool add_type(const struct jvm_request *request, char letter, struct op_value *value)
{
  if (!needs_type(value, letter))
    return true;
  struct text text = value->kind == OP_TEXT   ? value->text
                     : value->kind == OP_CHAR ? text_of_unit(request, (uint16_t)value->integer)
                                              : op_value_digits(value, request->arena);
  *value = typed_text(primitive_keyword(letter), text);
  return text.data != NULL;
}

/* An enum's name does not tell what the constant can do, a Class's not its loader, an Optional's not what is in it. */
static bool tells_all(const struct jvm_class *class)
{
  return class->text != CLASS_TEXT_NAME && class->text != CLASS_TEXT_CLASS &&
         class->text != CLASS_TEXT_OPTIONAL;
}

static struct text text_beside(const struct jvm_request *request, const struct op_value *value)
{
  switch (value->kind) {
  case OP_NULL:
    return TEXT_ABSENT; /* an empty Optional */
  case OP_TEXT:
    return value->text;
  case OP_BOOLEAN:
    return value->boolean ? TEXT("true") : TEXT("false");
  case OP_CHAR:
    return text_of_unit(request, (uint16_t)value->integer);
  default:
    return op_value_digits(value, request->arena);
  }
}

bool result_read_typed(const struct jvm_request *request, uint64_t epoch, jobject object,
                       struct op_value *out, struct outcome *failed)
{
  struct op_value text;
  *out = (struct op_value){.kind = OP_NULL};
  if (object == NULL)
    return true;
  const struct jvm_class *class = jvm_class_of_object(request->thread, object);
  if (class == NULL)
    return fail_memory(request, failed);
  if (result_is_value_class(class) && result_read_value_object(request, class, object, out))
    return add_type(request, class->unboxed, out) || fail_memory(request, failed);
  bool has_text = result_has_text(request, class) && result_read_text(request, class, object, &text);
  if (has_text && tells_all(class)) {
    *out = typed_text(class->name, text.text);
    return true;
  }
  *out = (struct op_value){.kind = OP_REF, .type = class->name};
  if (has_text)
    out->literal = text_beside(request, &text);
  return result_store(request, epoch, class, object, &out->ref, failed);
}

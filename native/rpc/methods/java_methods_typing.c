#include "rpc/methods/java_methods_typing.h"

#include "classfile/signature.h"
#include "rpc/methods/java_type_arguments.h"

enum { DEPTH_MAX = 32 };

static bool type_elements(struct text type, struct arena *arena, unsigned depth, struct op_value *value);

/* The type argument for a class type's elements: the only one of a collection, the second of a map. data
 * NULL: the type has another number of arguments, or that one is unknown. */
static struct text element_type(struct text type, unsigned wanted)
{
  const char *open = memchr(type.data, '<', type.len);
  if (open == NULL)
    return TEXT_ABSENT;
  struct java_type_arguments arguments =
      java_type_arguments_read(text_slice(type, (size_t)(open - type.data), type.len));
  return arguments.count == wanted ? java_type_argument_type(arguments.last) : TEXT_ABSENT;
}

/* The source form of a type without its type arguments: "java.util.List". */
static bool source_name(struct text type, struct arena *arena, struct text *name)
{
  struct buffer whole;
  buffer_init(&whole);
  bool is_read = signature_read_type(&type, &whole) && !whole.failed;
  struct text erased = buffer_text(&whole);
  const char *open = erased.len == 0 ? NULL : memchr(erased.data, '<', erased.len);
  if (open != NULL) {
    size_t dimensions = erased.len;
    while (dimensions >= 2 && erased.data[dimensions - 1] == ']')
      dimensions -= 2;
    *name = arena_printf(arena, "%.*s%.*s", (int)(open - erased.data), erased.data,
                         (int)(erased.len - dimensions), erased.data + dimensions);
  } else {
    *name = arena_text(arena, erased);
  }
  buffer_fini(&whole);
  return is_read && name->data != NULL;
}

static bool type_element(struct text type, struct arena *arena, unsigned depth, struct op_value *element)
{
  bool is_known = type.len > 0 && type.data[0] != 'T';
  if (!is_known || element->kind == OP_NULL || element->kind == OP_REF)
    return true;
  if (element->type.data == NULL) {
    if (!source_name(type, arena, &element->type))
      return false;
    element->is_told = true;
  }
  return type_elements(type, arena, depth + 1, element);
}

static bool type_elements(struct text type, struct arena *arena, unsigned depth, struct op_value *value)
{
  if (depth > DEPTH_MAX || type.len == 0)
    return true;
  struct text element = TEXT_ABSENT;
  if (type.data[0] == 'L')
    element = element_type(type, value->kind == OP_MAP ? 2 : 1);
  if (value->kind == OP_LIST && type.data[0] == '[') {
    /* The array's component type decides what its elements become; only the values inside them need types. */
    for (size_t i = 0; i < value->list.count; i++) {
      if (!type_elements(text_slice(type, 1, type.len), arena, depth + 1, &value->list.items[i]))
        return false;
    }
  }
  for (size_t i = 0; element.data != NULL && value->kind == OP_LIST && i < value->list.count; i++) {
    if (!type_element(element, arena, depth, &value->list.items[i]))
      return false;
  }
  for (size_t i = 0; element.data != NULL && value->kind == OP_MAP && i < value->map.count; i++) {
    if (!type_element(element, arena, depth, &value->map.entries[i].value))
      return false;
  }
  return true;
}

bool java_value_type_elements(struct text type, struct arena *arena, struct op_value *value)
{
  return type_elements(type, arena, 0, value);
}

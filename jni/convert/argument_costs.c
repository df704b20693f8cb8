#include "jni/convert/argument_costs.h"

#include "base/decimal.h"
#include "base/primitives.h"
#include "jni/convert/arguments.h"
#include "jni/convert/packed.h"
#include "jni/objects/object_table.h"
#include "jni/proxies/kinds.h"
#include "jni/runtime/throwables.h"

#include <math.h>
#include <stdio.h>

enum {
  COST_INTERFACE = 3,
  COST_LIST = 3,
  COST_COLLECTION = 4,
  COST_ARRAY = 5,
  COST_CONSTANT = 4,
  COST_STRING = 9
};

enum form { FORM_INTEGER, FORM_NUMBER, FORM_TEXT, FORMS };

static const struct {
  char letter;
  unsigned cost[FORMS];
} scalar_costs[] = {
    {'Z', {0, 0, 8}}, {'B', {4, 4, 8}}, {'C', {0, 0, 3}}, {'S', {3, 3, 8}},
    {'I', {3, 3, 8}}, {'J', {3, 3, 8}}, {'F', {3, 3, 8}}, {'D', {3, 3, 8}},
};

/* True for a whole number beyond 64 bits that a double or float represents exactly. */
static bool is_exact(const struct op_value *value, char letter)
{
  enum { DIGITS_MAX = 310 };
  char digits[DIGITS_MAX + 2];
  double stored = letter == 'F' ? decimal_to_float(value->literal) : decimal_to_double(value->literal);
  if (value->literal.len > DIGITS_MAX || !isfinite(stored))
    return false;
  int length = snprintf(digits, sizeof digits, "%.0f", stored);
  return text_equal(value->literal, (struct text){digits, (size_t)length});
}

static unsigned cost_scalar(const struct op_value *value, char letter)
{
  enum form form = value->kind == OP_INTEGER   ? FORM_INTEGER
                   : op_value_is_number(value) ? FORM_NUMBER
                   : value->kind == OP_TEXT    ? FORM_TEXT
                                               : FORMS;
  if (value->kind == OP_NULL)
    return ARGUMENT_COST_MISFIT;
  if (form == FORMS || value->suffix != 0)
    return ARGUMENT_COST_NEVER;
  unsigned cost = 0;
  for (size_t i = 0; i < sizeof scalar_costs / sizeof *scalar_costs; i++)
    if (scalar_costs[i].letter == letter)
      cost = scalar_costs[i].cost[form];
  if (cost == 0)
    return ARGUMENT_COST_NEVER;
  jvalue ignored;
  bool fits = op_scalar_read(value, letter, &ignored) == OP_SCALAR_FITS &&
              (value->kind != OP_BIG_INTEGER || is_exact(value, letter));
  return fits ? cost : cost + ARGUMENT_COST_MISFIT;
}

static unsigned cost_wrapper(const struct op_value *value, char letter)
{
  if (op_scalar_infer(value) == letter)
    return ARGUMENT_COST_LOOSE;
  unsigned cost = cost_scalar(value, letter);
  return cost == ARGUMENT_COST_NEVER ? cost : cost + 1;
}

static unsigned cost_constant(struct conversion *conversion, struct jvm_class *class, struct text name)
{
  const struct member_table *members = member_table_of(conversion->thread, class);
  if (members == NULL) {
    (void)throwable_take(conversion->thread, NULL);
    return ARGUMENT_COST_NEVER;
  }
  for (size_t i = 0; i < members->field_count; i++)
    if ((members->fields[i].modifiers & 0x4000) != 0 && text_equal(members->fields[i].name, name))
      return COST_CONSTANT;
  return COST_CONSTANT + ARGUMENT_COST_MISFIT;
}

static unsigned cost_parse(const struct jvm_class *class, const struct op_value *value)
{
  const struct value_class *row = class->row;
  if (value->kind == OP_TEXT)
    return row->costs[CLASS_COST_TEXT];
  if (!op_value_is_number(value) || row->numbers == CLASS_NUMBERS_NONE ||
      (row->numbers == CLASS_NUMBERS_WHOLE && op_scalar_infer(value) == 'D'))
    return ARGUMENT_COST_NEVER;
  return row->costs[value->kind == OP_INTEGER ? CLASS_COST_INTEGER : CLASS_COST_FRACTION];
}

static unsigned cost_element(struct conversion *conversion, const struct op_value *value,
                             struct jvm_class *component, char letter)
{
  if (value->type.data != NULL || (value->kind == OP_NULL && letter == 'L'))
    return 0;
  struct jvm_type type = {.kind = letter};
  if (letter == 'L') {
    type.name = component->name;
    type.unboxed = component->unboxed;
    atomic_store_explicit(&type.class, component, memory_order_relaxed);
  }
  char inferred = op_scalar_infer(value);
  if (letter != 'L' && inferred != 0 && primitive_widens(inferred, letter))
    return 0;
  return argument_cost(conversion, value, &type);
}

static unsigned cost_array(struct conversion *conversion, struct jvm_class *class,
                           const struct op_value *value)
{
  if (value->kind == OP_PACKED) {
    unsigned step = packed_step(value->packed.element, class->component);
    size_t at;
    if (step == PACKED_NEVER)
      return ARGUMENT_COST_NEVER;
    return COST_ARRAY + step + (packed_fits(value, class->component, &at) ? 0 : ARGUMENT_COST_MISFIT);
  }
  if (value->kind != OP_LIST)
    return ARGUMENT_COST_NEVER;
  char letter = class->component == '[' ? 'L' : class->component;
  struct jvm_class *component = letter == 'L' ? jvm_class_component(conversion->thread, class) : NULL;
  if (letter == 'L' && component == NULL)
    return ARGUMENT_COST_NEVER;
  unsigned dearest = 0;
  for (size_t i = 0; i < value->list.count; i++) {
    unsigned cost = cost_element(conversion, &value->list.items[i], component, letter);
    if (cost == ARGUMENT_COST_NEVER)
      return ARGUMENT_COST_NEVER;
    if (cost > dearest)
      dearest = cost;
  }
  return COST_ARRAY + dearest;
}

static unsigned cost_collection(struct conversion *conversion, struct jvm_class *class,
                                const struct op_value *value)
{
  JNIEnv *env = conversion->thread->env;
  const struct jvm_known *known = &conversion->thread->jvm->known;
  jclass kind = value->kind == OP_LIST ? known->class_collection : known->class_map;
  bool is_made = class->row != NULL && class->row->made != NULL;
  if (!(*env)->IsAssignableFrom(env, class->ref, kind) && !is_made)
    return ARGUMENT_COST_NEVER;
  if (!is_made && (class->modifiers & 0x0400) != 0)
    return ARGUMENT_COST_NEVER;
  bool is_list = value->kind == OP_MAP || (*env)->IsAssignableFrom(env, class->ref, known->class_list);
  return is_list ? COST_LIST : COST_COLLECTION;
}

/* For a parameter of the class Object, Number, CharSequence, ...: the class that the value's form suggests
 * must be a subtype. The element type of an array is always fixed, so no cost is needed. */
static unsigned cost_natural(struct conversion *conversion, struct jvm_class *class,
                             const struct op_value *value)
{
  JNIEnv *env = conversion->thread->env;
  const struct jvm_known *known = &conversion->thread->jvm->known;
  if (value->kind == OP_PACKED)
    return ARGUMENT_COST_NEVER;
  jclass natural = value->kind == OP_TEXT   ? known->class_string
                   : value->kind == OP_LIST ? known->class_array_list
                   : value->kind == OP_MAP  ? known->class_hash_map
                                            : known->class_big_integer;
  char letter = op_scalar_infer(value);
  if (letter != 0)
    natural = jvm_known_wrapper(known, letter);
  return (*env)->IsAssignableFrom(env, natural, class->ref) ? ARGUMENT_COST_LOOSE : ARGUMENT_COST_NEVER;
}

static unsigned cost_callback(struct conversion *conversion, struct jvm_class *class,
                              const struct op_callback *callback)
{
  if (callback->interface_count > 0)
    return 0;
  if (!class->is_interface)
    return ARGUMENT_COST_NEVER;
  int arity = callback_function_arity(conversion->thread, class);
  if (arity == CALLBACK_NO_FUNCTION)
    return COST_INTERFACE;
  return callback->arity < 0 || callback->arity == arity ? 0 : COST_INTERFACE + ARGUMENT_COST_MISFIT;
}

static unsigned cost_object(struct conversion *conversion, struct jvm_class *class,
                            const struct op_value *value)
{
  bool is_scalar = op_value_is_number(value) || value->kind == OP_BOOLEAN;
  switch (class->maker) {
  case MAKER_STRING:
    if (value->kind == OP_TEXT)
      return ARGUMENT_COST_STRICT;
    return is_scalar ? COST_STRING : ARGUMENT_COST_NEVER;
  case MAKER_WRAPPER:
    return cost_wrapper(value, class->unboxed);
  case MAKER_ARRAY:
    return cost_array(conversion, class, value);
  case MAKER_PARSE:
  case MAKER_CONSTRUCT:
  case MAKER_CLASS:
    return cost_parse(class, value);
  case MAKER_NATURAL:
    return cost_natural(conversion, class, value);
  case MAKER_LIST:
  case MAKER_MAP:
  case MAKER_OTHER:
    break;
  }
  if (value->kind == OP_LIST || value->kind == OP_MAP)
    return cost_collection(conversion, class, value);
  return value->kind == OP_TEXT && class->is_enum ? cost_constant(conversion, class, value->text)
                                                  : ARGUMENT_COST_NEVER;
}

unsigned argument_cost(struct conversion *conversion, const struct op_value *value, struct jvm_type *to)
{
  if (to->kind != 'L')
    return cost_scalar(value, to->kind);
  struct jvm_class *class = jvm_type_class(conversion->thread, to);
  if (class == NULL)
    return ARGUMENT_COST_NEVER;
  if (value->kind == OP_REF) { /* an element */
    bool is_unused;
    jobject object =
        jvm_objects_open(conversion->thread, conversion->request->objects, value->ref, NULL, &is_unused);
    bool fits = object != NULL &&
                (*conversion->thread->env)->IsInstanceOf(conversion->thread->env, object, class->ref);
    (*conversion->thread->env)->DeleteLocalRef(conversion->thread->env, object);
    return fits ? 0 : ARGUMENT_COST_NEVER;
  }
  if (value->kind == OP_CALLBACK)
    return cost_callback(conversion, class, value->callback);
  return cost_object(conversion, class, value);
}

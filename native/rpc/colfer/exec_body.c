#include "rpc/colfer/exec_body.h"

#include "colfer/wire.h"
#include "rpc/values/value_read.h"

/* Fields that are an object's ref, by their indexes in the structs of calls and in those of fields. */
enum { FIELD_REF_OF_CALL = 2, FIELD_REF_OF_FIELD = 1 };

/* ---- fitting ---- */

/* Each of these takes a part from p on, and returns where the message goes on, or NULL. */

static inline const char *take_literal(const char *p, const char *end, const char *wanted, size_t length)
{
  return length <= (size_t)(end - p) && text_equal_bytes(p, wanted, length) ? p + length : NULL;
}

/* Reads a whole number as JSON has it. Others are left to the general path: those of more digits than always fit, and
 * -0, which is another double than 0. */
static inline bool read_integer(struct text t, int64_t *integer)
{
  enum { DIGITS_MAX = 18 };
  size_t sign = *t.data == '-';
  size_t digits = t.len - sign;
  int64_t value = 0;
  if (digits == 0 || digits > DIGITS_MAX || (t.data[sign] == '0' && t.len > 1))
    return false;
  for (const char *p = t.data + sign; p < t.data + t.len; p++) {
    unsigned digit = (unsigned)(*p - '0');
    if (digit > 9)
      return false;
    value = value * 10 + digit;
  }
  *integer = sign > 0 ? -value : value;
  return true;
}

/* A text's length and the text, which is a whole number and no more. */
static inline const char *take_integer(const char *p, const char *end, int64_t *integer)
{
  if (p == end)
    return NULL;
  struct text t = {p + 1, (uint8_t)*p};
  bool is_there = t.len > 0 && t.len <= EXEC_SHORT_MAX && t.len <= (size_t)(end - t.data);
  return is_there && read_integer(t, integer) ? t.data + t.len : NULL;
}

static const char *take_ref(const char *p, const char *end, uint8_t header, uint32_t *ref)
{
  if (p == end || ((uint8_t)*p & ~(unsigned)COLFER_FLAG) != header)
    return NULL;
  bool fixed = (uint8_t)*p++ != header;
  size_t length = exec_number_at((struct text){p, (size_t)(end - p)}, fixed, ref);
  return length > 0 && *ref <= RPC_REF_MAX ? p + length : NULL;
}

static inline const char *take_hole(struct exec_body *body, const struct exec_hole *hole, const char *p,
                                    const char *end)
{
  if (hole->ref_header != 0)
    return take_ref(p, end, hole->ref_header, &body->operation.instance);
  return take_integer(p, end, &body->args[hole->arg].integer);
}

bool exec_body_fits(struct exec_body *body, const struct exec_head *head)
{
  const char *p = head->rest.data;
  const char *end = p + head->rest.len;
  const char *literal = body->bytes;
  if (body->message_type == 0 || head->message_type != body->message_type)
    return false;
  for (const struct exec_hole *hole = body->holes; hole < body->holes + body->hole_count; hole++) {
    p = take_literal(p, end, literal, hole->length);
    p = p == NULL ? NULL : take_hole(body, hole, p, end);
    if (p == NULL)
      return false;
    literal += hole->length;
  }
  size_t last = (size_t)(body->bytes + body->length - literal);
  return last == (size_t)(end - p) && text_equal_bytes(p, literal, last);
}

/* ---- keeping ---- */

/* Where a message has its ref and its values. */
struct places {
  const char *ref; /* its header, if it has one */
  uint8_t ref_header;
  const struct colfer_obj *values;
  size_t value_count;
};

/* Behind the last byte of a class. */
static const char *end_of_class(const struct colfer_class *class)
{
  return class == NULL || class->name.data == NULL ? NULL : class->name.data + class->name.len + 1;
}

static const char *end_of_text(struct text t)
{
  return t.data == NULL ? NULL : t.data + t.len;
}

static struct places find_places(uint8_t message_type, const struct colfer_exec_message *exec)
{
  switch (message_type) {
  case COLFER_CALLS_INSTANCE_METHOD:
    return (struct places){end_of_text(exec->instance_method_call->name), FIELD_REF_OF_CALL,
                           exec->instance_method_call->args.items, exec->instance_method_call->args.count};
  case COLFER_CALLS_CLASS_METHOD:
    return (struct places){.values = exec->class_method_call->args.items,
                           .value_count = exec->class_method_call->args.count};
  case COLFER_GETS_FIELD:
    return (struct places){end_of_class(exec->instance_field_get->clazz), FIELD_REF_OF_FIELD, NULL, 0};
  case COLFER_PUTS_FIELD:
    return (struct places){end_of_class(exec->instance_field_put->clazz), FIELD_REF_OF_FIELD,
                           exec->instance_field_put->value_object,
                           exec->instance_field_put->value_object != NULL};
  case COLFER_PUTS_STATIC:
    return (struct places){.values = exec->static_field_put->value_object,
                           .value_count = exec->static_field_put->value_object != NULL};
  default:
    return (struct places){.ref = NULL};
  }
}

static bool is_whole_number(const struct op_value *value)
{
  return value->kind == OP_INTEGER && value->suffix == 0 && value->literal.data == NULL;
}

static bool may_keep(const struct exec_head *head, const struct operation *operation)
{
  /* Without a type, each object of another class means another member. */
  bool has_type = operation->type.data != NULL;
  if (operation->kind == OP_NEW || !has_type || operation->piece != NULL ||
      operation->arg_count > EXEC_ARGS_MAX || operation->thread_affinity.data != NULL ||
      head->rest.len > EXEC_BODY_MAX)
    return false;
  for (size_t i = 0; i < operation->arg_count; i++)
    if (!is_whole_number(&operation->args[i]))
      return false;
  return true;
}

/* Copies the body up to a place in it, where the rest then begins. */
static bool copy_until(struct exec_body *body, struct text *rest, const char *place)
{
  size_t length = (size_t)(place - rest->data);
  if (place < rest->data || length > rest->len)
    return false;
  memcpy(body->bytes + body->length, rest->data, length);
  body->length += length;
  *rest = text_slice(*rest, length, rest->len);
  return true;
}

/* The same, with the hole there; the rest then begins behind what is in it. */
static bool add_hole(struct exec_body *body, struct exec_hole hole, struct text *rest, const char *place)
{
  size_t before = body->length;
  if (!copy_until(body, rest, place))
    return false;
  hole.length = body->length - before;
  body->holes[body->hole_count++] = hole;
  const char *end = rest->data + rest->len;
  const char *behind = take_hole(body, &hole, rest->data, end);
  if (behind == NULL)
    return false;
  *rest = (struct text){behind, (size_t)(end - behind)};
  return true;
}

static bool cut_ref(struct exec_body *body, const struct places *places, struct text *rest)
{
  return !body->operation.has_instance ||
         (places->ref != NULL &&
          add_hole(body, (struct exec_hole){.ref_header = places->ref_header}, rest, places->ref));
}

static bool cut_values(struct exec_body *body, const struct places *places, struct text *rest)
{
  if (places->value_count != body->operation.arg_count)
    return false;
  for (size_t i = 0; i < places->value_count; i++) {
    struct text value = places->values[i].value;
    if (value.data == NULL || !add_hole(body, (struct exec_hole){.arg = i}, rest, value.data - 1))
      return false;
  }
  return true;
}

static bool cut_body(struct exec_body *body, const struct exec_head *head, const struct places *places)
{
  struct text rest = head->rest;
  return cut_ref(body, places, &rest) && cut_values(body, places, &rest) &&
         copy_until(body, &rest, rest.data + rest.len);
}

/* What was cut must come to the operation again: a length in an unusual form or a number with spaces does not. */
static bool reads_as(struct exec_body *body, const struct exec_head *head, const struct operation *operation)
{
  if (!exec_body_fits(body, head) ||
      (operation->has_instance && body->operation.instance != operation->instance))
    return false;
  for (size_t i = 0; i < operation->arg_count; i++)
    if (body->args[i].integer != operation->args[i].integer)
      return false;
  return true;
}

bool exec_body_keep(struct exec_body *body, const struct exec_head *head,
                    const struct colfer_exec_message *exec, const struct operation *operation)
{
  *body = (struct exec_body){.message_type = head->message_type};
  if (may_keep(head, operation)) {
    struct places places = find_places(head->message_type, exec);
    body->operation = (struct operation){.kind = operation->kind,
                                         .has_instance = operation->has_instance,
                                         .args = body->args,
                                         .arg_count = operation->arg_count};
    for (size_t i = 0; i < operation->arg_count; i++)
      body->args[i].kind = OP_INTEGER;
    if (cut_body(body, head, &places) && reads_as(body, head, operation))
      return true;
  }
  body->message_type = 0;
  return false;
}

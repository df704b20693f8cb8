#include "binary_message.h"

#include "colfer/messages.h"
#include "tests/support/colfer_print.h"

enum { PUBLIC = 1, STATIC = 8 }; /* modifiers; JVMS 4.6 */

void binary_append_call(const struct binary_call *call, struct buffer *out)
{
  struct colfer_class class = {.name = call->class_name};
  struct colfer_class types[BINARY_ARGS_MAX];
  struct colfer_obj args[BINARY_ARGS_MAX];
  for (unsigned i = 0; i < call->arg_count; i++) {
    types[i] = (struct colfer_class){.name = call->args[i].type};
    args[i] = (struct colfer_obj){.value = call->args[i].value, .clazz = &types[i]};
  }
  struct colfer_class_method_call of_class = {
      .clazz = &class, .name = call->method, .args = {args, call->arg_count}};
  struct colfer_instance_method_call of_instance = {
      .clazz = &class, .name = call->method, .object_ref = call->receiver, .args = {args, call->arg_count}};
  bool is_static = call->receiver == 0;
  struct colfer_exec_message exec = {.peer_uuid = call->peer,
                                     .message_id = call->id,
                                     .class_method_call = is_static ? &of_class : NULL,
                                     .instance_method_call = is_static ? NULL : &of_instance};
  const struct colfer_message message = {.message_type = is_static ? COLFER_CALLS_CLASS_METHOD
                                                                   : COLFER_CALLS_INSTANCE_METHOD,
                                         .exec_message = &exec};
  colfer_encode(&colfer_message_type, &message, out);
}

void binary_append_new(const struct binary_call *call, struct buffer *out)
{
  struct colfer_class class = {.name = call->class_name};
  struct colfer_constructor_call made = {.clazz = &class};
  struct colfer_exec_message exec = {
      .peer_uuid = call->peer, .message_id = call->id, .constructor_call = &made};
  const struct colfer_message message = {.message_type = COLFER_CALLS_CONSTRUCTOR, .exec_message = &exec};
  colfer_encode(&colfer_message_type, &message, out);
}

void binary_append_return(const struct binary_call *call, struct text id, const struct binary_value *result,
                          struct buffer *out)
{
  struct colfer_class type = {.name = result->type};
  struct colfer_obj object = {.value = result->value, .clazz = &type};
  struct colfer_class class = {.name = call->class_name};
  struct colfer_method method = {
      .clazz = &class, .name = call->method, .modifiers = call->receiver == 0 ? PUBLIC | STATIC : PUBLIC};
  struct colfer_reflectable from = {.method = &method};
  struct colfer_return_value returned = {.object = &object, .from = &from};
  struct colfer_exec_message exec = {.message_id = id, .response_to_id = call->id, .return_value = &returned};
  const struct colfer_message message = {.message_type = COLFER_RETURNS, .exec_message = &exec};
  colfer_encode(&colfer_message_type, &message, out);
}

/* The caller releases the arena in any case. */
static enum jp_status decode(struct text bytes, struct arena *arena, struct colfer_message *message,
                             struct jp_error *error)
{
  arena_init(arena);
  return colfer_decode(&colfer_message_type, bytes, arena, message, error);
}

uint32_t binary_ref_in(struct text answer)
{
  struct arena arena;
  struct colfer_message message;
  struct jp_error error;
  bool has_object = decode(answer, &arena, &message, &error) == JP_OK && message.exec_message != NULL &&
                    message.exec_message->return_value != NULL &&
                    message.exec_message->return_value->object != NULL;
  uint32_t ref = has_object ? message.exec_message->return_value->object->ref : 0;
  arena_fini(&arena);
  return ref;
}

/* Appends the message without its id. False if bytes are not a message. */
static bool append_without_id(struct text bytes, struct buffer *out)
{
  struct arena arena;
  struct colfer_message message;
  struct jp_error error;
  bool is_message = decode(bytes, &arena, &message, &error) == JP_OK && message.exec_message != NULL;
  if (is_message) {
    message.exec_message->message_id = TEXT("");
    colfer_encode(&colfer_message_type, &message, out);
  }
  arena_fini(&arena);
  return is_message;
}

bool binary_equal_except_id(struct text one, struct text other)
{
  struct buffer left;
  struct buffer right;
  buffer_init(&left);
  buffer_init(&right);
  bool same = append_without_id(one, &left) && append_without_id(other, &right) &&
              text_equal(buffer_text(&left), buffer_text(&right));
  buffer_fini(&left);
  buffer_fini(&right);
  return same;
}

void binary_show(struct text message, struct buffer *out)
{
  struct arena arena;
  struct colfer_message decoded;
  struct jp_error error;
  if (decode(message, &arena, &decoded, &error) == JP_OK)
    colfer_print(&colfer_message_type, &decoded, out);
  else
    buffer_printf(out, "%zu bytes that are no message: %s", message.len, error.text);
  arena_fini(&arena);
}

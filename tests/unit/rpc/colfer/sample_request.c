#include "sample_request.h"

#include "base/uuid.h"
#include "tests/unit/unit.h"

/* The structs of one message. */
struct parts {
  struct colfer_class clazz;
  struct colfer_class type;
  struct colfer_field field;
  struct colfer_obj values[SAMPLE_ARGS_MAX];
  size_t value_count;
  struct colfer_instance_method_call instance_method_call;
  struct colfer_class_method_call class_method_call;
  struct colfer_static_field_get static_field_get;
  struct colfer_static_field_put static_field_put;
  struct colfer_instance_field_get instance_field_get;
  struct colfer_instance_field_put instance_field_put;
};

static struct text text_or_empty(const char *string)
{
  return string == NULL ? TEXT("") : text_of(string);
}

static void fill_values(struct parts *parts, const struct sample_request *sample)
{
  parts->type.name = text_or_empty(sample->type);
  for (size_t i = 0; i < SAMPLE_ARGS_MAX && sample->values[i] != NULL; i++) {
    parts->values[i] = (struct colfer_obj){.value = text_of(sample->values[i]),
                                           .clazz = sample->type == NULL ? NULL : &parts->type};
    parts->value_count++;
  }
}

static void fill_method(struct colfer_exec_message *exec, struct parts *parts,
                        const struct sample_request *sample)
{
  parts->instance_method_call =
      (struct colfer_instance_method_call){.clazz = sample->class_name == NULL ? NULL : &parts->clazz,
                                           .name = text_of(sample->member),
                                           .object_ref = sample->ref,
                                           .args = {parts->values, parts->value_count}};
  parts->class_method_call = (struct colfer_class_method_call){
      .clazz = &parts->clazz, .name = text_of(sample->member), .args = {parts->values, parts->value_count}};
  if (sample->kind == COLFER_CALLS_INSTANCE_METHOD)
    exec->instance_method_call = &parts->instance_method_call;
  else
    exec->class_method_call = &parts->class_method_call;
}

static void fill_field(struct colfer_exec_message *exec, struct parts *parts,
                       const struct sample_request *sample)
{
  struct colfer_class *class = sample->class_name == NULL ? NULL : &parts->clazz;
  parts->field = (struct colfer_field){.clazz = class, .name = text_of(sample->member)};
  parts->static_field_get = (struct colfer_static_field_get){.clazz = &parts->clazz, .field = &parts->field};
  parts->instance_field_get =
      (struct colfer_instance_field_get){.clazz = class, .object_ref = sample->ref, .field = &parts->field};
  parts->static_field_put =
      (struct colfer_static_field_put){.clazz = class, .field = &parts->field, .value_object = parts->values};
  parts->instance_field_put = (struct colfer_instance_field_put){
      .clazz = class, .object_ref = sample->ref, .field = &parts->field, .value_object = parts->values};
  if (sample->kind == COLFER_GETS_STATIC)
    exec->static_field_get = &parts->static_field_get;
  else if (sample->kind == COLFER_GETS_FIELD)
    exec->instance_field_get = &parts->instance_field_get;
  else if (sample->kind == COLFER_PUTS_STATIC)
    exec->static_field_put = &parts->static_field_put;
  else
    exec->instance_field_put = &parts->instance_field_put;
}

void sample_request_write(const struct sample_request *sample, struct buffer *out)
{
  struct parts parts = {.clazz = {.name = text_or_empty(sample->class_name)}};
  struct colfer_exec_message exec = {.message_id = text_of(sample->id),
                                     .thread_name = text_or_empty(sample->thread_name),
                                     .current_time = sample->current_time,
                                     .dispatch_seq = sample->dispatch_seq,
                                     .builder_seq = sample->builder_seq,
                                     .thread_affinity = text_or_empty(sample->thread_affinity)};
  const struct colfer_message message = {.message_type = (uint8_t)sample->kind, .exec_message = &exec};
  if (sample->peer_uuid != NULL)
    exec.peer_uuid = (struct text){sample->peer_uuid, sizeof(struct uuid)};
  fill_values(&parts, sample);
  if (sample->kind <= COLFER_CALLS_CLASS_METHOD)
    fill_method(&exec, &parts, sample);
  else
    fill_field(&exec, &parts, sample);
  colfer_encode(&colfer_message_type, &message, out);
}

void sample_message_read(struct sample_message *read, struct text bytes)
{
  struct jp_error error;
  read->copy = unit_exact_copy(bytes.data, bytes.len);
  read->bytes = (struct text){read->copy, bytes.len};
  arena_init(&read->arena);
  if (colfer_decode(&colfer_message_type, read->bytes, &read->arena, &read->message, &error) != JP_OK)
    fail_msg("%s", error.text);
}

void sample_message_write(struct sample_message *read, const struct sample_request *sample)
{
  struct buffer bytes;
  buffer_init(&bytes);
  sample_request_write(sample, &bytes);
  sample_message_read(read, buffer_text(&bytes));
  buffer_fini(&bytes);
}

void sample_message_fini(struct sample_message *read)
{
  arena_fini(&read->arena);
  test_free(read->copy);
}

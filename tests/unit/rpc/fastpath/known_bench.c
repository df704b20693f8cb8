#include "tests/unit/rpc/fastpath/known_bench.h"

#include "base/uuid.h"
#include "rpc/colfer/binary_codec.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- requests ---- */

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

/* ---- the bench ---- */

#define NUMBER                                                                                               \
  {                                                                                                          \
    .kind = OUTCOME_VALUE, .type = TEXT("int"), .has_value = true, .value = {.kind = OP_INTEGER }            \
  }

static const struct stub_member templates[KNOWN_MEMBERS] = {
    [KNOWN_ADD] = {.member = "add",
                   .kind = OP_MEMBER_STATIC_METHOD,
                   .outcome = NUMBER,
                   .whole_number = 'I',
                   .adds = true},
    [KNOWN_NOTHING] = {.member = "nothing",
                       .kind = OP_MEMBER_STATIC_METHOD,
                       .outcome = {.kind = OUTCOME_VOID},
                       .whole_number = 'V',
                       .adds = true},
    [KNOWN_OWN_ADD] = {.member = "ownAdd",
                       .kind = OP_MEMBER_METHOD,
                       .outcome = NUMBER,
                       .whole_number = 'I',
                       .adds = true,
                       .has_receiver = true},
    [KNOWN_STATIC_FIELD] = {.member = "staticField",
                            .kind = OP_MEMBER_STATIC_FIELD,
                            .outcome = NUMBER,
                            .whole_number = 'J'},
    [KNOWN_STATIC_FIELD_SET] = {.member = "staticFieldSet",
                                .kind = OP_MEMBER_STATIC_FIELD,
                                .outcome = {.kind = OUTCOME_VOID},
                                .whole_number = 'V',
                                .adds = true},
    [KNOWN_FIELD] = {.member = "field",
                     .kind = OP_MEMBER_FIELD,
                     .outcome = NUMBER,
                     .whole_number = 'I',
                     .has_receiver = true},
    [KNOWN_FIELD_SET] = {.member = "fieldSet",
                         .kind = OP_MEMBER_FIELD,
                         .outcome = {.kind = OUTCOME_VOID},
                         .whole_number = 'V',
                         .adds = true,
                         .has_receiver = true},
    [KNOWN_CONSTRUCTOR] = STUB_MEMBER_CONSTRUCTOR,
};

#define SAMPLE(kind_of_it, member_of_it, ...)                                                                \
  {                                                                                                          \
    .kind = (kind_of_it), .peer_uuid = KNOWN_SESSION, .id = "3f1c2a90-5d0e-4c6b-9a57-0c1d2e3f4a5b",          \
    .thread_name = "main", .current_time = 1732286400000, .dispatch_seq = 5, .builder_seq = 7,               \
    .class_name = "C", .member = (member_of_it), .type = "int", __VA_ARGS__                                  \
  }

const struct sample_request known_requests[KNOWN_CONSTRUCTOR] = {
    [KNOWN_ADD] = SAMPLE(COLFER_CALLS_CLASS_METHOD, "add", .values = {"5", "3"}),
    [KNOWN_NOTHING] = SAMPLE(COLFER_CALLS_CLASS_METHOD, "nothing", .values = {"5"}),
    [KNOWN_OWN_ADD] = SAMPLE(COLFER_CALLS_INSTANCE_METHOD, "ownAdd", .values = {"5", "3"}, .ref = 1),
    [KNOWN_STATIC_FIELD] = SAMPLE(COLFER_GETS_STATIC, "staticField", .ref = 0),
    [KNOWN_STATIC_FIELD_SET] = SAMPLE(COLFER_PUTS_STATIC, "staticFieldSet", .values = {"5"}),
    [KNOWN_FIELD] = SAMPLE(COLFER_GETS_FIELD, "field", .ref = 1),
    [KNOWN_FIELD_SET] = SAMPLE(COLFER_PUTS_FIELD, "fieldSet", .values = {"5"}, .ref = 1),
};

static struct stub_member members[KNOWN_MEMBERS];

/* A request of JSON-RPC makes the session, because both codecs share sessions. */
static void make_object(struct service_bench *bench)
{
  struct rpc_client *maker =
      bench_open_named(bench, OP_CHANNEL_WEBSOCKET, "30313233-3435-3637-3839-616263646566");
  assert_int_equal(bench_serve(bench, maker, TEXT(MAKE), 0), RPC_REPLY);
  bench_close(bench, maker, NULL);
}

struct service_bench *known_bench_create(void)
{
  const struct service_bench_options options = {.members = members, .member_count = KNOWN_MEMBERS};
  memcpy(members, templates, sizeof members);
  for (size_t i = 0; i < KNOWN_MEMBERS; i++) {
    members[i].type = "C";
    members[i].modifiers = OP_ACC_PUBLIC;
  }
  struct service_bench *bench = service_bench_create(&options);
  make_object(bench);
  bench->client = bench_open_routed(bench, "client");
  return bench;
}

static struct rpc_colfer_worker *own_of(const struct service_bench *bench)
{
  return rpc_colfer_worker(bench->lent.worker);
}

void known_bench_forget(struct service_bench *bench)
{
  free(own_of(bench)->known);
  own_of(bench)->known = NULL;
}

/* Serves an exact copy of the message, so that a sanitizer sees a read past its end. */
static void serve_message(struct service_bench *bench, struct rpc_client *client, struct text message,
                          size_t reply_max)
{
  char *copy = unit_exact_copy(message.data, message.len);
  buffer_clear(&bench->out);
  assert_int_equal(rpc_codecs[RPC_CODEC_COLFER]->serve(bench->service->context, bench->lent.worker, client,
                                                       (struct text){copy, message.len}, &bench->out,
                                                       reply_max, &bench->stream),
                   RPC_REPLY);
  assert_int_equal(stub.frames, 0);
  assert_false(bench->out.failed);
  test_free(copy);
}

/* Every answer has its id as the first text of its part. */
static void blank_id(struct text answer)
{
  enum { BEFORE = 5 };
  assert_true(answer.len > BEFORE + UUID_TEXT_LENGTH && answer.data[BEFORE - 1] == UUID_TEXT_LENGTH);
  memset((char *)(uintptr_t)answer.data + BEFORE, '.', UUID_TEXT_LENGTH);
}

static void show_answer(const char *what, struct text answer)
{
  fprintf(stderr, "%s:", what);
  for (size_t i = 0; i < answer.len; i++)
    fprintf(stderr, " %02x", (uint8_t)answer.data[i]);
  fprintf(stderr, "\n");
}

enum served_twice known_bench_serve(struct service_bench *bench, struct rpc_client *client,
                                    struct text message, size_t reply_max)
{
  struct known_messages *known = own_of(bench)->known;
  struct buffer wanted;
  buffer_init(&wanted);
  own_of(bench)->known = NULL;
  serve_message(bench, client, message, reply_max);
  buffer_append_text(&wanted, buffer_text(&bench->out));
  known_bench_forget(bench);
  own_of(bench)->known = known;
  unsigned before = stub.whole_numbers;
  serve_message(bench, client, message, reply_max);
  blank_id(buffer_text(&wanted));
  blank_id(buffer_text(&bench->out));
  bool is_same = text_equal(buffer_text(&bench->out), buffer_text(&wanted));
  if (!is_same) {
    show_answer("general", buffer_text(&wanted));
    show_answer("known", buffer_text(&bench->out));
  }
  buffer_fini(&wanted);
  if (!is_same)
    return SERVED_DIFFERENTLY;
  return stub.whole_numbers > before ? SERVED_AS_KNOWN : SERVED_GENERALLY;
}

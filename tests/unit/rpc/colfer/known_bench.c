#include "known_bench.h"

#include "rpc/colfer/codec_state.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

#define NUMBER                                                                                               \
  {                                                                                                          \
    .kind = OUTCOME_VALUE, .type = TEXT("int"), .has_value = true, .value = {.kind = OP_INTEGER }            \
  }

static const struct stub_member templates[KNOWN_MEMBERS] = {
    [KNOWN_ADD] =
        {.member = "add", .kind = JVM_STATIC_METHOD, .outcome = NUMBER, .whole_number = 'I', .adds = true},
    [KNOWN_NOTHING] = {.member = "nothing",
                       .kind = JVM_STATIC_METHOD,
                       .outcome = {.kind = OUTCOME_VOID},
                       .whole_number = 'V',
                       .adds = true},
    [KNOWN_OWN_ADD] = {.member = "ownAdd",
                       .kind = JVM_METHOD,
                       .outcome = NUMBER,
                       .whole_number = 'I',
                       .adds = true,
                       .has_receiver = true},
    [KNOWN_STATIC_FIELD] = {.member = "staticField",
                            .kind = JVM_STATIC_FIELD,
                            .outcome = NUMBER,
                            .whole_number = 'J'},
    [KNOWN_STATIC_FIELD_SET] = {.member = "staticFieldSet",
                                .kind = JVM_STATIC_FIELD,
                                .outcome = {.kind = OUTCOME_VOID},
                                .whole_number = 'V',
                                .adds = true},
    [KNOWN_FIELD] =
        {.member = "field", .kind = JVM_FIELD, .outcome = NUMBER, .whole_number = 'I', .has_receiver = true},
    [KNOWN_FIELD_SET] = {.member = "fieldSet",
                         .kind = JVM_FIELD,
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

/* A request of JSON-RPC makes it: both codecs share sessions. */
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
    members[i].modifiers = JVM_ACC_PUBLIC;
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

/* From an exact copy, so that a sanitizer sees a read past its end. */
static void serve(struct service_bench *bench, struct rpc_client *client, struct text message,
                  size_t reply_max)
{
  char *copy = unit_exact_copy(message.data, message.len);
  buffer_clear(&bench->out);
  assert_int_equal(rpc_colfer_serve(bench->service->context, bench->lent.worker, client,
                                    (struct text){copy, message.len}, &bench->out, reply_max, &bench->stream),
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

static void show(const char *what, struct text answer)
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
  serve(bench, client, message, reply_max);
  buffer_append_text(&wanted, buffer_text(&bench->out));
  known_bench_forget(bench);
  own_of(bench)->known = known;
  unsigned before = stub.whole_numbers;
  serve(bench, client, message, reply_max);
  blank_id(buffer_text(&wanted));
  blank_id(buffer_text(&bench->out));
  bool is_same = text_equal(buffer_text(&bench->out), buffer_text(&wanted));
  if (!is_same) {
    show("general", buffer_text(&wanted));
    show("known", buffer_text(&bench->out));
  }
  buffer_fini(&wanted);
  if (!is_same)
    return SERVED_DIFFERENTLY;
  return stub.whole_numbers > before ? SERVED_AS_KNOWN : SERVED_GENERALLY;
}

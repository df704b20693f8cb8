/* The fast path gives the same answer as the general path, byte for byte. */
#include "tests/unit/jni/with_jvm.h"
#include "tests/unit/unit.h"

#include "rpc/fastpath/shape_cache.h"
#include "rpc/jsonrpc/json_codec.h"

#include <stdio.h>

enum { TURNS = 3 };

/* One of two sides that get the same requests, each with a session of its own. */
struct side {
  struct rpc_worker worker;
  struct rpc_client *client;
  struct buffer answer;
};

static struct {
  struct rpc_peer *peer;
  const struct rpc_service *service;
  struct side again; /* gets the same texts each time, so it uses the fast path */
  struct side anew;  /* gets a different text each time, so it never does */
} both;

static struct rpc_limits limits = {
    .max_depth = 128,
    .max_batch = 10,
    .session_max_objects = 100,
    .sessions_max = 10,
    .sessions_per_address = 10,
    .session_ttl_ms = 600000,
    .message_max = 100000,
    .java = {.inline_array_max = 10,
             .stack_frames_max = 4,
             .by_value_depth_max = 8,
             .number_digits_max = 100},
};

static void open_side(struct side *side)
{
  const struct rpc_client_info info = {.channel = OP_CHANNEL_WEBSOCKET};
  struct jp_error error;
  *side = (struct side){0};
  assert_int_equal(rpc_worker_init(&side->worker, both.peer, the_thread), JP_OK);
  buffer_init(&side->answer);
  assert_int_equal(both.service->client_open(both.service->context, &info, &side->client, &error), JP_OK);
}

static void close_side(struct side *side)
{
  both.service->client_close(both.service->context, &side->worker, side->client, NULL);
  rpc_worker_fini(&side->worker);
  buffer_fini(&side->answer);
}

static void ask(struct side *side, struct text message, size_t reply_max)
{
  struct rpc_stream stream;
  buffer_clear(&side->answer);
  (void)rpc_codec_jsonrpc.serve(both.service->context, &side->worker, side->client, message, &side->answer,
                                reply_max, &stream);
}

/* The shape that matched last. */
static struct shape *last_shape(void)
{
  struct rpc_fastpath *fastpath = rpc_jsonrpc_worker(&both.again.worker)->fastpath;
  return &fastpath->shapes[fastpath->last];
}

/* True if the next message of that shape takes the whole-number path. */
static bool has_whole_number_path(void)
{
  return last_shape()->length > 0 && last_shape()->path.call.member != NULL;
}

static void append_quoted(struct buffer *out, const char *text)
{
  for (; *text != '\0'; text++)
    buffer_append_char(out, *text == '\'' ? '"' : *text);
}

/* Sends the same requests to both sides. Both must give the same answers. requests: each without its first
 * brace, and with ' for ". */
static void check_all(const char *const *requests, size_t count, bool is_batch, size_t reply_max)
{
  static unsigned asked;
  struct buffer again;
  struct buffer anew;
  buffer_init(&again);
  buffer_init(&anew);
  for (size_t i = 0; i < count; i++) {
    const char *comma = is_batch ? i == 0 ? "[" : "," : "";
    buffer_printf(&again, "%s{", comma);
    buffer_printf(&anew, "%s{\"unheard-of-%u\":0,", comma, asked++);
    append_quoted(&again, requests[i]);
    append_quoted(&anew, requests[i]);
  }
  buffer_append(&again, "]", is_batch);
  buffer_append(&anew, "]", is_batch);
  ask(&both.again, buffer_text(&again), reply_max);
  ask(&both.anew, buffer_text(&anew), reply_max);
  unit_assert_text(buffer_text(&both.again.answer), buffer_text(&both.anew.answer), requests[0], (int)count);
  buffer_fini(&again);
  buffer_fini(&anew);
}

static void check(const char *request, size_t reply_max)
{
  check_all(&request, 1, false, reply_max);
}

#define CALL(id, method, params) "'jsonrpc':'2.0','id':" id ",'method':'" method "','params':{" params "}}"
#define ADD(id, a, b)                                                                                        \
  CALL(id, "call",                                                                                           \
       "'type':'fixtures.Calculator','method':'add','args':[{'type':'int','value':" a "},{'type':'int',"     \
       "'value':" b "}]")
#define ON(instance, type, method, args)                                                                     \
  CALL("7", "call", "'type':'" type "','method':'" method "','instance':" instance ",'args':[" args "]")

static void add_until_on_path(void)
{
  for (int i = 0; i < TURNS; i++)
    check(ADD("1", "2", "3"), 0);
  assert_true(has_whole_number_path());
}

UNIT_TEST(a_verdict_holds_only_for_its_policy)
{
  struct policy_source *allows = both.peer->config.policies;
  const struct policy_config config = {.default_action = POLICY_DENY};
  struct policy_source *denies;
  struct jp_error error;
  assert_int_equal(policy_source_create(&config, &denies, &error), JP_OK);
  add_until_on_path();
  both.peer->config.policies = denies;
  check(ADD("1", "2", "3"), 0);
  assert_true(memmem(both.again.answer.data, both.again.answer.len, "-32001", 6) != NULL);
  both.peer->config.policies = allows;
  check(ADD("1", "2", "3"), 0);
  policy_source_destroy(denies);
}

UNIT_TEST(limits_hold)
{
  add_until_on_path();
  for (size_t max = 1; max < 200; max++)
    check(ADD("1", "2", "3"), max);
  const char *const adds[] = {ADD("1", "2", "3"), ADD("2", "4", "5"), ADD("3", "6", "7")};
  for (size_t max = 1; max < 600; max++)
    check_all(adds, COUNT_OF(adds), true, max);
  check(
      "'jsonrpc':'2.0','method':'call','params':{'type':'fixtures.Calculator','method':'add','args':[1,2]}}",
      0);
  check(
      "'jsonrpc':'2.0','method':'call','params':{'type':'fixtures.Calculator','method':'add','args':[1,3]}}",
      0);
  assert_int_equal(both.again.answer.len, 0);
}

UNIT_TEST(a_kept_call_lives_as_long_as_its_member)
{
  add_until_on_path();
  uint64_t serial = last_shape()->path.call.serial;
  last_shape()->path.call.serial--; /* as if the cache of members had been emptied since */
  check(ADD("1", "2", "3"), 0);
  assert_true(last_shape()->path.call.serial == serial); /* the general path has kept the call again */
}

/* A deleted session has no objects any more, even if members of its objects were called before. */
UNIT_TEST(objects_go_with_their_session)
{
  check(CALL("1", "new", "'type':'fixtures.Calculator'"), 0);
  for (int i = 0; i < TURNS; i++)
    check(ON("1", "fixtures.Calculator", "accumulate", "5"), 0);
  assert_true(has_whole_number_path());
  check(CALL("1", "control", "'method':'delete_session','args':[]"), 0);
  check(ON("1", "fixtures.Calculator", "accumulate", "5"), 0);
  assert_true(memmem(both.again.answer.data, both.again.answer.len, "objRef: 1", 9) != NULL);
}

static int open_sides(void **state)
{
  const struct policy_config policy = {.default_action = POLICY_ALLOW};
  struct rpc_peer_config config = {.name = "fast", .version = "1", .limits = limits};
  struct jp_error error;
  (void)state;
  if (policy_source_create(&policy, &config.policies, &error) != JP_OK ||
      rpc_peer_create(&config, &both.peer, &error) != JP_OK ||
      rpc_peer_attach(both.peer, the_jvm, &error) != JP_OK)
    return 1;
  both.service = rpc_peer_service(both.peer);
  open_side(&both.again);
  open_side(&both.anew);
  return 0;
}

static int close_sides(void **state)
{
  struct policy_source *policies = both.peer->config.policies;
  (void)state;
  close_side(&both.again);
  close_side(&both.anew);
  bool detached = rpc_peer_detach(both.peer);
  rpc_peer_destroy(both.peer);
  policy_source_destroy(policies);
  return !detached;
}

JVM_MAIN(open_sides, close_sides)

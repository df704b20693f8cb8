#include "service_bench.h"

#include "classfile/catalog.h"
#include "rpc/jsonrpc/json_codec.h"

#include "rpc/peer_state.h"
#include "tests/unit/unit.h"

enum { BATCH_MAX = 10, OBJECTS_MAX = 5, SESSIONS_MAX = 4 };

static void lend_worker(void *argument, struct rpc_worker *worker)
{
  struct lent_worker *lent = argument;
  lent->worker = worker;
  pthread_barrier_wait(&lent->ready);
  pthread_barrier_wait(&lent->done);
  if (lent->ends != NULL)
    rpc_peer_destroy(lent->ends);
}

void lent_worker_borrow(struct lent_worker *lent, const struct rpc_service *service)
{
  struct jp_error error;
  pthread_barrier_init(&lent->ready, NULL, 2);
  pthread_barrier_init(&lent->done, NULL, 2);
  assert_int_equal(service->spawn(service->context, "member", lend_worker, lent, &error), JP_OK);
  pthread_barrier_wait(&lent->ready);
}

void lent_worker_return(struct lent_worker *lent)
{
  pthread_barrier_wait(&lent->done);
}

void lent_worker_fini(struct lent_worker *lent)
{
  pthread_barrier_destroy(&lent->ready);
  pthread_barrier_destroy(&lent->done);
}

static struct rpc_limits make_limits(const struct service_bench_options *options)
{
  return (struct rpc_limits){
      .max_depth = 20,
      .max_batch = options->batch_max == 0 ? BATCH_MAX : options->batch_max,
      .session_max_objects = OBJECTS_MAX,
      .sessions_max = options->sessions_max == 0 ? SESSIONS_MAX : options->sessions_max,
      .sessions_per_address = options->sessions_per_address,
      .session_ttl_ms = 1000000,
      .message_max = 100000,
      .callbacks = {.calls_max = options->callbacks_max == 0 ? 4 : options->callbacks_max, .depth_max = 3},
  };
}

struct service_bench *bench;

int bench_tear_down(void **state)
{
  (void)state;
  return service_bench_destroy(bench) ? 0 : 1;
}

struct service_bench *service_bench_create(const struct service_bench_options *options)
{
  struct service_bench *bench = test_calloc(1, sizeof *bench);
  const struct policy_config policy = {.default_action = POLICY_ALLOW};
  struct jp_error error;
  stub_reset(options->members, options->member_count);
  assert_int_equal(policy_source_create(&policy, &bench->policies, &error), JP_OK);
  /* An empty catalog: the stub of metadata does not read the catalog, and other readers find no class in it. */
  const struct catalog_config no_classes = {.class_path = "/dev/null"};
  assert_int_equal(catalog_create(&no_classes, &bench->catalog, &error), JP_OK);
  struct rpc_peer_config config = {.policies = bench->policies,
                                   .catalog = bench->catalog,
                                   .limits = make_limits(options),
                                   .compat_pal = options->compat_pal};
  assert_int_equal(rpc_peer_create(&config, &bench->peer, &error), JP_OK);
  bench->service = rpc_peer_service(bench->peer);
  bench->has_sweeper = !options->without_sweeper;
  if (bench->has_sweeper)
    assert_int_equal(rpc_peer_attach(bench->peer, stub_jvm(), &error), JP_OK);
  else
    bench->peer->jvm = stub_jvm();
  lent_worker_borrow(&bench->lent, bench->service);
  buffer_init(&bench->out);
  return bench;
}

bool service_bench_destroy(struct service_bench *bench)
{
  if (bench->client != NULL)
    bench_close(bench, bench->client, NULL);
  lent_worker_return(&bench->lent);
  bool detached = !bench->has_sweeper || rpc_peer_detach(bench->peer);
  stub_join_threads();
  lent_worker_fini(&bench->lent);
  if (bench->lent.ends == NULL) {
    if (!bench->has_sweeper)
      rpc_sessions_sweep(bench->peer->sessions, stub_thread(), INT64_MAX);
    rpc_peer_destroy(bench->peer);
  }
  catalog_destroy(bench->catalog);
  policy_source_destroy(bench->policies);
  buffer_fini(&bench->out);
  test_free(bench);
  return detached && atomic_load(&stub.tables) == 0 && stub.frames == 0 && stub.bodies == 0 &&
         stub.missed == 0;
}

struct rpc_client *bench_open(const struct service_bench *bench, const struct rpc_client_info *info)
{
  struct rpc_client *client;
  struct jp_error error;
  assert_int_equal(bench->service->client_open(bench->service->context, info, &client, &error), JP_OK);
  return client;
}

struct rpc_client *bench_open_named(const struct service_bench *bench, enum op_channel channel,
                                    const char *peer_id)
{
  return bench_open(bench,
                    &(struct rpc_client_info){.channel = channel,
                                              .peer_id = peer_id == NULL ? TEXT_ABSENT : text_of(peer_id)});
}

struct rpc_client *bench_open_routed(const struct service_bench *bench, const char *routing_id)
{
  return bench_open(bench,
                    &(struct rpc_client_info){.channel = OP_CHANNEL_ZMQ, .routing_id = text_of(routing_id)});
}

bool bench_close(const struct service_bench *bench, struct rpc_client *client, struct uuid *kept)
{
  struct rpc_session_info info;
  bench->service->client_close(bench->service->context, bench->lent.worker, client, &info);
  if (kept != NULL)
    *kept = info.peer_id;
  return info.is_new;
}

enum rpc_served bench_serve(struct service_bench *bench, struct rpc_client *client, struct text message,
                            size_t reply_max)
{
  buffer_clear(&bench->out);
  return rpc_codec_jsonrpc.serve(bench->service->context, bench->lent.worker, client, message, &bench->out,
                                 reply_max, &bench->stream);
}

void check_answer(struct service_bench *bench, struct rpc_client *client, const char *message,
                  const char *wanted)
{
  assert_int_equal(bench_serve(bench, client, text_of(message), 0), RPC_REPLY);
  unit_assert_text(buffer_text(&bench->out), text_of(wanted), __FILE__, __LINE__);
}

void check_part(struct service_bench *bench, struct rpc_client *client, const char *message, const char *part)
{
  assert_int_equal(bench_serve(bench, client, text_of(message), 0), RPC_REPLY);
  assert_part(bench, part);
}

void assert_part(const struct service_bench *bench, const char *part)
{
  if (memmem(bench->out.data, bench->out.len, part, strlen(part)) == NULL)
    fail_msg("%.*s has no %s", (int)bench->out.len, bench->out.data, part);
}

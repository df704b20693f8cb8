#include "rpc/peer_state.h"

#include "base/clock.h"
#include "rpc/channel.h"

#include <stdlib.h>

enum { SWEEPER_WAIT_MS = 500 };

static void destroy_client(struct rpc_sessions *sessions, struct rpc_client *client,
                           struct jvm_thread *thread)
{
  if (client == NULL)
    return;
  rpc_session_discard(sessions, client->spare, thread);
  free(client);
}

/* ---- workers ---- */

struct worker_start {
  void (*run)(void *argument, struct rpc_worker *worker);
  void *argument;
  struct rpc_peer *peer;
  struct rpc_worker *worker;
};

void rpc_worker_init(struct rpc_worker *worker, struct rpc_peer *peer, struct jvm_thread *thread)
{
  rpc_runner_init(&worker->runner, peer, thread);
  buffer_init(&worker->scratch);
}

void rpc_worker_fini(struct rpc_worker *worker)
{
  /* The peer does not wait for what is done here, so that its sessions may be gone. */
  destroy_client(NULL, worker->spare, worker->runner.thread);
  rpc_runner_fini(&worker->runner);
  buffer_fini(&worker->scratch);
}

static void run_worker(void *argument, struct jvm_thread *thread)
{
  struct worker_start *start = argument;
  struct rpc_worker *worker = start->worker;
  rpc_worker_init(worker, start->peer, thread);
  start->run(start->argument, worker);
  rpc_worker_fini(worker);
  free(worker);
  free(start);
}

static enum jp_status spawn(void *context, const char *name,
                            void (*run)(void *argument, struct rpc_worker *worker), void *argument,
                            struct jp_error *error)
{
  struct rpc_peer *peer = context;
  if (peer->jvm == NULL)
    return jp_fail(error, JP_CLOSED, "the JVM is not up");
  struct worker_start *start = malloc(sizeof *start);
  struct rpc_worker *worker = calloc(1, sizeof *worker);
  enum jp_status status = JP_NO_MEMORY;
  if (start == NULL || worker == NULL) {
    jp_fail(error, JP_NO_MEMORY, "out of memory");
    goto out;
  }
  *start = (struct worker_start){.run = run, .argument = argument, .peer = peer, .worker = worker};
  status = jvm_spawn(peer->jvm, name, run_worker, start, error);
  if (status == JP_OK) {
    start = NULL;
    worker = NULL;
  }
out:
  free(start);
  free(worker);
  return status;
}

static bool is_exiting(void *context, struct rpc_worker *worker)
{
  const struct rpc_peer *peer = context;
  return jvm_thread_is_exiting(peer->jvm, worker->runner.thread);
}

/* ---- clients ---- */

static enum jp_status read_key(const struct rpc_client_info *info, struct rpc_session_key *key,
                               struct jp_error *error)
{
  struct uuid peer_id;
  if (info->peer_id.data != NULL) {
    if (!uuid_parse(info->peer_id, &peer_id))
      return jp_fail(error, JP_INVALID, "peer-id must be a UUID");
    rpc_session_key_peer_id(key, &peer_id);
  } else if (info->routing_id.data != NULL && !rpc_session_key_routing_id(key, info->routing_id)) {
    return jp_fail(error, JP_INVALID, "a routing id has 1 to %d bytes", RPC_ROUTING_ID_MAX);
  }
  return JP_OK;
}

/* A connection that names its session holds it from the start, so that no TTL ends it under this client. The
 * other channels open a client for each message: theirs is held where it is there already. */
static enum jp_status hold_session(const struct rpc_peer *peer, struct rpc_client *client,
                                   struct jp_error *error)
{
  if (rpc_channels[client->channel].span == RPC_SPAN_CONNECTION && client->key.length > 0)
    return rpc_session_acquire(peer->sessions, &client->key, &client->maker, &client->session, error);
  client->session = rpc_session_find(peer->sessions, &client->key);
  return JP_OK;
}

enum jp_status rpc_client_hold_session(struct rpc_peer *peer, struct rpc_client *client,
                                       struct jp_error *error)
{
  if (client->spare == NULL)
    return rpc_session_acquire(peer->sessions, &client->key, &client->maker, &client->session, error);
  rpc_session_resume(client->spare, &client->maker);
  client->session = client->spare;
  client->spare = NULL;
  return JP_OK;
}

/* An HTTP request without a `peer-id` is a client for itself, with a session for itself: what nearly all of
 * them leave as it was, the worker keeps for the next. */
static bool is_passing(const struct rpc_client *client)
{
  return rpc_channels[client->channel].span == RPC_SPAN_MESSAGE && client->key.length == 0;
}

static bool take_spare(const struct rpc_client_info *info, struct rpc_client **client)
{
  if (rpc_channels[info->channel].span != RPC_SPAN_MESSAGE || info->peer_id.data != NULL ||
      info->worker == NULL || info->worker->spare == NULL)
    return false;
  *client = info->worker->spare;
  info->worker->spare = NULL;
  return true;
}

static bool become_spare(struct rpc_worker *worker, struct rpc_client *client)
{
  if (worker == NULL || worker->spare != NULL || !is_passing(client))
    return false;
  if (client->session != NULL) {
    if (!rpc_session_set_aside(client->session))
      return false;
    client->spare = client->session;
    client->session = NULL;
  }
  worker->spare = client;
  return true;
}

static enum jp_status make_client(const struct rpc_peer *peer, const struct rpc_client_info *info,
                                  struct rpc_client **client, struct jp_error *error)
{
  struct rpc_client *made = calloc(1, sizeof *made);
  if (made == NULL)
    return jp_fail(error, JP_NO_MEMORY, "out of memory");
  made->channel = info->channel;
  made->maker.is_passing = rpc_channels[info->channel].span == RPC_SPAN_MESSAGE;
  enum jp_status status = read_key(info, &made->key, error);
  if (status == JP_OK)
    status = hold_session(peer, made, error);
  if (status != JP_OK) {
    free(made);
    return status;
  }
  *client = made;
  return JP_OK;
}

static enum jp_status client_open(void *context, const struct rpc_client_info *info,
                                  struct rpc_client **client, struct jp_error *error)
{
  struct rpc_peer *peer = context;
  enum jp_status status = take_spare(info, client) ? JP_OK : make_client(peer, info, client, error);
  if (status != JP_OK)
    return status;
  (*client)->only_safe = info->only_safe;
  (*client)->maker.address = info->address;
  if ((*client)->key.length == 0)
    (*client)->key.serial = atomic_fetch_add(&peer->clients, 1) + 1;
  return JP_OK;
}

/* HTTP without a `peer-id`: what the request left is worth a name. */
static bool keep_objects(struct rpc_peer *peer, struct rpc_client *client, struct uuid *kept)
{
  if (!is_passing(client) || client->session == NULL || kept == NULL ||
      jvm_objects_count(rpc_session_objects(client->session)) == 0)
    return false;
  rpc_session_keep(peer->sessions, client->session, kept);
  return true;
}

static bool client_close(void *context, struct rpc_worker *worker, struct rpc_client *client,
                         struct uuid *kept)
{
  struct rpc_peer *peer = context;
  struct jvm_thread *thread = worker == NULL ? NULL : worker->runner.thread;
  bool is_kept = keep_objects(peer, client, kept);
  if (become_spare(worker, client))
    return is_kept;
  if (client->session != NULL)
    rpc_session_release(peer->sessions, client->session, thread, clock_now_ms());
  destroy_client(peer->sessions, client, thread);
  return is_kept;
}

/* ---- */

static struct text document(void *context)
{
  const struct rpc_peer *peer = context;
  return openrpc_own_document(peer->openrpc);
}

static void write_help(void *context, struct buffer *out)
{
  const struct rpc_peer *peer = context;
  const struct rpc_service_facts facts = {peer->config.uuid, text_of(peer->config.name), peer->addresses};
  rpc_help_write(out, &facts);
}

static void fill_service(struct rpc_peer *peer)
{
  peer->service = (struct rpc_service){.context = peer,
                                       .spawn = spawn,
                                       .is_exiting = is_exiting,
                                       .client_open = client_open,
                                       .client_close = client_close,
                                       .serve = rpc_peer_serve,
                                       .take_back = rpc_peer_take_back,
                                       .serve_ping = rpc_peer_serve_ping,
                                       .refuse = rpc_peer_refuse,
                                       .document = document,
                                       .write_help = write_help,
                                       .reject = rpc_peer_reject,
                                       .is_1_1 = rpc_peer_is_1_1};
}

enum jp_status rpc_peer_create(const struct rpc_peer_config *config, struct rpc_peer **peer,
                               struct jp_error *error)
{
  const struct rpc_session_limits limits = {.sessions_max = config->limits.sessions_max,
                                            .per_address_max = config->limits.sessions_per_address,
                                            .max_objects = config->limits.session_max_objects,
                                            .ttl_ms = config->limits.session_ttl_ms};
  struct rpc_peer *made = calloc(1, sizeof *made);
  if (made == NULL)
    return jp_fail(error, JP_NO_MEMORY, "out of memory");
  made->config = *config;
  made->methods = java_methods_index_create();
  fill_service(made);
  enum jp_status status =
      made->methods == NULL ? JP_NO_MEMORY : rpc_sessions_create(&limits, &made->sessions);
  if (status != JP_OK)
    jp_fail(error, status, "out of memory");
  else if (config->catalog != NULL)
    status = rpc_meta_create(config->catalog, &made->meta, error);
  if (status != JP_OK) {
    rpc_peer_destroy(made);
    return status;
  }
  *peer = made;
  return JP_OK;
}

void rpc_peer_set_addresses(struct rpc_peer *peer, const char *const *addresses)
{
  peer->addresses = addresses;
}

static enum jp_status describe(struct rpc_peer *peer, struct jp_error *error)
{
  const struct openrpc_config config = {.uuid = peer->config.uuid,
                                        .name = peer->config.name,
                                        .version = peer->config.version,
                                        .addresses = peer->addresses,
                                        .catalog = peer->config.catalog};
  return openrpc_create(&config, &peer->openrpc, error);
}

enum jp_status rpc_peer_attach(struct rpc_peer *peer, struct jvm *jvm, struct jp_error *error)
{
  enum jp_status status = describe(peer, error);
  if (status != JP_OK)
    return status;
  peer->jvm = jvm;
  return rpc_sessions_start(peer->sessions, jvm, error);
}

bool rpc_peer_detach(struct rpc_peer *peer)
{
  return rpc_sessions_stop(peer->sessions, SWEEPER_WAIT_MS);
}

const struct rpc_service *rpc_peer_service(struct rpc_peer *peer)
{
  return &peer->service;
}

void rpc_peer_destroy(struct rpc_peer *peer)
{
  /* A sweeper that hangs in a dying JVM still uses the sessions: then they are left to the process's end. */
  if (peer == NULL || (peer->sessions != NULL && !rpc_peer_detach(peer)))
    return;
  rpc_meta_destroy(peer->meta);
  openrpc_destroy(peer->openrpc);
  java_methods_index_destroy(peer->methods);
  rpc_sessions_destroy(peer->sessions);
  free(peer);
}

#include "rpc/peer_state.h"

#include "base/clock.h"
#include "rpc/callbacks/callbacks.h"
#include "rpc/channel.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void rpc_client_destroy(struct rpc_sessions *sessions, struct rpc_client *client, struct jvm_thread *thread)
{
  if (client == NULL)
    return;
  rpc_session_discard(sessions, client->spare, thread);
  principal_release(client->principal);
  free(client);
}

static enum jp_status read_key(const struct rpc_client_info *info, struct op_session_key *key,
                               struct jp_error *error)
{
  struct uuid peer_id;
  if (info->peer_id.data != NULL) {
    if (!uuid_parse(info->peer_id, &peer_id))
      return jp_fail(error, JP_INVALID, "peer-id must be a UUID");
    op_session_key_peer_id(key, principal_number(info->principal), &peer_id);
  } else if (info->routing_id.data != NULL &&
             !op_session_key_routing_id(key, principal_number(info->principal), info->routing_id)) {
    return jp_fail(error, JP_INVALID, "a routing id has 1 to %d bytes", OP_ROUTING_ID_MAX);
  }
  return JP_OK;
}

/* A connection that names its session holds the session from the start, so that its TTL cannot end it
 * while the connection lasts. A client of one message or turn holds its session only if the session exists
 * already. */
static enum jp_status hold_session(const struct rpc_peer *peer, struct rpc_client *client,
                                   struct jp_error *error)
{
  struct rpc_session *held = NULL;
  enum jp_status status = JP_OK;
  if (rpc_channels[client->channel].span == RPC_SPAN_CONNECTION && client->key.length > 0)
    status = rpc_session_acquire(peer->sessions, &client->key, &client->maker, &held, error);
  else
    held = rpc_session_find(peer->sessions, &client->key);
  atomic_init(&client->session, held);
  return status;
}

enum jp_status rpc_client_hold_session(const struct rpc_peer *peer, struct rpc_client *client,
                                       struct jp_error *error)
{
  struct rpc_session *made = NULL;
  struct rpc_session *none = NULL;
  /* only a client of one message has a spare session, and only one thread uses such a client */
  if (client->spare != NULL) {
    rpc_session_resume(client->spare, &client->maker);
    atomic_store_explicit(&client->session, client->spare, memory_order_relaxed);
    client->spare = NULL;
    return JP_OK;
  }
  enum jp_status status = rpc_session_acquire(peer->sessions, &client->key, &client->maker, &made, error);
  if (status == JP_OK && !atomic_compare_exchange_strong(&client->session, &none, made))
    rpc_session_release(peer->sessions, made, NULL, clock_now_ms());
  return status;
}

/* A message without a session's name (HTTP without a `peer-id`) is a client with a session of its own. Most
 * of these clients do not use their session. In that case the worker keeps client and session for the next
 * client. */
static bool is_passing(const struct rpc_client *client)
{
  return rpc_channels[client->channel].span == RPC_SPAN_MESSAGE && client->key.length == 0;
}

static bool reuse_spare(const struct rpc_client_info *info, struct rpc_client **client)
{
  if (rpc_channels[info->channel].span != RPC_SPAN_MESSAGE || info->peer_id.data != NULL ||
      info->worker == NULL || info->worker->spare == NULL)
    return false;
  *client = info->worker->spare;
  info->worker->spare = NULL;
  (*client)->principal = principal_retain(info->principal);
  (*client)->maker.principal = info->principal;
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
    atomic_store_explicit(&client->session, NULL, memory_order_relaxed);
  }
  principal_release(client->principal);
  client->principal = client->maker.principal = NULL;
  worker->spare = client;
  return true;
}

static enum jp_status make_client(const struct rpc_peer *peer, const struct rpc_client_info *info,
                                  struct rpc_client **client, struct jp_error *error)
{
  struct rpc_client *made = calloc(1, sizeof *made);
  if (made == NULL)
    return jp_fail_memory(error, NULL);
  made->channel = info->channel;
  made->push = peer->config.compat_pal ? NULL : info->push;
  made->connection = info->connection;
  made->principal = principal_retain(info->principal);
  made->maker.principal = info->principal;
  made->maker.is_passing = rpc_channels[info->channel].span == RPC_SPAN_MESSAGE;
  enum jp_status status = read_key(info, &made->key, error);
  if (status == JP_OK)
    status = hold_session(peer, made, error);
  if (status != JP_OK) {
    principal_release(made->principal);
    free(made);
    return status;
  }
  *client = made;
  return JP_OK;
}

enum jp_status rpc_client_open(void *context, const struct rpc_client_info *info, struct rpc_client **client,
                               struct jp_error *error)
{
  struct rpc_peer *peer = context;
  uint64_t number = atomic_fetch_add(&peer->clients, 1) + 1;
  enum jp_status status = reuse_spare(info, client) ? JP_OK : make_client(peer, info, client, error);
  if (status != JP_OK)
    return status;
  (*client)->channel = info->channel; /* the spare client may be of another channel of single messages */
  (*client)->only_safe = info->only_safe;
  (*client)->proof = info->proof;
  (*client)->connection_number = info->connection_number;
  (*client)->maker.address = info->address;
  (*client)->calls = 0;
  (*client)->number = number;
  (*client)->is_stale = false;
  if ((*client)->key.length == 0) {
    (*client)->key.serial = number;
    (*client)->epoch = 0;
  }
  if (info->epoch.data != NULL && !peer->config.compat_pal)
    (*client)->is_stale = !rpc_client_is_in_epoch(peer, *client, NULL, info->epoch);
  return JP_OK;
}

/* ---- epochs ---- */

uint64_t rpc_client_epoch(struct rpc_peer *peer, struct rpc_client *client)
{
  if (client->epoch == 0)
    client->epoch = client->session != NULL && client->key.length > 0
                        ? rpc_session_epoch(client->session)
                        : rpc_sessions_epoch(peer->sessions, &client->key);
  return client->epoch;
}

void rpc_epoch_format(uint64_t epoch, char out[RPC_EPOCH_LENGTH + 1])
{
  snprintf(out, RPC_EPOCH_LENGTH + 1, "%016" PRIx64, epoch);
}

bool rpc_client_is_in_epoch(struct rpc_peer *peer, struct rpc_client *client, const struct uuid *peer_id,
                            struct text epoch)
{
  char written[RPC_EPOCH_LENGTH + 1];
  uint64_t own;
  if (peer_id != NULL) {
    struct op_session_key key;
    op_session_key_peer_id(&key, principal_number(client->principal), peer_id);
    own = rpc_sessions_epoch(peer->sessions, &key);
  } else {
    own = rpc_client_epoch(peer, client);
  }
  rpc_epoch_format(own, written);
  return own != 0 && text_equal(epoch, text_of(written));
}

static void fill_epoch(uint64_t epoch, struct rpc_session_info *info)
{
  if (epoch != 0)
    rpc_epoch_format(epoch, info->epoch);
}

void rpc_client_describe_session(void *context, struct rpc_client *client, struct rpc_session_info *info)
{
  struct rpc_peer *peer = context;
  *info = (struct rpc_session_info){.is_new = false};
  if (!peer->config.compat_pal)
    fill_epoch(rpc_client_epoch(peer, client), info);
}

/* Gives a name to a session that still has objects, if its message did not name a session. */
static void keep_objects(struct rpc_peer *peer, struct rpc_client *client, struct rpc_session_info *info)
{
  if (!is_passing(client) || client->session == NULL ||
      jvm_objects_count(rpc_session_objects(client->session)) == 0)
    return;
  rpc_session_keep(peer->sessions, client->session, &info->peer_id);
  info->is_new = true;
  if (!peer->config.compat_pal)
    fill_epoch(rpc_session_epoch(client->session), info);
}

void rpc_client_close(void *context, struct rpc_worker *worker, struct rpc_client *client,
                      struct rpc_session_info *info)
{
  struct rpc_peer *peer = context;
  struct jvm_thread *thread = worker == NULL ? NULL : worker->runner.thread;
  if (atomic_load(&client->is_parted)) {
    rpc_callbacks_release(client->callbacks);
  } else {
    rpc_callbacks_close(client->callbacks);
    rpc_process_leave(peer, client);
  }
  if (info != NULL) {
    *info = (struct rpc_session_info){.is_new = false};
    if (rpc_channels[client->channel].span == RPC_SPAN_MESSAGE && client->key.length > 0)
      rpc_client_describe_session(peer, client, info);
    keep_objects(peer, client, info);
  }
  if (become_spare(worker, client))
    return;
  if (client->session != NULL) {
    rpc_session_add_calls(client->session, client->calls);
    rpc_session_release(peer->sessions, client->session, thread, clock_now_ms());
  }
  rpc_client_destroy(peer->sessions, client, thread);
}

/* Replaces a client whose thread is lost by a new client, which owns the callbacks and the place in the
 * process from then on. The old client still holds the callbacks, which hold the process, because its thread
 * may still use them. */
struct rpc_client *rpc_client_part(void *context, struct rpc_client *client)
{
  struct rpc_peer *peer = context;
  struct rpc_client *made = calloc(1, sizeof *made);
  if (made == NULL)
    return NULL;
  *made = (struct rpc_client){.channel = client->channel,
                              .only_safe = client->only_safe,
                              .is_stale = client->is_stale,
                              .principal = principal_retain(client->principal),
                              .proof = client->proof,
                              .number = client->number,
                              .connection_number = client->connection_number,
                              .epoch = client->epoch,
                              .key = client->key,
                              .session = atomic_load(&client->session),
                              .maker = client->maker,
                              .calls = client->calls,
                              .push = client->push,
                              .connection = client->connection,
                              .process = client->process,
                              .callbacks = client->callbacks};
  if (made->session != NULL)
    rpc_session_retain(peer->sessions, made->session);
  rpc_callbacks_retain(client->callbacks);
  atomic_store(&client->is_parted, true);
  client->push = NULL;
  client->calls = 0;
  return made;
}

void rpc_client_release_unsent(void *context, struct rpc_worker *worker, struct rpc_client *client)
{
  (void)context;
  struct rpc_runner *runner = &worker->runner;
  if (runner->stored.count > 0 && client->session != NULL)
    jvm_objects_roll_back(runner->thread, rpc_session_objects(client->session), &runner->stored, 0);
}

/* Only JSON-RPC clients have a push. */
void rpc_client_refused(void *context, struct rpc_client *client, struct text message)
{
  rpc_callbacks_count_refused(context, client, rpc_codecs[RPC_CODEC_JSONRPC], message);
}

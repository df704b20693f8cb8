#include "rpc/callbacks/callback_call.h"
#include "rpc/callbacks/callback_incoming.h"
#include "rpc/callbacks/nested_workers.h"
#include "rpc/peer_state.h"

#include <stdlib.h>

enum { SWEEPER_WAIT_MS = 500 };

#define DECLARE_CODEC(id, name) extern const struct rpc_codec rpc_codec_##name;
RPC_CODEC_TABLE(DECLARE_CODEC)

#define POINT_TO_CODEC(id, name) [RPC_CODEC_##id] = &rpc_codec_##name,
const struct rpc_codec *const rpc_codecs[RPC_CODECS] = {RPC_CODEC_TABLE(POINT_TO_CODEC)};

/* rpc_service.collect */
static void collect_figures(void *context, struct metrics_figures *figures)
{
  struct rpc_peer *peer = context;
  rpc_workers_collect(peer, figures);
  figures->sessions = rpc_sessions_count(peer->sessions);
  figures->refs = rpc_sessions_count_refs(peer->sessions);
  const uint64_t ended = atomic_load(&peer->callback_calls_ended); /* before those that have begun */
  figures->callbacks = atomic_load(&peer->callback_calls);
  figures->callbacks_open = figures->callbacks - ended;
  rpc_jvm_figures_collect(peer->jvm_figures, figures);
}

enum jp_status rpc_peer_create(const struct rpc_peer_config *config, struct rpc_peer **peer,
                               struct jp_error *error)
{
  const struct rpc_session_limits limits = {.sessions_max = config->limits.sessions_max,
                                            .per_address_max = config->limits.sessions_per_address,
                                            .max_objects = config->limits.session_max_objects,
                                            .first_ref_min = config->limits.first_ref_min,
                                            .first_ref_max = config->limits.first_ref_max,
                                            .ttl_ms = config->limits.session_ttl_ms};
  struct rpc_peer *made = calloc(1, sizeof *made);
  if (made == NULL)
    return jp_fail_memory(error, NULL);
  made->config = *config;
  made->service = (struct rpc_service){.context = made,
                                       .codecs = rpc_codecs,
                                       .spawn = rpc_worker_spawn,
                                       .set_waits = rpc_worker_set_waits,
                                       .keep_changes = rpc_worker_keep_changes,
                                       .is_exiting = rpc_worker_is_exiting,
                                       .write_call_name = rpc_call_write_name,
                                       .wants_name = rpc_call_wants_name,
                                       .hold_call = rpc_call_hold,
                                       .name_call = rpc_call_name,
                                       .find_deadline = rpc_call_find_deadline,
                                       .end_call = rpc_call_end_held,
                                       .interrupt_call = rpc_call_interrupt,
                                       .find_interrupt = rpc_call_find_interrupt,
                                       .release_call = rpc_call_release,
                                       .note_lost = rpc_worker_note_lost,
                                       .count_lost = rpc_workers_count_lost,
                                       .part_client = rpc_client_part,
                                       .client_open = rpc_client_open,
                                       .client_close = rpc_client_close,
                                       .describe_session = rpc_client_describe_session,
                                       .release_unsent = rpc_client_release_unsent,
                                       .collect = collect_figures,
                                       .receive = rpc_callbacks_receive,
                                       .receive_beginning = rpc_callbacks_receive_beginning,
                                       .cancel_nested = rpc_callbacks_cancel,
                                       .client_gone = rpc_callbacks_client_gone,
                                       .are_exiting = rpc_callbacks_are_exiting,
                                       .has_room = rpc_callbacks_has_room,
                                       .refused = rpc_client_refused};
  enum jp_status status = rpc_sessions_create(&limits, &made->sessions);
  if (status == JP_OK)
    status = rpc_callbacks_list_create(&made->callbacks);
  if (status == JP_OK)
    status = nested_workers_create(made, &made->nested_workers);
  made->collector = rpc_collector_create();
  made->jvm_figures = rpc_jvm_figures_create();
  if (status == JP_OK && (made->collector == NULL || made->jvm_figures == NULL))
    status = JP_NO_MEMORY;
  if (status != JP_OK)
    jp_fail(error, status, status == JP_NO_MEMORY ? "out of memory" : "OpenSSL has no HMAC-SHA256");
  else if (config->catalog != NULL)
    status = rpc_meta_create(config->catalog, &made->meta, error);
  if (status != JP_OK) {
    rpc_peer_destroy(made);
    return status;
  }
  *peer = made;
  return JP_OK;
}

void rpc_peer_principals_changed(struct rpc_peer *peer)
{
  rpc_sessions_end_gone(peer->sessions);
}

void rpc_peer_set_addresses(struct rpc_peer *peer, const char *const *addresses)
{
  peer->addresses = addresses;
}

enum jp_status rpc_peer_attach(struct rpc_peer *peer, struct jvm *jvm, struct jp_error *error)
{
  enum jp_status status = JP_OK;
  for (size_t i = 0; status == JP_OK && i < RPC_CODECS; i++) {
    if (rpc_codecs[i]->start != NULL)
      status = rpc_codecs[i]->start(peer, &peer->codec_states[i], error);
  }
  if (status != JP_OK)
    return status;
  peer->jvm = jvm;
  status = jvm_callbacks_start(jvm, rpc_callback_hooks(), error);
  if (status != JP_OK)
    return status;
  status = rpc_collector_start(peer->collector, jvm, error);
  if (status == JP_OK)
    status = rpc_jvm_figures_start(peer->jvm_figures, jvm, error);
  return status == JP_OK ? rpc_sessions_start(peer->sessions, jvm, error) : status;
}

bool rpc_peer_detach(struct rpc_peer *peer)
{
  bool has_ended = rpc_collector_stop(peer->collector, SWEEPER_WAIT_MS);
  has_ended = rpc_jvm_figures_stop(peer->jvm_figures, SWEEPER_WAIT_MS) && has_ended;
  return rpc_sessions_stop(peer->sessions, SWEEPER_WAIT_MS) && has_ended;
}

const struct rpc_service *rpc_peer_service(struct rpc_peer *peer)
{
  return &peer->service;
}

void rpc_peer_destroy(struct rpc_peer *peer)
{
  /* A thread that hangs in a dying JVM may still use the sessions or the collector. In that case nothing is
   * freed before the process ends. */
  if (peer == NULL || (peer->sessions != NULL && !rpc_peer_detach(peer)))
    return;
  nested_workers_destroy(peer->nested_workers);
  rpc_callbacks_list_destroy(peer->callbacks);
  for (size_t i = 0; i < RPC_CODECS; i++) {
    if (peer->codec_states[i] != NULL && rpc_codecs[i]->stop != NULL)
      rpc_codecs[i]->stop(peer->codec_states[i]);
  }
  rpc_collector_destroy(peer->collector);
  rpc_jvm_figures_destroy(peer->jvm_figures);
  rpc_meta_destroy(peer->meta);
  rpc_sessions_destroy(peer->sessions);
  free(peer);
}

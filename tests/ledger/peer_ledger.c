/*
 * A layer between `jpeer run` and the core of the peer, in a program that is otherwise jpeer: each message is
 * served under the reference ledger. With CMakeLists.txt, run_subcommand.c uses these functions instead of
 * the functions of rpc/peer.h.
 */
#include "tests/ledger/peer_ledger.h"

#include "jni/runtime/machine.h"
#include "rpc/channel.h"
#include "rpc/peer_state.h"
#include "tests/ledger/reference_ledger.h"

#include <stdio.h>

enum jp_status ledger_peer_attach(struct rpc_peer *peer, struct jvm *jvm, struct jp_error *error)
{
  JNIEnv *env = NULL;
  if ((*jvm->vm)->GetEnv(jvm->vm, (void **)&env, JNI_VERSION_1_8) != JNI_OK || !reference_ledger_start(env))
    return jp_fail(error, JP_JAVA, "the JVM does not allow counting of references");
  return rpc_peer_attach(peer, jvm, error);
}

static bool ends_with_connection(const struct rpc_client *client)
{
  return rpc_channels[client->channel].span == RPC_SPAN_CONNECTION && client->key.length == 0;
}

/* For each codec a serve function, and a copy of the codec with it. */
#define DEFINE_CODEC(id, name)                                                                               \
  static enum rpc_served serve_##name(void *context, struct rpc_worker *worker, struct rpc_client *client,   \
                                      struct text message, struct buffer *out, size_t reply_max,             \
                                      struct rpc_stream *stream)                                             \
  {                                                                                                          \
    reference_ledger_begin(message, ends_with_connection(client));                                           \
    enum rpc_served served =                                                                                 \
        rpc_codecs[RPC_CODEC_##id]->serve(context, worker, client, message, out, reply_max, stream);         \
    reference_ledger_end();                                                                                  \
    return served;                                                                                           \
  }                                                                                                          \
  static struct rpc_codec codec_##name;
RPC_CODEC_TABLE(DEFINE_CODEC)

static void close_client(void *context, struct rpc_worker *worker, struct rpc_client *client,
                         struct rpc_session_info *info)
{
  if (worker != NULL)
    reference_ledger_begin(text_of("that ends a session"), false);
  rpc_client_close(context, worker, client, info);
  if (worker != NULL)
    reference_ledger_end();
}

const struct rpc_service *ledger_peer_service(struct rpc_peer *peer)
{
  static struct rpc_service service;
  static const struct rpc_codec *codecs[RPC_CODECS];
  service = *rpc_peer_service(peer);
#define SET_CODEC(id, name)                                                                                  \
  codec_##name = *service.codecs[RPC_CODEC_##id];                                                            \
  codec_##name.serve = serve_##name;                                                                         \
  codecs[RPC_CODEC_##id] = &codec_##name;
  RPC_CODEC_TABLE(SET_CODEC)
  service.codecs = codecs;
  service.client_close = close_client;
  return &service;
}

bool ledger_peer_detach(struct rpc_peer *peer)
{
  JNIEnv *env = NULL;
  JavaVM *vm = peer->jvm == NULL ? NULL : peer->jvm->vm;
  if (vm == NULL || (*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_1_8) != JNI_OK)
    return rpc_peer_detach(peer); /* no requests were served */
  reference_ledger_check_globals(env, true);
  bool has_ended = rpc_peer_detach(peer);
  reference_ledger_check_globals(env, false);
  return has_ended;
}

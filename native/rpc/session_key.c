#include "rpc/session_state.h"

#include <stdio.h>

enum { KEY_PEER_ID = 'p', KEY_ROUTING_ID = 'r' };

void rpc_session_key_peer_id(struct rpc_session_key *key, const struct uuid *peer_id)
{
  key->bytes[0] = KEY_PEER_ID;
  memcpy(key->bytes + 1, peer_id->bytes, sizeof peer_id->bytes);
  key->length = 1 + sizeof peer_id->bytes;
}

bool rpc_session_key_routing_id(struct rpc_session_key *key, struct text routing_id)
{
  key->length = 0;
  if (routing_id.len == 0 || routing_id.len > RPC_ROUTING_ID_MAX)
    return false;
  key->bytes[0] = KEY_ROUTING_ID;
  memcpy(key->bytes + 1, routing_id.data, routing_id.len);
  key->length = 1 + routing_id.len;
  return true;
}

bool rpc_session_key_read_peer_id(const uint8_t *bytes, size_t length, struct uuid *peer_id)
{
  if (length != 1 + sizeof peer_id->bytes || bytes[0] != KEY_PEER_ID)
    return false;
  memcpy(peer_id->bytes, bytes + 1, sizeof peer_id->bytes);
  return true;
}

enum jp_status session_mark_make(const struct rpc_sessions *sessions, const struct rpc_session_key *key,
                                 struct session_mark *mark)
{
  uint8_t name[sizeof key->serial + sizeof key->bytes];
  uint8_t hash[KEYED_HASH_BYTES];
  uint64_t serial =
      key->length > 0 ? 0 : key->serial; /* a serial is never 0: no two names are the same bytes */
  memcpy(name, &serial, sizeof serial);
  memcpy(name + sizeof serial, key->bytes, key->length);
  enum jp_status status = keyed_hash_compute(sessions->epochs, name, sizeof serial + key->length, hash);
  if (status != JP_OK)
    return status;
  uint64_t random;
  memcpy(&mark->epoch, hash, sizeof mark->epoch);
  memcpy(&random, hash + sizeof mark->epoch, sizeof random);
  if (mark->epoch == 0)
    mark->epoch = 1;
  uint32_t least = sessions->limits.first_ref_min > 0 ? sessions->limits.first_ref_min : 1;
  uint32_t most = sessions->limits.first_ref_max > least ? sessions->limits.first_ref_max : least;
  mark->first_ref = least + (uint32_t)(random % (most - least + 1));
  return JP_OK;
}

void rpc_session_key_describe(const struct rpc_session_key *key, char out[RPC_SESSION_NAME_MAX])
{
  out[0] = '\0';
  if (key->length == 0) {
    if (key->serial != 0)
      snprintf(out, RPC_SESSION_NAME_MAX, "#%llu", (unsigned long long)key->serial);
    return;
  }
  if (key->bytes[0] == KEY_PEER_ID) {
    struct uuid peer_id;
    memcpy(peer_id.bytes, key->bytes + 1, sizeof peer_id.bytes);
    uuid_format(&peer_id, out);
    return;
  }
  int n = snprintf(out, RPC_SESSION_NAME_MAX, "zmq:");
  for (size_t i = 1; i < key->length; i++)
    n += snprintf(out + n, RPC_SESSION_NAME_MAX - (size_t)n, "%02x", key->bytes[i]);
}

#include "op/session_key.h"

#include <stdio.h>
#include <string.h>

enum { KEY_PEER_ID = 'p', KEY_ROUTING_ID = 'r' };

static void fill_key(struct op_session_key *key, uint8_t kind, uint32_t principal, const void *name,
                     size_t length)
{
  key->bytes[0] = kind;
  memcpy(key->bytes + 1, &principal, sizeof principal);
  memcpy(key->bytes + OP_SESSION_KEY_HEAD, name, length);
  key->length = OP_SESSION_KEY_HEAD + length;
}

void op_session_key_peer_id(struct op_session_key *key, uint32_t principal, const struct uuid *peer_id)
{
  fill_key(key, KEY_PEER_ID, principal, peer_id->bytes, sizeof peer_id->bytes);
}

bool op_session_key_routing_id(struct op_session_key *key, uint32_t principal, struct text routing_id)
{
  key->length = 0;
  if (routing_id.len == 0 || routing_id.len > OP_ROUTING_ID_MAX)
    return false;
  fill_key(key, KEY_ROUTING_ID, principal, routing_id.data, routing_id.len);
  return true;
}

bool op_session_key_read_peer_id(const uint8_t *bytes, size_t length, struct uuid *peer_id)
{
  if (length != OP_SESSION_KEY_HEAD + sizeof peer_id->bytes || bytes[0] != KEY_PEER_ID)
    return false;
  memcpy(peer_id->bytes, bytes + OP_SESSION_KEY_HEAD, sizeof peer_id->bytes);
  return true;
}

void op_session_key_describe(const struct op_session_key *key, char out[OP_SESSION_NAME_MAX])
{
  out[0] = '\0';
  if (key->length == 0) {
    if (key->serial != 0)
      snprintf(out, OP_SESSION_NAME_MAX, "#%llu", (unsigned long long)key->serial);
    return;
  }
  if (key->bytes[0] == KEY_PEER_ID) {
    struct uuid peer_id;
    memcpy(peer_id.bytes, key->bytes + OP_SESSION_KEY_HEAD, sizeof peer_id.bytes);
    uuid_format(&peer_id, out);
    return;
  }
  int n = snprintf(out, OP_SESSION_NAME_MAX, "zmq:");
  for (size_t i = OP_SESSION_KEY_HEAD; i < key->length; i++)
    n += snprintf(out + n, OP_SESSION_NAME_MAX - (size_t)n, "%02x", key->bytes[i]);
}

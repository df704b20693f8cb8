#include "op/session_key.h"

#include <stdio.h>
#include <string.h>

enum { KEY_PEER_ID = 'p', KEY_ROUTING_ID = 'r' };

void op_session_key_peer_id(struct op_session_key *key, const struct uuid *peer_id)
{
  key->bytes[0] = KEY_PEER_ID;
  memcpy(key->bytes + 1, peer_id->bytes, sizeof peer_id->bytes);
  key->length = 1 + sizeof peer_id->bytes;
}

bool op_session_key_routing_id(struct op_session_key *key, struct text routing_id)
{
  key->length = 0;
  if (routing_id.len == 0 || routing_id.len > OP_ROUTING_ID_MAX)
    return false;
  key->bytes[0] = KEY_ROUTING_ID;
  memcpy(key->bytes + 1, routing_id.data, routing_id.len);
  key->length = 1 + routing_id.len;
  return true;
}

bool op_session_key_read_peer_id(const uint8_t *bytes, size_t length, struct uuid *peer_id)
{
  if (length != 1 + sizeof peer_id->bytes || bytes[0] != KEY_PEER_ID)
    return false;
  memcpy(peer_id->bytes, bytes + 1, sizeof peer_id->bytes);
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
    memcpy(peer_id.bytes, key->bytes + 1, sizeof peer_id.bytes);
    uuid_format(&peer_id, out);
    return;
  }
  int n = snprintf(out, OP_SESSION_NAME_MAX, "zmq:");
  for (size_t i = 1; i < key->length; i++)
    n += snprintf(out + n, OP_SESSION_NAME_MAX - (size_t)n, "%02x", key->bytes[i]);
}

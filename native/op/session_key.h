#ifndef JPEER_OP_SESSION_KEY_H
#define JPEER_OP_SESSION_KEY_H
/*
 * The key by which clients share a session, and the name of a session in the log. A key is a `peer-id` or a
 * ZeroMQ routing id, together with a principal. If two principals use the same id, their keys differ. Pure,
 * any thread.
 */
#include "base/status.h"
#include "base/text.h"
#include "base/uuid.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  OP_ROUTING_ID_MAX = 255,
  OP_SESSION_NAME_MAX = 2 * OP_ROUTING_ID_MAX + 16,
  OP_SESSION_KEY_HEAD = 1 + sizeof(uint32_t) /* bytes before the name: its kind and the principal's number */
};

struct op_session_key {
  uint64_t serial; /* the number that the log shows for a session without a key; not compared with other keys;
                    * 0: none */
  size_t length;   /* 0: no key */
  uint8_t bytes[OP_SESSION_KEY_HEAD + OP_ROUTING_ID_MAX];
};

/* principal: the number of the client's principal; 0: owner. */
void op_session_key_peer_id(struct op_session_key *key, uint32_t principal, const struct uuid *peer_id);
/* False if the id is empty, or longer than ZeroMQ allows. */
bool op_session_key_routing_id(struct op_session_key *key, uint32_t principal,
                               struct text routing_id) JP_MUST_CHECK;
/* Reads the `peer-id` in the bytes of a key; false: they are a routing id. */
bool op_session_key_read_peer_id(const uint8_t *bytes, size_t length, struct uuid *peer_id) JP_MUST_CHECK;
/* Writes the name of the session in the log: the UUID of a peer-id; "zmq:" and a routing id in hexadecimal;
 * "#" and the serial of a session without a key; "" if there is neither a key nor a serial. */
void op_session_key_describe(const struct op_session_key *key, char out[OP_SESSION_NAME_MAX]);

#endif

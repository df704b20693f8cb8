#include "op/session_key.h"

#include "tests/unit/unit.h"

static struct op_session_key key_of(uint8_t number)
{
  struct op_session_key key;
  struct uuid peer_id = {{number}};
  op_session_key_peer_id(&key, &peer_id);
  return key;
}

UNIT_TEST(a_routing_id_is_not_empty_and_not_longer_than_zeromq_allows)
{
  char bytes[OP_ROUTING_ID_MAX + 1] = {0};
  struct op_session_key key;
  assert_false(op_session_key_routing_id(&key, (struct text){bytes, 0}));
  assert_false(op_session_key_routing_id(&key, (struct text){bytes, OP_ROUTING_ID_MAX + 1}));
  assert_int_equal(key.length, 0);
  assert_true(op_session_key_routing_id(&key, (struct text){bytes, OP_ROUTING_ID_MAX}));
}

UNIT_TEST(the_peer_id_of_a_key_is_read_from_its_bytes)
{
  struct uuid peer_id;
  const struct op_session_key key = key_of(0xAB);
  assert_true(op_session_key_read_peer_id(key.bytes, key.length, &peer_id));
  assert_int_equal(peer_id.bytes[0], 0xAB);
  assert_false(op_session_key_read_peer_id(key.bytes, 0, &peer_id));
  struct op_session_key routing; /* a routing id with the same bytes as the peer-id */
  assert_true(
      op_session_key_routing_id(&routing, (struct text){(const char *)key.bytes + 1, sizeof peer_id.bytes}));
  assert_false(op_session_key_read_peer_id(routing.bytes, routing.length, &peer_id));
}

UNIT_TEST(the_log_names_a_session_by_its_key_or_by_its_serial)
{
  char name[OP_SESSION_NAME_MAX];
  struct op_session_key key = {0};
  op_session_key_describe(&key, name);
  assert_string_equal(name, "");
  key.serial = 7;
  op_session_key_describe(&key, name);
  assert_string_equal(name, "#7");
  key = key_of(0xAB);
  op_session_key_describe(&key, name);
  assert_string_equal(name, "ab000000-0000-0000-0000-000000000000");
  assert_true(op_session_key_routing_id(&key, (struct text){"\0k\xFF", 3}));
  op_session_key_describe(&key, name);
  assert_string_equal(name, "zmq:006bff");
  char longest[OP_ROUTING_ID_MAX];
  memset(longest, 0x7F, sizeof longest);
  assert_true(op_session_key_routing_id(&key, (struct text){longest, sizeof longest}));
  op_session_key_describe(&key, name);
  assert_int_equal(strlen(name), 4 + 2 * OP_ROUTING_ID_MAX);
}

UNIT_MAIN

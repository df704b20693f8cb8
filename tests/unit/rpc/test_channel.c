/* The table of channels. */
#include "rpc/channel.h"
#include "tests/unit/unit.h"

static void knows_each_channel_as_the_policy_does(void **state)
{
  (void)state;
  assert_string_equal(policy_channel_name(rpc_channels[OP_CHANNEL_WEBSOCKET].policy), "WEBSOCKET_RPC");
  assert_string_equal(policy_channel_name(rpc_channels[OP_CHANNEL_HTTP].policy), "HTTP_RPC");
  assert_string_equal(policy_channel_name(rpc_channels[OP_CHANNEL_ZMQ].policy), "ZMQ_SOCKET_RPC");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(knows_each_channel_as_the_policy_does),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

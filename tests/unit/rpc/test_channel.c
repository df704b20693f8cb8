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

static void lets_no_client_of_one_message_be_called_back(void **state)
{
  (void)state;
  for (size_t i = 0; i < OP_CHANNELS; i++)
    assert_false(rpc_channels[i].span == RPC_SPAN_MESSAGE && rpc_channels[i].may_call_back);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(knows_each_channel_as_the_policy_does),
      cmocka_unit_test(lets_no_client_of_one_message_be_called_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

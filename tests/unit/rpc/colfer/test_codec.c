/* Which messages are binary ones, and the ids of answers. */
#include "messages_bench.h"
#include "rpc/colfer/codec_state.h"
#include "rpc/jsonrpc/codec_state.h"
#include "tests/unit/unit.h"

UNIT_TEST(tells_binary_messages_by_their_first_byte)
{
  for (int first = 0; first <= UINT8_MAX; first++) {
    char message[] = {(char)first, '{'};
    bool is_binary = first <= 8 || first == 0x7f;
    assert_ptr_equal(rpc_codec_of(rpc_codecs, (struct text){message, sizeof message}),
                     rpc_codecs[is_binary ? RPC_CODEC_COLFER : RPC_CODEC_JSONRPC]);
  }
  assert_ptr_equal(rpc_codec_of(rpc_codecs, TEXT("")), rpc_codecs[RPC_CODEC_COLFER]);
  assert_ptr_equal(rpc_codec_of(rpc_codecs, TEXT_ABSENT), rpc_codecs[RPC_CODEC_COLFER]);
}

UNIT_TEST(counts_in_the_last_digits_of_an_id)
{
  struct rpc_colfer_ids ids;
  struct uuid first;
  struct uuid last;
  rpc_colfer_ids_init(&ids);
  assert_true(uuid_parse(rpc_colfer_ids_next(&ids), &first));
  assert_true(text_ends_with(rpc_colfer_ids_next(&ids), TEXT("-000000000002")));
  for (unsigned i = 3; i < 0x1234; i++)
    rpc_colfer_ids_next(&ids);
  struct text next = rpc_colfer_ids_next(&ids);
  assert_true(text_ends_with(next, TEXT("-000000001234")));
  assert_true(uuid_parse(next, &last));
  memset(ids.text + UUID_TEXT_LENGTH - 12, 'f', 12);
  assert_true(text_ends_with(rpc_colfer_ids_next(&ids), TEXT("-000000000000")));
  assert_memory_equal(first.bytes, last.bytes, 10);
  struct rpc_colfer_ids others;
  rpc_colfer_ids_init(&others);
  assert_true(uuid_parse(rpc_colfer_ids_next(&others), &last));
  assert_memory_not_equal(first.bytes, last.bytes, 10);
}

UNIT_MAIN

#include "jpeer/client.h"

#include "tests/unit/unit.h"

UNIT_TEST(writes_json_with_an_id)
{
  struct jp_request request = jp_build_ping();
  struct jp_json_writer *writer = jp_json_writer_create();
  assert_int_equal(jp_request_write_json(&request, jp_text_of("\"a\""), writer, NULL), JP_CLIENT_OK);
  struct jp_text text = jp_json_writer_text(writer);
  assert_text(((struct text){text.data, text.len}),
              "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"control\",\"params\":{\"method\":\"ping\"}}");
  jp_json_writer_destroy(writer);
}

UNIT_TEST(refuses_ids_that_are_none)
{
  static const char *const ids[] = {"", "null", "{}", "[1]", "1,\"x\":2", "true", "\"a"};
  struct jp_request request = jp_build_ping();
  struct jp_json_writer *writer = jp_json_writer_create();
  for (size_t i = 0; i < COUNT_OF(ids); i++)
    assert_int_equal(jp_request_write_json(&request, jp_text_of(ids[i]), writer, NULL), JP_CLIENT_INVALID);
  assert_int_equal(jp_json_writer_text(writer).len, 0);
  jp_json_writer_destroy(writer);
}

UNIT_TEST(tells_the_room_that_a_binary_message_needs)
{
  struct jp_request request = jp_build_ping();
  uint8_t out[64] = {0xEE};
  size_t length = 0;
  assert_int_equal(jp_request_write_binary(&request, NULL, "1", NULL, 0, &length, NULL), JP_CLIENT_OK);
  assert_in_range(length, 5, sizeof out);
  size_t short_length = 0;
  assert_int_equal(jp_request_write_binary(&request, NULL, "1", out, length - 1, &short_length, NULL),
                   JP_CLIENT_OK);
  assert_int_equal(short_length, length);
  assert_int_equal(out[0], 0xEE);
  assert_int_equal(jp_request_write_binary(&request, NULL, "1", out, length, &length, NULL), JP_CLIENT_OK);
  assert_int_equal(out[0], 0);
  assert_int_equal(out[length - 1], 0x7F);
}

UNIT_MAIN

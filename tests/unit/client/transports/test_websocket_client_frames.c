#include "client/transports/websocket_client_frames.h"

#include "net/websocket/ws_frames.h"
#include "tests/unit/unit.h"

/* The peer's reader reads the client's frames. */
static void check_round_trip(size_t length)
{
  struct client_ws_keys keys;
  struct buffer out = {0};
  struct buffer message = {0};
  struct ws_reader reader = {0};
  struct ws_decoder *decoder = ws_decoder_create();
  client_ws_keys_init(&keys);
  BUFFER_LITERAL(&out, "before");
  size_t begin = client_ws_begin(&out);
  for (size_t i = 0; i < length; i++)
    buffer_append_char(&out, (char)('a' + i % 26));
  client_ws_end(&out, begin, CLIENT_WS_TEXT, &keys);
  struct ws_input input = {.bytes = text_slice(buffer_text(&out), 6, out.len)};
  assert_int_equal(ws_read(&reader, decoder, &input, &message, length), WS_EVENT_MESSAGE);
  assert_int_equal(input.used, input.bytes.len);
  assert_int_equal(message.len, length);
  for (size_t i = 0; i < length; i++)
    assert_int_equal(message.data[i], 'a' + i % 26);
  ws_decoder_destroy(decoder);
  buffer_fini(&message);
  buffer_fini(&out);
}

UNIT_TEST(test_written_frames)
{
  static const size_t lengths[] = {0, 1, 3, 31, 32, 33, 125, 126, 127, 65535, 65536, 100001};
  for (size_t i = 0; i < COUNT_OF(lengths); i++)
    check_round_trip(lengths[i]);
}

UNIT_TEST(test_keys_differ)
{
  struct client_ws_keys keys;
  struct buffer out = {0};
  char seen[2][4];
  client_ws_keys_init(&keys);
  for (int i = 0; i < 2; i++) {
    buffer_clear(&out);
    client_ws_end(&out, client_ws_begin(&out), CLIENT_WS_PING, &keys);
    assert_int_equal(out.len, 6);
    memcpy(seen[i], out.data + 2, 4);
  }
  assert_memory_not_equal(seen[0], seen[1], 4);
  buffer_fini(&out);
}

UNIT_TEST(test_read_heads)
{
  static const struct {
    const char *bytes;
    size_t count;
    size_t size; /* of the head; SIZE_MAX: refused */
    uint64_t length;
  } cases[] = {
      {"", 0, 0, 0},
      {"\x81", 1, 0, 0},
      {"\x81\x00", 2, 2, 0},
      {"\x81\x7d", 2, 2, 125},
      {"\x81\x7e\x00", 3, 0, 0},
      {"\x81\x7e\x00\x7e", 4, 4, 126},
      {"\x81\x7e\x00\x7d", 4, SIZE_MAX, 0},
      {"\x81\x7f\0\0\0\0\0\1\0", 9, 0, 0},
      {"\x81\x7f\0\0\0\0\0\1\0\0", 10, 10, 65536},
      {"\x81\x7f\0\0\0\0\0\0\xff\xff", 10, SIZE_MAX, 0},
      {"\x81\x7f\x80\0\0\0\0\0\0\0", 10, SIZE_MAX, 0},
      {"\x01\x05", 2, 2, 5},
      {"\x80\x05", 2, 2, 5},
      {"\x82\x05", 2, 2, 5},
      {"\x88\x02", 2, 2, 2},
      {"\x89\x7d", 2, 2, 125},
      {"\x89\x7e", 2, SIZE_MAX, 0},
      {"\x09\x00", 2, SIZE_MAX, 0},
      {"\x83\x00", 2, SIZE_MAX, 0},
      {"\x8b\x00", 2, SIZE_MAX, 0},
      {"\xc1\x00", 2, SIZE_MAX, 0},
      {"\x91\x00", 2, SIZE_MAX, 0},
      {"\x81\x80", 2, SIZE_MAX, 0},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct client_ws_head head;
    const char *fault = NULL;
    char *bytes = unit_exact_copy(cases[i].bytes, cases[i].count);
    bool good = client_ws_read_head((struct text){bytes, cases[i].count}, &head, &fault);
    assert_int_equal(good, cases[i].size != SIZE_MAX);
    if (good) {
      assert_int_equal(head.size, cases[i].size);
      if (head.size > 0)
        assert_int_equal(head.length, cases[i].length);
    } else {
      assert_non_null(fault);
    }
    test_free(bytes);
  }
}

UNIT_MAIN

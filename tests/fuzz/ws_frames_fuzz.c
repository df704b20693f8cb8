/*
 * Frames as the server reads them: the bytes at once and in two pieces must give the same events, a message is UTF-8
 * and within its bound, and a clean decoder has no bytes left.
 */
#include "net/websocket/ws_frames.h"

#include "tests/fuzz/fuzz.h"

enum { MESSAGE_MAX = 4096 };

struct reading {
  struct ws_reader reader;
  struct ws_decoder *decoder;
  struct buffer message;
  uint64_t trace; /* a hash of all events */
  bool is_over;
};

static void note(struct reading *reading, uint64_t value)
{
  reading->trace = (reading->trace ^ value) * 0x100000001b3;
}

static void take(struct reading *reading, enum ws_event event, const struct ws_input *input)
{
  note(reading, (uint64_t)event);
  if (event == WS_EVENT_MESSAGE) {
    struct text message = buffer_text(&reading->message);
    require(message.len <= MESSAGE_MAX && (message.len == 0 || text_valid_utf8(message) == message.len));
    note(reading, message.len > 0 ? text_hash(message) : 0);
    buffer_clear(&reading->message);
  } else if (event == WS_EVENT_FAILED) {
    note(reading, input->code);
    reading->is_over = true;
  } else if (event == WS_EVENT_CLOSE) {
    note(reading, input->code);
  } else {
    note(reading, text_hash((struct text){(const char *)input->control, input->control_len}));
  }
}

static void feed(struct reading *reading, struct text bytes)
{
  struct ws_input input = {.bytes = bytes};
  while (!reading->is_over) {
    enum ws_event event = ws_read(&reading->reader, reading->decoder, &input, &reading->message, MESSAGE_MAX);
    require(input.used <= bytes.len);
    if (event == WS_EVENT_NONE)
      break;
    take(reading, event, &input);
  }
  require(reading->is_over || input.used == bytes.len);
}

static uint64_t read_pieces(struct text input, size_t cut)
{
  struct reading reading = {.decoder = ws_decoder_create()};
  require(reading.decoder != NULL);
  feed(&reading, text_slice(input, 0, cut));
  feed(&reading, text_slice(input, cut, input.len));
  ws_decoder_destroy(reading.decoder);
  buffer_fini(&reading.message);
  return reading.trace;
}

FUZZ_TARGET(input)
{
  if (input.len == 0)
    return;
  size_t cut = (uint8_t)input.data[input.len - 1] % input.len;
  require(read_pieces(input, input.len) == read_pieces(input, cut));
}

/*
 * Frames as the server reads them: the bytes at once and in two pieces must come to the same events, a
 * message is UTF-8 and within its bound, and a decoder that is clean has nothing left.
 */
#include "net/websocket/ws_frames.h"

#include <stdlib.h>

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
    if (message.len > MESSAGE_MAX || (message.len > 0 && text_valid_utf8(message) != message.len))
      abort();
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

static void feed(struct reading *reading, const uint8_t *data, size_t size)
{
  struct ws_input input = {.bytes = {(const char *)data, size}};
  while (!reading->is_over) {
    enum ws_event event = ws_read(&reading->reader, reading->decoder, &input, &reading->message, MESSAGE_MAX);
    if (input.used > size)
      abort();
    if (event == WS_EVENT_NONE)
      break;
    take(reading, event, &input);
  }
  if (!reading->is_over && input.used != size)
    abort();
}

static uint64_t read_pieces(const uint8_t *data, size_t size, size_t cut)
{
  struct reading reading = {.decoder = ws_decoder_create()};
  if (reading.decoder == NULL)
    return 0;
  feed(&reading, data, cut);
  feed(&reading, data + cut, size - cut);
  ws_decoder_destroy(reading.decoder);
  buffer_fini(&reading.message);
  return reading.trace;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  if (size == 0)
    return 0;
  if (read_pieces(data, size, size) != read_pieces(data, size, data[size - 1] % size))
    abort();
  return 0;
}

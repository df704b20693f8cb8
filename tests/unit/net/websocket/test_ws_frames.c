#include "net/websocket/ws_frames.h"
#include "tests/unit/unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { MESSAGE_MAX = 700000 };

/* --- frames of clients --- */

static void put_frame(struct buffer *out, unsigned first_byte, bool masked, const char *payload,
                      size_t length)
{
  static const unsigned char mask[4] = {1, 2, 3, 4};
  unsigned char head[14] = {(unsigned char)first_byte};
  size_t at = 2;
  unsigned mask_bit = masked ? 0x80 : 0;
  if (length <= 125) {
    head[1] = (unsigned char)(mask_bit | length);
  } else if (length <= 0xffff) {
    head[1] = (unsigned char)(mask_bit | 126);
    head[at++] = (unsigned char)(length >> 8);
    head[at++] = (unsigned char)length;
  } else {
    head[1] = (unsigned char)(mask_bit | 127);
    for (int shift = 56; shift >= 0; shift -= 8)
      head[at++] = (unsigned char)((uint64_t)length >> shift);
  }
  if (masked) {
    memcpy(head + at, mask, sizeof mask);
    at += sizeof mask;
  }
  buffer_append(out, head, at);
  for (size_t i = 0; i < length; i++)
    buffer_append_char(out, masked ? (char)(payload[i] ^ mask[i % 4]) : payload[i]);
}

/* --- the events of a reader as a line: "text:abc ping:x close:1000 "; a long text as its length and hash --- */

struct reading {
  struct ws_reader reader;
  struct ws_decoder *decoder;
  struct buffer message;
  struct buffer events;
  bool is_over;
};

static void describe(struct reading *reading, enum ws_event event, const struct ws_input *input)
{
  struct text control = {(const char *)input->control, input->control_len};
  switch (event) {
  case WS_EVENT_MESSAGE:
    if (reading->message.len > 40)
      buffer_printf(&reading->events, "text:%zu:%" PRIx64 " ", reading->message.len,
                    text_hash(buffer_text(&reading->message)));
    else
      buffer_printf(&reading->events, "text:%.*s ", TEXT_ARGS(buffer_text(&reading->message)));
    buffer_clear(&reading->message);
    break;
  case WS_EVENT_PING:
    buffer_printf(&reading->events, "ping:%.*s ", TEXT_ARGS(control));
    break;
  case WS_EVENT_PONG:
    buffer_printf(&reading->events, "pong:%.*s ", TEXT_ARGS(control));
    break;
  case WS_EVENT_CLOSE:
    buffer_printf(&reading->events, "close:%u ", input->code);
    break;
  case WS_EVENT_FAILED:
    assert_non_null(input->reason);
    buffer_printf(&reading->events, "failed:%u ", input->code);
    reading->is_over = true;
    break;
  default:
    break;
  }
}

static void feed(struct reading *reading, const char *bytes, size_t length)
{
  char *copy = unit_exact_copy(bytes, length);
  struct ws_input input = {.bytes = {copy, length}};
  enum ws_event event;
  do {
    event = ws_read(&reading->reader, reading->decoder, &input, &reading->message, MESSAGE_MAX);
    describe(reading, event, &input);
  } while (event != WS_EVENT_NONE && !reading->is_over);
  test_free(copy);
}

static void read_all(const struct buffer *bytes, size_t piece, struct reading *reading)
{
  *reading = (struct reading){.decoder = ws_decoder_create()};
  assert_non_null(reading->decoder);
  for (size_t at = 0; at < bytes->len && !reading->is_over; at += piece)
    feed(reading, bytes->data + at, at + piece < bytes->len ? piece : bytes->len - at);
  buffer_append_char(&reading->events, '\0');
}

static void end_reading(struct reading *reading)
{
  ws_decoder_destroy(reading->decoder);
  buffer_fini(&reading->message);
  buffer_fini(&reading->events);
}

struct frame {
  unsigned first_byte; /* FIN is 0x80 */
  const char *payload; /* NULL: the end of the sample */
  size_t length;       /* 0: the length of the string */
};

struct sample {
  const char *name;
  struct frame frames[6];
  const char *events;
};

enum { FIN = 0x80, RSV1 = 0x40, RSV2 = 0x20, RSV3 = 0x10 };

static const struct sample SAMPLES[] = {
    {"a text", {{FIN | WS_TEXT, "abc", 0}}, "text:abc "},
    {"an empty text", {{FIN | WS_TEXT, "", 0}}, "text: "},
    {"two texts", {{FIN | WS_TEXT, "a", 0}, {FIN | WS_TEXT, "b", 0}}, "text:a text:b "},
    {"fragments",
     {{WS_TEXT, "a", 0}, {WS_CONTINUATION, "b", 0}, {FIN | WS_CONTINUATION, "c", 0}},
     "text:abc "},
    {"empty fragments",
     {{WS_TEXT, "", 0}, {WS_CONTINUATION, "", 0}, {FIN | WS_CONTINUATION, "", 0}},
     "text: "},
    {"control frames between fragments",
     {{WS_TEXT, "a", 0}, {FIN | WS_PING, "p", 0}, {FIN | WS_PONG, "q", 0}, {FIN | WS_CONTINUATION, "b", 0}},
     "ping:p pong:q text:ab "},
    {"a close between fragments", {{WS_TEXT, "a", 0}, {FIN | WS_CLOSE, "\x03\xe8", 2}}, "close:1000 "},
    {"a character over two fragments",
     {{WS_TEXT, "\xe2\x82", 0}, {FIN | WS_CONTINUATION, "\xac", 0}},
     "text:\xe2\x82\xac "},

    {"a binary frame", {{FIN | WS_BINARY, "abc", 0}}, "failed:1003 "},
    {"a continuation of nothing", {{FIN | WS_CONTINUATION, "a", 0}}, "failed:1002 "},
    {"a text in a text", {{WS_TEXT, "a", 0}, {FIN | WS_TEXT, "b", 0}}, "failed:1002 "},
    {"opcode 3", {{FIN | 3, "a", 0}}, "failed:1002 "},
    {"opcode 7, empty", {{FIN | 7, "", 0}}, "failed:1002 "},
    {"opcode 11", {{FIN | 11, "a", 0}}, "failed:1002 "},
    {"opcode 15, empty", {{FIN | 15, "", 0}}, "failed:1002 "},
    {"RSV1", {{FIN | RSV1 | WS_TEXT, "a", 0}}, "failed:1002 "},
    {"RSV2 on a ping", {{FIN | RSV2 | WS_PING, "", 0}}, "failed:1002 "},
    {"RSV3 on a close", {{FIN | RSV3 | WS_CLOSE, "", 0}}, "failed:1002 "},
    {"a ping in fragments", {{WS_PING, "a", 0}}, "failed:1002 "},
    {"a close in fragments", {{WS_CLOSE, "", 0}}, "failed:1002 "},

    {"text that is not UTF-8", {{FIN | WS_TEXT, "a\xff", 0}}, "failed:1007 "},
    {"text that ends in a character", {{FIN | WS_TEXT, "a\xe2\x82", 0}}, "failed:1007 "},
    {"a surrogate", {{FIN | WS_TEXT, "\xed\xa0\x80", 0}}, "failed:1007 "},
    {"an overlong form", {{FIN | WS_TEXT, "\xc0\xaf", 0}}, "failed:1007 "},
    {"beyond Unicode", {{FIN | WS_TEXT, "\xf4\x90\x80\x80", 0}}, "failed:1007 "},
    {"a fragment that is not UTF-8", {{WS_TEXT, "\xce\xba\xff\xff\xff", 0}}, "failed:1007 "},

    {"a close without a code", {{FIN | WS_CLOSE, "", 0}}, "close:1005 "},
    {"a close with a reason",
     {{FIN | WS_CLOSE,
       "\x03\xe9"
       "bye",
       5}},
     "close:1001 "},
    {"close 3000", {{FIN | WS_CLOSE, "\x0b\xb8", 2}}, "close:3000 "},
    {"close 4999", {{FIN | WS_CLOSE, "\x13\x87", 2}}, "close:4999 "},
    {"a close of one byte", {{FIN | WS_CLOSE, "\x03", 1}}, "failed:1002 "},
    {"close 0", {{FIN | WS_CLOSE, "\x00\x00", 2}}, "failed:1002 "},
    {"close 999", {{FIN | WS_CLOSE, "\x03\xe7", 2}}, "failed:1002 "},
    {"close 1004", {{FIN | WS_CLOSE, "\x03\xec", 2}}, "failed:1002 "},
    {"close 1005", {{FIN | WS_CLOSE, "\x03\xed", 2}}, "failed:1002 "},
    {"close 1006", {{FIN | WS_CLOSE, "\x03\xee", 2}}, "failed:1002 "},
    {"close 1015", {{FIN | WS_CLOSE, "\x03\xf7", 2}}, "failed:1002 "},
    {"close 2999", {{FIN | WS_CLOSE, "\x0b\xb7", 2}}, "failed:1002 "},
    {"close 5000", {{FIN | WS_CLOSE, "\x13\x88", 2}}, "failed:1002 "},
    {"close 65535", {{FIN | WS_CLOSE, "\xff\xff", 2}}, "failed:1002 "},
    {"a close reason that is not UTF-8", {{FIN | WS_CLOSE, "\x03\xe8\xff", 3}}, "failed:1007 "},
};

static void put_sample(struct buffer *bytes, const struct sample *sample)
{
  for (const struct frame *frame = sample->frames; frame->payload != NULL; frame++)
    put_frame(bytes, frame->first_byte, true, frame->payload,
              frame->length != 0 ? frame->length : strlen(frame->payload));
}

static void check(const char *name, const struct buffer *bytes, size_t piece, const char *events)
{
  struct reading reading;
  read_all(bytes, piece, &reading);
  if (strcmp(reading.events.data, events) != 0)
    fail_msg("%s in pieces of %zu: %s, not %s", name, piece, reading.events.data, events);
  if (strncmp(events, "failed", 6) != 0 && !reading.reader.in_message)
    assert_true(ws_decoder_is_clean(reading.decoder));
  end_reading(&reading);
}

UNIT_TEST(samples_give_their_events)
{
  for (size_t i = 0; i < COUNT_OF(SAMPLES); i++) {
    struct buffer bytes = {0};
    put_sample(&bytes, &SAMPLES[i]);
    check(SAMPLES[i].name, &bytes, bytes.len, SAMPLES[i].events);
    check(SAMPLES[i].name, &bytes, 1, SAMPLES[i].events);
    check(SAMPLES[i].name, &bytes, 3, SAMPLES[i].events);
    buffer_fini(&bytes);
  }
}

UNIT_TEST(lengths_are_as_short_as_can_be)
{
  static const struct {
    const char *bytes;
    size_t length;
  } frames[] = {
      {"\x81\xfe\x00\x7d\1\2\3\4", 8},              /* 125 in 16 bits */
      {"\x81\xff\0\0\0\0\0\0\xff\xff\1\2\3\4", 14}, /* 65535 in 64 bits */
      {"\x81\xff\x80\0\0\0\0\0\0\0\1\2\3\4", 14},   /* the highest bit of 64 */
      {"\x89\xfe\x00\x7e\1\2\3\4", 8},              /* a ping of 126 */
  };
  for (size_t i = 0; i < COUNT_OF(frames); i++) {
    struct buffer bytes = {0};
    buffer_append(&bytes, frames[i].bytes, frames[i].length);
    check("length", &bytes, bytes.len, "failed:1002 ");
    buffer_fini(&bytes);
  }
}

/* Appends characters of one, two, three and four bytes, so that pieces may end inside each of them. */
static void put_characters(struct buffer *out, size_t length)
{
  static const struct text some =
      TEXT("plain text, \xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80 and plain text, a whole line of it; ");
  while (out->len + some.len <= length)
    buffer_append_text(out, some);
  while (out->len < length)
    buffer_append_char(out, (char)('a' + out->len % 26));
}

UNIT_TEST(a_text_is_the_same_in_pieces_of_any_size)
{
  static const size_t lengths[] = {100, 125, 126, 1000, 65535, 65536, MESSAGE_MAX};
  static const size_t pieces[] = {1, 2, 3, 5, 6, 13, 14, 31, 64, 1000, 4096, 131072, SIZE_MAX};
  for (size_t i = 0; i < COUNT_OF(lengths); i++) {
    struct buffer text = {0};
    struct buffer frame = {0};
    put_characters(&text, lengths[i]);
    put_frame(&frame, FIN | WS_TEXT, true, text.data, text.len);
    char events[64];
    snprintf(events, sizeof events, "text:%zu:%" PRIx64 " ", text.len, text_hash(buffer_text(&text)));
    for (size_t j = lengths[i] == MESSAGE_MAX ? 9 : 0; j < COUNT_OF(pieces); j++)
      check("a text", &frame, pieces[j] < frame.len ? pieces[j] : frame.len, events);
    buffer_fini(&text);
    buffer_fini(&frame);
  }
}

/* No memory is reserved for announced bytes before a large part of them was received. */
UNIT_TEST(announced_bytes_use_no_memory)
{
  struct ws_reader reader = {0};
  struct ws_decoder *decoder = ws_decoder_create();
  struct buffer message = {0};
  struct ws_input input = {
      .bytes = TEXT("\x81\xff\0\0\0\0\x40\0\0\0\1\2\3\4xyz")}; /* announces 1 GiB, and has three bytes */
  assert_int_equal(ws_read(&reader, decoder, &input, &message, (size_t)1 << 30), WS_EVENT_NONE);
  assert_int_equal(message.len, 3);
  assert_true(message.cap < 4096);
  buffer_fini(&message);
  ws_decoder_destroy(decoder);
}

UNIT_TEST(a_message_of_64_times_the_limit_fails_before_it_is_whole)
{
  struct buffer bytes = {0};
  BUFFER_LITERAL(
      &bytes,
      "\x81\xff\0\0\0\0\2\xab\x98\1\1\2\3\4x"); /* announces 64 * MESSAGE_MAX + 1 bytes, and has one byte */
  check("too long", &bytes, bytes.len, "failed:1009 ");
  buffer_clear(&bytes);
  put_frame(&bytes, WS_TEXT, true, "a", 1);
  BUFFER_LITERAL(&bytes, "\x80\xff\0\0\0\0\2\xab\x98\0\1\2\3\4x"); /* 64 * MESSAGE_MAX */
  check("too long together", &bytes, bytes.len, "failed:1009 ");
  buffer_clear(&bytes);
  put_frame(&bytes, WS_TEXT, true, "a", 1);
  BUFFER_LITERAL(&bytes, "\x80\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\2\3\4x");
  check("a length without end", &bytes, bytes.len, "failed:1002 ");
  buffer_fini(&bytes);
}

UNIT_TEST(the_beginning_of_a_message_that_is_too_long_is_kept)
{
  enum { BEGINNING = 65536, HALF = MESSAGE_MAX / 2 };
  char *payload = malloc(MESSAGE_MAX + 1);
  assert_non_null(payload);
  memset(payload, 'x', MESSAGE_MAX + 1);
  memset(payload + BEGINNING, '\xff', MESSAGE_MAX + 1 - BEGINNING);
  char expected[80];
  snprintf(expected, sizeof expected, "text:%d:%" PRIx64 " ping:p text:b ", BEGINNING,
           text_hash((struct text){payload, BEGINNING}));
  struct buffer bytes = {0};
  put_frame(&bytes, 0x80 | WS_TEXT, true, payload, MESSAGE_MAX + 1);
  put_frame(&bytes, 0x80 | WS_PING, true, "p", 1);
  put_frame(&bytes, 0x80 | WS_TEXT, true, "b", 1);
  check("one frame", &bytes, bytes.len, expected);
  check("one frame in pieces", &bytes, 1000, expected);
  buffer_clear(&bytes);
  memset(payload, 'x', HALF);
  put_frame(&bytes, WS_TEXT, true, payload, HALF);
  put_frame(&bytes, WS_CONTINUATION, true, payload, HALF);
  put_frame(&bytes, 0x80 | WS_CONTINUATION, true, "\xff", 1);
  put_frame(&bytes, 0x80 | WS_PING, true, "p", 1);
  put_frame(&bytes, 0x80 | WS_TEXT, true, "b", 1);
  check("fragments", &bytes, bytes.len, expected);
  free(payload);
  buffer_fini(&bytes);
}

UNIT_TEST(a_decoder_is_clean_between_frames_only)
{
  struct buffer bytes = {0};
  put_frame(&bytes, WS_TEXT, true, "ab", 2);
  struct reading reading = {.decoder = ws_decoder_create()};
  for (size_t i = 0; i < bytes.len; i++) {
    assert_true(ws_decoder_is_clean(reading.decoder) == (i == 0));
    feed(&reading, bytes.data + i, 1);
  }
  assert_true(ws_decoder_is_clean(reading.decoder));
  assert_true(reading.reader.in_message);
  end_reading(&reading);
  buffer_fini(&bytes);
}

UNIT_TEST(headers_are_as_short_as_can_be)
{
  static const struct {
    size_t length;
    size_t header_length;
    const char *header;
  } cases[] = {
      {125, 2, "\x81\x7d"},
      {126, 4, "\x81\x7e\x00\x7e"},
      {65535, 4, "\x81\x7e\xff\xff"},
      {65536, 10, "\x81\x7f\x00\x00\x00\x00\x00\x01\x00\x00"},
      {0x123456, 10, "\x81\x7f\x00\x00\x00\x00\x00\x12\x34\x56"},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct buffer out = {0};
    char *payload = test_calloc(1, cases[i].length);
    ws_write(&out, WS_TEXT, true, (struct text){payload, cases[i].length});
    assert_int_equal(out.len, cases[i].header_length + cases[i].length);
    assert_memory_equal(out.data, cases[i].header, cases[i].header_length);
    test_free(payload);
    buffer_fini(&out);
  }
}

UNIT_MAIN

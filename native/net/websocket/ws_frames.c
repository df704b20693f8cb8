#include "net/websocket/ws_frames.h"

#include "net/connection/long_message.h"

#include <stdlib.h>
#include <string.h>
#include <wslay/wslay.h>

struct ws_decoder {
  struct wslay_frame_context *frames;
  struct ws_input *input; /* during ws_read */
  uint64_t taken;         /* bytes that wslay has read from the input */
  uint64_t consumed;      /* the part of `taken` that belongs to the frames seen so far */

  /* The current frame. */
  bool in_frame;
  bool fin;
  uint8_t opcode;
  uint64_t left;
  uint8_t control[WS_CONTROL_MAX];
  size_t control_len;
};

static ssize_t read_input(uint8_t *bytes, size_t room, int flags, void *user_data)
{
  (void)flags;
  struct ws_decoder *decoder = user_data;
  struct ws_input *input = decoder->input;
  size_t count = input->bytes.len - input->used;
  if (count > room)
    count = room;
  if (count == 0)
    return -1;
  memcpy(bytes, input->bytes.data + input->used, count);
  input->used += count;
  decoder->taken += count;
  return (ssize_t)count;
}

struct ws_decoder *ws_decoder_create(void)
{
  struct ws_decoder *decoder = calloc(1, sizeof *decoder);
  if (decoder == NULL)
    return NULL;
  const struct wslay_frame_callbacks callbacks = {.recv_callback = read_input};
  if (wslay_frame_context_init(&decoder->frames, &callbacks, decoder) != 0) {
    free(decoder);
    return NULL;
  }
  return decoder;
}

void ws_decoder_destroy(struct ws_decoder *decoder)
{
  if (decoder == NULL)
    return;
  wslay_frame_context_free(decoder->frames);
  free(decoder);
}

bool ws_decoder_is_clean(const struct ws_decoder *decoder)
{
  return !decoder->in_frame && decoder->taken == decoder->consumed;
}

/* --- reading --- */

static enum ws_event fail_with(struct ws_input *input, enum ws_close_code code, const char *reason)
{
  input->code = (uint16_t)code;
  input->reason = reason;
  return WS_EVENT_FAILED;
}

static void begin_message(struct ws_reader *reader)
{
  reader->in_message = true;
  reader->valid = 0;
  reader->announced = 0;
  reader->is_too_long = false;
}

/* RFC 6455, 5.1 to 5.5: the rules for the header of a client's frame. */
static enum ws_event check_header(const struct ws_reader *reader, const struct wslay_frame_iocb *frame,
                                  struct ws_input *input, size_t message_max)
{
  if (!frame->mask)
    return fail_with(input, WS_PROTOCOL_ERROR, "a client's frame must be masked");
  if (frame->rsv != WSLAY_RSV_NONE)
    return fail_with(input, WS_PROTOCOL_ERROR, "a reserved bit is set");
  switch (frame->opcode) {
  case WSLAY_CONTINUATION_FRAME:
    if (!reader->in_message)
      return fail_with(input, WS_PROTOCOL_ERROR, "a continuation of nothing");
    break;
  case WSLAY_TEXT_FRAME:
    if (reader->in_message)
      return fail_with(input, WS_PROTOCOL_ERROR, "a new message inside a fragmented one");
    break;
  case WSLAY_BINARY_FRAME:
    return fail_with(input, WS_UNSUPPORTED, "binary frames are not accepted");
  case WSLAY_CONNECTION_CLOSE:
  case WSLAY_PING:
  case WSLAY_PONG:
    return WS_EVENT_NONE; /* wslay has checked length and FIN */
  default:
    return fail_with(input, WS_PROTOCOL_ERROR, "an unknown opcode");
  }
  uint64_t announced = frame->opcode == WSLAY_TEXT_FRAME ? 0 : reader->announced;
  if (frame->payload_length > INT64_MAX ||
      long_message_judge(announced + frame->payload_length, message_max) == MESSAGE_ENDLESS)
    return fail_with(input, WS_TOO_BIG, "the message is longer than 64 times message-max");
  return WS_EVENT_NONE;
}

static enum ws_event begin_frame(struct ws_reader *reader, struct ws_decoder *decoder,
                                 const struct wslay_frame_iocb *frame, struct ws_input *input,
                                 struct buffer *message, size_t message_max)
{
  enum ws_event event = check_header(reader, frame, input, message_max);
  if (event != WS_EVENT_NONE)
    return event;
  decoder->in_frame = true;
  decoder->fin = frame->fin != 0;
  decoder->opcode = frame->opcode;
  decoder->left = frame->payload_length;
  decoder->control_len = 0;
  size_t length = frame->payload_length > UINT16_MAX ? 10 : frame->payload_length <= WS_CONTROL_MAX ? 2 : 4;
  decoder->consumed += length + (frame->mask ? WS_MASK_LENGTH : 0);
  if (wslay_is_ctrl_frame(frame->opcode))
    return WS_EVENT_NONE;
  if (frame->opcode == WSLAY_TEXT_FRAME)
    begin_message(reader);
  reader->announced += frame->payload_length;
  if (!reader->is_too_long && reader->announced > message_max) {
    reader->is_too_long = true;
    long_message_cut(message);
    if (reader->valid > message->len)
      reader->valid = message->len;
  }
  return WS_EVENT_NONE;
}

/* The number of bytes of a character that begins with this byte; 0: no character does. */
static size_t find_character_length(unsigned char first)
{
  return first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
}

/* Checks the new bytes of the message. The last character may be incomplete, unless the message is whole. */
static bool is_valid_so_far(struct ws_reader *reader, const struct buffer *message, bool whole)
{
  if (message->len == reader->valid)
    return true;
  reader->valid += text_valid_utf8(text_slice(buffer_text(message), reader->valid, message->len));
  size_t open = message->len - reader->valid;
  if (open == 0 || whole)
    return open == 0;
  return open < find_character_length((unsigned char)message->data[reader->valid]);
}

static enum ws_event append_text(struct ws_reader *reader, struct ws_decoder *decoder,
                                 const struct wslay_frame_iocb *frame, struct ws_input *input,
                                 struct buffer *message)
{
  size_t kept = reader->is_too_long ? long_message_kept(message, frame->data_length) : frame->data_length;
  buffer_append(message, frame->data, kept);
  if (message->failed)
    return fail_with(input, WS_INTERNAL, "no memory for the message");
  bool whole = decoder->fin && decoder->left == 0;
  if (!is_valid_so_far(reader, message, whole && !reader->is_too_long))
    return fail_with(input, WS_BAD_TEXT, "the text is not UTF-8");
  if (!whole)
    return WS_EVENT_NONE;
  reader->in_message = false;
  return WS_EVENT_MESSAGE;
}

/* RFC 6455, 7.4: codes that an endpoint may send. */
static bool is_sendable_code(unsigned code)
{
  bool defined = code >= 1000 && code <= 1014 && code != 1004 && code != 1005 && code != 1006;
  return defined || (code >= 3000 && code <= 4999);
}

static enum ws_event end_close(struct ws_input *input)
{
  input->code = WS_NO_CODE;
  if (input->control_len == 0)
    return WS_EVENT_CLOSE;
  if (input->control_len == 1)
    return fail_with(input, WS_PROTOCOL_ERROR, "a close frame of one byte");
  unsigned code = (unsigned)input->control[0] << 8 | input->control[1];
  if (!is_sendable_code(code))
    return fail_with(input, WS_PROTOCOL_ERROR, "a close code that may not be sent");
  struct text reason = {(const char *)input->control + 2, input->control_len - 2};
  if (text_valid_utf8(reason) != reason.len)
    return fail_with(input, WS_BAD_TEXT, "the close reason is not UTF-8");
  input->code = (uint16_t)code;
  return WS_EVENT_CLOSE;
}

static enum ws_event append_control(struct ws_decoder *decoder, const struct wslay_frame_iocb *frame,
                                    struct ws_input *input)
{
  if (frame->data_length > 0)
    memcpy(decoder->control + decoder->control_len, frame->data, frame->data_length);
  decoder->control_len += frame->data_length;
  if (decoder->left > 0)
    return WS_EVENT_NONE;
  memcpy(input->control, decoder->control, decoder->control_len);
  input->control_len = decoder->control_len;
  switch (decoder->opcode) {
  case WSLAY_PING:
    return WS_EVENT_PING;
  case WSLAY_PONG:
    return WS_EVENT_PONG;
  default:
    return end_close(input);
  }
}

/* --- the most common frame: a text message in one piece --- */

struct text_head {
  uint8_t mask[WS_MASK_LENGTH];
  uint64_t length; /* of the payload */
  size_t size;     /* of the head */
};

/* True if bytes begin with the complete head of a text message in one masked frame, with the length in its shortest
 * form (RFC 6455, 5.2). */
static bool read_text_head(struct text bytes, struct text_head *head)
{
  enum { FINAL_TEXT = 0x80 | WS_TEXT, MASKED = 0x80 };
  static const struct {
    size_t length_bytes;
    uint64_t least;
  } forms[] = {{0, 0}, {2, WS_CONTROL_MAX + 1}, {8, UINT16_MAX + 1}};
  const uint8_t *at = (const uint8_t *)bytes.data;
  if (bytes.len < 2 || at[0] != FINAL_TEXT || (at[1] & MASKED) == 0)
    return false;
  uint64_t length = at[1] ^ MASKED;
  size_t form = length > WS_CONTROL_MAX ? length - WS_CONTROL_MAX : 0;
  size_t length_bytes = forms[form].length_bytes;
  head->size = 2 + length_bytes + WS_MASK_LENGTH;
  if (bytes.len < head->size)
    return false;
  if (length_bytes > 0)
    length = 0;
  for (size_t i = 0; i < length_bytes; i++)
    length = length << 8 | at[2 + i];
  head->length = length;
  memcpy(head->mask, at + 2 + length_bytes, WS_MASK_LENGTH);
  return length >= forms[form].least;
}

/* Begins a frame of the most common kind without wslay. wslay copies a frame and unmasks it byte by byte, and
 * this is most of the cost of reading a frame. False: the frame is of another kind, malformed or too long,
 * and wslay has to read it. */
static bool begin_text(struct ws_reader *reader, const struct ws_decoder *decoder, struct ws_input *input,
                       size_t message_max)
{
  struct text_head head;
  if (reader->in_message || !ws_decoder_is_clean(decoder) ||
      !read_text_head(text_slice(input->bytes, input->used, input->bytes.len), &head) ||
      head.length > message_max)
    return false;
  input->used += head.size;
  begin_message(reader);
  reader->left = (size_t)head.length;
  memcpy(reader->mask, head.mask, sizeof reader->mask);
  return true;
}

/* Unmasks the payload into `to`. True if all bytes are ASCII. */
static bool unmask_bytes(char *to, const char *payload, size_t length, const uint8_t mask[WS_MASK_LENGTH])
{
  enum { WORDS = 4 };
  uint64_t word;
  memcpy(&word, mask, WS_MASK_LENGTH);
  memcpy((char *)&word + WS_MASK_LENGTH, mask, WS_MASK_LENGTH);
  uint64_t seen[WORDS] = {0};
  size_t i = 0;
  for (; i + sizeof seen <= length; i += sizeof seen) {
    uint64_t words[WORDS];
    memcpy(words, payload + i, sizeof words);
    for (int j = 0; j < WORDS; j++) {
      words[j] ^= word;
      seen[j] |= words[j];
    }
    memcpy(to + i, words, sizeof words);
  }
  for (; i < length; i++) {
    to[i] = (char)(payload[i] ^ mask[i % WS_MASK_LENGTH]);
    seen[0] |= (unsigned char)to[i];
  }
  return ((seen[0] | seen[1] | seen[2] | seen[3]) & 0x8080808080808080u) == 0;
}

/* Rotates the mask so that its first byte applies to the next byte of the payload. */
static void rotate_mask(struct ws_reader *reader, size_t count)
{
  uint8_t mask[WS_MASK_LENGTH];
  for (size_t i = 0; i < WS_MASK_LENGTH; i++)
    mask[i] = reader->mask[(count + i) % WS_MASK_LENGTH];
  memcpy(reader->mask, mask, sizeof mask);
}

/* Consumes the bytes of the frame that are in the input. */
static enum ws_event append_text_bytes(struct ws_reader *reader, struct ws_input *input,
                                       struct buffer *message)
{
  enum { SURELY_LARGE = 256 * 1024 };
  size_t count = input->bytes.len - input->used;
  if (count > reader->left)
    count = reader->left;
  /* The announced length of a message may be false, so it is trusted only after a large part of the message
   * was received. The buffer then gets its final size, so that it is not copied again. */
  bool is_large = message->len + count > SURELY_LARGE;
  char *room = buffer_reserve(message, is_large ? reader->left : count);
  if (room == NULL)
    return fail_with(input, WS_INTERNAL, "no memory for the message");
  bool is_ascii = unmask_bytes(room, input->bytes.data + input->used, count, reader->mask);
  if (is_ascii && reader->valid == message->len)
    reader->valid += count;
  message->len += count;
  input->used += count;
  reader->left -= count;
  bool whole = reader->left == 0;
  if (!is_valid_so_far(reader, message, whole))
    return fail_with(input, WS_BAD_TEXT, "the text is not UTF-8");
  if (!whole) {
    rotate_mask(reader, count);
    return WS_EVENT_NONE;
  }
  reader->in_message = false;
  return WS_EVENT_MESSAGE;
}

enum ws_event ws_read(struct ws_reader *reader, struct ws_decoder *decoder, struct ws_input *input,
                      struct buffer *message, size_t message_max)
{
  if (reader->left > 0 || begin_text(reader, decoder, input, message_max))
    return append_text_bytes(reader, input, message);
  enum ws_event event = WS_EVENT_NONE;
  decoder->input = input;
  while (event == WS_EVENT_NONE) {
    struct wslay_frame_iocb frame = {0};
    ssize_t got = wslay_frame_recv(decoder->frames, &frame);
    if (got == WSLAY_ERR_WANT_READ)
      break;
    if (got < 0)
      return fail_with(input, WS_PROTOCOL_ERROR, "a frame header that is not allowed");
    if (!decoder->in_frame)
      event = begin_frame(reader, decoder, &frame, input, message, message_max);
    if (event != WS_EVENT_NONE)
      break;
    decoder->left -= frame.data_length;
    decoder->consumed += frame.data_length;
    decoder->in_frame = decoder->left > 0;
    event = wslay_is_ctrl_frame(decoder->opcode) ? append_control(decoder, &frame, input)
                                                 : append_text(reader, decoder, &frame, input, message);
  }
  decoder->input = NULL;
  return event;
}

/* --- writing --- */

/* RFC 6455, 5.2; a server sends no mask. Returns the length of the header. */
static size_t put_header(uint8_t out[WS_HEADER_MAX], enum ws_opcode opcode, bool fin, uint64_t length)
{
  enum { FIN = 0x80, TWO_BYTES_FOLLOW = WS_CONTROL_MAX + 1, EIGHT_BYTES_FOLLOW };
  out[0] = (uint8_t)((fin ? FIN : 0) | opcode);
  if (length <= WS_CONTROL_MAX) {
    out[1] = (uint8_t)length;
    return 2;
  }
  size_t bytes = length <= UINT16_MAX ? 2 : 8;
  out[1] = bytes == 2 ? TWO_BYTES_FOLLOW : EIGHT_BYTES_FOLLOW;
  for (size_t i = 0; i < bytes; i++)
    out[2 + i] = (uint8_t)(length >> 8 * (bytes - 1 - i));
  return 2 + bytes;
}

void ws_write(struct buffer *out, enum ws_opcode opcode, bool fin, struct text payload)
{
  char *room = buffer_reserve(out, WS_HEADER_MAX + payload.len);
  if (room == NULL)
    return;
  size_t header = put_header((uint8_t *)room, opcode, fin, payload.len);
  if (payload.len > 0)
    memcpy(room + header, payload.data, payload.len);
  out->len += header + payload.len;
}

void ws_write_close(struct buffer *out, uint16_t code, const char *reason)
{
  char payload[WS_CONTROL_MAX];
  size_t length = 0;
  if (code != WS_NO_CODE) {
    size_t room = sizeof payload - 2;
    size_t words = strnlen(reason, room);
    payload[0] = (char)(code >> 8);
    payload[1] = (char)(code & 0xff);
    memcpy(payload + 2, reason, words);
    length = 2 + words;
  }
  ws_write(out, WS_CLOSE, true, (struct text){payload, length});
}

#include "client/transports/websocket_client_frames.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

enum { FIN = 0x80, RESERVED = 0x70, OPCODE = 0x0f, MASKED = 0x80, LENGTH = 0x7f };
enum { LENGTH_16 = 126, LENGTH_64 = 127, KEY_LENGTH = 4 };

/* ---- reading ---- */

static bool fail_with(const char **fault, const char *why)
{
  *fault = why;
  return false;
}

/* RFC 6455, 5.2 and 5.5: the rules that the first two bytes of a head can break. */
static bool check_start(const uint8_t *at, const char **fault)
{
  static const bool is_known[OPCODE + 1] = {
      [CLIENT_WS_CONTINUATION] = true, [CLIENT_WS_TEXT] = true, [CLIENT_WS_BINARY] = true,
      [CLIENT_WS_CLOSE] = true,        [CLIENT_WS_PING] = true, [CLIENT_WS_PONG] = true,
  };
  unsigned opcode = at[0] & OPCODE;
  if ((at[0] & RESERVED) != 0)
    return fail_with(fault, "a reserved bit of a frame is set");
  if (!is_known[opcode])
    return fail_with(fault, "a frame has an unknown opcode");
  if ((at[1] & MASKED) != 0)
    return fail_with(fault, "a server's frame is masked");
  if (opcode >= CLIENT_WS_CLOSE && ((at[0] & FIN) == 0 || (at[1] & LENGTH) > CLIENT_WS_CONTROL_MAX))
    return fail_with(fault, "a control frame is too long, or in pieces");
  return true;
}

bool client_ws_read_head(struct text bytes, struct client_ws_head *head, const char **fault)
{
  const uint8_t *at = (const uint8_t *)bytes.data;
  head->size = 0;
  if (bytes.len < 2)
    return true;
  if (!check_start(at, fault))
    return false;
  uint64_t length = at[1] & LENGTH;
  size_t extra = length == LENGTH_16 ? 2 : length == LENGTH_64 ? 8 : 0;
  if (bytes.len < 2 + extra)
    return true;
  uint64_t least = extra == 0 ? 0 : extra == 2 ? LENGTH_16 : UINT16_MAX + 1;
  if (extra > 0)
    length = 0;
  for (size_t i = 0; i < extra; i++)
    length = length << 8 | at[2 + i];
  if (length < least || length > INT64_MAX)
    return fail_with(fault, "the length of a frame is not in its shortest form");
  *head = (struct client_ws_head){.fin = (at[0] & FIN) != 0,
                                  .opcode = (enum client_ws_opcode)(at[0] & OPCODE),
                                  .size = 2 + extra,
                                  .length = length};
  return true;
}

/* ---- writing ---- */

void client_ws_keys_init(struct client_ws_keys *keys)
{
  size_t done = 0;
  while (done < sizeof keys->state) {
    ssize_t got = getrandom((char *)keys->state + done, sizeof keys->state - done, 0);
    if (got < 0 && errno != EINTR)
      abort(); /* the kernel has no generator; not on Linux 3.17 or later */
    if (got > 0)
      done += (size_t)got;
  }
  keys->state[0] |= 1; /* the generator would never leave the state in which all bits are zero */
}

/* xoroshiro128+; its upper half is better distributed. */
static uint32_t next_key(struct client_ws_keys *keys)
{
  uint64_t a = keys->state[0];
  uint64_t b = keys->state[1];
  uint64_t sum = a + b;
  b ^= a;
  keys->state[0] = (a << 24 | a >> 40) ^ b ^ b << 16;
  keys->state[1] = b << 37 | b >> 27;
  return (uint32_t)(sum >> 32);
}

/* Copies the bytes and masks the copies. `to` may be equal to `from` or below it. */
static void mask_down(char *to, const char *from, size_t length, uint32_t key)
{
  enum { WORDS = 4 };
  uint64_t word = (uint64_t)key << 32 | key;
  size_t i = 0;
  for (; i + WORDS * sizeof word <= length; i += WORDS * sizeof word) {
    uint64_t words[WORDS];
    memcpy(words, from + i, sizeof words);
    for (int j = 0; j < WORDS; j++)
      words[j] ^= word;
    memcpy(to + i, words, sizeof words);
  }
  char bytes[KEY_LENGTH];
  memcpy(bytes, &key, sizeof bytes);
  for (; i < length; i++)
    to[i] = (char)(from[i] ^ bytes[i % KEY_LENGTH]);
}

/* RFC 6455, 5.2. Returns the length of the head. */
static size_t put_head(uint8_t *out, enum client_ws_opcode opcode, uint64_t length, uint32_t key)
{
  size_t extra = length < LENGTH_16 ? 0 : length <= UINT16_MAX ? 2 : 8;
  uint8_t short_length = extra == 0 ? (uint8_t)length : extra == 2 ? LENGTH_16 : LENGTH_64;
  out[0] = (uint8_t)(FIN | opcode);
  out[1] = MASKED | short_length;
  for (size_t i = 0; i < extra; i++)
    out[2 + i] = (uint8_t)(length >> 8 * (extra - 1 - i));
  memcpy(out + 2 + extra, &key, KEY_LENGTH);
  return 2 + extra + KEY_LENGTH;
}

size_t client_ws_begin(struct buffer *out)
{
  size_t begin = out->len;
  if (buffer_reserve(out, CLIENT_WS_HEAD_MAX) != NULL)
    out->len += CLIENT_WS_HEAD_MAX;
  return begin;
}

/* Room for the longest head was reserved. Masking moves the payload up to the actual head. */
void client_ws_end(struct buffer *out, size_t begin, enum client_ws_opcode opcode,
                   struct client_ws_keys *keys)
{
  if (out->failed)
    return;
  const char *payload = out->data + begin + CLIENT_WS_HEAD_MAX;
  size_t length = out->len - begin - CLIENT_WS_HEAD_MAX;
  uint32_t key = next_key(keys);
  size_t head = put_head((uint8_t *)out->data + begin, opcode, length, key);
  mask_down(out->data + begin + head, payload, length, key);
  out->len = begin + head + length;
}

#include "rpc/colfer/exec_head.h"

#include "base/uuid.h"
#include "colfer/wire.h"

#include <endian.h>

/* Fields by their indexes: of a message, and the first ones of an exec message. */
enum { FIELD_MESSAGE_TYPE, FIELD_EXEC_MESSAGE };
enum {
  FIELD_PEER_UUID,
  FIELD_MESSAGE_ID,
  FIELD_THREAD_NAME,
  FIELD_CURRENT_TIME,
  FIELD_DISPATCH_SEQ,
  FIELD_BUILDER_SEQ
};

enum {
  BEFORE_HEAD = 3, /* the type of the message, with its header, and the header of the exec message */
  WORD = sizeof(uint64_t),
  /* So many bytes are there when a field is read: its header, and a word. A head with an operation behind it has them.
   */
  ROOM = 1 + WORD
};

#define HIGH_BITS 0x8080808080808080u

/* How Colfer writes numbers of a type. */
struct number_form {
  size_t varint_max; /* bytes of a number below fixed_from */
  size_t fixed_size;
  uint64_t fixed_from;
};

static const struct number_form uint32_form = {3, COLFER_FIXED32_SIZE, COLFER_FIXED32_FROM};
static const struct number_form uint64_form = {7, COLFER_FIXED64_SIZE, COLFER_FIXED64_FROM};

static uint64_t load_word(const char *p)
{
  uint64_t word;
  memcpy(&word, p, sizeof word);
  return word;
}

/* ---- texts ---- */

static inline bool is_ascii(struct text t)
{
  uint64_t bits = 0;
  if (t.len < WORD) {
    for (size_t i = 0; i < t.len; i++)
      bits |= (uint8_t)t.data[i];
    return bits < COLFER_FLAG;
  }
  for (size_t i = 0; i + WORD < t.len; i += WORD)
    bits |= load_word(t.data + i);
  return ((bits | load_word(t.data + t.len - WORD)) & HIGH_BITS) == 0;
}

/* Takes a text or binary at p, if it is there, and returns where the message goes on. NULL where it has another form. */
static inline const char *take_bytes(const char *p, const char *end, unsigned index, struct text *value)
{
  if (end - p < ROOM)
    return NULL;
  if ((uint8_t)p[0] != index)
    return p;
  size_t length = (uint8_t)p[1];
  *value = (struct text){p + 2, length};
  bool is_usual = length > 0 && length <= EXEC_SHORT_MAX && length <= (size_t)(end - value->data);
  return is_usual ? value->data + length : NULL;
}

/* ---- numbers ---- */

/* The length of a varint that is not 0 and has no more bytes than it needs; 0: it is none. A word can be read. */
static inline size_t varint_length(const char *p, const struct number_form *form)
{
  uint64_t ends = ~le64toh(load_word(p)) & HIGH_BITS;
  if (ends == 0)
    return 0;
  size_t length = (size_t)__builtin_ctzll(ends) / 8 + 1;
  return length <= form->varint_max && p[length - 1] != 0 ? length : 0;
}

static uint64_t read_fixed(const char *p, const struct number_form *form)
{
  return be64toh(load_word(p)) >> 8 * (WORD - form->fixed_size);
}

static inline size_t number_length(const char *p, bool fixed, const struct number_form *form)
{
  if (!fixed)
    return varint_length(p, form);
  return read_fixed(p, form) >= form->fixed_from ? form->fixed_size : 0;
}

/* Takes a number as take_bytes does a text. */
static inline const char *take_number(const char *p, const char *end, unsigned index,
                                      const struct number_form *form)
{
  if (end - p < ROOM)
    return NULL;
  unsigned header = (uint8_t)*p;
  if ((header & ~(unsigned)COLFER_FLAG) != index)
    return p;
  size_t length = number_length(p + 1, header != index, form);
  return length > 0 ? p + 1 + length : NULL;
}

size_t exec_number_at(struct text t, bool fixed, uint32_t *number)
{
  if (t.len < WORD)
    return 0;
  size_t length = number_length(t.data, fixed, &uint32_form);
  *number = fixed ? (uint32_t)read_fixed(t.data, &uint32_form) : 0;
  for (size_t i = 0; !fixed && i < length; i++)
    *number |= (uint32_t)(t.data[i] & 0x7f) << 7 * i;
  return length;
}

/* ---- the head ---- */

static bool is_exec_message(struct text message)
{
  return message.len >= BEFORE_HEAD && message.data[0] == FIELD_MESSAGE_TYPE &&
         message.data[2] == FIELD_EXEC_MESSAGE;
}

/* A session is named in the usual way, or none is. */
static inline const char *take_uuid(const char *p, const char *end, struct text *uuid)
{
  *uuid = TEXT_ABSENT;
  p = take_bytes(p, end, FIELD_PEER_UUID, uuid);
  return uuid->data == NULL || uuid->len == sizeof(struct uuid) ? p : NULL;
}

static inline const char *take_ascii(const char *p, const char *end, unsigned index, struct text *value)
{
  *value = TEXT("");
  p = take_bytes(p, end, index, value);
  return p != NULL && is_ascii(*value) ? p : NULL;
}

static const char *take_head(const char *p, const char *end, struct exec_head *head)
{
  struct text thread_name;
  p = take_uuid(p, end, &head->peer_uuid);
  p = p == NULL ? NULL : take_ascii(p, end, FIELD_MESSAGE_ID, &head->message_id);
  p = p == NULL ? NULL : take_ascii(p, end, FIELD_THREAD_NAME, &thread_name);
  p = p == NULL ? NULL : take_number(p, end, FIELD_CURRENT_TIME, &uint64_form);
  p = p == NULL ? NULL : take_number(p, end, FIELD_DISPATCH_SEQ, &uint32_form);
  return p == NULL ? NULL : take_number(p, end, FIELD_BUILDER_SEQ, &uint32_form);
}

bool exec_head_read(struct text message, struct exec_head *head)
{
  if (!is_exec_message(message))
    return false;
  const char *end = message.data + message.len;
  const char *rest = take_head(message.data + BEFORE_HEAD, end, head);
  if (rest == NULL || head->message_id.len == 0)
    return false;
  head->message_type = (uint8_t)message.data[1];
  head->rest = (struct text){rest, (size_t)(end - rest)};
  return true;
}

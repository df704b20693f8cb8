/*
 * Known binary messages (rpc/colfer/known_messages.h): the head of a message is read in place, its body is
 * compared with the bodies that are kept, and its reply is written from a template.
 */
#include "rpc/colfer/known_messages.h"

#include "base/clock.h"
#include "base/number_format.h"
#include "base/uuid.h"
#include "colfer/messages.h"
#include "colfer/wire.h"
#include "jni/fastpath/whole_number_call.h"
#include "rpc/channel.h"
#include "rpc/colfer/binary_codec.h"
#include "rpc/fastpath/whole_number_path.h"
#include "rpc/peer_state.h"
#include "rpc/values/value_read.h"

#include <endian.h>
#include <stdlib.h>

enum {
  MESSAGES = 8,
  NAMES_MAX = 256, /* of a class and its member */
  /* After this many unknown messages in a row, only one message in MISSES_STEP is kept, so that messages that
   * never repeat cost little. */
  MISSES_MAX = 64,
  MISSES_STEP = 16,
  VISITS = 16,          /* a power of two */
  VISIT_TTL_PART = 256, /* of a session's TTL */
  SHORT_MAX = 127,      /* the longest text whose length is one byte */
  BODY_MAX = 480,
  ARGS_MAX = 8,
  HOLES_MAX = ARGS_MAX + 1,
  REPLY_STEP = 16, /* pieces are copied in steps of a constant size, so that the compiler inlines them */
  REPLY_BYTES_MAX = 32 * REPLY_STEP,
  REPLY_PIECES_MAX = 5
};

/*
 * The head of an exec message: its sender, its id, and times and counters that do not change the operation.
 * Messages with the same operation differ mostly in these fields.
 *
 * Only the usual form of a head is read: texts of ASCII with at most SHORT_MAX bytes, and numbers in the form
 * that Colfer writes. The decoder always accepts this form. Any other form that the decoder accepts takes the
 * general path.
 */
struct exec_head {
  uint8_t message_type;
  struct text peer_uuid;  /* 16 bytes; data NULL: the message names no session */
  struct text message_id; /* not empty */
  struct text rest;       /* of the message: all other fields, and the ends of its structs */
};

/* A hole in a body. If ref_header is not 0, the content of the hole is this header, with or without
 * COLFER_FLAG, and a ref. Otherwise the content is the JSON text of an argument, with its length. */
struct exec_hole {
  size_t length; /* count of the body's bytes between the previous hole and this hole */
  size_t arg;    /* index of the argument */
  uint8_t ref_header;
};

/*
 * The body of an exec message: the bytes after its head, which are the operation. The general path has read
 * this body without finding a fault. The body is kept with holes for its whole numbers and its object's ref.
 * A body that has the same bytes outside of the holes, and a number or a ref in each hole, is the same
 * operation with other values, and valid, too.
 */
struct exec_body {
  /* The operation of the body that fitted last. Its names are absent, because a call of whole numbers does
   * not need them. */
  struct operation operation;
  struct op_value args[ARGS_MAX];
  uint8_t message_type; /* 0: nothing is kept */
  size_t length;
  size_t hole_count;
  struct exec_hole holes[HOLES_MAX];
  char bytes[BODY_MAX]; /* without the contents of the holes */
};

enum reply_hole {
  REPLY_OWN_ID,     /* UUID_TEXT_LENGTH bytes */
  REPLY_REQUEST_ID, /* a text with its length */
  REPLY_NUMBER,     /* a text with its length: the JSON of a whole number */
  REPLY_END         /* nothing */
};

struct reply_piece {
  size_t length; /* count of the bytes before the hole */
  enum reply_hole hole;
};

/* The bytes of a known message's replies, except their own ids, the request's id and the resulting whole
 * number. */
struct reply_template {
  struct reply_piece pieces[REPLY_PIECES_MAX]; /* the last piece ends with REPLY_END */
  size_t piece_count;
  size_t length; /* of all pieces, without the contents of the holes */
  bool has_number;
  char bytes[REPLY_BYTES_MAX + REPLY_STEP]; /* of one piece after the other */
};

struct known_message {
  struct exec_body body;
  struct jvm_whole_number_call call;
  struct reply_template reply;
  struct rpc_reached_member reached; /* its texts are in names */
  char names[NAMES_MAX];
  struct audit_template audited;
};

/* The time at which a message that named the session last held the session, so that the session's TTL began
 * again. */
struct visit {
  struct uuid session;
  int64_t at_ms;
};

struct known_messages {
  struct known_message messages[MESSAGES];
  struct visit visits[VISITS];
  struct known_message *fitting; /* the known message that the current message fits; NULL: none */
  size_t last;                   /* the message that fitted last */
  size_t oldest;                 /* the message that is replaced next */
  unsigned misses;               /* unknown messages since one fitted */
};

/* Indexes of fields: the fields of a message, and the first fields of an exec message. */
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
  /* Bytes that must be present to read a field: its header, and a word. A head that is followed by an
   * operation has that many bytes. */
  ROOM = 1 + WORD
};

#define HIGH_BITS 0x8080808080808080u

/* How Colfer writes numbers of a type. */
struct number_form {
  size_t varint_max; /* the longest form, in bytes, of a number below fixed_from */
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

/* ---- the head: texts ---- */

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

/* Reads a text or binary at p, if present, and returns the position after it. NULL if it has another form. */
static inline const char *consume_bytes(const char *p, const char *end, unsigned index, struct text *value)
{
  if (end - p < ROOM)
    return NULL;
  if ((uint8_t)p[0] != index)
    return p;
  size_t length = (uint8_t)p[1];
  *value = (struct text){p + 2, length};
  bool is_usual = length > 0 && length <= SHORT_MAX && length <= (size_t)(end - value->data);
  return is_usual ? value->data + length : NULL;
}

/* ---- the head: numbers ---- */

/* The length of a varint that is not 0 and uses no more bytes than needed. 0: the bytes are not such a
 * varint. A whole word must be readable. */
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

/* Reads a number as consume_bytes reads a text. */
static inline const char *consume_number(const char *p, const char *end, unsigned index,
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

/* Reads a number of Colfer's type uint32 after its header; is_fixed: the header says that the number has four
 * bytes. Returns its length in bytes, or 0 if the number does not have the form that Colfer writes. */
static size_t read_number_at(struct text t, bool fixed, uint32_t *number)
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

static inline const char *consume_ascii(const char *p, const char *end, unsigned index, struct text *value)
{
  *value = TEXT("");
  p = consume_bytes(p, end, index, value);
  return p != NULL && is_ascii(*value) ? p : NULL;
}

static const char *consume_head(const char *p, const char *end, struct exec_head *head)
{
  struct text thread_name;
  head->peer_uuid = TEXT_ABSENT;
  p = consume_bytes(p, end, FIELD_PEER_UUID, &head->peer_uuid);
  if (head->peer_uuid.data != NULL && head->peer_uuid.len != sizeof(struct uuid))
    return NULL; /* a session is named in the usual way, or no session is named */
  p = p == NULL ? NULL : consume_ascii(p, end, FIELD_MESSAGE_ID, &head->message_id);
  p = p == NULL ? NULL : consume_ascii(p, end, FIELD_THREAD_NAME, &thread_name);
  p = p == NULL ? NULL : consume_number(p, end, FIELD_CURRENT_TIME, &uint64_form);
  p = p == NULL ? NULL : consume_number(p, end, FIELD_DISPATCH_SEQ, &uint32_form);
  return p == NULL ? NULL : consume_number(p, end, FIELD_BUILDER_SEQ, &uint32_form);
}

/* The head is borrowed from the message. False: the message is not an exec message, or its head has another
 * form. */
static bool read_head(struct text message, struct exec_head *head)
{
  if (message.len < BEFORE_HEAD || message.data[0] != FIELD_MESSAGE_TYPE ||
      message.data[2] != FIELD_EXEC_MESSAGE)
    return false;
  const char *end = message.data + message.len;
  const char *rest = consume_head(message.data + BEFORE_HEAD, end, head);
  if (rest == NULL || head->message_id.len == 0)
    return false;
  head->message_type = (uint8_t)message.data[1];
  head->rest = (struct text){rest, (size_t)(end - rest)};
  return true;
}

/* Fields that are an object's ref, by their indexes in the structs of calls and in the structs of fields. */
enum { FIELD_REF_OF_CALL = 2, FIELD_REF_OF_FIELD = 1 };

/* ---- the body: fitting ---- */

/* Each of these functions reads a part at p, and returns the position after it, or NULL. */

/* Reads a whole number as JSON has it. Two kinds of numbers are left to the general path: numbers with so
 * many digits that they may not fit, and -0, which as a double differs from 0. */
static inline bool read_integer(struct text t, int64_t *integer)
{
  enum { DIGITS_MAX = 18 };
  size_t sign = *t.data == '-';
  size_t digits = t.len - sign;
  int64_t value = 0;
  if (digits == 0 || digits > DIGITS_MAX || (t.data[sign] == '0' && t.len > 1))
    return false;
  for (const char *p = t.data + sign; p < t.data + t.len; p++) {
    unsigned digit = (unsigned)(*p - '0');
    if (digit > 9)
      return false;
    value = value * 10 + digit;
  }
  *integer = sign > 0 ? -value : value;
  return true;
}

/* Reads the length of a text and the text. The text must be a whole number. */
static inline const char *consume_integer(const char *p, const char *end, int64_t *integer)
{
  if (p == end)
    return NULL;
  struct text t = {p + 1, (uint8_t)*p};
  bool is_there = t.len > 0 && t.len <= SHORT_MAX && t.len <= (size_t)(end - t.data);
  return is_there && read_integer(t, integer) ? t.data + t.len : NULL;
}

static const char *consume_ref(const char *p, const char *end, uint8_t header, uint32_t *ref)
{
  if (p == end || ((uint8_t)*p & ~(unsigned)COLFER_FLAG) != header)
    return NULL;
  bool fixed = (uint8_t)*p++ != header;
  size_t length = read_number_at((struct text){p, (size_t)(end - p)}, fixed, ref);
  return length > 0 && *ref <= RPC_REF_MAX ? p + length : NULL;
}

static inline const char *consume_hole(struct exec_body *body, const struct exec_hole *hole, const char *p,
                                       const char *end)
{
  if (hole->ref_header != 0)
    return consume_ref(p, end, hole->ref_header, &body->operation.instance);
  return consume_integer(p, end, &body->args[hole->arg].integer);
}

/* Returns true if the message has this body; body->operation then has the values of the message. If it
 * returns false, the values in body->operation are garbage. */
static bool fits_body(struct exec_body *body, const struct exec_head *head)
{
  const char *p = head->rest.data;
  const char *end = p + head->rest.len;
  const char *literal = body->bytes;
  if (body->message_type == 0 || head->message_type != body->message_type)
    return false;
  for (const struct exec_hole *hole = body->holes; hole < body->holes + body->hole_count; hole++) {
    if (hole->length > (size_t)(end - p) || !text_equal_bytes(p, literal, hole->length))
      return false;
    p = consume_hole(body, hole, p + hole->length, end);
    if (p == NULL)
      return false;
    literal += hole->length;
  }
  size_t last = (size_t)(body->bytes + body->length - literal);
  return last == (size_t)(end - p) && text_equal_bytes(p, literal, last);
}

/* ---- the body: keeping ---- */

/* The places of the ref and the values in a message. */
struct places {
  const char *ref; /* its header, if the message has a ref */
  uint8_t ref_header;
  const struct colfer_obj *values;
  size_t value_count;
};

/* Returns the position after the last byte of a class. */
static const char *find_class_end(const struct colfer_class *class)
{
  return class == NULL || class->name.data == NULL ? NULL : class->name.data + class->name.len + 1;
}

static struct places find_places(uint8_t message_type, const struct colfer_exec_message *exec)
{
  struct text name;
  switch (message_type) {
  case COLFER_CALLS_INSTANCE_METHOD:
    name = exec->instance_method_call->name;
    return (struct places){name.data == NULL ? NULL : name.data + name.len, FIELD_REF_OF_CALL,
                           exec->instance_method_call->args.items, exec->instance_method_call->args.count};
  case COLFER_CALLS_CLASS_METHOD:
    return (struct places){.values = exec->class_method_call->args.items,
                           .value_count = exec->class_method_call->args.count};
  case COLFER_GETS_FIELD:
    return (struct places){find_class_end(exec->instance_field_get->clazz), FIELD_REF_OF_FIELD, NULL, 0};
  case COLFER_PUTS_FIELD:
    return (struct places){find_class_end(exec->instance_field_put->clazz), FIELD_REF_OF_FIELD,
                           exec->instance_field_put->value_object,
                           exec->instance_field_put->value_object != NULL};
  case COLFER_PUTS_STATIC:
    return (struct places){.values = exec->static_field_put->value_object,
                           .value_count = exec->static_field_put->value_object != NULL};
  default:
    return (struct places){.ref = NULL};
  }
}

static bool may_keep(const struct exec_head *head, const struct operation *operation)
{
  /* Without a type, objects of different classes may mean different members. */
  bool has_type = operation->type.data != NULL;
  if (operation->kind == OP_NEW || !has_type || operation->piece != NULL || operation->arg_count > ARGS_MAX ||
      operation->thread_affinity.data != NULL || head->rest.len > BODY_MAX)
    return false;
  for (const struct op_value *arg = operation->args; arg < operation->args + operation->arg_count; arg++)
    if (arg->kind != OP_INTEGER || arg->suffix != 0 || arg->literal.data != NULL)
      return false; /* not a whole number */
  return true;
}

/* Copies the body up to a place in it. The rest of the body then begins at this place. */
static bool copy_until(struct exec_body *body, struct text *rest, const char *place)
{
  size_t length = (size_t)(place - rest->data);
  if (place < rest->data || length > rest->len)
    return false;
  memcpy(body->bytes + body->length, rest->data, length);
  body->length += length;
  *rest = text_slice(*rest, length, rest->len);
  return true;
}

/* Copies the body up to a place, and adds a hole at this place. The rest then begins after the content of the
 * hole. */
static bool add_hole(struct exec_body *body, struct exec_hole hole, struct text *rest, const char *place)
{
  size_t before = body->length;
  if (!copy_until(body, rest, place))
    return false;
  hole.length = body->length - before;
  body->holes[body->hole_count++] = hole;
  const char *end = rest->data + rest->len;
  const char *after = consume_hole(body, &hole, rest->data, end);
  if (after == NULL)
    return false;
  *rest = (struct text){after, (size_t)(end - after)};
  return true;
}

static bool cut_values(struct exec_body *body, const struct places *places, struct text *rest)
{
  if (places->value_count != body->operation.arg_count)
    return false;
  for (size_t i = 0; i < places->value_count; i++) {
    struct text value = places->values[i].value;
    if (value.data == NULL || !add_hole(body, (struct exec_hole){.arg = i}, rest, value.data - 1))
      return false;
  }
  return true;
}

static bool cut_body(struct exec_body *body, const struct exec_head *head, const struct places *places)
{
  struct text rest = head->rest;
  if (body->operation.has_instance &&
      (places->ref == NULL ||
       !add_hole(body, (struct exec_hole){.ref_header = places->ref_header}, &rest, places->ref)))
    return false;
  return cut_values(body, places, &rest) && copy_until(body, &rest, rest.data + rest.len);
}

/* True if the message fits the body and gives the same operation. False, for example, for a length in an
 * unusual form, or a number with spaces. */
static bool reads_as(struct exec_body *body, const struct exec_head *head, const struct operation *operation)
{
  if (!fits_body(body, head) || (operation->has_instance && body->operation.instance != operation->instance))
    return false;
  for (size_t i = 0; i < operation->arg_count; i++)
    if (body->args[i].integer != operation->args[i].integer)
      return false;
  return true;
}

/* Keeps the body of a message, which was read as `exec`, and its operation. body must not be moved
 * afterwards. False: the message cannot be kept, and body is empty. */
static bool keep_body(struct exec_body *body, const struct exec_head *head,
                      const struct colfer_exec_message *exec, const struct operation *operation)
{
  *body = (struct exec_body){.message_type = head->message_type};
  if (may_keep(head, operation)) {
    struct places places = find_places(head->message_type, exec);
    body->operation = (struct operation){.kind = operation->kind,
                                         .has_instance = operation->has_instance,
                                         .args = body->args,
                                         .arg_count = operation->arg_count};
    for (size_t i = 0; i < operation->arg_count; i++)
      body->args[i].kind = OP_INTEGER;
    if (cut_body(body, head, &places) && reads_as(body, head, operation))
      return true;
  }
  body->message_type = 0;
  return false;
}

/* ---- the reply: cutting ---- */

struct cutting {
  struct reply_template *template;
  struct text rest; /* of the reply: bytes that are in no piece yet */
};

/* Ends a piece before `place`, and continues after the content of the hole. */
static bool add_piece(struct cutting *cutting, const char *place, enum reply_hole hole, size_t skipped)
{
  struct reply_template *template = cutting->template;
  size_t length = (size_t)(place - cutting->rest.data);
  if (place < cutting->rest.data || length + skipped > cutting->rest.len ||
      length > REPLY_BYTES_MAX - template->length || template->piece_count == REPLY_PIECES_MAX)
    return false;
  memcpy(template->bytes + template->length, cutting->rest.data, length);
  template->length += length;
  template->pieces[template->piece_count++] = (struct reply_piece){length, hole};
  cutting->rest = text_slice(cutting->rest, length + skipped, cutting->rest.len);
  return true;
}

/* Cuts out a text and the byte before it, which is its length. Does nothing if the text is empty. */
static bool cut_short(struct cutting *cutting, struct text value, enum reply_hole hole)
{
  return value.len == 0 || (value.len <= SHORT_MAX && (uint8_t)value.data[-1] == value.len &&
                            add_piece(cutting, value.data - 1, hole, 1 + value.len));
}

static bool cut_request_id(struct cutting *cutting, struct text found, struct text request_id)
{
  return (found.len == 0 || text_equal(found, request_id)) && cut_short(cutting, found, REPLY_REQUEST_ID);
}

static struct text put_id_of(const struct colfer_exec_message *exec)
{
  if (exec->static_field_put_done != NULL)
    return exec->static_field_put_done->static_field_put_id;
  if (exec->instance_field_put_done != NULL)
    return exec->instance_field_put_done->instance_field_put_id;
  return TEXT("");
}

/* Cuts a reply into pieces; `reply` is its decoded form. False if the reply does not have the usual form of a
 * reply to the request with that id. */
static bool cut_reply(struct reply_template *template, struct text bytes, const struct colfer_message *reply,
                      struct text request_id)
{
  const struct colfer_exec_message *exec = reply->exec_message;
  struct cutting cutting = {template, bytes};
  *template = (struct reply_template){0};
  if (exec == NULL || reply->message_type == COLFER_THROWS)
    return false;
  const struct colfer_return_value *result = exec->return_value;
  struct text number = result == NULL || result->object == NULL ? TEXT("") : result->object->value;
  struct text own_id = exec->message_id;
  template->has_number = number.len > 0;
  return own_id.len == UUID_TEXT_LENGTH && add_piece(&cutting, own_id.data, REPLY_OWN_ID, own_id.len) &&
         cut_request_id(&cutting, exec->response_to_id, request_id) &&
         cut_request_id(&cutting, put_id_of(exec), request_id) && cut_short(&cutting, number, REPLY_NUMBER) &&
         add_piece(&cutting, cutting.rest.data + cutting.rest.len, REPLY_END, 0);
}

/* ---- the reply: writing ---- */

/* The maximal length of replies to a request with that id. */
static size_t find_reply_length_max(const struct reply_template *template, size_t id_length)
{
  return template->length + UUID_TEXT_LENGTH + 2 * (1 + id_length) + 1 + NUMBER_TEXT_MAX;
}

/* The last step of a text may overlap the previous step. */
static char *write_text(char *at, struct text t)
{
  *at++ = (char)t.len;
  if (t.len < REPLY_STEP) {
    memcpy(at, t.data, t.len);
    return at + t.len;
  }
  for (size_t i = 0; i + REPLY_STEP < t.len; i += REPLY_STEP)
    memcpy(at + i, t.data + i, REPLY_STEP);
  memcpy(at + t.len - REPLY_STEP, t.data + t.len - REPLY_STEP, REPLY_STEP);
  return at + t.len;
}

/* Appends a reply; number is ignored if the template has no place for a number. request_id has at most
 * SHORT_MAX bytes. A failed allocation leaves out->failed. */
static void write_reply(const struct reply_template *template, const char own_id[UUID_TEXT_LENGTH],
                        struct text request_id, int64_t number, struct buffer *out)
{
  char *room = buffer_reserve(out, find_reply_length_max(template, request_id.len) + REPLY_STEP);
  if (room == NULL)
    return;
  char *at = room;
  const char *bytes = template->bytes;
  size_t length;
  for (const struct reply_piece *piece = template->pieces;; piece++) {
    for (size_t i = 0; i < piece->length;
         i += REPLY_STEP) /* the destination has room for whole steps, and the source has as many bytes */
      memcpy(at + i, bytes + i, REPLY_STEP);
    at += piece->length;
    bytes += piece->length;
    switch (piece->hole) {
    case REPLY_OWN_ID:
      memcpy(at, own_id, UUID_TEXT_LENGTH);
      at += UUID_TEXT_LENGTH;
      break;
    case REPLY_REQUEST_ID:
      at = write_text(at, request_id);
      break;
    case REPLY_NUMBER:
      length = number_format_integer(number, at + 1);
      *at = (char)length;
      at += 1 + length;
      break;
    case REPLY_END:
      out->len += (size_t)(at - room);
      return;
    }
  }
}

/* ---- visits of sessions ---- */

static size_t place_of(const uint8_t *session)
{
  return session[sizeof(struct uuid) - 1] & (VISITS - 1);
}

static void note_visit(struct known_messages *known, struct text session)
{
  if (session.data == NULL)
    return;
  struct visit *visit = &known->visits[place_of((const uint8_t *)session.data)];
  memcpy(&visit->session, session.data, sizeof visit->session);
  visit->at_ms = clock_coarse_ms();
}

/*
 * A call that needs no object needs no session, but the session that the call names has to be kept alive.
 * Holding the session for each call would double the time of the call. For this reason the general path,
 * which holds the session, serves the first message, and again a message after each small part of the TTL.
 */
static bool has_visited(const struct known_messages *known, const struct rpc_peer *peer, struct text session)
{
  if (session.data == NULL)
    return true;
  const struct visit *visit = &known->visits[place_of((const uint8_t *)session.data)];
  return memcmp(&visit->session, session.data, sizeof visit->session) == 0 &&
         clock_coarse_ms() - visit->at_ms < peer->config.limits.session_ttl_ms / VISIT_TTL_PART;
}

/* ---- serving ---- */

static struct known_message *find_message(struct known_messages *known, const struct exec_head *head)
{
  for (size_t i = 0; i < MESSAGES; i++) {
    size_t at = (known->last + i) % MESSAGES;
    if (!fits_body(&known->messages[at].body, head))
      continue;
    known->last = at;
    known->misses = 0;
    return &known->messages[at];
  }
  known->misses++;
  return NULL;
}

/* Called before the request's frame is closed. The function is not inlined, because most calls do not need
 * its stack. */
static __attribute__((noinline)) void answer_failed(const struct jvm_request *jvm,
                                                    const struct known_message *message,
                                                    const struct exec_head *head,
                                                    const struct known_call *call)
{
  struct outcome failed;
  jvm_whole_number_call_fail(jvm, &failed);
  const enum rpc_call_cause cause = rpc_call_ended_by(call->runner->watch);
  if (cause != RPC_CALL_RETURNS)
    rpc_call_fail(cause, jvm->arena, &failed);
  call->answer_failed(call, head->message_id, &message->reached, &failed);
}

/* Answers with the error of a call that was ended, for example by a timeout, although its member has
 * returned. */
static __attribute__((noinline)) bool answer_ended(enum rpc_call_cause cause, const struct jvm_request *jvm,
                                                   const struct known_message *message,
                                                   const struct exec_head *head,
                                                   const struct known_call *call)
{
  struct outcome failed;
  rpc_call_fail(cause, jvm->arena, &failed);
  call->client->calls++;
  call->answer_failed(call, head->message_id, &message->reached, &failed);
  return true;
}

static bool run_framed(const struct known_message *message, struct jvm_objects *objects,
                       const struct exec_head *head, const struct known_call *call)
{
  struct rpc_runner *runner = call->runner;
  const struct jvm_request jvm = {.thread = runner->thread,
                                  .objects = objects,
                                  .operation = &message->body.operation,
                                  .arena = &runner->arena,
                                  .limits = &runner->peer->config.limits.java};
  int64_t result = 0;
  rpc_call_begin(runner->watch, &message->body.operation, &message->reached, call->client, false);
  rpc_call_reach(runner->watch);
  enum jvm_whole_number ending = jvm_whole_number_call_run(&jvm, &message->call, &result);
  if (ending == JVM_WHOLE_NUMBER_THREW)
    answer_failed(&jvm, message, head, call); /* before rpc_call_end, which may call the JVM */
  enum rpc_call_cause cause = rpc_call_end(runner->watch, runner->thread);
  if (cause != RPC_CALL_RETURNS && ending != JVM_WHOLE_NUMBER_THREW)
    return answer_ended(cause, &jvm, message, head, call);
  if (ending == JVM_WHOLE_NUMBER_UNFIT)
    return false;
  call->client->calls++;
  if (ending == JVM_WHOLE_NUMBER_THREW)
    return true;
  write_reply(&message->reply, rpc_colfer_ids_next(&call->own->ids).data, head->message_id, result,
              call->out);
  rpc_count_request(runner, rpc_metrics_method(message->body.operation.kind), METRICS_OUTCOME_OK);
  if (audit_is_on())
    operation_audit_end_known(&message->audited, runner, call->client);
  return true;
}

/* objects: NULL if the call has no receiver. */
static bool run_message(const struct known_message *message, struct jvm_objects *objects,
                        const struct exec_head *head, const struct known_call *call)
{
  if (jvm_request_begin(call->runner->thread) != JP_OK)
    return false;
  bool served = run_framed(message, objects, head, call);
  jvm_request_end(call->runner->thread);
  return served;
}

static __attribute__((noinline)) bool run_in_session(const struct known_message *message,
                                                     const struct exec_head *head,
                                                     const struct known_call *call)
{
  struct rpc_run run;
  struct rpc_session *session;
  struct outcome failed; /* the general path writes this error */
  struct uuid uuid;
  rpc_run_init(&run, call->runner, call->client, 0);
  if (head->peer_uuid.data != NULL)
    memcpy(&uuid, head->peer_uuid.data, sizeof uuid);
  rpc_run_begin(&run, head->peer_uuid.data == NULL ? NULL : &uuid, false);
  bool served = rpc_run_find_session(&run, false, &session, &failed) == JP_OK && session != NULL &&
                run_message(message, rpc_session_objects(session), head, call);
  rpc_run_end(&run);
  return served;
}

bool known_messages_serve(struct known_messages *known, const struct known_call *call)
{
  struct exec_head head;
  if (known == NULL)
    return false;
  known->fitting = NULL;
  if (!read_head(call->message, &head))
    return false;
  if (!rpc_channels[call->client->channel].names_session_in_message)
    head.peer_uuid = TEXT_ABSENT;
  struct known_message *message = find_message(known, &head);
  known->fitting = message;
  if (message == NULL ||
      (call->reply_max > 0 &&
       find_reply_length_max(&message->reply, head.message_id.len) > call->reply_max) ||
      (audit_is_on() && (head.peer_uuid.data != NULL ||
                         !operation_audit_knows(&message->audited, call->runner, call->client))) ||
      !whole_number_path_is_allowed(&message->call, &message->body.operation, call->runner, call->client))
    return false;
  if (message->body.operation.has_instance)
    return run_in_session(message, &head, call);
  return has_visited(known, call->runner->peer, head.peer_uuid) && run_message(message, NULL, &head, call);
}

/* ---- keeping ---- */

static bool copy_name(struct known_message *message, size_t at, struct text *name)
{
  if (name->len > NAMES_MAX - at)
    return false;
  memcpy(message->names + at, name->data, name->len);
  name->data = message->names + at;
  return true;
}

/* A template is valid if it reproduces the reply from which it was made. */
static bool reproduces_reply(const struct reply_template *reply, const struct colfer_message *decoded,
                             struct text request_id, int64_t number, struct buffer *out, size_t start)
{
  char own_id[UUID_TEXT_LENGTH];
  size_t length = out->len - start;
  memcpy(own_id, decoded->exec_message->message_id.data, sizeof own_id);
  /* this may move the bytes that `decoded` borrows, so `decoded` is not used any more */
  write_reply(reply, own_id, request_id, number, out);
  struct text both = buffer_text(out);
  bool is_same =
      text_equal(text_slice(both, start, start + length), text_slice(both, start + length, both.len));
  buffer_truncate(out, start + length);
  return is_same && !out->failed;
}

static bool keep_reply(struct known_message *message, struct text request_id, const struct known_call *call,
                       const struct known_outcome *made)
{
  struct text bytes = text_slice(buffer_text(call->out), made->reply, call->out->len);
  struct colfer_message decoded;
  return colfer_decode(&colfer_message_type, bytes, &call->runner->arena, &decoded, NULL) == JP_OK &&
         cut_reply(&message->reply, bytes, &decoded, request_id) &&
         message->reply.has_number == (message->call.result != 'V') &&
         reproduces_reply(&message->reply, &decoded, request_id, made->outcome->value.integer, call->out,
                          made->reply);
}

/* Chooses the place for the message; NULL: the message is known already, or is not kept. */
static struct known_message *choose_place(struct known_messages *known,
                                          const struct jvm_whole_number_call *java)
{
  struct known_message *fitting = known->fitting;
  if (fitting != NULL)
    return fitting->call.member == java->member && fitting->call.serial == java->serial ? NULL : fitting;
  bool is_skipped = known->misses > MISSES_MAX && known->misses % MISSES_STEP != 0;
  return is_skipped ? NULL : &known->messages[known->oldest];
}

/* If the message cannot be kept, the next message uses the same place. */
static void keep_message(struct known_messages *known, const struct exec_head *head,
                         const struct jvm_whole_number_call *java, const struct known_call *call,
                         const struct known_outcome *made)
{
  struct known_message *place = choose_place(known, java);
  if (place == NULL)
    return;
  place->call = *java;
  place->reached = *made->reached;
  if (!keep_body(&place->body, head, made->request->exec_message, made->operation) ||
      !copy_name(place, 0, &place->reached.class_name) ||
      !copy_name(place, place->reached.class_name.len, &place->reached.member) ||
      !keep_reply(place, head->message_id, call, made)) {
    place->body.message_type = 0;
    return;
  }
  if (audit_is_on())
    operation_audit_keep(&place->audited, call->runner, call->client->channel, made->operation,
                         jvm_whole_number_call_verdicts(call->runner->thread, java));
  if (place != known->fitting) {
    known->last = known->oldest;
    known->oldest = (known->oldest + 1) % MESSAGES;
  }
}

void known_messages_keep(struct known_messages **known, const struct known_call *call,
                         const struct known_outcome *made)
{
  struct jvm_whole_number_call java;
  struct exec_head head;
  if (made->outcome->kind == OUTCOME_ERROR || made->reached->resolved == NULL || call->out->failed ||
      made->operation->value_refs ||
      !jvm_whole_number_call_keep(call->runner->thread, made->reached->resolved, made->operation, &java) ||
      !read_head(call->message, &head))
    return;
  if (*known == NULL)
    *known = calloc(1, sizeof **known);
  if (*known == NULL)
    return;
  note_visit(*known, head.peer_uuid);
  keep_message(*known, &head, &java, call, made);
}

#include "rpc/colfer/reply_template.h"

#include "base/number_format.h"
#include "rpc/colfer/exec_head.h"

/* ---- cutting ---- */

struct cutting {
  struct reply_template *template;
  struct text rest; /* of the reply: what is in no piece yet */
};

/* Ends a piece before `place`, and goes on behind what is there. */
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

static bool cut_own_id(struct cutting *cutting, struct text id)
{
  return id.len == UUID_TEXT_LENGTH && add_piece(cutting, id.data, REPLY_OWN_ID, id.len);
}

/* A text whose length is the byte before it; where there is none, nothing is cut. */
static bool cut_short(struct cutting *cutting, struct text value, enum reply_hole hole)
{
  return value.len == 0 || (value.len <= EXEC_SHORT_MAX && (uint8_t)value.data[-1] == value.len &&
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

static struct text number_of(const struct colfer_exec_message *exec)
{
  const struct colfer_return_value *result = exec->return_value;
  return result == NULL || result->object == NULL ? TEXT("") : result->object->value;
}

bool reply_template_fill(struct reply_template *template, struct text bytes,
                         const struct colfer_message *reply, struct text request_id)
{
  const struct colfer_exec_message *exec = reply->exec_message;
  struct cutting cutting = {template, bytes};
  *template = (struct reply_template){0};
  if (exec == NULL || reply->message_type == COLFER_THROWS)
    return false;
  struct text number = number_of(exec);
  template->has_number = number.len > 0;
  return cut_own_id(&cutting, exec->message_id) &&
         cut_request_id(&cutting, exec->response_to_id, request_id) &&
         cut_request_id(&cutting, put_id_of(exec), request_id) && cut_short(&cutting, number, REPLY_NUMBER) &&
         add_piece(&cutting, cutting.rest.data + cutting.rest.len, REPLY_END, 0);
}

/* ---- writing ---- */

size_t reply_template_length_max(const struct reply_template *template, size_t id_length)
{
  return template->length + UUID_TEXT_LENGTH + 2 * (1 + id_length) + 1 + NUMBER_TEXT_MAX;
}

/* There is room for whole steps, and so many bytes to read. */
static char *copy_piece(char *at, const char *bytes, size_t length)
{
  for (size_t i = 0; i < length; i += REPLY_STEP)
    memcpy(at + i, bytes + i, REPLY_STEP);
  return at + length;
}

/* The last step of a text may lie over the one before it. */
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

static char *write_number(char *at, int64_t number)
{
  size_t length = number_format_integer(number, at + 1);
  *at = (char)length;
  return at + 1 + length;
}

void reply_template_write(const struct reply_template *template, const char own_id[UUID_TEXT_LENGTH],
                          struct text request_id, int64_t number, struct buffer *out)
{
  char *room = buffer_reserve(out, reply_template_length_max(template, request_id.len) + REPLY_STEP);
  if (room == NULL)
    return;
  char *at = room;
  const char *bytes = template->bytes;
  for (const struct reply_piece *piece = template->pieces;; piece++) {
    at = copy_piece(at, bytes, piece->length);
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
      at = write_number(at, number);
      break;
    case REPLY_END:
      out->len += (size_t)(at - room);
      return;
    }
  }
}

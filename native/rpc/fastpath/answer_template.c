#include "rpc/fastpath/answer_template.h"

#include "base/number_format.h"

static bool copy_part(char *room, size_t room_length, struct text part, size_t *length)
{
  if (part.len > room_length)
    return false;
  if (part.len > 0)
    memcpy(room, part.data, part.len);
  *length = part.len;
  return true;
}

bool answer_template_fill(struct answer_template *template, const struct rpc_written_answer *written)
{
  template->has_number = written->has_number;
  return copy_part(template->before_id, sizeof template->before_id, written->before_id,
                   &template->before_id_length) &&
         copy_part(template->after_id, sizeof template->after_id, written->after_id,
                   &template->after_id_length) &&
         copy_part(template->after_number, sizeof template->after_number, written->after_number,
                   &template->after_number_length);
}

size_t answer_template_length_max(const struct answer_template *template, size_t id_length)
{
  return template->before_id_length + id_length + template->after_id_length + NUMBER_TEXT_MAX +
         template->after_number_length;
}

/* There is room for whole steps. */
static void copy_steps(char *at, const char *bytes, size_t length)
{
  for (size_t i = 0; i < length; i += ANSWER_STEP)
    memcpy(at + i, bytes + i, ANSWER_STEP);
}

void answer_template_write(const struct answer_template *template, struct text id, int64_t number,
                           struct buffer *out)
{
  char *room = buffer_reserve(out, sizeof template->before_id + id.len + sizeof template->after_id +
                                       NUMBER_TEXT_MAX + sizeof template->after_number);
  if (room == NULL)
    return;
  char *at = room;
  memcpy(at, template->before_id, sizeof template->before_id);
  at += template->before_id_length;
  memcpy(at, id.data, id.len);
  at += id.len;
  copy_steps(at, template->after_id, template->after_id_length);
  at += template->after_id_length;
  if (template->has_number)
    at += number_format_integer(number, at);
  memcpy(at, template->after_number, sizeof template->after_number);
  at += template->after_number_length;
  out->len += (size_t)(at - room);
}

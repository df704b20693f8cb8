#include "messages_bench.h"

#include "base/uuid.h"
#include "tests/unit/unit.h"

void encode_message(struct buffer *out, const struct colfer_message *message)
{
  buffer_clear(out);
  colfer_encode(&colfer_message_type, message, out);
}

static void take_id(struct text *id)
{
  struct uuid uuid;
  if (!uuid_parse(*id, &uuid))
    fail_msg("an answer's id is no UUID: %.*s", TEXT_ARGS(*id));
  *id = TEXT_ABSENT;
}

void show_answer(struct buffer *out, struct text answer)
{
  struct arena arena;
  struct colfer_message message;
  struct jp_error error;
  arena_init(&arena);
  if (colfer_decode(&colfer_message_type, answer, &arena, &message, &error) != JP_OK)
    fail_msg("an answer is no message: %s", error.text);
  if (message.exec_message != NULL)
    take_id(&message.exec_message->message_id);
  if (message.control_message != NULL)
    take_id(&message.control_message->message_id);
  if (message.meta_message != NULL)
    take_id(&message.meta_message->message_id);
  buffer_clear(out);
  colfer_print(&colfer_message_type, &message, out);
  buffer_append_char(out, '\0');
  arena_fini(&arena);
}

#include "client/messages/answer_usual.h"

#include "client/messages/answer_parts.h"

/* Takes the expected bytes off the message; false: they are not what comes. */
static bool take(struct text *message, struct text expected)
{
  if (message->len < expected.len || !text_equal_bytes(message->data, expected.data, expected.len))
    return false;
  *message = text_slice(*message, expected.len, message->len);
  return true;
}

static bool take_digits(struct text *message, struct text *digits)
{
  size_t length = 0;
  while (length < message->len && message->data[length] >= '0' && message->data[length] <= '9')
    length++;
  *digits = text_slice(*message, 0, length);
  *message = text_slice(*message, length, message->len);
  return length > 0 && (length == 1 || digits->data[0] != '0');
}

/* A string up to its quote that stands for itself: printable ASCII without an escape. A long one is left to
 * the reader, which looks at many bytes at once. */
static bool take_plain_string(struct text *message, struct text *string)
{
  enum { LONGEST = 128 };
  size_t length = 0;
  size_t end = message->len < LONGEST ? message->len : LONGEST;
  while (length < end && message->data[length] != '"') {
    char c = message->data[length++];
    if (c < ' ' || c > '~' || c == '\\')
      return false;
  }
  *string = text_slice(*message, 0, length);
  *message = text_slice(*message, length, message->len);
  return true;
}

bool answer_read_usual(struct text message, struct usual_answer *usual)
{
  return take(&message, TEXT("{\"jsonrpc\":\"2.0\",\"id\":")) && take_digits(&message, &usual->id) &&
         take(&message, TEXT(",\"result\":{\"void\":false,\"value\":{\"type\":\"")) &&
         take_plain_string(&message, &usual->type) &&
         take(&message, TEXT("\",\"null\":false,\"value\":\"")) &&
         take_plain_string(&message, &usual->value) && text_equal(message, TEXT("\"}}}"));
}

enum jp_client_status answer_fill_usual(struct jp_answer *answer, const struct usual_answer *usual,
                                        struct jp_client_error *error)
{
  if (!answer_set_type(answer, usual->type))
    return answer_fail_memory(error);
  if (!answer_set_value(answer, usual->type, usual->value))
    return client_fail(error, JP_CLIENT_PROTOCOL, "\"%.*s\" is no value of type %s", TEXT_ARGS(usual->value),
                       answer->type);
  return answer->text.data == NULL ? answer_fail_memory(error) : JP_CLIENT_OK;
}

#include "jsonrpc/answers.h"

#include "json/object_members.h"

static bool is_null(struct json_value value)
{
  return value.kind == JSON_KIND_NULL;
}

bool jsonrpc_answer_read(struct json_value message, struct jsonrpc_answer *answer)
{
  enum { ID, RESULT, FAULT, METHOD, MEMBERS };
  static const struct text names[MEMBERS] = {TEXT("id"), TEXT("result"), TEXT("error"), TEXT("method")};
  struct json_members members;
  if (message.kind != JSON_KIND_OBJECT)
    return false;
  json_members_collect(message, names, MEMBERS, &members);
  bool has_both = members.has[RESULT] && members.has[FAULT];
  bool has_error = members.has[FAULT] && !(has_both && is_null(members.value[FAULT]));
  bool has_result = members.has[RESULT] && !(has_both && has_error && is_null(members.value[RESULT]));
  if (members.repeated >= 0 || !members.has[ID] || members.has[METHOD] || has_result == has_error)
    return false;
  answer->id = members.value[ID];
  answer->is_error = has_error;
  answer->value = members.value[answer->is_error ? FAULT : RESULT];
  return true;
}

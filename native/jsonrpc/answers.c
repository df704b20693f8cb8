#include "jsonrpc/answers.h"

#include "json/object_members.h"

bool jsonrpc_answer_read(struct json_value message, struct jsonrpc_answer *answer)
{
  enum { ID, RESULT, FAULT, METHOD, MEMBERS };
  static const struct text names[MEMBERS] = {TEXT("id"), TEXT("result"), TEXT("error"), TEXT("method")};
  struct json_members members;
  if (message.kind != JSON_KIND_OBJECT)
    return false;
  json_members_collect(message, names, MEMBERS, &members);
  if (members.repeated >= 0 || !members.has[ID] || members.has[METHOD] ||
      members.has[RESULT] == members.has[FAULT])
    return false;
  answer->id = members.value[ID];
  answer->is_error = members.has[FAULT];
  answer->value = members.value[answer->is_error ? FAULT : RESULT];
  return true;
}

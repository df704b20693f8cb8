#include "json/object_members.h"

#include <assert.h>

void json_members_collect(struct json_value object, const struct text *names, int count,
                          struct json_members *members)
{
  assert(count <= JSON_MEMBERS_MAX);
  for (int i = 0; i < count; i++)
    members->has[i] = false;
  members->repeated = -1;
  struct json_cursor cursor = json_enter(object);
  struct text key;
  struct json_value value;
  while (json_next_member(&cursor, &key, &value)) {
    int i = json_find_key(key, names, count);
    if (i < 0)
      continue;
    if (members->has[i]) {
      members->repeated = i;
      continue;
    }
    members->has[i] = true;
    members->value[i] = value;
  }
}

const char *json_kind_name(enum json_kind kind)
{
  static const char *const names[] = {
      [JSON_KIND_NULL] = "null",       [JSON_KIND_TRUE] = "a boolean",  [JSON_KIND_FALSE] = "a boolean",
      [JSON_KIND_NUMBER] = "a number", [JSON_KIND_STRING] = "a string", [JSON_KIND_ARRAY] = "an array",
      [JSON_KIND_OBJECT] = "an object"};
  return names[kind];
}

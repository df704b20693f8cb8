#include "rpc/values/callback_scan.h"

#include "rpc/values/callback_read.h"

struct scan {
  void (*found)(void *context, int64_t id);
  void *context;
};

static void scan_argument(const struct scan *scan, struct json_value json);

/* The list of arguments, or the content of "value": there an object is a map, whatever its members are called. */
static void scan_contents(const struct scan *scan, struct json_value json)
{
  struct text key;
  struct json_value value;
  if (json.kind != JSON_KIND_ARRAY && json.kind != JSON_KIND_OBJECT)
    return;
  struct json_cursor cursor = json_enter(json);
  if (json.kind == JSON_KIND_ARRAY) {
    while (json_next_element(&cursor, &value))
      scan_argument(scan, value);
  } else {
    while (json_next_member(&cursor, &key, &value))
      scan_argument(scan, value);
  }
}

static void scan_argument(const struct scan *scan, struct json_value json)
{
  enum { TYPE, VALUE, REF, MEMBERS };
  static const struct text names[MEMBERS] = {TEXT("type"), TEXT("value"), TEXT("ref")};
  struct json_members members;
  if (json.kind != JSON_KIND_OBJECT) {
    scan_contents(scan, json);
    return;
  }
  json_members_collect(json, names, MEMBERS, &members);
  int64_t id = members.has[REF] ? rpc_callback_id_read(members.value[REF]) : 0;
  if (id > 0)
    scan->found(scan->context, id);
  if (members.has[VALUE])
    scan_contents(scan, members.value[VALUE]);
  else if (!members.has[TYPE] && !members.has[REF])
    scan_contents(scan, json);
}

void rpc_callbacks_scan(struct json_value params, void (*found)(void *context, int64_t id), void *context)
{
  const struct scan scan = {found, context};
  scan_contents(&scan, params);
}

void rpc_callbacks_scan_argument(struct json_value argument, void (*found)(void *context, int64_t id),
                                 void *context)
{
  const struct scan scan = {found, context};
  scan_argument(&scan, argument);
}

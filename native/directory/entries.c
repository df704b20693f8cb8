#include "directory/entries.h"

#include "base/buffer.h"
#include "base/number.h"
#include "json/reader.h"
#include "json/writer.h"

#include <inttypes.h>

enum { VALUE_DEPTH_MAX = 32, URL_MAX = 512 };

#define BY_NAME TEXT("by-name")

static bool has_control(struct text t)
{
  for (size_t i = 0; i < t.len; i++) {
    unsigned char c = (unsigned char)t.data[i];
    if (c < 0x20 || c == 0x7f)
      return true;
    if (c == 0xc2 && i + 1 < t.len && (unsigned char)t.data[i + 1] < 0xa0) /* C1 */
      return true;
  }
  return false;
}

enum jp_status directory_name_check(struct text name, struct jp_error *error)
{
  if (name.len < 1 || name.len > DIRECTORY_NAME_MAX || memchr(name.data, '/', name.len) != NULL ||
      has_control(name) || text_valid_utf8(name) != name.len)
    return jp_fail(error, JP_INVALID,
                   "takes a name of 1 to %d bytes of UTF-8 without \"/\" and control characters",
                   DIRECTORY_NAME_MAX);
  if (text_equal(name, BY_NAME) || text_equal(name, TEXT(".")) || text_equal(name, TEXT("..")))
    return jp_fail(error, JP_INVALID, "takes a name other than by-name, . and ..");
  return JP_OK;
}

/* ---- keys ---- */

static struct text peer_key(struct arena *arena, struct text space, const struct uuid *uuid, const char *what)
{
  char text[UUID_TEXT_LENGTH + 1];
  uuid_format(uuid, text);
  return arena_printf(arena, "/%.*s/peers/%s/%s", TEXT_ARGS(space), text, what);
}

struct text directory_key_info(struct arena *arena, struct text space, const struct uuid *uuid)
{
  return peer_key(arena, space, uuid, "info");
}

struct text directory_key_state(struct arena *arena, struct text space, const struct uuid *uuid)
{
  return peer_key(arena, space, uuid, "state");
}

struct text directory_key_name(struct arena *arena, struct text space, struct text name)
{
  return arena_printf(arena, "/%.*s/peers/by-name/%.*s", TEXT_ARGS(space), TEXT_ARGS(name));
}

struct text directory_key_service(struct arena *arena, struct text space, struct text service,
                                  const struct uuid *uuid)
{
  char text[UUID_TEXT_LENGTH + 1];
  uuid_format(uuid, text);
  return arena_printf(arena, "/%.*s/services/%.*s/%s", TEXT_ARGS(space), TEXT_ARGS(service), text);
}

struct text directory_prefix_peers(struct arena *arena, struct text space)
{
  return arena_printf(arena, "/%.*s/peers/", TEXT_ARGS(space));
}

struct text directory_prefix_services(struct arena *arena, struct text space)
{
  return arena_printf(arena, "/%.*s/services/", TEXT_ARGS(space));
}

struct text directory_prefix_service(struct arena *arena, struct text space, struct text service)
{
  return arena_printf(arena, "/%.*s/services/%.*s/", TEXT_ARGS(space), TEXT_ARGS(service));
}

/* The text before the next "/", which rest loses with the "/". */
static struct text cut_segment(struct text *rest)
{
  const char *slash = rest->len == 0 ? NULL : memchr(rest->data, '/', rest->len);
  size_t length = slash == NULL ? rest->len : (size_t)(slash - rest->data);
  struct text segment = text_slice(*rest, 0, length);
  *rest = text_slice(*rest, slash == NULL ? length : length + 1, rest->len);
  return segment;
}

void directory_key_read(struct text key, struct text space, struct directory_key *read)
{
  *read = (struct directory_key){.kind = DIRECTORY_KEY_OTHER};
  size_t parts = 1;
  for (size_t i = 0; i < key.len; i++)
    parts += key.data[i] == '/';
  struct text rest = key;
  enum { PARTS = 5 }; /* an empty one is before the first "/" */
  if (parts != PARTS || cut_segment(&rest).len != 0 || !text_equal(cut_segment(&rest), space))
    return;
  struct text table = cut_segment(&rest);
  struct text first = cut_segment(&rest);
  if (text_equal(table, TEXT("services"))) {
    if (directory_name_check(first, NULL) == JP_OK && uuid_parse(rest, &read->uuid)) {
      read->kind = DIRECTORY_KEY_SERVICE;
      read->name = first;
    }
  } else if (!text_equal(table, TEXT("peers"))) {
    return;
  } else if (text_equal(first, BY_NAME)) {
    read->kind = directory_name_check(rest, NULL) == JP_OK ? DIRECTORY_KEY_NAME : DIRECTORY_KEY_OTHER;
    read->name = rest;
  } else if (uuid_parse(first, &read->uuid)) {
    read->kind = text_equal(rest, TEXT("info"))    ? DIRECTORY_KEY_INFO
                 : text_equal(rest, TEXT("state")) ? DIRECTORY_KEY_STATE
                                                   : DIRECTORY_KEY_OTHER;
  }
}

/* ---- writing ---- */

static void write_text(struct buffer *out, const char *name, struct text value)
{
  if (value.data == NULL)
    return;
  buffer_printf(out, "%s\"%s\":", out->len > 1 ? "," : "", name);
  json_write_string(out, value);
}

static void write_uuid(struct buffer *out, const struct uuid *uuid)
{
  char text[UUID_TEXT_LENGTH + 1];
  uuid_format(uuid, text);
  write_text(out, "uuid", text_of(text));
}

static void write_time(struct buffer *out, const char *name, int64_t time_ms)
{
  if (time_ms > 0)
    buffer_printf(out, "%s\"%s\":%" PRId64, out->len > 1 ? "," : "", name, time_ms);
}

static void begin_object(struct buffer *out)
{
  buffer_init(out);
  buffer_append_char(out, '{');
}

static struct text end_object(struct buffer *out, struct arena *arena)
{
  buffer_append_char(out, '}');
  struct text written = out->failed ? TEXT_ABSENT : arena_text(arena, buffer_text(out));
  buffer_fini(out);
  return written;
}

struct text directory_info_write(struct arena *arena, const struct directory_info *info)
{
  struct buffer out;
  begin_object(&out);
  write_uuid(&out, &info->uuid);
  write_text(&out, "name", info->name);
  write_time(&out, "ctimeMillis", info->ctime_ms);
  return end_object(&out, arena);
}

struct text directory_state_write(struct arena *arena, const struct directory_state *state)
{
  struct buffer out;
  begin_object(&out);
  write_time(&out, "mtimeMillis", state->mtime_ms);
  write_text(&out, "zmqRpc", state->zmq_rpc);
  write_text(&out, "jsonRpc", state->json_rpc);
  write_text(&out, "zmqCurve", state->zmq_curve);
  return end_object(&out, arena);
}

struct text directory_member_write(struct arena *arena, const struct directory_member *member)
{
  struct buffer out;
  begin_object(&out);
  write_uuid(&out, &member->uuid);
  write_text(&out, "jsonRpc", member->json_rpc);
  write_text(&out, "zmqRpc", member->zmq_rpc);
  return end_object(&out, arena);
}

/* ---- reading ---- */

enum value_member {
  MEMBER_UUID,
  MEMBER_NAME,
  MEMBER_CTIME,
  MEMBER_MTIME,
  MEMBER_JSON_RPC,
  MEMBER_ZMQ_RPC,
  MEMBER_ZMQ_CURVE,
  MEMBER_COUNT
};

static const struct text member_names[MEMBER_COUNT] = {
    [MEMBER_UUID] = TEXT("uuid"),          [MEMBER_NAME] = TEXT("name"),
    [MEMBER_CTIME] = TEXT("ctimeMillis"),  [MEMBER_MTIME] = TEXT("mtimeMillis"),
    [MEMBER_JSON_RPC] = TEXT("jsonRpc"),   [MEMBER_ZMQ_RPC] = TEXT("zmqRpc"),
    [MEMBER_ZMQ_CURVE] = TEXT("zmqCurve"),
};

/* The members of a value while they are read; the first fault counts. */
struct reading {
  struct json_members members;
  struct arena *arena;
  struct jp_error *error;
  enum jp_status status;
};

static void fail_reading(struct reading *reading, enum value_member member, const char *why)
{
  if (reading->status == JP_OK)
    reading->status = jp_fail(reading->error, JP_INVALID, "\"%s\" %s", member_names[member].data, why);
}

static void begin_reading(struct reading *reading, struct text value, struct arena *arena,
                          struct jp_error *error)
{
  struct json_fault fault;
  *reading = (struct reading){.arena = arena, .error = error, .status = JP_OK};
  enum jp_status status = json_validate(value, (struct json_limits){VALUE_DEPTH_MAX}, TEXT_ABSENT, &fault);
  if (status != JP_OK)
    reading->status =
        jp_fail(error, JP_INVALID, "it is not JSON: %s at byte %zu", fault.reason, fault.offset);
  else if (json_root(value).kind != JSON_KIND_OBJECT)
    reading->status =
        jp_fail(error, JP_INVALID, "it is %s, not an object", json_kind_name(json_root(value).kind));
  else
    json_members_collect(json_root(value), member_names, MEMBER_COUNT, &reading->members);
  if (reading->status == JP_OK && reading->members.repeated >= 0)
    fail_reading(reading, (enum value_member)reading->members.repeated, "is given twice");
}

/* Absent: the member is null or not given. */
static struct text read_text(struct reading *reading, enum value_member member, size_t max)
{
  const struct json_value *value = &reading->members.value[member];
  if (reading->status != JP_OK || !reading->members.has[member] || value->kind == JSON_KIND_NULL)
    return TEXT_ABSENT;
  if (value->kind != JSON_KIND_STRING) {
    fail_reading(reading, member, "is not a string");
    return TEXT_ABSENT;
  }
  struct text t = json_read_string(*value, reading->arena);
  if (t.data == NULL && reading->status == JP_OK)
    reading->status = jp_fail_memory(reading->error, NULL);
  else if (t.len == 0 || t.len > max || has_control(t) || text_valid_utf8(t) != t.len)
    fail_reading(reading, member, "is empty, too long, or has control characters");
  return reading->status == JP_OK ? t : TEXT_ABSENT;
}

/* HOST:PORT after one of the schemes. */
static struct text read_url(struct reading *reading, enum value_member member, const char *const *schemes)
{
  struct text url = read_text(reading, member, URL_MAX);
  if (url.data == NULL)
    return url;
  for (; *schemes != NULL; schemes++) {
    struct text scheme = text_of(*schemes);
    if (text_starts_with(url, scheme) && url.len > scheme.len && memchr(url.data, ' ', url.len) == NULL)
      return url;
  }
  fail_reading(reading, member, "is not a URL of this member");
  return TEXT_ABSENT;
}

static void read_uuid(struct reading *reading, struct uuid *uuid)
{
  struct text t = read_text(reading, MEMBER_UUID, UUID_TEXT_LENGTH);
  if (reading->status == JP_OK && (t.data == NULL || !uuid_parse(t, uuid)))
    fail_reading(reading, MEMBER_UUID, "is not a UUID");
}

static int64_t read_time(struct reading *reading, enum value_member member)
{
  const struct json_value *value = &reading->members.value[member];
  struct number number;
  if (reading->status != JP_OK || !reading->members.has[member] || value->kind == JSON_KIND_NULL)
    return 0;
  if (value->kind == JSON_KIND_NUMBER) {
    number_read(value->span, &number);
    if (number.fits && number.integer >= 0)
      return number.integer;
  }
  fail_reading(reading, member, "is not a number of milliseconds");
  return 0;
}

static const char *const json_schemes[] = {"ws://", "wss://", NULL};
static const char *const zmq_schemes[] = {"tcp://", NULL};

enum jp_status directory_info_read(struct text value, struct arena *arena, struct directory_info *info,
                                   struct jp_error *error)
{
  struct reading reading;
  *info = (struct directory_info){0};
  begin_reading(&reading, value, arena, error);
  read_uuid(&reading, &info->uuid);
  info->name = read_text(&reading, MEMBER_NAME, DIRECTORY_NAME_MAX);
  if (info->name.data != NULL && directory_name_check(info->name, NULL) != JP_OK)
    fail_reading(&reading, MEMBER_NAME, "is not the name of a peer");
  info->ctime_ms = read_time(&reading, MEMBER_CTIME);
  return reading.status;
}

enum jp_status directory_state_read(struct text value, struct arena *arena, struct directory_state *state,
                                    struct jp_error *error)
{
  struct reading reading;
  *state = (struct directory_state){0};
  begin_reading(&reading, value, arena, error);
  state->mtime_ms = read_time(&reading, MEMBER_MTIME);
  state->zmq_rpc = read_url(&reading, MEMBER_ZMQ_RPC, zmq_schemes);
  state->json_rpc = read_url(&reading, MEMBER_JSON_RPC, json_schemes);
  state->zmq_curve = read_text(&reading, MEMBER_ZMQ_CURVE, DIRECTORY_NAME_MAX);
  return reading.status;
}

enum jp_status directory_member_read(struct text value, struct arena *arena, struct directory_member *member,
                                     struct jp_error *error)
{
  struct reading reading;
  *member = (struct directory_member){0};
  begin_reading(&reading, value, arena, error);
  read_uuid(&reading, &member->uuid);
  member->json_rpc = read_url(&reading, MEMBER_JSON_RPC, json_schemes);
  member->zmq_rpc = read_url(&reading, MEMBER_ZMQ_RPC, zmq_schemes);
  return reading.status;
}

#include "client/messages/json_config.h"

#include "base/number.h"
#include "jpeer/client.h"
#include "json/reader.h"

#include <limits.h>
#include <string.h>

enum { DEPTH_MAX = 16 };

/* The first fault ends the reading. */
struct config_reading {
  struct arena *arena;
  struct jp_client_error *error;
  enum jp_client_status status;
};

static void refuse_member(struct config_reading *reading, const char *name, const char *what)
{
  if (reading->status == JP_CLIENT_OK)
    reading->status = client_fail(reading->error, JP_CLIENT_INVALID, "%s is not %s", name, what);
}

/* Returns the text; "" if the value has a fault. */
static const char *read_text(struct config_reading *reading, const char *name, struct json_value value)
{
  if (value.kind != JSON_KIND_STRING) {
    refuse_member(reading, name, "a string");
    return "";
  }
  struct text read = json_read_string(value, reading->arena);
  struct text kept = read.data == NULL ? read : arena_printf(reading->arena, "%.*s", TEXT_ARGS(read));
  if (kept.data == NULL) {
    reading->status = client_fail(reading->error, JP_CLIENT_NO_MEMORY, "no memory for a configuration");
    return "";
  }
  if (kept.len != read.len)
    refuse_member(reading, name, "a string without NUL");
  return kept.data;
}

static const char *const *read_texts(struct config_reading *reading, const char *name,
                                     struct json_value value)
{
  if (value.kind != JSON_KIND_ARRAY) {
    refuse_member(reading, name, "an array of strings");
    return NULL;
  }
  const char **texts = arena_calloc(reading->arena, json_count(value) + 1, sizeof *texts);
  struct json_cursor cursor = json_enter(value);
  struct json_value element;
  if (texts == NULL)
    reading->status = client_fail(reading->error, JP_CLIENT_NO_MEMORY, "no memory for a configuration");
  for (size_t i = 0; texts != NULL && json_next_element(&cursor, &element); i++)
    texts[i] = read_text(reading, name, element);
  return texts;
}

static int64_t read_whole(struct config_reading *reading, const char *name, int64_t max,
                          struct json_value value)
{
  struct number number;
  if (value.kind == JSON_KIND_NUMBER) {
    number_read(value.span, &number);
    if (number.fits && number.integer >= 0 && number.integer <= max)
      return number.integer;
  }
  refuse_member(reading, name, "a whole number that fits");
  return 0;
}

static void read_config(struct config_reading *reading, const struct json_config *config,
                        struct json_value object, char *out);

static void read_member(struct config_reading *reading, const struct json_config_member *member,
                        struct json_value value, void *place)
{
  switch (member->kind) {
  case JSON_CONFIG_TEXT:
    *(const char **)place = read_text(reading, member->name, value);
    break;
  case JSON_CONFIG_TEXTS:
    *(const char *const **)place = read_texts(reading, member->name, value);
    break;
  case JSON_CONFIG_BOOLEAN:
    if (value.kind != JSON_KIND_TRUE && value.kind != JSON_KIND_FALSE)
      refuse_member(reading, member->name, "a boolean");
    *(bool *)place = value.kind == JSON_KIND_TRUE;
    break;
  case JSON_CONFIG_INT:
    *(int *)place = (int)read_whole(reading, member->name, INT_MAX, value);
    break;
  case JSON_CONFIG_SIZE:
    *(size_t *)place = (size_t)read_whole(reading, member->name, INT64_MAX, value);
    break;
  case JSON_CONFIG_CONFIG: {
    char *inner = arena_calloc(reading->arena, 1, member->config->size);
    *(char **)place = inner;
    if (inner == NULL)
      reading->status = client_fail(reading->error, JP_CLIENT_NO_MEMORY, "no memory for a configuration");
    else if (value.kind != JSON_KIND_OBJECT)
      refuse_member(reading, member->name, "an object");
    else
      read_config(reading, member->config, value, inner);
    break;
  }
  }
}

static void read_config(struct config_reading *reading, const struct json_config *config,
                        struct json_value object, char *out)
{
  struct json_cursor cursor = json_enter(object);
  struct text key;
  struct json_value value;
  memcpy(out, &config->size, sizeof config->size);
  while (reading->status == JP_CLIENT_OK && json_next_member(&cursor, &key, &value)) {
    size_t i = 0;
    while (i < config->member_count && !json_key_is(key, text_of(config->members[i].name)))
      i++;
    if (i == config->member_count)
      reading->status = client_fail(reading->error, JP_CLIENT_INVALID,
                                    "a configuration has no member \"%.*s\"", TEXT_ARGS(key));
    else if (value.kind != JSON_KIND_NULL) /* null counts as absent */
      read_member(reading, &config->members[i], value, out + config->members[i].offset);
  }
}

enum jp_client_status json_config_read(const char *text, const struct json_config *config,
                                       struct arena *arena, void *out, struct jp_client_error *error)
{
  const struct json_limits limits = {.max_depth = DEPTH_MAX};
  struct text whole = text == NULL ? TEXT("{}") : text_of(text);
  struct json_fault fault;
  if (json_validate(whole, limits, TEXT_ABSENT, &fault) != JP_OK)
    return client_fail(error, JP_CLIENT_INVALID, "the configuration is no JSON: %s at byte %zu", fault.reason,
                       fault.offset);
  struct json_value object = json_root(whole);
  if (object.kind != JSON_KIND_OBJECT)
    return client_fail(error, JP_CLIENT_INVALID, "the configuration is no JSON object");
  struct config_reading reading = {.arena = arena, .error = error, .status = JP_CLIENT_OK};
  memset(out, 0, config->size);
  read_config(&reading, config, object, out);
  return reading.status;
}

/* ---- the configuration of a client ---- */

#define DIRECTORY_PLACE(member) offsetof(struct jp_directory_config, member)

static const struct json_config DIRECTORY_JSON_CONFIG = {
    .size = sizeof(struct jp_directory_config),
    .members =
        (const struct json_config_member[]){
            {"name_space", JSON_CONFIG_TEXT, DIRECTORY_PLACE(name_space), NULL},
            {"ca_file", JSON_CONFIG_TEXT, DIRECTORY_PLACE(ca_file), NULL},
            {"cert_file", JSON_CONFIG_TEXT, DIRECTORY_PLACE(cert_file), NULL},
            {"key_file", JSON_CONFIG_TEXT, DIRECTORY_PLACE(key_file), NULL},
            {"user_file", JSON_CONFIG_TEXT, DIRECTORY_PLACE(user_file), NULL},
            {"timeout_ms", JSON_CONFIG_INT, DIRECTORY_PLACE(timeout_ms), NULL},
        },
    .member_count = 6};

#define PLACE(member) offsetof(struct jp_client_config, member)

const struct json_config CLIENT_JSON_CONFIG = {
    .size = sizeof(struct jp_client_config),
    .members =
        (const struct json_config_member[]){
            {"peer_id", JSON_CONFIG_TEXT, PLACE(peer_id), NULL},
            {"process", JSON_CONFIG_TEXT, PLACE(process), NULL},
            {"binary", JSON_CONFIG_BOOLEAN, PLACE(binary), NULL},
            {"reconnects", JSON_CONFIG_BOOLEAN, PLACE(reconnects), NULL},
            {"connect_timeout_ms", JSON_CONFIG_INT, PLACE(connect_timeout_ms), NULL},
            {"message_max", JSON_CONFIG_SIZE, PLACE(message_max), NULL},
            {"pending_max", JSON_CONFIG_SIZE, PLACE(pending_max), NULL},
            {"ca_file", JSON_CONFIG_TEXT, PLACE(ca_file), NULL},
            {"cert_file", JSON_CONFIG_TEXT, PLACE(cert_file), NULL},
            {"key_file", JSON_CONFIG_TEXT, PLACE(key_file), NULL},
            {"token", JSON_CONFIG_TEXT, PLACE(token), NULL},
            {"token_file", JSON_CONFIG_TEXT, PLACE(token_file), NULL},
            {"headers", JSON_CONFIG_TEXTS, PLACE(headers), NULL},
            {"server_key", JSON_CONFIG_TEXT, PLACE(server_key), NULL},
            {"directory", JSON_CONFIG_CONFIG, PLACE(directory), &DIRECTORY_JSON_CONFIG},
        },
    .member_count = 15};

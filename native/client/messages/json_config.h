#ifndef JPEER_CLIENT_MESSAGES_JSON_CONFIG_H
#define JPEER_CLIENT_MESSAGES_JSON_CONFIG_H
/*
 * Reads configurations from JSON objects, for programs that call the library by foreign functions and cannot
 * lay out structs. A table maps members of the JSON to members of the struct. Any thread.
 */
#include "client/messages/client_error.h"

#include "base/arena.h"

struct json_config;

/* A member of the JSON and of the struct. */
struct json_config_member {
  const char *name;
  enum {
    JSON_CONFIG_TEXT,    /* const char * */
    JSON_CONFIG_TEXTS,   /* const char *const *, NULL-terminated */
    JSON_CONFIG_BOOLEAN, /* bool */
    JSON_CONFIG_INT,     /* int */
    JSON_CONFIG_SIZE,    /* size_t */
    JSON_CONFIG_CONFIG   /* a pointer to another configuration */
  } kind;
  size_t offset;
  const struct json_config *config; /* of JSON_CONFIG_CONFIG */
};

/* A struct that begins with a size_t, its own size. */
struct json_config {
  size_t size;
  const struct json_config_member *members;
  size_t member_count;
};

/*
 * Fills the struct at `out`. Texts and inner structs are in the arena. text NULL: an empty object.
 * JP_CLIENT_INVALID: not JSON, an unknown member, or a member of another kind; JP_CLIENT_NO_MEMORY.
 */
enum jp_client_status json_config_read(const char *text, const struct json_config *config,
                                       struct arena *arena, void *out,
                                       struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

/* Describes struct jp_client_config. Constant. */
extern const struct json_config CLIENT_JSON_CONFIG;

#endif

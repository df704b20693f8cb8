/* jp_launch for programs that call the library by foreign functions. */
#include "client/foreign.h"

#include "jpeer/client.h"

#define PLACE(member) offsetof(struct jp_launch_config, member)

static const struct json_config LAUNCH_JSON_CONFIG = {
    .size = sizeof(struct jp_launch_config),
    .members =
        (const struct json_config_member[]){
            {"program", JSON_CONFIG_TEXT, PLACE(program), NULL},
            {"class_path", JSON_CONFIG_TEXT, PLACE(class_path), NULL},
            {"jvm_options", JSON_CONFIG_TEXTS, PLACE(jvm_options), NULL},
            {"options", JSON_CONFIG_TEXTS, PLACE(options), NULL},
            {"main_class", JSON_CONFIG_TEXT, PLACE(main_class), NULL},
            {"arguments", JSON_CONFIG_TEXTS, PLACE(arguments), NULL},
            {"start_timeout_ms", JSON_CONFIG_INT, PLACE(start_timeout_ms), NULL},
            {"client", JSON_CONFIG_CONFIG, PLACE(client), &CLIENT_JSON_CONFIG},
        },
    .member_count = 8};

enum jp_client_status jp_launch_json(const char *config, struct jp_peer **peer, struct jp_client_error *error)
{
  struct jp_launch_config read;
  struct arena arena;
  *peer = NULL;
  arena_init(&arena);
  enum jp_client_status status = json_config_read(config, &LAUNCH_JSON_CONFIG, &arena, &read, error);
  if (status == JP_CLIENT_OK)
    status = jp_launch(&read, peer, error);
  arena_fini(&arena);
  return status;
}

#ifndef JPEER_CLIENT_FOREIGN_H
#define JPEER_CLIENT_FOREIGN_H
/* For the folder launch: how a struct jp_client_config is read from JSON. Constant. */
#include "client/messages/json_config.h"

extern const struct json_config CLIENT_JSON_CONFIG;

#endif

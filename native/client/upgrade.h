#ifndef JPEER_CLIENT_UPGRADE_H
#define JPEER_CLIENT_UPGRADE_H
/* What a peer answers to an HTTP Upgrade (RFC 9110, 7.8). No sockets here. Any thread. */
#include "jpeer/request.h"

#include "base/text.h"

#include <stdbool.h>

enum { UPGRADE_RESPONSE_MAX = 16 * 1024, UPGRADE_SWITCHING = 101, UPGRADE_UNAVAILABLE = 503 };

/* Borrowed from what came. */
struct upgrade_response {
  size_t length; /* of the head; 0: it is not whole yet, and nothing else is known */
  unsigned status;
  struct text status_line; /* behind the version: "101 Switching Protocols" */
  struct text fields;      /* lines */
  struct text body;        /* what came behind the head */
};

/* Looks for the head of the response in what has come, which is not empty. JP_CLIENT_PROTOCOL: it is none of
 * HTTP/1.1, or longer than UPGRADE_RESPONSE_MAX. */
enum jp_client_status upgrade_read_response(struct text came, struct upgrade_response *response,
                                            struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* The value of a field that the head has exactly once; data NULL: it has none or several. */
struct text upgrade_find_field(const struct upgrade_response *response, struct text name);
/* The fields of a 101 for that protocol are there. */
bool upgrade_speaks(const struct upgrade_response *response, struct text protocol);
/* JP_CLIENT_REFUSED with the peer's own words, as far as they have come, on one line. what: "the
 * WebSocket". */
enum jp_client_status upgrade_refuse(const struct upgrade_response *response, const char *what,
                                     struct jp_client_error *error);

#endif

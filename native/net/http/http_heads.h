#ifndef JPEER_NET_HTTP_HTTP_HEADS_H
#define JPEER_NET_HTTP_HTTP_HEADS_H
/*
 * Heads of POSTs that came before, with what became of them. A client sends one head with all its requests,
 * but for the digits of its Content-Length; a head that is such a one byte for byte need not be read again,
 * because what a head means depends on its bytes alone (http_read_head, http_route).
 *
 * One owner, one thread; all that is asked of one set has to be of one site and its limits.
 */
#include "net/http/http_route.h"

struct http_heads; /* a few of them: the newest take the places of others */

/* What a head says beside the length of its body. */
struct http_terms {
  struct http_response_mode mode;
  bool refuses_json;
  bool has_peer_id;
  struct uuid peer_id;
};

/* NULL: no memory. */
struct http_heads *http_heads_create(void);
void http_heads_destroy(struct http_heads *heads);

/* Keeps the head, if it is one of those: route is what http_route made of request, whose texts lie in head. */
void http_heads_keep(struct http_heads *heads, struct text head, const struct http_request *request,
                     const struct http_route_result *route);

/*
 * Looks for the head that input begins with. Not NULL: the first *used bytes are a head that asks for a
 * message of *length bytes to be served (HTTP_SERVE), which is 1 at least. NULL: it has to be read; such are
 * all that pass a limit.
 */
const struct http_terms *http_heads_find(struct http_heads *heads, struct text input, size_t head_max,
                                         size_t message_max, size_t *used, size_t *length);

#endif

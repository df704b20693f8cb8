#ifndef JPEER_NET_HTTP_HTTP_HEADS_H
#define JPEER_NET_HTTP_HTTP_HEADS_H
/*
 * A cache of the heads of POSTs. A client sends the same head with all its requests, except the digits of
 * Content-Length. A head that equals a kept head in all other bytes need not be parsed again, because the meaning of a
 * head depends only on its bytes and on the site (http_read_head, http_route). A head is kept for one site,
 * because a Host that one site serves may be foreign to another site. Sites are distinguished by their
 * addresses in memory.
 *
 * A head with a token (Authorization) is never kept, so that no comparison of bytes shows how much of another client's token
 * a guess has right.
 *
 * One owner, one thread. A cache must always be used with the same limits.
 */
#include "net/http/http_route.h"

struct http_heads; /* a few heads; a new head replaces an old one */

/* NULL: no memory. */
struct http_heads *http_heads_create(void);
void http_heads_destroy(struct http_heads *heads);

/* Keeps the head if it is the head of a POST that is served. The texts of request are in head; route is the result of
 * http_route for this request and site. */
void http_heads_keep(struct http_heads *heads, const struct http_site *site, struct text head,
                     const struct http_request *request, const struct http_route_result *route);

/*
 * Finds the head at the begin of input. Not NULL: the head is known, and its request is served (HTTP_SERVE). The head
 * has *used bytes; the message after it has *length bytes, at least 1. NULL: the head is not known or exceeds a limit,
 * and has to be parsed.
 */
const struct http_terms *http_heads_find(struct http_heads *heads, const struct http_site *site,
                                         struct text input, size_t head_max, size_t message_max, size_t *used,
                                         size_t *length);

#endif

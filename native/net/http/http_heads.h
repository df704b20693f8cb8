#ifndef JPEER_NET_HTTP_HTTP_HEADS_H
#define JPEER_NET_HTTP_HTTP_HEADS_H
/*
 * Keeps the heads of earlier POSTs with their meaning. A client sends the same head with all its requests,
 * except for the digits of Content-Length. A head that equals a kept one byte for byte, apart from these
 * digits, need not be parsed again, because the meaning of a head depends on its bytes and the site alone
 * (http_read_head, http_route). A head is never recognised for another site than the one that it was kept
 * for: a Host that one site serves may be a stranger's to another.
 *
 * One owner, one thread. A set of heads is used with one set of limits; sites are told apart by their
 * addresses.
 */
#include "net/http/http_route.h"

struct http_heads; /* keeps a few heads; a new one replaces an old one */

/* NULL: no memory. */
struct http_heads *http_heads_create(void);
void http_heads_destroy(struct http_heads *heads);

/* Keeps the head if it is one of a POST that is served. The texts of request lie in head, and http_route made
 * route of it, for this site. */
void http_heads_keep(struct http_heads *heads, const struct http_site *site, struct text head,
                     const struct http_request *request, const struct http_route_result *route);

/*
 * Looks for the head at the start of input. Not NULL: the first *used bytes are a head that asks to serve a
 * message (HTTP_SERVE) of *length bytes, at least 1. NULL: the head is not known or passes a limit, and has
 * to be parsed.
 */
const struct http_terms *http_heads_find(struct http_heads *heads, const struct http_site *site,
                                         struct text input, size_t head_max, size_t message_max, size_t *used,
                                         size_t *length);

#endif

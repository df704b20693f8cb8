#ifndef JPEER_BASE_WEB_ORIGIN_H
#define JPEER_BASE_WEB_ORIGIN_H
/*
 * Origins of web pages (RFC 6454): scheme "://" host [":" port], as browsers send them in Origin. Two origins
 * are the same if their serialisations are equal. A serialisation has the scheme and the host in lower case,
 * and no default port of the scheme. IPv6 addresses are compared as text, so an address must be written as
 * browsers write it ("[::1]"). Pure functions, any thread.
 */
#include "base/status.h"
#include "base/text.h"

/* Writes the origin's serialisation. Returns NULL, or the fault in words that follow the origin's text. */
enum { WEB_ORIGIN_SIZE = 320 };
const char *web_origin_serialise(struct text origin, char serialised[WEB_ORIGIN_SIZE]);

/* A list of allowed origins. */
struct web_origins;

/* Reads "A,B". JP_INVALID: the error's text begins with "takes" and names the item that is not an origin; "*"
 * and "null" cannot be allowed. JP_NO_MEMORY. Caller frees with web_origins_destroy. */
enum jp_status web_origins_create(struct text list, struct web_origins **origins,
                                  struct jp_error *error) JP_MUST_CHECK;
/* The serialisation, valid as long as the list; NULL: the origin is not in the list. origins may be NULL. */
const char *web_origins_find(const struct web_origins *origins, struct text origin);
void web_origins_destroy(struct web_origins *origins);

#endif

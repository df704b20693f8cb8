#ifndef JPEER_NET_HTTP_HTTP_QUERY_H
#define JPEER_NET_HTTP_HTTP_QUERY_H
/*
 * Makes a JSON-RPC 1.1 request from a call by HTTP GET (draft, 6.3; docs/jsonrpc-1.1.md, "GET"), so that the call can
 * be served like a POST.
 *
 * The query has the syntax of an HTML form: name=value pairs between ampersands, percent escapes, + for a space. A
 * value becomes a string. The values of a repeated name become an array of strings, in order. Pure functions, any
 * thread.
 */
#include "base/buffer.h"
#include "base/text.h"

enum { HTTP_QUERY_PARAMS_MAX = 1000 };

/*
 * Appends the request to message. Returns NULL, or a static text for a 400 response if the target is invalid: a
 * malformed escape, text that is not UTF-8, an empty name, more than HTTP_QUERY_PARAMS_MAX parameters. If memory is
 * short, message->failed is set. query: data NULL: the URL has no query.
 */
const char *http_query_to_call(struct text procedure, struct text query, struct buffer *message);

#endif

#ifndef JPEER_NET_HTTP_HTTP_QUERY_H
#define JPEER_NET_HTTP_HTTP_QUERY_H
/*
 * A call by HTTP GET as a message of JSON-RPC 1.1 (draft, 6.3; docs/jsonrpc-1.1.md, "GET"): the name of the
 * procedure and the query go in, the JSON of the request comes out, so that it is served like a POST.
 *
 * The query is that of an HTML form: name=value pairs between ampersands, percent escapes, + for a space. A
 * value becomes a string, and a name that is repeated an array of strings, in order. Pure functions, any
 * thread.
 */
#include "base/buffer.h"
#include "base/text.h"

enum { HTTP_QUERY_PARAMS_MAX = 1000 };

/*
 * Appends the request to message. Returns NULL, or what is wrong with the target (static text, for a 400): a
 * malformed escape, text that is not UTF-8, an empty name, more than HTTP_QUERY_PARAMS_MAX parameters. If an
 * allocation fails, message->failed is set. query: data NULL if there is none.
 */
const char *http_query_to_call(struct text procedure, struct text query, struct buffer *message);

#endif

#ifndef JPEER_NET_HTTP_HTTP_QUERY_H
#define JPEER_NET_HTTP_HTTP_QUERY_H
/*
 * A call by HTTP GET as a message of JSON-RPC 1.1 (draft, 6.3; jsonrpc-1.1-decisions, 6.3): the name of the
 * procedure and the query of a target in, the JSON of the request out, so that one way serves both.
 *
 * The query is what an HTML form with the method get makes: name=value pairs between ampersands, percent
 * escapes, + for a space. Every value becomes a string, a name that is repeated an array of strings, in
 * order. Pure functions, any thread.
 */
#include "base/buffer.h"
#include "base/text.h"

enum { HTTP_QUERY_PARAMS_MAX = 1000 };

/*
 * Appends the request to message. NULL, or what is wrong with the target (static text, for a 400): an escape
 * that is none, text that is no UTF-8, a name that is empty, more than HTTP_QUERY_PARAMS_MAX parameters. A
 * failed allocation leaves message->failed. query: data NULL where there is none.
 */
const char *http_query_to_call(struct text procedure, struct text query, struct buffer *message);

#endif

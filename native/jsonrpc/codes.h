#ifndef JPEER_JSONRPC_CODES_H
#define JPEER_JSONRPC_CODES_H
/* Codes of one version in terms of the other. Pure, any thread; not for other folders. */
#include "jsonrpc/jsonrpc.h"

/* The code that JSON-RPC 1.1 has for what a handler said; from 100 to 999 (7.4) in any case. */
int jsonrpc_code_1_1(int code);
/* The message beside it: the standard text of a code gives way to that of 1.1, a handler's own words stay. */
const char *jsonrpc_message_1_1(int code, const char *message);

#endif

#ifndef JPEER_JSONRPC_CODES_H
#define JPEER_JSONRPC_CODES_H
/* Translates the codes of JSON-RPC 2.0 into those of 1.1. Pure, any thread; not for other folders. */
#include "jsonrpc/jsonrpc.h"

/* The code that JSON-RPC 1.1 has for a handler's code: always from 100 to 999 (7.4). */
int jsonrpc_code_1_1(int code);
/* The message for it: that of 1.1 for the code's standard message; a handler's own words stay. */
const char *jsonrpc_message_1_1(int code, const char *message);

#endif

#ifndef JPEER_JSONRPC_ENVELOPE_H
#define JPEER_JSONRPC_ENVELOPE_H
/*
 * Reads the members of one request object and finds what is wrong with them. Pure, any thread; not for other
 * folders. What it returns is borrowed from the message and the arena.
 */
#include "base/arena.h"
#include "jsonrpc/jsonrpc.h"
#include "json/reader.h"

struct envelope {
  struct jsonrpc_request request; /* its id is for the answer, also where the request is wrong */
  enum jsonrpc_code code;         /* where envelope_read returns false */
  char detail[80];
};

struct envelope_rules {
  bool in_batch;      /* the value is an element of a batch */
  bool takes_options; /* of struct jsonrpc_service */
};

/*
 * False where the value is no request (JSON-RPC 2.0, section 4; JSON-RPC 1.1, 6.2). Then code and detail say
 * why, request.version is the version of the answer, and request.id is the id where it could be read, else
 * absent.
 */
bool envelope_read(struct json_value value, struct envelope_rules rules, struct arena *arena,
                   struct envelope *envelope) JP_MUST_CHECK;

#endif

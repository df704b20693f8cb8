#ifndef JPEER_JSONRPC_ENVELOPE_H
#define JPEER_JSONRPC_ENVELOPE_H
/*
 * Reads the members of one request object: which are there, which are wrong. Pure, any thread; not for other
 * folders. What it gives is borrowed from the message and the arena.
 */
#include "base/arena.h"
#include "jsonrpc/jsonrpc.h"
#include "json/reader.h"

struct envelope {
  struct jsonrpc_request request; /* id: what an answer carries, also where the request is wrong */
  enum jsonrpc_code code;         /* where envelope_read says false */
  char detail[80];
};

/*
 * False where the value is no request (JSON-RPC 2.0, section 4; JSON-RPC 1.1, 6.2): code and detail say why,
 * request.version is the form of the answer, and request.id is the id if one could be read, else absent.
 * in_batch: the value is an element of a batch.
 */
bool envelope_read(struct json_value value, bool in_batch, struct arena *arena,
                   struct envelope *envelope) JP_MUST_CHECK;

#endif

#ifndef JPEER_JSONRPC_ANSWERS_H
#define JPEER_JSONRPC_ANSWERS_H
/*
 * Answers among the messages of a connection on which both sides ask (JSON-RPC 2.0, section 5). Pure, any thread; all
 * is borrowed from the message.
 */
#include "json/reader.h"

struct jsonrpc_answer {
  struct json_value id;
  bool is_error;
  struct json_value value; /* the result, or the error, of any kind */
};

/* True for an object with an id, one of `result` and `error`, and no method, none of them given twice. Of both a null
 * one counts as left out, because JSON-RPC 1.0 has both; of two nulls the error. Whoever is asked looks no further: the
 * caller finds the faults of the rest. */
bool jsonrpc_answer_read(struct json_value message, struct jsonrpc_answer *answer);

#endif

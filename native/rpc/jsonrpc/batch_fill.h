#ifndef JPEER_RPC_JSONRPC_BATCH_FILL_H
#define JPEER_RPC_JSONRPC_BATCH_FILL_H
/*
 * A request of a batch may name results of earlier ones. These functions replace the names by the results
 * (rpc/jsonrpc/batch_results.h). Allocates in the arena alone; on the thread of the message.
 */
#include "rpc/jsonrpc/batch_results.h"
#include "json/reader.h"

/* The JSON that is searched for names. */
enum batch_fill_form {
  BATCH_FILL_PROCEDURE, /* params of one of the six methods */
  BATCH_FILL_VALUES,    /* params of which each is a value */
  BATCH_FILL_OPTIONS    /* options, of which "loader" may be {"result": ID} */
};

struct batch_fill {
  struct batch_results *results; /* counts what is copied of them */
  struct json_limits limits;
  size_t max_size; /* of what comes of it */
  enum batch_fill_form form;
  bool shares_texts; /* the names of long Strings stay, for batch_fill_find_shared */
  struct arena *arena;
  struct outcome *outcome; /* takes the errors */
};

/*
 * *json stays where it names nothing, and else is in the arena. Anything but JP_OK leaves an OUTCOME_ERROR:
 * JP_INVALID, an id that names no result; JP_CLOSED, the request of that id failed, and *failed is its result;
 * JP_LIMIT; JP_NO_MEMORY.
 */
enum jp_status batch_fill_in(const struct batch_fill *fill, struct json_value *json,
                             const struct batch_result **failed) JP_MUST_CHECK;

/* The text that {"result": ID} in a filled request is the name of; NULL: it is none. */
struct op_shared_text *batch_fill_find_shared(struct batch_results *results, struct json_value name);

#endif

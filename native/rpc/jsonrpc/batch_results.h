#ifndef JPEER_RPC_JSONRPC_BATCH_RESULTS_H
#define JPEER_RPC_JSONRPC_BATCH_RESULTS_H
/*
 * What the requests of a batch have come to, for later requests of the same batch that name it: {"ref": {"result":
 * ID}} as an argument, an element, a map's value or a put value, and "instance": {"result": ID} (docs/protocol.md,
 * "Results of the same batch").
 *
 * A request that names results is rewritten (rpc/jsonrpc/batch_fill.h): each name is replaced by the ref or by the
 * value with its type. Whoever reads params knows nothing of it, except of long Strings: their names stay, with the type,
 * and rpc/values finds the text by the name, so that naming one costs no copy of it.
 *
 * One message's, on the thread of that message. It lives in the arena that it was made in, which must outlive the
 * requests of the batch.
 */
#include "base/arena.h"
#include "op/outcome.h"

enum batch_result_kind {
  BATCH_RESULT_REF,    /* ref */
  BATCH_RESULT_VALUE,  /* type and json; type data NULL: the JSON alone */
  BATCH_RESULT_FAILED, /* json: the data of its error */
  BATCH_RESULT_NONE,   /* void, or a query: there is nothing to name */
  BATCH_RESULT_TWICE,  /* several requests have this id */
  BATCH_RESULT_LARGE   /* it would not fit beside the values that were noted before */
};

struct op_shared_text;

struct batch_result {
  struct text id; /* as written */
  enum batch_result_kind kind;
  uint32_t ref;
  struct text type;
  struct text json;
  bool is_base64;                /* BATCH_RESULT_VALUE: json is the base64 of an array's elements */
  bool is_long_text;             /* BATCH_RESULT_VALUE: json is a long String, which arguments can share */
  struct op_shared_text *shared; /* once it is one */
  unsigned failures; /* BATCH_RESULT_FAILED: how many failed requests led to it, one after the other */
  struct batch_result *next;
  struct batch_result *next_shared;
};

struct batch_results;

/* True where requests of the message may name results: it is a batch that has the word. No other needs notes. */
bool batch_results_may_be_named(struct text message);

/* NULL: no memory. room: bytes that all noted values may take together; their copies in requests may take 32 times as many. */
struct batch_results *batch_results_create(struct arena *arena, size_t room);

/* Notes what a request came to; id as written, data NULL: none, and nothing is noted. Without memory nothing is
 * noted either: whoever names the result gets an error. by_value: of the operation. */
void batch_results_note(struct batch_results *results, struct text id, const struct outcome *outcome,
                        bool by_value);

/* The same of a request that failed. data: the JSON of its error's data, which is copied, or null where there is no
 * room; cause: the result that it named and that had failed before, or NULL. */
void batch_results_note_failure(struct batch_results *results, struct text id, struct text data,
                                const struct batch_result *cause);

/* NULL: no earlier request has the id. */
struct batch_result *batch_results_find(const struct batch_results *results, struct text id);

/* Makes a result that is a long text one that arguments share. NULL: it is none, or memory is short. */
struct op_shared_text *batch_results_share(struct batch_results *results, struct batch_result *result);
/* Calls `release` for each Java String that sharing has made. Before the arena ends. */
void batch_results_end(struct batch_results *results,
                       void (*release)(void *context, struct op_shared_text *text), void *context);

/* Counts a copy of the result's value in a request; false where the batch has no room for it. A short batch could
 * otherwise name a long value thousands of times, and take minutes. */
bool batch_results_count_copy(struct batch_results *results, const struct batch_result *result) JP_MUST_CHECK;

#endif

#ifndef JPEER_RPC_JSONRPC_JSON_BATCH_H
#define JPEER_RPC_JSONRPC_JSON_BATCH_H
/*
 * A batch whose requests use results of earlier requests: {"ref": {"result": ID}} as an argument, an element,
 * a map's value or a put value, and "instance": {"result": ID} (docs/protocol.md, "Results of the same
 * batch").
 *
 * The result of each request is noted. A later request that names a result is rewritten: each name is
 * replaced by the ref of the result, or by its value and type, so that the readers of params need not know
 * names. The name of a long String is an exception: it is kept, and only the type is added. rpc/values finds
 * the text by the name, so that a name does not copy the text.
 *
 * The results belong to one message, and only the thread that serves the message uses them. They are kept in
 * the arena in which they were made. The arena must outlive the requests of the batch.
 */
#include "base/arena.h"
#include "op/outcome.h"
#include "rpc/run.h"
#include "json/reader.h"

enum batch_result_kind {
  BATCH_RESULT_REF,    /* ref */
  BATCH_RESULT_VALUE,  /* type and json; type data NULL: only the JSON */
  BATCH_RESULT_FAILED, /* json: the data of its error */
  BATCH_RESULT_NONE,   /* the request returned void or was a query: it has no result that could be named */
  BATCH_RESULT_TWICE,  /* several requests have this id */
  BATCH_RESULT_LARGE   /* the value does not fit in addition to the values that were noted before */
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
  struct op_shared_text *shared; /* set once the text is shared */
  /* BATCH_RESULT_FAILED: the length of the chain of failed requests that caused this failure */
  unsigned failures;
  struct batch_result *next;
  struct batch_result *next_shared;
};

struct batch_results;

/* ---- results ---- */

/* True if requests of the message may name results, because the message is a batch and contains the word
 * "result". The results of other messages need not be noted. */
bool batch_results_may_be_named(struct text message);

/* NULL: no memory. room: the maximal number of bytes of all noted values. Their copies in requests may have
 * 32 times as many bytes. */
struct batch_results *batch_results_create(struct arena *arena, size_t room);

/* Notes the result of a request. id: as written; if its data is NULL, the request has no id and nothing is
 * noted. If memory is short, nothing is noted either, and a request that names the result gets an error.
 * by_value: the member of the operation. */
void batch_results_note(struct batch_results *results, struct text id, const struct outcome *outcome,
                        bool by_value);

/* Notes a request that failed. data: the JSON of its error's data, which is copied; if the copy does not fit,
 * null is noted. cause: the failed result that the request has named, or NULL. */
void batch_results_note_failure(struct batch_results *results, struct text id, struct text data,
                                const struct batch_result *cause);

/* NULL: no earlier request has the id. */
struct batch_result *batch_results_find(const struct batch_results *results, struct text id);

/* Calls `release` for each Java String that sharing has made. Call it before the arena ends. */
void batch_results_end(struct batch_results *results,
                       void (*release)(void *context, struct op_shared_text *text), void *context);

/* ---- results in place of their names ---- */

/* The JSON that is searched for names. */
enum batch_fill_form {
  BATCH_FILL_PROCEDURE, /* params of one of the six methods */
  BATCH_FILL_VALUES,    /* params that are all values */
  BATCH_FILL_OPTIONS    /* options, of which "loader" may be {"result": ID} */
};

struct batch_fill {
  struct batch_results *results; /* where results are found, and where their copies are counted */
  struct json_limits limits;
  size_t max_size; /* of the filled JSON */
  enum batch_fill_form form;
  /* the names of long Strings are not replaced: batch_fill_find_shared finds their texts */
  bool shares_texts;
  struct arena *arena;
  struct outcome *outcome; /* receives the errors */
};

/*
 * Replaces the names in *json. If *json names no result, it is unchanged; otherwise its new text is in the
 * arena. Each status except JP_OK leaves an OUTCOME_ERROR. JP_INVALID: an id names no result. JP_CLOSED: a
 * named request failed, and *failed is its result. JP_LIMIT; JP_NO_MEMORY.
 */
enum jp_status batch_fill_in(const struct batch_fill *fill, struct json_value *json,
                             const struct batch_result **failed) JP_MUST_CHECK;

/* The text that {"result": ID} in a filled request names; NULL: it names no result. */
struct op_shared_text *batch_fill_find_shared(struct batch_results *results, struct json_value name);

/* ---- results that are not in the answer ("keep": false) ---- */

struct unkept_object;

/*
 * Results of requests with "keep": false. Such requests are steps of a chain, whose results later requests of
 * the batch may use. At the end of the message the refs of these results count as not sent, so that an object
 * remains only if another answer has sent its ref. Begins as zero.
 */
struct unkept_results {
  struct unkept_object *items;
  size_t count;
  size_t capacity;
};

/* Moves the stored refs of the current request's result to *unkept. If memory is short, the objects remain in
 * the session. */
void unkept_results_note(struct unkept_results *unkept, struct rpc_run *run);

/* Releases the refs at the end of the message. */
void unkept_results_drop(struct unkept_results *unkept, struct rpc_run *run);

#endif

#ifndef JPEER_RPC_VALUES_VALUE_READ_H
#define JPEER_RPC_VALUES_VALUE_READ_H
/*
 * From the JSON of an argument to a struct op_value: {"type", "value"}, {"ref"}, {"type", "ref"} or a bare
 * value, at every level of lists and maps (object-rpc-reference, "Argument Types"; behaviour.md,
 * "Arguments").
 *
 * Arrays of primitives are decoded straight into packed memory; a scalar keeps its digits, because only the
 * member that is called decides what it becomes. What a declared type makes of a scalar is jni's to check.
 * Any thread; values live in the message and in the reader's arena.
 */
#include "base/arena.h"
#include "op/outcome.h"
#include "op/type.h"
#include "op/value.h"
#include "json/reader.h"

enum {
  RPC_ARGS_MAX = 65535,     /* arguments of one request */
  RPC_VALUES_MAX = 1000000, /* values inside one another in one request; packed elements do not count */
  RPC_REF_MAX = 0x7FFFFFFF  /* refs are Java ints */
};

struct rpc_value_reader {
  struct arena *arena;
  struct outcome *outcome; /* what was wrong is put here */
  size_t values_left;      /* of RPC_VALUES_MAX */
  size_t digits_max;       /* of one number, as it is written */
  bool type_alone_is_null; /* {"type": T} is null: --compat pal */
  bool is_put;             /* errors speak of "value" instead of "argument N" */
  size_t argument;         /* index of the argument that is read */
};

void rpc_value_reader_init(struct rpc_value_reader *reader, size_t digits_max, struct arena *arena,
                           struct outcome *outcome);

/* Reads one argument. Anything but JP_OK leaves an OUTCOME_ERROR in the reader's outcome. */
enum jp_status rpc_value_read(struct rpc_value_reader *reader, struct json_value json,
                              struct op_value *value) JP_MUST_CHECK;

/* Reads the elements of an `args` array; *values is in the arena, NULL where there is none. Errors as above.
 */
enum jp_status rpc_args_read(struct rpc_value_reader *reader, struct json_value args,
                             struct op_value **values, size_t *count) JP_MUST_CHECK;

/* Reads a ref: an integer from 1 to RPC_REF_MAX, without a suffix. False where it is none. */
bool rpc_ref_read(struct json_value json, uint32_t *ref);

/* A number of validated text. */
void rpc_number_read(struct json_value json, struct op_value *value);

/* Whether a number has more digits than it may, an exponent left aside: what the number becomes decides
 * whether that is too large. */
bool rpc_literal_is_long(const struct rpc_value_reader *reader, struct text literal);

/* "argument 3" or "value": the beginning of an error's text, in the reader's arena. */
const char *rpc_value_place(const struct rpc_value_reader *reader);

/* Takes count from values_left, or fails naming the limit. */
enum jp_status rpc_value_reserve(struct rpc_value_reader *reader, size_t count) JP_MUST_CHECK;
enum jp_status rpc_value_no_memory(struct rpc_value_reader *reader);

#endif

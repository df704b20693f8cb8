#ifndef JPEER_RPC_VALUES_VALUE_READ_H
#define JPEER_RPC_VALUES_VALUE_READ_H
/*
 * Reads the JSON of an argument into a struct op_value: {"type", "value"}, {"ref"}, {"type", "ref"}, a
 * callback or a bare value, at every level of lists and maps (docs/values.md and docs/callbacks.md). For any
 * codec whose values are JSON text.
 *
 * Arrays of primitives are read directly into packed memory; any other value gets the kind of its JSON, and
 * jni checks whether it fits the declared type. Any thread. Values borrow from the message and from the
 * reader's arena, and are valid as long as both.
 */
#include "base/arena.h"
#include "op/operation.h"
#include "op/outcome.h"
#include "op/type.h"
#include "op/value.h"
#include "json/reader.h"

enum {
  RPC_ARGS_MAX = 65535,     /* arguments of one request */
  RPC_VALUES_MAX = 1000000, /* the default of values_max */
  RPC_REF_MAX = 0x7FFFFFFF  /* refs are Java ints */
};

/* Accepts the callbacks that arguments give. */
struct rpc_callback_sink {
  void *context;
  /* Called for each argument with a callback ID. Not JP_OK: the argument fails for this reason. */
  enum jp_status (*accept)(void *context, int64_t id, struct jp_error *error);
};

/* Finds the long texts that arguments name instead of containing them. */
struct rpc_shared_texts {
  void *context;
  /* ref: the value of the member `ref` in {"type": T, "ref": ...}. NULL: this value does not name a text. */
  struct op_shared_text *(*find)(void *context, struct json_value ref);
};

/* How the values of a request or of an answer are read. */
struct rpc_value_rules {
  size_t digits_max; /* of one number, as written */
  /* elements of lists and maps in one request, except elements of packed arrays; 0: RPC_VALUES_MAX */
  size_t values_max;
  bool compat_pal; /* {"type": T} is null, and byte[] is the only array type that is read from base64 */
  /* NULL: a callback is an error, because no message can be sent to the client except answers */
  const struct rpc_callback_sink *callbacks;
  const struct rpc_shared_texts *shared; /* NULL: no texts are named */
};

struct rpc_value_reader {
  const struct rpc_value_rules *rules;
  struct arena *arena;
  struct outcome *outcome; /* receives the errors */
  size_t values_left;      /* of values_max */
  bool is_put;             /* errors say "value" instead of "argument N" */
  bool is_receiver;        /* errors say "instance" */
  bool is_result;          /* errors say "result" */
  size_t argument;         /* index of the argument being read */
};

/* The rules, the arena and the outcome are borrowed as long as the reader is used. */
void rpc_value_reader_init(struct rpc_value_reader *reader, const struct rpc_value_rules *rules,
                           struct arena *arena, struct outcome *outcome);

/* Reads one argument. Each status except JP_OK leaves an OUTCOME_ERROR in the reader's outcome. */
enum jp_status rpc_value_read(struct rpc_value_reader *reader, struct json_value json,
                              struct op_value *value) JP_MUST_CHECK;

/* Reads an instance that is a value: {"type", "value"}, with an encoding if it has one. Errors as above. */
enum jp_status rpc_receiver_read(struct rpc_value_reader *reader, struct json_value json,
                                 struct op_value **value) JP_MUST_CHECK;

/* Reads the value of an argument whose type is declared elsewhere; data NULL: not declared. An object in the
 * value is always a map. Errors as above. */
enum jp_status rpc_typed_value_read(struct rpc_value_reader *reader, struct text type, struct json_value json,
                                    struct op_value *value) JP_MUST_CHECK;

/* Reads a piece of an object that the client sends in pieces (jpeer.assemble). type: the type of the whole
 * object. is_base64: the piece is a text with base64. A ref and a callback are errors. Errors as above. */
enum jp_status rpc_piece_value_read(struct rpc_value_reader *reader, struct text type, bool is_base64,
                                    struct json_value json, struct op_value **value) JP_MUST_CHECK;

/* Reads the elements of an `args` array; *values is in the arena, or NULL if there are no elements. Errors as
 * above. */
enum jp_status rpc_args_read(struct rpc_value_reader *reader, struct json_value args,
                             struct op_value **values, size_t *count) JP_MUST_CHECK;

/* Reads a ref: an integer from 1 to RPC_REF_MAX, without a suffix. False if the value is not a ref. */
bool rpc_ref_read(struct json_value json, uint32_t *ref);

/* Stores a number in *value; a decimal is stored as text and not converted. json must be a valid number.
 * value->type is not changed. */
void rpc_number_read(struct json_value json, struct op_value *value);

/* "argument 3", "value", "instance" or "result": the beginning of an error's text, in the reader's arena. */
const char *rpc_value_place(const struct rpc_value_reader *reader);

/* If the member of an OP_GET or OP_PUT means a piece of an array ("[3]", "[10:20]"; op/piece.h), sets the
 * operation's piece. Does not change other operations. Errors as above. */
enum jp_status rpc_piece_read(struct operation *operation, struct arena *arena,
                              struct outcome *outcome) JP_MUST_CHECK;

#endif

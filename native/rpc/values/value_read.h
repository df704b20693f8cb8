#ifndef JPEER_RPC_VALUES_VALUE_READ_H
#define JPEER_RPC_VALUES_VALUE_READ_H
/*
 * From the JSON of an argument to a struct op_value: {"type", "value"}, {"ref"}, {"type", "ref"}, a callback or a bare
 * value, at every level of lists and maps (docs/values.md and docs/callbacks.md). For any codec whose values
 * are JSON text.
 *
 * Arrays of primitives are read straight into packed memory; any other value becomes what its JSON is, and
 * jni checks whether that fits the declared type. Any thread. Values borrow from the message and from the
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
  RPC_VALUES_MAX = 1000000, /* the standard of values_max */
  RPC_REF_MAX = 0x7FFFFFFF  /* refs are Java ints */
};

/* Takes the callbacks that arguments give. */
struct rpc_callback_sink {
  void *context;
  /* An argument with this ID was read: counts it. Not JP_OK: the argument fails for this reason. */
  enum jp_status (*accept)(void *context, int64_t id, struct jp_error *error);
};

/* Finds the long texts that arguments name instead of having them. */
struct rpc_shared_texts {
  void *context;
  /* ref: of {"type": T, "ref": ...}. NULL: it is no name of one. */
  struct op_shared_text *(*find)(void *context, struct json_value ref);
};

/* How the values of a request or of an answer are read. */
struct rpc_value_rules {
  size_t digits_max; /* of one number, as it is written */
  size_t values_max; /* elements of lists and maps in one request, without packed ones; 0: RPC_VALUES_MAX */
  bool compat_pal;   /* {"type": T} is null, and of arrays a byte[] alone comes as base64 */
  const struct rpc_callback_sink
      *callbacks; /* NULL: a callback is an error, because who asks can only be answered */
  const struct rpc_shared_texts *shared; /* NULL: there are none */
};

struct rpc_value_reader {
  const struct rpc_value_rules *rules;
  struct arena *arena;
  struct outcome *outcome; /* takes the errors */
  size_t values_left;      /* of values_max */
  bool is_put;             /* errors speak of "value" instead of "argument N" */
  bool is_receiver;        /* errors speak of "instance" */
  bool is_result;          /* errors speak of "result" */
  size_t argument;         /* index of the argument that is read */
};

/* All are borrowed, as long as the reader is used. */
void rpc_value_reader_init(struct rpc_value_reader *reader, const struct rpc_value_rules *rules,
                           struct arena *arena, struct outcome *outcome);

/* Reads one argument. Anything but JP_OK leaves an OUTCOME_ERROR in the reader's outcome. */
enum jp_status rpc_value_read(struct rpc_value_reader *reader, struct json_value json,
                              struct op_value *value) JP_MUST_CHECK;

/* Reads an instance that is a value: {"type", "value"}, with an encoding where it has one. Errors as above. */
enum jp_status rpc_receiver_read(struct rpc_value_reader *reader, struct json_value json,
                                 struct op_value **value) JP_MUST_CHECK;

/* Reads the value of an argument whose type stands elsewhere, data NULL for none: an object is a map, whatever its
 * members are called. Errors as above. */
enum jp_status rpc_typed_value_read(struct rpc_value_reader *reader, struct text type, struct json_value json,
                                    struct op_value *value) JP_MUST_CHECK;

/* Reads a piece of a value of the type, which makes an object; is_base64: as one text. Errors as above. */
enum jp_status rpc_piece_value_read(struct rpc_value_reader *reader, struct text type, bool is_base64,
                                    struct json_value json, struct op_value **value) JP_MUST_CHECK;

/* Reads the elements of an `args` array; *values is in the arena, NULL where there is none. Errors as above. */
enum jp_status rpc_args_read(struct rpc_value_reader *reader, struct json_value args,
                             struct op_value **values, size_t *count) JP_MUST_CHECK;

/* Reads a ref: an integer from 1 to RPC_REF_MAX, without a suffix. False where it is none. */
bool rpc_ref_read(struct json_value json, uint32_t *ref);

/* Reads a number of validated text, without converting a decimal; the value's type stays. */
void rpc_number_read(struct json_value json, struct op_value *value);

/* "argument 3", "value", "instance" or "result": the beginning of an error's text, in the reader's arena. */
const char *rpc_value_place(const struct rpc_value_reader *reader);

/* Of a field's name that means a piece of an array ("[3]", "[10:20]"; op/piece.h): sets the piece of an OP_GET or OP_PUT
 * whose member means one, and leaves other operations as they are. Errors as above. */
enum jp_status rpc_piece_read(struct operation *operation, struct arena *arena,
                              struct outcome *outcome) JP_MUST_CHECK;

#endif

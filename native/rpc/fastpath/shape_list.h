#ifndef JPEER_RPC_FASTPATH_SHAPE_LIST_H
#define JPEER_RPC_FASTPATH_SHAPE_LIST_H
/*
 * Lists in requests that come again (rpc/fastpath/shape_cache.h): elements that are the same text but for one
 * number or plain string each, with the same text between two of them. Where one such list was valid, any
 * other with the same texts around its scalars is, whatever their number. For repeats.c alone; pure, any
 * thread.
 */
#include "base/arena.h"
#include "op/value.h"
#include "json/reader.h"

/* A message is held against several shapes, each of which may make items of all its elements: longer lists
 * are read in full. */
enum { RPC_LIST_ITEMS_MAX = 16384 };

/* A number that is longer is read in full, where its digits are held against their limit; that is never below
 * this. */
enum { RPC_NUMBER_LENGTH_MAX = 32 };

struct rpc_list_form {
  struct text between;     /* the scalars of two elements; empty: there is one element alone */
  bool is_string;          /* the scalars are strings, not numbers */
  struct op_value element; /* what each is, but for its scalar */
  size_t last_count;       /* of the list that was taken last: the next is mostly as long */
};

/* An argument's number or string: itself, or a member of it. */
struct json_value rpc_scalar_of(struct json_value argument);
/* A hole may be where the value is. */
bool rpc_scalar_is_plain(struct json_value scalar);
/* Gives a value the scalar; its kind says what of it is meant. False where it is no ref that there can be, or
 * a long number. */
bool rpc_scalar_fill(struct op_value *value, struct json_value scalar);
/* The same for a plain whole number that has been read already; value is no OP_REF. */
static inline void rpc_scalar_fill_integer(struct op_value *value, int64_t integer)
{
  value->kind = OP_INTEGER;
  value->suffix = 0;
  value->literal = TEXT_ABSENT;
  value->integer = integer;
}

/*
 * The form of a list that was read as items; it borrows from its text. scalars: from the first scalar to the
 * last. False: it has none, as an empty list.
 */
bool rpc_list_find_form(struct json_value list, const struct op_value *items, struct rpc_list_form *form,
                        struct text *scalars);

/* Takes all of the scalars, and what is between them, from the beginning of rest. The items are in the arena.
 * False where one is wrong, or memory is short: that is said by who reads the message in full. */
bool rpc_list_take(struct text *rest, struct rpc_list_form *form, struct arena *arena, struct op_value *list);

#endif

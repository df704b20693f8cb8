#ifndef JPEER_RPC_FASTPATH_SHAPE_LIST_H
#define JPEER_RPC_FASTPATH_SHAPE_LIST_H
/*
 * Lists in shapes (rpc/fastpath/shape_cache.h): their elements are the same text but for one number or plain
 * string each, with the same text between two of them. Where one such list was valid, any other with the same
 * texts around its scalars is valid, too, whatever their number. For this folder alone; pure, any thread.
 */
#include "base/arena.h"
#include "op/value.h"
#include "json/reader.h"

/* A text is held against several shapes, each of which may make items of all its elements: longer lists go
 * the general path, where their elements are counted against values-max, which is never below what the lists of a
 * shape may have together. */
enum { SHAPE_LIST_ITEMS_MAX = 16384 };

/* Longer numbers go the general path, where their digits are held against their limit, which is never below
 * this. */
enum { SHAPE_NUMBER_LENGTH_MAX = 32 };

struct shape_list {
  struct text between;     /* the scalars of two elements; empty: there is one element alone */
  bool is_string;          /* the scalars are strings, not numbers */
  struct op_value element; /* what each element is, without its scalar */
  size_t last_count;       /* of the list that was taken last: the next one is usually as long */
};

/* An argument's number or string: itself, or a member of it. */
struct json_value shape_scalar_of(struct json_value argument);
/* True where a hole may take the place of the value. */
bool shape_scalar_fits_hole(struct json_value scalar);
/* Gives a value the scalar, as what the value's kind says. False where that is an OP_REF and the scalar is no
 * ref, or where a number is too long. */
bool shape_scalar_fill(struct op_value *value, struct json_value scalar);
/* The same for a plain whole number that has been read already; value is no OP_REF. */
static inline void shape_scalar_fill_integer(struct op_value *value, int64_t integer)
{
  value->kind = OP_INTEGER;
  value->suffix = 0;
  value->literal = TEXT_ABSENT;
  value->integer = integer;
}

/*
 * Finds what the elements of a list have in common that was read as items; it borrows from the list's text.
 * *scalars becomes the text from the first scalar to the last. False: they are not alike, or there are none.
 */
bool shape_list_find(struct json_value list, const struct op_value *items, struct shape_list *found,
                     struct text *scalars);

/* Takes all scalars, and what is between them, from the beginning of rest. The items are in the arena. False
 * where one is wrong, or memory is short. */
bool shape_list_take(struct text *rest, struct shape_list *shape, struct arena *arena, struct op_value *list);

#endif

#ifndef JPEER_OP_PIECE_H
#define JPEER_OP_PIECE_H
/*
 * A part of an array, in place of a field's name: "[3]" is an element, "[10:20]" a range (docs/pieces.md, "Elements
 * and ranges"). No member of Java has a '[' in its name (JVMS 4.2.2). Pure text, any thread.
 */
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

enum op_piece_kind { OP_PIECE_NONE, OP_PIECE_ELEMENT, OP_PIECE_RANGE };

struct op_piece {
  enum op_piece_kind kind;
  /* the index of an element, or the beginning of a range; below 0: counted from the end */
  int64_t from;
  /* the end of a range, which the range does not include; below 0: counted from the end */
  int64_t to;
  bool is_open;        /* the range ends at the array's end, and `to` has no meaning */
  struct text written; /* for messages; borrowed */
};

/* The name of every piece, for the policy and for a thread's cache of accesses. */
#define OP_PIECE_NAME TEXT("[]")

/* True if a member's name means a piece, valid or not. */
static inline bool op_piece_is_meant(struct text member)
{
  return member.len > 0 && member.data[0] == '[';
}

/* Reads "[I]", "[I:J]", "[I:]", "[:J]" or "[:]". An omitted number means the beginning or the end of the
 * array. A number of more than 64 bits becomes the nearest number that fits. False: the text has none of
 * these forms. */
bool op_piece_parse(struct text written, struct op_piece *piece);

/*
 * Finds the elements in an array of `length` elements: *count elements, beginning with the element *from.
 * False: an index is beyond the array. A range whose end is before its beginning is allowed and empty.
 */
bool op_piece_locate(const struct op_piece *piece, int32_t length, int32_t *from, int32_t *count);

#endif

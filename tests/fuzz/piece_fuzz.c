/* Elements and ranges of arrays: the input is in place of a field's name. An accepted piece is inside arrays of any
 * length, or is refused. */
#include "op/piece.h"

#include "tests/fuzz/fuzz.h"

static void locate(const struct op_piece *piece, int32_t length)
{
  int32_t from = -1;
  int32_t count = -1;
  if (!op_piece_locate(piece, length, &from, &count))
    return;
  require(from >= 0 && count >= 0 && from <= length - count);
  require(piece->kind == OP_PIECE_RANGE || count == 1);
}

FUZZ_TARGET(input)
{
  static const int32_t lengths[] = {0, 1, 2, 10, 1000, INT32_MAX - 1, INT32_MAX};
  struct op_piece piece;
  if (!op_piece_parse(input, &piece))
    return;
  require(op_piece_is_meant(input));
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
    locate(&piece, lengths[i]);
}

/* Elements and ranges of arrays: the input is what stands where a field's name may. What is taken lies inside arrays of
 * any length, or is refused. */
#include "op/piece.h"

#include <stdlib.h>

static void require(bool condition)
{
  if (!condition)
    abort();
}

static void locate(const struct op_piece *piece, int32_t length)
{
  int32_t from = -1;
  int32_t count = -1;
  if (!op_piece_locate(piece, length, &from, &count))
    return;
  require(from >= 0 && count >= 0 && from <= length - count);
  require(piece->kind == OP_PIECE_RANGE || count == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static const int32_t lengths[] = {0, 1, 2, 10, 1000, INT32_MAX - 1, INT32_MAX};
  struct op_piece piece;
  if (!op_piece_parse((struct text){(const char *)data, size}, &piece))
    return 0;
  require(op_piece_is_meant((struct text){(const char *)data, size}));
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
    locate(&piece, lengths[i]);
  return 0;
}

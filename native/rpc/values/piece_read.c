#include "rpc/values/piece_read.h"

static enum jp_status fail(const struct operation *operation, struct arena *arena, struct outcome *outcome)
{
  const char *wanted =
      operation->kind == OP_PUT ? "an element, as [3] is" : "an element or a range, as [3] and [10:20] are";
  outcome_fail(outcome, arena, FAILURE_INVALID_PARAMS, NULL, "'field' %.*s is not %s",
               TEXT_ARGS(arena_shorten(arena, operation->member, OUTCOME_NAME_SHOWN)), wanted);
  return JP_INVALID;
}

enum jp_status rpc_piece_read(struct operation *operation, struct arena *arena, struct outcome *outcome)
{
  bool is_access = operation->kind == OP_GET || operation->kind == OP_PUT;
  if (!is_access || !op_piece_is_meant(operation->member))
    return JP_OK;
  struct op_piece *piece = arena_alloc(arena, sizeof *piece);
  if (piece == NULL) {
    outcome_fail(outcome, arena, FAILURE_INTERNAL, NULL, "out of memory");
    return JP_NO_MEMORY;
  }
  if (!op_piece_parse(operation->member, piece) ||
      (operation->kind == OP_PUT && piece->kind == OP_PIECE_RANGE))
    return fail(operation, arena, outcome);
  operation->piece = piece;
  operation->member = OP_PIECE_NAME;
  return JP_OK;
}

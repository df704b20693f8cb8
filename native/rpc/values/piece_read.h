#ifndef JPEER_RPC_VALUES_PIECE_READ_H
#define JPEER_RPC_VALUES_PIECE_READ_H
/* A field's name that means a piece of an array ("[3]", "[10:20]"; op/piece.h). For any codec; any thread. */
#include "base/arena.h"
#include "op/operation.h"
#include "op/outcome.h"

/* Sets the piece of an OP_GET or OP_PUT whose member means one, and leaves other operations as they are. Anything
 * but JP_OK leaves an OUTCOME_ERROR. */
enum jp_status rpc_piece_read(struct operation *operation, struct arena *arena,
                              struct outcome *outcome) JP_MUST_CHECK;

#endif

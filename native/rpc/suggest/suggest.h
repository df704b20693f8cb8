#ifndef JPEER_RPC_SUGGEST_SUGGEST_H
#define JPEER_RPC_SUGGEST_SUGGEST_H
/*
 * Suggests names to a caller whose class or member was not found: names that are similar and that the caller
 * may use (docs/protocol.md, "Errors"). The names are read from class files, so that no class is loaded. The
 * policy is asked about each name. Called only after failures. If the catalog has not been read before, the
 * names of all classes and the files of a few are read. Any thread.
 */
#include "base/arena.h"
#include "classfile/catalog.h"
#include "op/operation.h"
#include "op/outcome.h"
#include "policy/policy.h"
#include "rpc/suggest/nearest.h"

struct rpc_suggester {
  struct catalog *catalog; /* borrowed; NULL: nothing is suggested */
  const struct policy *policy;
  enum policy_channel channel;
  struct arena *arena;
};

/* For an operation that was not found: sets the suggestions of the outcome, if there are near names. */
void rpc_suggest_for_operation(const struct rpc_suggester *suggester, const struct operation *operation,
                               struct outcome *outcome);

/* Like rpc_suggest_for_operation, for a call by a member's own name. The operation has the parts of the name;
 * the suggestions are whole names. */
void rpc_suggest_for_own_name(const struct rpc_suggester *suggester, const struct operation *operation,
                              struct outcome *outcome);

/* Sets the nearest names as suggestions of the outcome. Each suggestion is a name with the text `before`
 * before it and the text `after` after it. The names are copied. */
void rpc_suggest(const struct nearest *nearest, struct text before, struct text after, struct arena *arena,
                 struct outcome *outcome);

#endif

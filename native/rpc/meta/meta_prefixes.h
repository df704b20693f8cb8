#ifndef JPEER_RPC_META_META_PREFIXES_H
#define JPEER_RPC_META_META_PREFIXES_H
/*
 * A set of prefixes, as many as fit into a message; a binary search finds whether a name begins with one of
 * them. One owner; constant once made. Only for the meta_*.c files.
 */
#include "base/arena.h"
#include "base/status.h"

struct meta_prefixes {
  struct text *items; /* sorted; none begins with another */
  size_t count;
};

/* Copies the texts into the arena, but for those that begin with another one. JP_NO_MEMORY. */
enum jp_status meta_prefixes_init(struct meta_prefixes *prefixes, const struct text *texts, size_t count,
                                  struct arena *arena) JP_MUST_CHECK;

bool meta_prefixes_cover(const struct meta_prefixes *prefixes, struct text name);

#endif

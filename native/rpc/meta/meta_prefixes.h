#ifndef JPEER_RPC_META_META_PREFIXES_H
#define JPEER_RPC_META_META_PREFIXES_H
/*
 * A set of prefixes, as many as a message has room for: whether a name begins with one of them is found by
 * halves. One owner; constant once made. Only for the meta_*.c files.
 */
#include "base/arena.h"
#include "base/status.h"

struct meta_prefixes {
  struct text *items; /* sorted; none begins with another */
  size_t count;
};

/* Copies those of the texts that matter into the arena. JP_NO_MEMORY. */
enum jp_status meta_prefixes_init(struct meta_prefixes *prefixes, const struct text *texts, size_t count,
                                  struct arena *arena) JP_MUST_CHECK;

bool meta_prefixes_cover(const struct meta_prefixes *prefixes, struct text name);

#endif

#ifndef JPEER_RPC_META_META_AHEAD_H
#define JPEER_RPC_META_META_AHEAD_H
/*
 * Writes the JSON of a large answer on a thread of its own, a few pieces ahead of the thread that compresses them. One
 * owner. Only for meta.c.
 */
#include "rpc/meta/meta_json.h"

struct meta_ahead;

/* The thread uses json, which is borrowed, and all that it refers to, until meta_ahead_stop. NULL: no thread could be
 * started. */
struct meta_ahead *meta_ahead_start(struct meta_json *json);
/* Ends the thread, which finishes its piece. NULL is fine. */
void meta_ahead_stop(struct meta_ahead *ahead);

/* Replaces what *piece holds by the next piece, for which it waits. *is_last: no other follows. JP_NO_MEMORY. */
enum jp_status meta_ahead_next(struct meta_ahead *ahead, struct buffer *piece, bool *is_last) JP_MUST_CHECK;

#endif

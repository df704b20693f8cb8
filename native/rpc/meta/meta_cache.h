#ifndef JPEER_RPC_META_META_CACHE_H
#define JPEER_RPC_META_META_CACHE_H
/*
 * The last few compressed answers, whole, by what they depend on: a question that is asked again is answered
 * from here. Bounded in number and size. Any thread. Only for meta.c.
 */
#include "base/buffer.h"
#include "base/status.h"

struct meta_cache;
struct meta_cached;

/* Of one answer, and of what it depends on; there are two at the most. What is longer is not kept. */
enum { META_CACHED_BYTES_MAX = 4 * 1024 * 1024, META_CACHED_KEY_MAX = 64 * 1024 };

struct meta_cache *meta_cache_create(void); /* NULL: no memory. Caller frees with meta_cache_destroy */
void meta_cache_destroy(struct meta_cache *cache);

/* The answer under this key, or NULL. It stays valid until the caller gives it back with meta_cached_drop. */
struct meta_cached *meta_cache_find(struct meta_cache *cache, struct text key);
struct text meta_cached_text(const struct meta_cached *cached);
void meta_cached_drop(struct meta_cached *cached);

/* Keeps a copy of an answer, in the place of the one that was not asked for the longest. Where memory is
 * short, or one of them is too long, nothing is kept. */
void meta_cache_store(struct meta_cache *cache, struct text key, struct text answer);

#endif

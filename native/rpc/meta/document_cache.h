#ifndef JPEER_RPC_META_DOCUMENT_CACHE_H
#define JPEER_RPC_META_DOCUMENT_CACHE_H
/*
 * The last few compressed answers, whole, by what they depend on: a question that is asked again is answered
 * from here. Bounded in number and size. Any thread. Only for meta.c.
 */
#include "base/buffer.h"
#include "base/status.h"

struct document_cache;
struct kept_document;

/* Of one answer, and of what it depends on; there are two at the most. What is longer is not kept. */
enum { DOCUMENT_CACHE_BYTES_MAX = 4 * 1024 * 1024, DOCUMENT_CACHE_KEY_MAX = 64 * 1024 };

struct document_cache *
document_cache_create(void); /* NULL: no memory. Caller frees with document_cache_destroy */
void document_cache_destroy(struct document_cache *cache);

/* The answer under this key, or NULL. It stays valid until the caller gives it back with kept_document_drop. */
struct kept_document *document_cache_find(struct document_cache *cache, struct text key);
struct text kept_document_text(const struct kept_document *cached);
void kept_document_drop(struct kept_document *cached);

/* Keeps a copy of an answer, in the place of the one that was not asked for the longest. Where memory is
 * short, or one of them is too long, nothing is kept. */
void document_cache_store(struct document_cache *cache, struct text key, struct text answer);

#endif

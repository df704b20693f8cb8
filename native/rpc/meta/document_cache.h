#ifndef JPEER_RPC_META_DOCUMENT_CACHE_H
#define JPEER_RPC_META_DOCUMENT_CACHE_H
/*
 * Keeps the last two documents of one kind, each under a key of everything on which it depends, so that a
 * repeated question is answered at once: compressed answers to metadata queries, and OpenRPC documents. Any
 * thread.
 */
#include "base/buffer.h"

struct document_cache;
struct kept_document;

/* The maximal bytes of all documents of a cache together, and of one key. */
enum { DOCUMENT_CACHE_BYTES_MAX = 64 * 1024 * 1024, DOCUMENT_CACHE_KEY_MAX = 64 * 1024 };

struct document_cache *
document_cache_create(void); /* NULL: no memory. Caller frees with document_cache_destroy */
void document_cache_destroy(struct document_cache *cache);

/* The document with this key, or NULL. Valid until the caller releases it with kept_document_drop. */
struct kept_document *document_cache_find(struct document_cache *cache, struct text key);
struct text kept_document_text(const struct kept_document *kept);
void kept_document_drop(struct kept_document *kept);

/* Keeps a copy of a document in place of the least recently used document. Keeps nothing if memory is short
 * or document or key is too long. */
void document_cache_store(struct document_cache *cache, struct text key, struct text document);
/* Keeps the document itself, without a copy. Takes the buffer's content in every case. */
void document_cache_take(struct document_cache *cache, struct text key, struct buffer *document);

#endif

#ifndef JPEER_CLASSFILE_STRING_POOL_H
#define JPEER_CLASSFILE_STRING_POOL_H
/*
 * Keeps each text once, under a small number. One thread fills it and seals it; then any number of threads
 * may read it. Id 0 is the empty text.
 */
#include "base/status.h"
#include "base/text.h"

#include <stdint.h>

struct string_pool;

struct string_pool *string_pool_create(void); /* NULL: no memory. Caller frees with string_pool_destroy */
void string_pool_destroy(struct string_pool *pool);
/* Finds or makes the id of a text, which is copied. JP_NO_MEMORY; JP_LIMIT: more than 4 GiB of text. */
enum jp_status string_pool_intern(struct string_pool *pool, struct text t, uint32_t *id) JP_MUST_CHECK;
/* Prefetches the entry of a text that is soon interned. */
void string_pool_expect(const struct string_pool *pool, struct text t);
/* Ends interning and frees the memory that only interning needs. */
void string_pool_seal(struct string_pool *pool);

size_t string_pool_count(const struct string_pool *pool);
struct text string_pool_text(const struct string_pool *pool, uint32_t id); /* valid until the next intern */

#endif

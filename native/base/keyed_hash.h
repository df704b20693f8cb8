#ifndef JPEER_BASE_KEYED_HASH_H
#define JPEER_BASE_KEYED_HASH_H
/*
 * A hash of bytes under a random key: the first bytes of HMAC-SHA256 (RFC 2104). Whoever does not have the
 * key learns nothing about a hash from other hashes. Any thread.
 */
#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { KEYED_HASH_BYTES = 16 };

struct keyed_hash;

/* With a new random key. JP_NO_MEMORY; JP_INTERNAL: OpenSSL has no HMAC-SHA256, or no randomness. */
enum jp_status keyed_hash_create(struct keyed_hash **hash) JP_MUST_CHECK;
void keyed_hash_destroy(struct keyed_hash *hash);
/* JP_INTERNAL: OpenSSL fails. */
enum jp_status keyed_hash_compute(struct keyed_hash *hash, const void *bytes, size_t length,
                                  uint8_t out[KEYED_HASH_BYTES]) JP_MUST_CHECK;

#endif

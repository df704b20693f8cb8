#ifndef JPEER_BASE_BASE64_WIDE_H
#define JPEER_BASE_BASE64_WIDE_H
/*
 * Base64, 32 letters at once, with AVX2 where the processor has it; for base64.c and its test. Both functions
 * stop at a byte that is no letter, at a rest that is too short, and at once on another processor. They
 * return how far they came, and leave it to the caller to judge the rest. Pure, any thread.
 */
#include "base/text.h"

#include <stddef.h>
#include <stdint.h>

/* Returns the letters taken, a multiple of 32. Writes 3 bytes for each 4 of them, and may write further, up to the size
 * of the whole text's bytes. */
size_t base64_decode_wide(struct text t, uint8_t *out);

/* Returns the bytes taken, a multiple of 24. Writes 4 letters for each 3 of them. */
size_t base64_encode_wide(const uint8_t *bytes, size_t count, char *out);

#endif

#ifndef JPEER_BASE_BASE64_H
#define JPEER_BASE_BASE64_H
/* Base64 (RFC 4648, section 4, with padding). Any thread. */
#include "base/buffer.h"
#include "base/status.h"
#include "base/text.h"

#include <stdint.h>

/* Appends the encoding of count bytes. To encode in pieces, give pieces whose size is a multiple of 3. */
void base64_encode(struct buffer *out, const uint8_t *bytes, size_t count);

/* The number of bytes that base64_encode appends. */
static inline size_t base64_encoded_length(size_t count)
{
  return (count + 2) / 3 * 4;
}

/* The most bytes that t can decode to. */
size_t base64_decoded_max(struct text t);
/* Decodes t and writes *count bytes to out. JP_INVALID: t is not strict base64: it has white space, wrong
 * padding, or a last digit that is not canonical. */
enum jp_status base64_decode(struct text t, uint8_t *out, size_t *count) JP_MUST_CHECK;

#endif

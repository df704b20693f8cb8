#ifndef JPEER_RPC_META_META_GZIP_H
#define JPEER_RPC_META_META_GZIP_H
/* Writes bytes as the base64 (RFC 4648) of their gzip (RFC 1952), piece by piece. One owner. Only for
 * meta.c. */
#include "base/buffer.h"
#include "base/status.h"

#define ZLIB_CONST /* zlib then promises not to write to what it reads */
#include <zlib.h>

struct meta_gzip {
  z_stream stream;
  uint8_t kept[2]; /* bytes that wait for the rest of a base64 group of three */
  size_t kept_count;
};

enum jp_status meta_gzip_init(struct meta_gzip *gzip) JP_MUST_CHECK;
void meta_gzip_fini(struct meta_gzip *gzip);
/* Takes the next bytes and appends what is ready. last: no more bytes come, and everything is appended. */
enum jp_status meta_gzip_write(struct meta_gzip *gzip, struct text bytes, bool last,
                               struct buffer *out) JP_MUST_CHECK;

#endif

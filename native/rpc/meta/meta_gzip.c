#include "rpc/meta/meta_gzip.h"

#include "base/base64.h"

/* Metadata repeats itself so much that the quick level is small enough (docs/metadata.md has the figures). */
enum { LEVEL = 3, GZIP_WINDOW = 15 + 16, MEMORY_LEVEL = 8, PIECE = 3 * 5 * 1024 };

enum jp_status meta_gzip_init(struct meta_gzip *gzip)
{
  *gzip = (struct meta_gzip){0};
  return deflateInit2(&gzip->stream, LEVEL, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) == Z_OK
             ? JP_OK
             : JP_NO_MEMORY;
}

void meta_gzip_fini(struct meta_gzip *gzip)
{
  deflateEnd(&gzip->stream);
}

enum jp_status meta_gzip_write(struct meta_gzip *gzip, struct text bytes, bool last, struct buffer *out)
{
  uint8_t piece[PIECE];
  int code = Z_OK;
  gzip->stream.next_in = (const Bytef *)bytes.data;
  gzip->stream.avail_in = (uInt)bytes.len;
  do {
    memcpy(piece, gzip->kept, gzip->kept_count);
    gzip->stream.next_out = piece + gzip->kept_count;
    gzip->stream.avail_out = (uInt)(sizeof piece - gzip->kept_count);
    code = deflate(&gzip->stream, last ? Z_FINISH : Z_NO_FLUSH);
    if (code == Z_STREAM_ERROR)
      return JP_INTERNAL;
    size_t ready = sizeof piece - gzip->stream.avail_out;
    gzip->kept_count = code == Z_STREAM_END ? 0 : ready % 3;
    memcpy(gzip->kept, piece + ready - gzip->kept_count, gzip->kept_count);
    base64_encode(out, piece, ready - gzip->kept_count);
  } while (last ? code != Z_STREAM_END : gzip->stream.avail_out == 0);
  return out->failed ? JP_NO_MEMORY : JP_OK;
}

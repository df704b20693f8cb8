#ifndef JPEER_JSON_WRITER_H
#define JPEER_JSON_WRITER_H
/*
 * Writes JSON into a buffer, in place: no tree, no allocation but the buffer's own. The caller writes commas,
 * colons and brackets. Any thread.
 */
#include "base/buffer.h"
#include "base/text.h"

#include <stdint.h>

/* A quoted string. t is WTF-8: a lone surrogate leaves as \uD8xx, so that what is sent is always UTF-8. */
void json_write_string(struct buffer *out, struct text t);
/* The same without the quotes: for a string that is written in pieces, each piece of whole characters. */
void json_write_escaped(struct buffer *out, struct text t);
void json_write_integer(struct buffer *out, int64_t value);

#endif

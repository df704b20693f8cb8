#ifndef JPEER_JSON_WRITER_H
#define JPEER_JSON_WRITER_H
/*
 * Writes JSON into a buffer, in place: no tree, no allocation except the buffer's own. The caller writes commas,
 * colons and brackets. Any thread.
 */
#include "base/buffer.h"
#include "base/text.h"

#include <stdint.h>

/* A quoted string. t is WTF-8: a lone surrogate is written as \uD8xx, so that the output is always UTF-8. */
void json_write_string(struct buffer *out, struct text t);
/* The same as json_write_string, without the quotes: for a string that is written in pieces of whole
 * characters. */
void json_write_escaped(struct buffer *out, struct text t);
void json_write_integer(struct buffer *out, int64_t value);

#endif

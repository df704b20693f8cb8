#ifndef JPEER_BASE_TEXT_WIDE_H
#define JPEER_BASE_TEXT_WIDE_H
/*
 * Between UTF-8 and UTF-16 by 8 to 32 bytes at once, with AVX2 where the processor has it, for text.c and its
 * test. All functions stop where they are of no use (text that is wrong, the rest, another processor), and
 * tell how far they came; they never decide that something is wrong. Pure, any thread.
 */
#include "base/text.h"

/* Bytes that are strict UTF-8: whole characters; what follows them may be, too. */
size_t text_valid_utf8_wide(struct text t);

/* Bytes taken of WTF-8, whole characters; *out, with room for all that t is, is moved behind what they are.
 */
size_t text_to_utf16_wide(struct text t, uint16_t **out);

/* Units taken, whole pairs; *out, with room for what all units are, is moved behind what they are. */
size_t text_from_utf16_wide(const uint16_t *units, size_t count, char **out);

/* Units counted; *length is raised by the bytes that they are, those of both halves of a pair together being
 * four. */
size_t text_wtf8_length_wide(const uint16_t *units, size_t count, size_t *length);

#endif

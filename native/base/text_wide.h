#ifndef JPEER_BASE_TEXT_WIDE_H
#define JPEER_BASE_TEXT_WIDE_H
/*
 * Between UTF-8 and UTF-16, 8 to 32 bytes at once, with AVX2; used by text.c and its test. Each function
 * stops at malformed text, or when the rest is too short for a step. Without AVX2 it stops at once. It
 * returns how much of the text it has converted, and the caller converts the rest. Pure, any thread.
 */
#include "base/text.h"

/* The length of a prefix of t that is strict UTF-8 and consists of whole characters. The longest valid prefix
 * may be longer than the result. */
size_t text_valid_utf8_wide(struct text t);

/* Converts a prefix of the WTF-8 t, whole characters, and returns its length. *out has room for all of t, and is
 * advanced past the written units. */
size_t text_to_utf16_wide(struct text t, uint16_t **out);

/* Converts the first units, pairs as a whole, and returns their number. *out has room for all units, and is advanced
 * past the written bytes. */
size_t text_from_utf16_wide(const uint16_t *units, size_t count, char **out);

/* Adds to *length the bytes that the first units become, four for a pair, and returns their number. */
size_t text_wtf8_length_wide(const uint16_t *units, size_t count, size_t *length);

#endif

#ifndef JPEER_TESTS_UNIT_JSON_ORACLE_H
#define JPEER_TESTS_UNIT_JSON_ORACLE_H
/*
 * Compares the reader with jansson: the same verdict on a text and the same values in it.
 *
 * The complete list of allowed differences. Number suffixes, which are off here. Four things that RFC 8259 allows,
 * the reader accepts and jansson 2.14 refuses:
 *   - integers beyond 64 bits
 *   - numbers beyond the range of a double (1e400)
 *   - the character U+0000 in a member's name
 *   - lone surrogates, written as escapes
 * One thing that RFC 8259 forbids, the reader refuses and jansson accepts:
 *   - a NUL directly after a number or a word, which jansson skips
 *
 * A text that only jansson refuses must contain one of the first four. If only the reader refuses a text, the
 * reader must stop at a NUL in such a place. If a name occurs twice, jansson keeps the last member, so only
 * the last member is compared.
 *
 * Any thread. For tests and fuzzing only.
 */
#include "base/text.h"

enum oracle_verdict {
  ORACLE_BOTH_ACCEPT,
  ORACLE_BOTH_REFUSE,
  ORACLE_ON_THE_LIST,
  ORACLE_TOO_DEEP,
  ORACLE_DIFFER
};

enum oracle_verdict oracle_compare(struct text message);

#endif

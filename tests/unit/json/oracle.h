#ifndef JPEER_TESTS_UNIT_JSON_ORACLE_H
#define JPEER_TESTS_UNIT_JSON_ORACLE_H
/*
 * Holds the reader against jansson: the same verdict on a text and the same values in it.
 *
 * The whole list of what may differ. Number suffixes, which are off here. Four things that RFC 8259 allows,
 * that the reader takes and jansson 2.14 refuses:
 *   - integers beyond 64 bits
 *   - numbers beyond the range of a double (1e400)
 *   - the character U+0000 in a member's name
 *   - lone surrogates, written as escapes
 * One that it forbids, that the reader refuses and jansson takes:
 *   - a NUL straight behind a number or a word, which jansson passes over
 *
 * A text that jansson alone refuses must hold one of the four; where the reader alone refuses one, it must
 * stop at such a NUL. Of a name that comes twice, jansson keeps the last, so only that one is compared.
 *
 * Any thread. For tests and fuzzing only.
 */
#include "base/text.h"

enum oracle_verdict {
  ORACLE_BOTH_TAKE,
  ORACLE_BOTH_REFUSE,
  ORACLE_ON_THE_LIST,
  ORACLE_TOO_DEEP,
  ORACLE_DIFFER
};

enum oracle_verdict oracle_compare(struct text message);

#endif

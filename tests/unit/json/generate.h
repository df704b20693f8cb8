#ifndef JPEER_TESTS_UNIT_JSON_GENERATE_H
#define JPEER_TESTS_UNIT_JSON_GENERATE_H
/*
 * Makes JSON texts, ordinary and awkward ones, and damages them. The same seed makes the same texts on every
 * machine. One generator, one thread.
 */
#include "base/buffer.h"

#include <stdint.h>

struct generator {
  uint64_t state;
};

struct generator generator_from_seed(uint64_t seed);
/* Appends one JSON text: valid by RFC 8259. */
void generate_json(struct generator *generator, struct buffer *out);
/* Changes, drops, inserts or copies a few bytes of a text that may be empty. */
void generate_damage(struct generator *generator, struct buffer *text);

#endif

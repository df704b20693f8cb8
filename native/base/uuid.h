#ifndef JPEER_BASE_UUID_H
#define JPEER_BASE_UUID_H
/* UUIDs (RFC 9562) as 16 bytes, big endian. Any thread. */
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

enum { UUID_TEXT_LENGTH = 36 };

struct uuid {
  uint8_t bytes[16];
};

/* Makes a random UUID (version 4) by the kernel's generator. */
void uuid_random(struct uuid *uuid);
/* Accepts only the 8-4-4-4-12 form, in either case. */
bool uuid_parse(struct text t, struct uuid *uuid);
void uuid_format(const struct uuid *uuid, char out[UUID_TEXT_LENGTH + 1]); /* lower case, NUL-terminated */
bool uuid_equal(const struct uuid *a, const struct uuid *b);

#endif

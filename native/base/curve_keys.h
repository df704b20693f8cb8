#ifndef JPEER_BASE_CURVE_KEYS_H
#define JPEER_BASE_CURVE_KEYS_H
/*
 * Keys of ZeroMQ's CURVE (https://rfc.zeromq.org/spec/26/) as text in Z85, and the file of a pair of keys,
 * which `jpeer keygen` makes. The file is a certificate of czmq (https://rfc.zeromq.org/spec/4/), so pyzmq
 * can read it, too (zmq.auth.load_certificate). This module does without libzmq, so the caller must check
 * whether the two keys of a file belong together. Any thread.
 */
#include "base/status.h"
#include "base/text.h"

#include <stdbool.h>

enum { CURVE_KEY_LENGTH = 40, CURVE_KEY_SIZE = CURVE_KEY_LENGTH + 1 };

struct curve_keys {
  char public_key[CURVE_KEY_SIZE];
  char secret_key[CURVE_KEY_SIZE]; /* the owner clears it with explicit_bzero */
};

/* True if the text is a key of 32 bytes in Z85 (https://rfc.zeromq.org/spec/32/). */
bool curve_key_is_valid(struct text key) JP_MUST_CHECK;

/* JP_NOT_FOUND or JP_IO: the system's reason. JP_INVALID: other users could read the file, or the file has no
 * pair. Errors name the path; they never contain a part of a key. */
enum jp_status curve_keys_read(const char *path, struct curve_keys *keys,
                               struct jp_error *error) JP_MUST_CHECK;
/* Makes the file with the mode 0600. JP_IO: the system's reason, for example that the file exists already. */
enum jp_status curve_keys_write(const char *path, const struct curve_keys *keys,
                                struct jp_error *error) JP_MUST_CHECK;

#endif

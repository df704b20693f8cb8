#ifndef JPEER_NET_ZEROMQ_ZEROMQ_KEYS_H
#define JPEER_NET_ZEROMQ_ZEROMQ_KEYS_H
/* Makes and reads pairs of CURVE keys with libzmq, for `jpeer keygen` and --zmq-curve-key. Any thread. */
#include "base/curve_keys.h"

/* Makes a pair. JP_INVALID: libzmq was built without CURVE. JP_INTERNAL: the error's text is libzmq's
 * reason. */
enum jp_status zeromq_keys_make(struct curve_keys *keys, struct jp_error *error) JP_MUST_CHECK;
/* Reads the file of a pair, and checks that the two keys belong together. The errors are those of
 * curve_keys_read. JP_INVALID: also if the keys do not belong together, or if libzmq was built without
 * CURVE. */
enum jp_status zeromq_keys_read(const char *path, struct curve_keys *keys,
                                struct jp_error *error) JP_MUST_CHECK;

#endif

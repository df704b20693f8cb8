#ifndef JPEER_NET_ZEROMQ_ZEROMQ_KEYS_H
#define JPEER_NET_ZEROMQ_ZEROMQ_KEYS_H
/* Pairs of CURVE keys by libzmq, for `jpeer keygen` and --zmq-curve-key. Any thread. */
#include "base/curve_keys.h"

/* Makes a pair. JP_INVALID: libzmq was built without CURVE. JP_INTERNAL: its reason. */
enum jp_status zeromq_keys_make(struct curve_keys *keys, struct jp_error *error) JP_MUST_CHECK;
/* Reads the file of a pair, whose keys belong together. JP_INVALID also if libzmq was built without CURVE; else as
 * curve_keys_read. */
enum jp_status zeromq_keys_read(const char *path, struct curve_keys *keys,
                                struct jp_error *error) JP_MUST_CHECK;

#endif

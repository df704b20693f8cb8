#ifndef JPEER_BENCH_BODY_H
#define JPEER_BENCH_BODY_H
/*
 * The long parts of the workloads' texts, made when a workload is parsed. The expected answers contain the sums and
 * checksums below, which Java computes from these parts. Pure; any thread.
 */
#include "base/buffer.h"

#include <stdbool.h>

/*
 * Appends the part with this name:
 *   E  1 KiB of text of many scripts, also from beyond the Basic Multilingual Plane
 *   J  1,000 ints with commas between; they sum up to -678781
 *   B  1 MiB of bytes in base64; their CRC-32 is 325009406
 *   L  100 typed Integers from 0 on, with commas between; they sum up to 4950
 *   X  1 MiB of the letter x
 * Returns false if no part has that name.
 */
bool body_append(struct buffer *out, char name);

#endif

#ifndef JPEER_NET_ADMISSION_REFUSALS_H
#define JPEER_NET_ADMISSION_REFUSALS_H
/*
 * The connections of clients that were refused before anything was read. Each client was sent the reason, and
 * its connection is kept open for a moment. If the connection were closed at once, a client that is still
 * sending its request would get an error of the system in place of the reason. The number of these
 * connections is bounded, so that a flood of them does not use up descriptors: if there are too many, the
 * oldest is closed at once.
 *
 * Not thread-safe: the owner has a lock.
 */
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REFUSALS_MAX = 16, REFUSAL_KEPT_MS = 500 };

/* A ring, oldest first. All zero: none. */
struct refusals {
  size_t first;
  size_t count;
  struct {
    int fd;
    int64_t until_ms;
  } kept[REFUSALS_MAX];
};

/* Takes fd, sends the answer and ends the output. fd must be non-blocking. now_ms: clock_now_ms. */
void refusals_add(struct refusals *refusals, int fd, struct text answer, int64_t now_ms);
/* Closes the connections whose time has passed. True: some remain, call it again soon. */
bool refusals_tick(struct refusals *refusals, int64_t now_ms);
/* Closes all. */
void refusals_close(struct refusals *refusals);

#endif

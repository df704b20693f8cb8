#include "net/admission/refusals.h"

#include <sys/socket.h>
#include <unistd.h>

static void close_first(struct refusals *refusals)
{
  close(refusals->kept[refusals->first].fd);
  refusals->first = (refusals->first + 1) % REFUSALS_MAX;
  refusals->count--;
}

void refusals_add(struct refusals *refusals, int fd, struct text answer, int64_t now_ms)
{
  if (refusals->count == REFUSALS_MAX)
    close_first(refusals);
  ssize_t sent = send(fd, answer.data, answer.len, MSG_NOSIGNAL | MSG_DONTWAIT);
  (void)sent; /* the buffer of a new connection has room; a client that has left needs no answer */
  shutdown(fd, SHUT_WR);
  size_t place = (refusals->first + refusals->count++) % REFUSALS_MAX;
  refusals->kept[place].fd = fd;
  refusals->kept[place].until_ms = now_ms + REFUSAL_KEPT_MS;
}

bool refusals_tick(struct refusals *refusals, int64_t now_ms)
{
  while (refusals->count > 0 && refusals->kept[refusals->first].until_ms <= now_ms)
    close_first(refusals);
  return refusals->count > 0;
}

void refusals_close(struct refusals *refusals)
{
  while (refusals->count > 0)
    close_first(refusals);
}

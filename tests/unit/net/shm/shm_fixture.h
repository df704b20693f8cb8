#ifndef JPEER_TESTS_UNIT_NET_SHM_SHM_FIXTURE_H
#define JPEER_TESTS_UNIT_NET_SHM_SHM_FIXTURE_H
/* A server with shared memory, and one client. */
#include "base/clock.h"
#include "duplex_fixture.h"
#include "ring_client.h"
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { MESSAGE_MAX = 1024 * 1024, RING_SIZE = 4 * RING_SIZE_STEP };

struct fixture {
  struct duplex_fixture server;
  struct ring_end c;
};

static inline int shm_fixture_open(void **state, struct duplex_options options)
{
  struct fixture *f = calloc(1, sizeof *f);
  options.threads = 2;
  options.threads_max = 4;
  options.message_max = MESSAGE_MAX;
  options.poll_ns = 50000;
  options.ring_size = options.ring_size == 0 ? RING_SIZE : options.ring_size;
  duplex_fixture_open(&f->server, options);
  f->c.fd = duplex_connect_http(&f->server);
  *state = f;
  return 0;
}

/* Makes the server and the client, and the client maps the memory. */
static inline int shm_fixture_share(void **state, struct duplex_options options)
{
  int failed = shm_fixture_open(state, options);
  begin_sharing(&((struct fixture *)*state)->c);
  return failed;
}

static inline int shm_fixture_close(void **state)
{
  struct fixture *f = *state;
  if (f->c.fd >= 0)
    close(f->c.fd);
  ring_region_unmap(&f->c.region);
  duplex_fixture_close(&f->server);
  assert_int_equal(atomic_load(&f->server.pool.total), 0);
  free(f);
  return 0;
}

/* Expects that the peer closes the connection, after notifications only. */
static inline void expect_dropped(const struct fixture *f)
{
  const struct timeval patience = {.tv_sec = 60};
  char byte;
  ssize_t count;
  setsockopt(f->c.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  while ((count = recv(f->c.fd, &byte, 1, 0)) > 0)
    continue;
  if (count < 0 && errno == EAGAIN)
    fail_msg("the peer did not drop the connection in 60 s");
  assert_true(count == 0 || errno == ECONNRESET);
}

#define SHM_TEST(name, open) UNIT_TEST_OF(name, struct fixture *f, open, shm_fixture_close)

#endif

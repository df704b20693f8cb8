#include "tests/unit/await.h"
#include "tests/unit/ring/pair.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>

UNIT_TEST(names_valid_sizes)
{
  assert_true(ring_size_is_valid(RING_SIZE_MIN));
  assert_true(ring_size_is_valid(3 * RING_SIZE_STEP));
  assert_true(ring_size_is_valid(RING_SIZE_MAX));
  assert_false(ring_size_is_valid(0));
  assert_false(ring_size_is_valid(RING_SIZE_MIN + 1));
  assert_false(ring_size_is_valid(RING_SIZE_MAX + (size_t)RING_SIZE_STEP));
  assert_int_equal(ring_region_size(8192), 4096 + 16384);
}

static int make_file(off_t size, int seals)
{
  int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  assert_true(fd >= 0);
  assert_int_equal(ftruncate(fd, size), 0);
  if (seals != 0)
    assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
  return fd;
}

UNIT_TEST(client_refuses_an_invalid_region)
{
  enum { SEALS = F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL };
  off_t size = (off_t)ring_region_size(RING_SIZE_MIN);
  static const struct {
    int seals;
    off_t more;
    size_t ring_size;
  } cases[] = {
      {0, 0, RING_SIZE_MIN},                           /* not sealed */
      {F_SEAL_GROW | F_SEAL_SHRINK, 0, RING_SIZE_MIN}, /* can still be sealed */
      {SEALS, 4096, RING_SIZE_MIN},                    /* the file has another size */
      {SEALS, 0, 2 * RING_SIZE_MIN},                   /* the same */
      {SEALS, 0, 0},                                   /* no valid size */
      {SEALS, 0, SIZE_MAX - 4095},                     /* the same */
      {SEALS, 0, RING_SIZE_MIN},                       /* no magic number */
      {SEALS | F_SEAL_FUTURE_WRITE, 0, RING_SIZE_MIN}, /* cannot be written */
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    int fd = make_file(size + cases[i].more, cases[i].seals);
    struct ring_region region;
    struct jp_error error = {0};
    assert_int_not_equal(ring_region_map(fd, cases[i].ring_size, &region, &error), JP_OK);
    assert_null(region.control);
    assert_true(strlen(error.text) > 0);
    close(fd);
  }
  int pipe_ends[2];
  struct ring_region region;
  struct jp_error error = {0};
  assert_int_equal(pipe(pipe_ends), 0);
  assert_int_equal(ring_region_map(pipe_ends[0], RING_SIZE_MIN, &region, &error), JP_INVALID);
  assert_int_equal(ring_region_map(-1, RING_SIZE_MIN, &region, &error), JP_INVALID);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

UNIT_TEST(a_child_has_no_map)
{
  struct pair pair;
  pair_open(&pair, RING_SIZE_MIN);
  pid_t child = fork();
  if (child == 0) {
    unsigned char present[3];
    bool is_gone = mincore(pair.peer_region.control, sizeof present * 4096, present) != 0 &&
                   mincore(pair.client_region.control, sizeof present * 4096, present) != 0;
    _exit(is_gone ? 0 : 1);
  }
  int status = AWAIT_CHILD(child);
  assert_int_equal(status, 0);
  pair_close(&pair);
}

UNIT_MAIN

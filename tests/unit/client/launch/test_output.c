#include "client/launch/output.h"

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

struct seen {
  char text[3][200000]; /* by descriptor */
  size_t length[3];
};

static void keep(void *context, int descriptor, struct jp_text bytes)
{
  struct seen *seen = context;
  memcpy(seen->text[descriptor] + seen->length[descriptor], bytes.data, bytes.len);
  seen->length[descriptor] += bytes.len;
}

/* The write ends of the pipes. */
static struct seen *start(struct output *output, int ends[2])
{
  struct seen *seen = calloc(1, sizeof *seen);
  int first[2], second[2];
  assert_int_equal(pipe2(first, O_CLOEXEC) + pipe2(second, O_CLOEXEC), 0);
  const int descriptors[2] = {first[0], second[0]};
  assert_int_equal(output_start(output, descriptors, keep, seen, NULL), JP_CLIENT_OK);
  ends[0] = first[1];
  ends[1] = second[1];
  return seen;
}

/* A grandchild has the write ends, and lives on. */
UNIT_TEST(is_not_held_up_by_who_holds_the_pipes)
{
  struct output output;
  int ends[2];
  struct seen *seen = start(&output, ends);
  assert_int_equal(write(ends[0], "last words", 10), 10);
  output_finish(&output);
  assert_int_equal(seen->length[1], 10);
  close(ends[0]);
  close(ends[1]);
  free(seen);
}

UNIT_MAIN

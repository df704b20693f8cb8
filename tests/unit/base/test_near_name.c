/* Compares the distance with a plain calculation of the whole table, and tests which names are near. */
#include "base/near_name.h"
#include "tests/unit/unit.h"

#include <stdlib.h>

enum { SHORT = 12 };

static unsigned least(unsigned a, unsigned b)
{
  return a < b ? a : b;
}

/* Calculates every cell of the table, as a textbook does. */
static unsigned plain_distance(struct text a, struct text b)
{
  unsigned cells[SHORT + 1][SHORT + 1];
  for (size_t i = 0; i <= a.len; i++) {
    for (size_t j = 0; j <= b.len; j++) {
      if (i == 0 || j == 0) {
        cells[i][j] = (unsigned)(i + j);
        continue;
      }
      unsigned differs = a.data[i - 1] != b.data[j - 1];
      cells[i][j] = least(cells[i - 1][j - 1] + differs, least(cells[i - 1][j], cells[i][j - 1]) + 1);
      if (i > 1 && j > 1 && a.data[i - 1] == b.data[j - 2] && a.data[i - 2] == b.data[j - 1])
        cells[i][j] = least(cells[i][j], cells[i - 2][j - 2] + 1);
    }
  }
  return cells[a.len][b.len];
}

static struct text make_name(char *room, unsigned *seed)
{
  size_t length = (size_t)rand_r(seed) % (SHORT + 1);
  for (size_t i = 0; i < length; i++)
    room[i] = (char)('a' + rand_r(seed) % 3);
  return (struct text){room, length};
}

UNIT_TEST(test_distances_are_those_of_the_whole_table)
{
  unsigned seed = 7;
  unsigned seen[NEAR_NAME_BOUND_MAX + 2] = {0};
  for (int round = 0; round < 20000; round++) {
    char rooms[2][SHORT];
    struct text a = make_name(rooms[0], &seed);
    struct text b = make_name(rooms[1], &seed);
    unsigned whole = plain_distance(a, b);
    for (unsigned bound = 0; bound <= NEAR_NAME_BOUND_MAX; bound++)
      assert_int_equal(near_name_distance(a, b, bound), least(whole, bound + 1));
    seen[least(whole, NEAR_NAME_BOUND_MAX + 1)]++;
  }
  for (size_t i = 0; i < COUNT_OF(seen); i++)
    assert_true(seen[i] > 100);
}

UNIT_TEST(test_long_names)
{
  char a[NEAR_NAME_LENGTH_MAX + 1];
  char b[NEAR_NAME_LENGTH_MAX + 1];
  memset(a, 'x', sizeof a);
  memset(b, 'x', sizeof b);
  b[100] = 'y';
  b[NEAR_NAME_LENGTH_MAX - 1] = 'z';
  struct text longest = {a, NEAR_NAME_LENGTH_MAX};
  assert_int_equal(near_name_distance(longest, (struct text){b, NEAR_NAME_LENGTH_MAX}, 3), 2);
  assert_int_equal(near_name_distance(longest, (struct text){b, NEAR_NAME_LENGTH_MAX - 1}, 3), 2);
  struct text too_long = {a, sizeof a};
  assert_int_equal(near_name_distance(too_long, too_long, 3), 4);
}

static const char *nearest(const char *wanted, const char *const *candidates)
{
  struct near_name search;
  near_name_init(&search, text_of(wanted));
  for (size_t i = 0; candidates[i] != NULL; i++)
    near_name_offer(&search, text_of(candidates[i]));
  return search.best.data;
}

UNIT_TEST(test_the_nearest_is_kept)
{
  static const char *const options[] = {"--zmq-rpc", "--json-rpc", "--grace", "--name", "-J", "-cp", NULL};
  assert_string_equal(nearest("--json-rcp", options), "--json-rpc");
  assert_string_equal(nearest("--jsonrpc", options), "--json-rpc");
  assert_string_equal(nearest("--NAME", options), "--name");
  assert_string_equal(nearest("-cpp", options), "-cp");
  assert_null(nearest("--verbose", options));
  assert_null(nearest("-q", options));
  assert_null(nearest("", options));
  static const char *const equally_near[] = {"nama", "namb", NULL};
  assert_string_equal(nearest("name", equally_near), "nama");
}

UNIT_MAIN

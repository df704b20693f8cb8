/* Tests the distances between names, for short names by a calculation of the whole table, and the choice of
 * the nearest names. */
#include "rpc/suggest/nearest.h"
#include "tests/unit/unit.h"

#include <stdlib.h>

enum { NAME_MAX_TRIED = 9 };

static const struct distance_case {
  const char *a;
  const char *b;
  unsigned distance;
} distances[] = {
    {"kitten", "sitting", 3}, {"ArrayList", "arraylist", 1}, {"MAX", "max", 1},
    {"length", "width", 4},   {"abcdef", "ghijkl", 4},       {"a", "abcde", 4},
};

UNIT_TEST(test_distances)
{
  for (size_t i = 0; i < COUNT_OF(distances); i++) {
    struct text a = text_of(distances[i].a);
    struct text b = text_of(distances[i].b);
    assert_int_equal(nearest_distance(a, b, 3), distances[i].distance);
    assert_int_equal(nearest_distance(b, a, 3), distances[i].distance);
  }
}

/* The distance without a limit: the whole table. */
static unsigned plain_distance(struct text a, struct text b)
{
  unsigned table[NAME_MAX_TRIED + 1][NAME_MAX_TRIED + 1];
  for (size_t i = 0; i <= a.len; i++) {
    for (size_t j = 0; j <= b.len; j++) {
      unsigned least = (unsigned)(i == 0 ? j : i);
      if (i > 0 && j > 0) {
        unsigned changed = table[i - 1][j - 1] + (a.data[i - 1] != b.data[j - 1]);
        unsigned shifted = (table[i - 1][j] < table[i][j - 1] ? table[i - 1][j] : table[i][j - 1]) + 1;
        least = changed < shifted ? changed : shifted;
      }
      if (i > 1 && j > 1 && a.data[i - 1] == b.data[j - 2] && a.data[i - 2] == b.data[j - 1] &&
          table[i - 2][j - 2] + 1 < least)
        least = table[i - 2][j - 2] + 1;
      table[i][j] = least;
    }
  }
  return table[a.len][b.len];
}

static struct text make_name(char *bytes)
{
  size_t length = (size_t)rand() % (NAME_MAX_TRIED + 1);
  for (size_t i = 0; i < length; i++)
    bytes[i] = "abc"[rand() % 3];
  return (struct text){bytes, length};
}

UNIT_TEST(test_a_limit_changes_no_distance_within_it)
{
  char bytes[2][NAME_MAX_TRIED];
  srand(1);
  for (int i = 0; i < 20000; i++) {
    struct text a = make_name(bytes[0]);
    struct text b = make_name(bytes[1]);
    unsigned plain = plain_distance(a, b);
    for (unsigned limit = 1; limit <= 3; limit++)
      assert_int_equal(nearest_distance(a, b, limit), plain <= limit ? plain : limit + 1);
  }
}

UNIT_TEST(test_nothing_is_near_a_long_name)
{
  char bytes[NEAREST_NAME_MAX + 1];
  memset(bytes, 'x', sizeof bytes);
  struct text longest = {bytes, NEAREST_NAME_MAX};
  assert_int_equal(nearest_distance(longest, longest, 3), 0);
  assert_int_equal(
      nearest_distance((struct text){bytes, sizeof bytes}, (struct text){bytes, sizeof bytes}, 3), 4);
  bytes[0] = 'y';
  assert_int_equal(nearest_distance(longest, (struct text){bytes + 1, NEAREST_NAME_MAX}, 3), 1);
}

static void offer_names(struct nearest *nearest, const char *name)
{
  nearest_offer(nearest, text_of(name), nearest_distance(text_of(name), nearest->wanted, nearest->limit));
}

UNIT_TEST(test_the_nearest_are_kept)
{
  struct nearest nearest;
  nearest_begin(&nearest, TEXT("lenght"), TEXT("lenght"));
  offer_names(&nearest, "width");
  offer_names(&nearest, "leng");
  offer_names(&nearest, "weight");
  offer_names(&nearest, "lengths");
  offer_names(&nearest, "length");
  offer_names(&nearest, "length");
  assert_int_equal(nearest.count, 3);
  assert_text(nearest.names[0], "length");
  assert_text(nearest.names[1], "leng");
  assert_text(nearest.names[2], "weight");
}

UNIT_TEST(test_a_short_name_may_have_one_error)
{
  struct nearest nearest;
  nearest_begin(&nearest, TEXT("mx"), TEXT("mx"));
  offer_names(&nearest, "max");
  offer_names(&nearest, "min");
  assert_int_equal(nearest.count, 1);
  assert_text(nearest.names[0], "max");
}

UNIT_MAIN

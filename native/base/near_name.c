#include "base/near_name.h"

#include <assert.h>

enum { ROWS = 3, ROW_LENGTH = NEAR_NAME_LENGTH_MAX + 1 };

static char fold_case(char c)
{
  return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool equal_at(struct text a, size_t i, struct text b, size_t j)
{
  return fold_case(a.data[i]) == fold_case(b.data[j]);
}

static unsigned least(unsigned a, unsigned b)
{
  return a < b ? a : b;
}

/* The distances between the first bytes of a and of b: rows[i % ROWS][j] is the distance between i bytes of a
 * and j bytes of b. Cells further from the diagonal than bound are not needed, and count as bound + 1. */
struct alignment {
  struct text a;
  struct text b;
  unsigned bound;
  unsigned rows[ROWS][ROW_LENGTH];
};

static unsigned align_ends(const struct alignment *alignment, size_t i, size_t j)
{
  const unsigned *above = alignment->rows[(i - 1) % ROWS];
  const unsigned *row = alignment->rows[i % ROWS];
  struct text a = alignment->a;
  struct text b = alignment->b;
  unsigned replaced = above[j - 1] + (equal_at(a, i - 1, b, j - 1) ? 0 : 1);
  unsigned cost = least(replaced, least(above[j], row[j - 1]) + 1);
  if (i > 1 && j > 1 && equal_at(a, i - 1, b, j - 2) && equal_at(a, i - 2, b, j - 1))
    cost = least(cost, alignment->rows[(i - 2) % ROWS][j - 2] + 1);
  return cost;
}

/* The least distance in row i. */
static unsigned fill_row(struct alignment *alignment, size_t i)
{
  unsigned beyond = alignment->bound + 1;
  size_t from = i > alignment->bound ? i - alignment->bound : 0;
  size_t to = least((unsigned)(i + alignment->bound), (unsigned)alignment->b.len);
  unsigned *row = alignment->rows[i % ROWS];
  unsigned best = beyond;
  if (from > 0)
    row[from - 1] = beyond;
  for (size_t j = from; j <= to; j++) {
    if (i == 0)
      row[j] = (unsigned)j;
    else
      row[j] = j == 0 ? (unsigned)i : align_ends(alignment, i, j);
    best = least(best, row[j]);
  }
  if (to < alignment->b.len)
    row[to + 1] = beyond;
  return best;
}

unsigned near_name_distance(struct text a, struct text b, unsigned bound)
{
  assert(bound <= NEAR_NAME_BOUND_MAX);
  size_t difference = a.len > b.len ? a.len - b.len : b.len - a.len;
  if (difference > bound || a.len > NEAR_NAME_LENGTH_MAX || b.len > NEAR_NAME_LENGTH_MAX)
    return bound + 1;
  struct alignment alignment;
  alignment.a = a;
  alignment.b = b;
  alignment.bound = bound;
  unsigned above = 0;
  for (size_t i = 0; i <= a.len; i++) {
    unsigned here = fill_row(&alignment, i);
    /* A swap reads two rows up, so the search can end only after two rows. */
    if (above > bound && here > bound)
      return bound + 1;
    above = here;
  }
  return least(alignment.rows[a.len % ROWS][b.len], bound + 1);
}

void near_name_init(struct near_name *search, struct text wanted)
{
  enum { SHARE = 3 };
  size_t bound = wanted.len / SHARE;
  if (bound > NEAR_NAME_BOUND_MAX)
    bound = NEAR_NAME_BOUND_MAX;
  *search = (struct near_name){.wanted = wanted, .distance = (unsigned)bound + 1};
}

void near_name_offer(struct near_name *search, struct text candidate)
{
  if (search->distance == 0)
    return;
  unsigned distance = near_name_distance(search->wanted, candidate, search->distance - 1);
  if (distance >= search->distance)
    return;
  search->best = candidate;
  search->distance = distance;
}

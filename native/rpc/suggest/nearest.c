#include "rpc/suggest/nearest.h"

enum { DISTANCE_MAX = 3, CHARACTERS_AN_ERROR = 3 };

void nearest_begin(struct nearest *nearest, struct text wanted, struct text significant)
{
  size_t limit = significant.len / CHARACTERS_AN_ERROR;
  limit = limit < 1 ? 1 : limit > DISTANCE_MAX ? DISTANCE_MAX : limit;
  *nearest = (struct nearest){.wanted = wanted, .limit = (unsigned)limit};
}

static unsigned min_of(unsigned a, unsigned b)
{
  return a < b ? a : b;
}

/* Fills the row of the table for a[i - 1] from the rows for the two previous characters, and returns its
 * least entry. Only entries that are at most `limit` from the diagonal, and one entry on each side of them,
 * are filled. All other entries are larger than `limit`, and so are the entries that would be computed from
 * them. */
static unsigned fill_row(struct text a, struct text b, size_t i, unsigned limit, const unsigned *before_last,
                         const unsigned *last, unsigned *row)
{
  size_t first = i > limit ? i - limit : 1;
  size_t end = i + limit < b.len ? i + limit : b.len;
  unsigned least = row[first - 1] = first == 1 ? (unsigned)i : limit + 1;
  for (size_t j = first; j <= end; j++) {
    bool is_same = a.data[i - 1] == b.data[j - 1];
    unsigned distance = min_of(last[j - 1] + !is_same, min_of(last[j], row[j - 1]) + 1);
    if (i > 1 && j > 1 && a.data[i - 1] == b.data[j - 2] && a.data[i - 2] == b.data[j - 1])
      distance = min_of(distance, before_last[j - 2] + 1);
    row[j] = distance;
    least = min_of(least, distance);
  }
  if (end < b.len)
    row[end + 1] = limit + 1;
  return least;
}

/* Levenshtein's distance, except that an exchange of two neighbours counts as one change ("optimal string
 * alignment"). */
static unsigned measure_aligned(struct text a, struct text b, unsigned limit)
{
  /* initialised only for the static analyzer, which does not know which entries are read */
  unsigned rows[3][NEAREST_NAME_MAX + 1] = {{0}};
  for (unsigned j = 0; j <= b.len && j <= limit + 1; j++)
    rows[0][j] = j;
  for (size_t i = 1; i <= a.len; i++) {
    if (fill_row(a, b, i, limit, rows[(i + 1) % 3], rows[(i + 2) % 3], rows[i % 3]) > limit)
      return limit + 1;
  }
  return min_of(rows[a.len % 3][b.len], limit + 1);
}

unsigned nearest_distance(struct text a, struct text b, unsigned limit)
{
  size_t longer = a.len > b.len ? a.len : b.len;
  size_t shorter = a.len > b.len ? b.len : a.len;
  if (longer - shorter > limit || longer > NEAREST_NAME_MAX)
    return limit + 1;
  if (a.len == b.len && text_equal_ignore_case(a, b))
    return text_equal(a, b) ? 0 : 1;
  return measure_aligned(a, b, limit);
}

bool nearest_wants(const struct nearest *nearest, unsigned distance)
{
  return distance <= nearest->limit &&
         (nearest->count < NEAREST_KEPT || distance < nearest->distances[NEAREST_KEPT - 1]);
}

static bool is_kept(const struct nearest *nearest, struct text name)
{
  for (size_t i = 0; i < nearest->count; i++) {
    if (text_equal(nearest->names[i], name))
      return true;
  }
  return false;
}

void nearest_offer(struct nearest *nearest, struct text name, unsigned distance)
{
  if (!nearest_wants(nearest, distance) || is_kept(nearest, name))
    return;
  size_t at = nearest->count < NEAREST_KEPT ? nearest->count++ : NEAREST_KEPT - 1;
  for (; at > 0 && nearest->distances[at - 1] > distance; at--) {
    nearest->names[at] = nearest->names[at - 1];
    nearest->distances[at] = nearest->distances[at - 1];
  }
  nearest->names[at] = name;
  nearest->distances[at] = distance;
}

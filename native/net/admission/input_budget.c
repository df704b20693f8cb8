#include "net/admission/input_budget.h"

#include <stdlib.h>

static int compare_sizes(size_t a, size_t b)
{
  return a < b ? -1 : a > b;
}

static int compare_claims(const void *a, const void *b)
{
  const struct input_claim *first = a;
  const struct input_claim *second = b;
  if (first->goes_on != second->goes_on)
    return first->goes_on ? -1 : 1;
  return compare_sizes(first->held, second->held);
}

void input_budget_choose(struct input_claim *claims, size_t count, size_t room)
{
  if (count > 0) /* the array may be NULL if count is 0, and qsort must not get NULL */
    qsort(claims, count, sizeof *claims, compare_claims);
  size_t promised = 0;
  for (size_t i = 0; i < count; i++) {
    size_t left = claims[i].left;
    claims[i].is_licensed = i == 0 || (promised <= room && left <= room - promised);
    if (claims[i].is_licensed)
      promised += left;
  }
}

static int compare_largest(const void *a, const void *b)
{
  return compare_sizes(((const struct input_claim *)b)->held, ((const struct input_claim *)a)->held);
}

void input_budget_sort_largest(struct input_claim *claims, size_t count)
{
  if (count > 0)
    qsort(claims, count, sizeof *claims, compare_largest);
}

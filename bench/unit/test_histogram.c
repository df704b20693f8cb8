#include "histogram.h"

#include "unit.h"

static struct histogram histogram;

UNIT_TEST(nothing_recorded_is_zero)
{
  histogram_clear(&histogram);
  assert_int_equal(histogram_quantile(&histogram, 0.5), 0);
  assert_int_equal(histogram.max, 0);
}

UNIT_TEST(small_values_are_exact)
{
  histogram_clear(&histogram);
  for (uint64_t ns = 1; ns <= 100; ns++)
    histogram_record(&histogram, ns % 60);
  assert_int_equal(histogram.total, 100);
  assert_int_equal(histogram.max, 59);
  assert_int_equal(histogram_quantile(&histogram, 1), 59);
}

/* A quantile is never below the recorded value, and at most 1/64 above it. */
UNIT_TEST(large_values_are_near)
{
  for (unsigned bit = 6; bit < 64; bit++) {
    for (int step = -1; step <= 1; step++) {
      uint64_t ns = ((uint64_t)1 << bit) + (uint64_t)(int64_t)step;
      histogram_clear(&histogram);
      histogram_record(&histogram, ns);
      histogram_record(&histogram, UINT64_MAX);
      uint64_t found = histogram_quantile(&histogram, 0.5);
      assert_true(found >= ns);
      assert_true(found - ns <= ns / HISTOGRAM_SUBS);
      assert_int_equal(histogram_quantile(&histogram, 1), UINT64_MAX);
    }
  }
}

UNIT_TEST(quantiles_count_from_below)
{
  histogram_clear(&histogram);
  for (int i = 0; i < 990; i++)
    histogram_record(&histogram, 10);
  for (int i = 0; i < 10; i++)
    histogram_record(&histogram, 50);
  assert_int_equal(histogram_quantile(&histogram, 0.5), 10);
  assert_int_equal(histogram_quantile(&histogram, 0.99), 10);
  assert_int_equal(histogram_quantile(&histogram, 0.999), 50);
}

UNIT_MAIN

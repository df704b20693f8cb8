#include "histogram.h"

#include <string.h>

void histogram_clear(struct histogram *histogram)
{
  memset(histogram, 0, sizeof(*histogram));
}

/* Each value below HISTOGRAM_SUBS has a bucket of its own. Above that, the range from each power of two to
 * the next has HISTOGRAM_SUBS buckets. */
static unsigned bucket_of(uint64_t ns)
{
  if (ns < HISTOGRAM_SUBS)
    return (unsigned)ns;
  unsigned shift = 63 - (unsigned)__builtin_clzll(ns) - HISTOGRAM_SUB_BITS;
  return (shift + 1) * HISTOGRAM_SUBS + (unsigned)((ns >> shift) - HISTOGRAM_SUBS);
}

static uint64_t last_of_bucket(unsigned bucket)
{
  if (bucket < HISTOGRAM_SUBS)
    return bucket;
  unsigned shift = bucket / HISTOGRAM_SUBS - 1;
  uint64_t first = (uint64_t)(HISTOGRAM_SUBS + bucket % HISTOGRAM_SUBS) << shift;
  return first + ((uint64_t)1 << shift) - 1;
}

void histogram_record(struct histogram *histogram, uint64_t ns)
{
  histogram->counts[bucket_of(ns)]++;
  histogram->total++;
  if (ns > histogram->max)
    histogram->max = ns;
}

uint64_t histogram_quantile(const struct histogram *histogram, double share)
{
  uint64_t wanted = (uint64_t)(share * (double)histogram->total + 0.5);
  uint64_t seen = 0;
  for (unsigned bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
    seen += histogram->counts[bucket];
    if (seen >= wanted && seen > 0) {
      uint64_t last = last_of_bucket(bucket);
      return last < histogram->max ? last : histogram->max;
    }
  }
  return histogram->max;
}

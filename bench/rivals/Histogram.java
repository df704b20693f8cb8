/** Latencies in the buckets of the generator's histogram (histogram.h), so that quantiles mean the same. */
final class Histogram {
  private static final int SUB_BITS = 6;
  private static final int SUBS = 1 << SUB_BITS;

  private final long[] counts = new long[(64 - SUB_BITS + 1) * SUBS];
  private long total;
  private long max;

  private static int bucketOf(long ns) {
    if (ns < SUBS) {
      return (int) ns;
    }
    int shift = 63 - Long.numberOfLeadingZeros(ns) - SUB_BITS;
    return (shift + 1) * SUBS + (int) ((ns >>> shift) - SUBS);
  }

  private static long lastOf(int bucket) {
    if (bucket < SUBS) {
      return bucket;
    }
    int shift = bucket / SUBS - 1;
    return ((long) (SUBS + bucket % SUBS) << shift) + (1L << shift) - 1;
  }

  void record(long ns) {
    counts[bucketOf(ns)]++;
    total++;
    max = Math.max(max, ns);
  }

  void add(Histogram other) {
    for (int bucket = 0; bucket < counts.length; bucket++) {
      counts[bucket] += other.counts[bucket];
    }
    total += other.total;
    max = Math.max(max, other.max);
  }

  long total() {
    return total;
  }

  long max() {
    return max;
  }

  /** The value that this share of the recorded values does not exceed. */
  long quantile(double share) {
    long wanted = (long) (share * total + 0.5);
    long seen = 0;
    for (int bucket = 0; bucket < counts.length; bucket++) {
      seen += counts[bucket];
      if (seen >= wanted && seen > 0) {
        return Math.min(lastOf(bucket), max);
      }
    }
    return max;
  }
}

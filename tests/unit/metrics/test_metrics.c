/* The table of metrics, the buckets of the histogram, and the text. */
#include "metrics/metrics.h"
#include "tests/unit/unit.h"

#include <string.h>

UNIT_TEST(a_bucket_counts_times_up_to_its_bound)
{
  assert_int_equal(metrics_bucket_of(0), 0);
  for (unsigned i = 0; i < METRICS_BUCKETS - 1; i++) {
    const uint64_t bound_ns = ((uint64_t)METRICS_BUCKET_FIRST_US << i) * 1000;
    assert_int_equal(metrics_bucket_of(bound_ns), i);
    assert_int_equal(metrics_bucket_of(bound_ns + 1), i + 1);
  }
  assert_int_equal(metrics_bucket_of(UINT64_MAX), METRICS_BUCKETS - 1);
}

/* https://prometheus.io/docs/practices/naming */
UNIT_TEST(names_follow_the_rules_of_prometheus)
{
  for (size_t i = 0; i < metrics_table_count; i++) {
    const struct metrics_row *row = &metrics_table[i];
    const struct text name = text_of(row->name);
    assert_int_equal(row->type == METRICS_COUNTER, text_ends_with(name, TEXT("_total")));
    assert_int_equal(row->parts > 1, strstr(row->name, "_seconds") != NULL);
    assert_int_equal(strspn(row->name, "abcdefghijklmnopqrstuvwxyz_"), name.len);
    assert_true(text_ends_with(text_of(row->help), TEXT(".")) && strpbrk(row->help, "\\\n|`") == NULL);
    for (size_t j = 0; j < i; j++)
      assert_string_not_equal(row->name, metrics_table[j].name);
  }
}

static void check_text(const struct metrics_figures *figures, const char *expected)
{
  struct buffer out;
  buffer_init(&out);
  metrics_write(figures, &out);
  buffer_append_char(&out, '\0');
  assert_string_equal(out.data, expected);
  buffer_fini(&out);
}

UNIT_TEST(writes_what_is_known_in_units)
{
  struct metrics_figures figures;
  metrics_figures_init(&figures);
  check_text(&figures, "");
  figures.refs = 7;
  figures.gc_ms = 12034;
  for (size_t i = 0; i < METRICS_TRANSPORTS; i++)
    figures.connections[i] = i;
  check_text(
      &figures,
      "# HELP jpeer_connections Open connections by transport; of ZeroMQ, clients that wait for an answer.\n"
      "# TYPE jpeer_connections gauge\n"
      "jpeer_connections{transport=\"websocket\"} 0\n"
      "jpeer_connections{transport=\"http\"} 1\n"
      "jpeer_connections{transport=\"shm\"} 2\n"
      "jpeer_connections{transport=\"zmq\"} 3\n"
      "# HELP jpeer_refs Java objects that clients have refs of, in all sessions.\n"
      "# TYPE jpeer_refs gauge\n"
      "jpeer_refs 7\n"
      "# HELP jpeer_jvm_gc_seconds_total Time of garbage collections, of all collectors.\n"
      "# TYPE jpeer_jvm_gc_seconds_total counter\n"
      "jpeer_jvm_gc_seconds_total 12.034\n");
}

UNIT_TEST(the_buckets_of_a_histogram_are_cumulative)
{
  struct metrics_figures figures;
  struct buffer out;
  metrics_figures_init(&figures);
  memset(figures.latency, 0, sizeof figures.latency);
  figures.latency[0] = 3;
  figures.latency[1] = 2;
  figures.latency[METRICS_BUCKETS - 1] = 1;
  figures.latency_ns = 100000000042;
  buffer_init(&out);
  metrics_write(&figures, &out);
  buffer_append_char(&out, '\0');
  static const char *const lines[] = {"_bucket{le=\"0.000008\"} 3\n",  "_bucket{le=\"0.000016\"} 5\n",
                                      "_bucket{le=\"67.108864\"} 5\n", "_bucket{le=\"+Inf\"} 6\n",
                                      "_sum 100.000000042\n",          "_count 6\n"};
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
    assert_non_null(strstr(out.data, lines[i]));
  buffer_fini(&out);
}

UNIT_MAIN

/* A body as the inside of a JSON string, however its source cuts it. */
#include "rpc/jsonrpc/escaped_body.h"
#include "tests/unit/unit.h"

struct source {
  struct text text;
  size_t at;
  size_t step;
  size_t breaks_at; /* reading fails from here on; SIZE_MAX: never */
  int closed;
};

static enum jp_status read_source(void *state, struct buffer *out, size_t max)
{
  struct source *source = state;
  size_t left = source->text.len - source->at;
  size_t step = source->step < max ? source->step : max;
  if (source->at >= source->breaks_at)
    return JP_IO;
  if (left == 0)
    return JP_CLOSED;
  step = step < left ? step : left;
  buffer_append(out, source->text.data + source->at, step);
  source->at += step;
  return JP_OK;
}

static void close_source(void *state)
{
  struct source *source = state;
  source->closed++;
}

static struct outcome_body open_stream(struct source *source)
{
  struct outcome_body body = {.state = source, .read = read_source, .close = close_source};
  struct outcome_body escaped;
  assert_int_equal(rpc_body_escape(&body, &escaped), JP_OK);
  return escaped;
}

static void test_every_cut_gives_the_same_text(void **state)
{
  (void)state;
  static const struct text plain = TEXT("a\"\\\n\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z");
  static const struct text wanted = TEXT("a\\\"\\\\\\n\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z");
  for (size_t step = 1; step <= plain.len; step++) {
    struct source source = {.text = plain, .step = step, .breaks_at = SIZE_MAX};
    struct outcome_body body = open_stream(&source);
    struct buffer out;
    buffer_init(&out);
    enum jp_status status;
    while ((status = body.read(body.state, &out, 1000)) == JP_OK)
      assert_int_equal(text_valid_utf8(buffer_text(&out)), out.len);
    assert_int_equal(status, JP_CLOSED);
    assert_int_equal(body.read(body.state, &out, 1000), JP_CLOSED);
    unit_assert_text(buffer_text(&out), wanted, __FILE__, __LINE__);
    body.close(body.state);
    assert_int_equal(source.closed, 1);
    buffer_fini(&out);
  }
}

static void test_failures_are_passed_on(void **state)
{
  (void)state;
  for (size_t breaks_at = 0; breaks_at < 4; breaks_at++) {
    struct source source = {.text = TEXT("abcdef"), .step = 1, .breaks_at = breaks_at};
    struct outcome_body body = open_stream(&source);
    struct buffer out;
    buffer_init(&out);
    enum jp_status status;
    while ((status = body.read(body.state, &out, 1000)) == JP_OK)
      ;
    assert_int_equal(status, JP_IO);
    assert_int_equal(out.len, breaks_at);
    body.close(body.state);
    assert_int_equal(source.closed, 1);
    buffer_fini(&out);
  }
}

static void test_an_empty_body(void **state)
{
  (void)state;
  struct source source = {.text = TEXT(""), .step = 1, .breaks_at = SIZE_MAX};
  struct outcome_body body = open_stream(&source);
  struct buffer out;
  buffer_init(&out);
  assert_int_equal(body.read(body.state, &out, 10), JP_CLOSED);
  assert_int_equal(out.len, 0);
  body.close(body.state);
  buffer_fini(&out);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_failures_are_passed_on),
      cmocka_unit_test(test_an_empty_body),
      cmocka_unit_test(test_every_cut_gives_the_same_text),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

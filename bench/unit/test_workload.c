#include "workload.h"

#include "unit.h"

static bool matches(const char *expected, struct workload_facts *facts, struct text answer)
{
  struct workload_text text;
  assert_true(workload_text_parse(&text, expected, 0));
  bool found = workload_match(&text, facts, answer);
  workload_text_fini(&text);
  return found;
}

UNIT_TEST(wrong_answers_do_not_match)
{
  static const char expected[] = "{\"id\":$i,\"value\":\"$s\"}";
  static const struct text wrong[] = {
      TEXT(""),
      TEXT("{"),
      TEXT("{\"id\":13,\"value\":\"96\"}"),   /* the id of another request */
      TEXT("{\"id\":1,\"value\":\"96\"}"),    /* the id's start */
      TEXT("{\"id\":123,\"value\":\"96\"}"),  /* more than the id */
      TEXT("{\"id\":12,\"value\":\"97\"}"),   /* another value */
      TEXT("{\"id\":12,\"value\":\"968\"}"),  /* more than the value */
      TEXT("{\"id\":12,\"value\":\"96\"}\n"), /* more after it */
      TEXT("{\"id\":12,\"value\":\"96\""),    /* cut */
      TEXT("{\"id\":12,\"error\":\"96\"}"),
  };
  struct workload_facts facts = {.id = 12};
  assert_true(matches(expected, &facts, TEXT("{\"id\":12,\"value\":\"96\"}")));
  for (size_t i = 0; i < COUNT_OF(wrong); i++)
    assert_false(matches(expected, &facts, wrong[i]));
}

UNIT_TEST(references_are_learned_once)
{
  struct workload_facts facts = {.id = 1};
  assert_false(matches("{\"ref\":$r}", &facts, TEXT("{\"ref\":}")));
  facts.object = 0;
  assert_false(matches("{\"ref\":$r}", &facts, TEXT("{\"ref\":0}")));
  facts.object = 0;
  assert_true(matches("{\"ref\":$r}", &facts, TEXT("{\"ref\":42}")));
  assert_int_equal(facts.object, 42);
  assert_false(matches("{\"ref\":$r}", &facts, TEXT("{\"ref\":43}")));
  assert_true(matches("{\"ref\":$o}", &facts, TEXT("{\"ref\":7}")));
  assert_int_equal(facts.receiver, 7);
}

UNIT_TEST(a_time_may_be_any_number)
{
  struct workload_facts facts = {.id = 1};
  assert_true(matches("[$t]", &facts, TEXT("[1795277343]")));
  assert_true(matches("[$t]", &facts, TEXT("[1795277344]")));
  assert_int_equal(facts.time, 1795277344);
  assert_false(matches("[$t]", &facts, TEXT("[]")));
  assert_false(matches("[$t]", &facts, TEXT("[12x]")));
}

UNIT_TEST(a_bad_text_is_refused)
{
  static const char *const bad[] = {"$x", "$Z", "ends in $"};
  struct workload_text text;
  for (size_t i = 0; i < COUNT_OF(bad); i++) {
    assert_false(workload_text_parse(&text, bad[i], 0));
    workload_text_fini(&text);
  }
  assert_false(workload_text_parse(&text, "$i", WORKLOAD_BATCH_MAX + 1));
  workload_text_fini(&text);
}

UNIT_TEST(a_batch_is_its_elements)
{
  struct workload_text text;
  struct workload_facts facts = {.id = 12};
  assert_true(workload_text_parse(&text, "$i-$k", 3));
  assert_true(workload_match(&text, &facts, TEXT("[12-00,12-01,12-02]")));
  assert_false(workload_match(&text, &facts, TEXT("[12-00,12-02,12-01]")));
  assert_false(workload_match(&text, &facts, TEXT("[12-00,12-01]")));
  workload_text_fini(&text);
}

/* Writes the text, and matches the output with it. */
static void write_and_match(struct workload_text *text)
{
  struct workload_facts facts = {.id = 1000000007, .count = 3, .receiver = 5, .object = 6, .time = 7};
  struct buffer buffer;
  buffer_init(&buffer);
  workload_write(text, &facts, &buffer);
  assert_true(workload_match(text, &facts, buffer_text(&buffer)));
  buffer_fini(&buffer);
  workload_text_fini(text);
}

/* The written text matches. */
static void rows_are_whole(const struct workload_row *rows, unsigned count)
{
  for (unsigned i = 0; i < count; i++) {
    const struct workload_row *row = &rows[i];
    assert_ptr_equal(workload_find(row->name), row);
    for (unsigned step = 0; step < WORKLOAD_STEPS_MAX && workload_step_exists(&row->steps[step]); step++) {
      struct workload_text request;
      struct workload_text answer;
      assert_true(workload_step_parse(&row->steps[step], row->batch, &request, &answer));
      write_and_match(&request);
      write_and_match(&answer);
    }
  }
}

UNIT_TEST(every_row_is_whole)
{
  rows_are_whole(workload_rows, workload_row_count);
  rows_are_whole(workload_binary_rows, workload_binary_row_count);
  rows_are_whole(workload_rival_rows, workload_rival_row_count);
  assert_null(workload_find("nothing"));
}

UNIT_MAIN

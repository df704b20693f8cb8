#include "canned.h"

#include "unit.h"

/* Sends one request to the floor: its answer must be the answer that the generator expects. */
static void ask(const struct canned *canned, const struct workload_step *step, unsigned batch)
{
  struct workload_text request;
  struct workload_text expected;
  struct workload_facts facts = {.id = 2000000013, .count = 3, .receiver = 5, .object = 1, .canned = true};
  struct buffer asked;
  struct buffer answer;
  buffer_init(&asked);
  buffer_init(&answer);
  assert_true(workload_step_parse(step, batch, &request, &expected));
  workload_write(&request, &facts, &asked);
  canned_answer(canned, buffer_text(&asked), &answer);
  facts.receiver = 0;
  assert_true(workload_match(&expected, &facts, buffer_text(&answer)));
  buffer_fini(&asked);
  buffer_fini(&answer);
  workload_text_fini(&request);
  workload_text_fini(&expected);
}

static void answer_rows(const struct workload_row *rows, unsigned count)
{
  for (unsigned i = 0; i < count; i++) {
    const struct workload_row *row = &rows[i];
    struct canned canned;
    assert_true(canned_init(&canned, row->name));
    if (workload_step_exists(&row->setup))
      ask(&canned, &row->setup, 0);
    for (unsigned step = 0; step < WORKLOAD_STEPS_MAX && workload_step_exists(&row->steps[step]); step++)
      ask(&canned, &row->steps[step], row->batch);
    canned_fini(&canned);
  }
}

UNIT_TEST(every_request_of_every_row_is_answered)
{
  answer_rows(workload_rows, workload_row_count);
  answer_rows(workload_binary_rows, workload_binary_row_count);
}

UNIT_TEST(short_messages_do_no_harm)
{
  struct canned canned;
  struct buffer answer;
  buffer_init(&answer);
  assert_true(canned_init(&canned, "new-delete"));
  canned_answer(&canned, TEXT(""), &answer);
  canned_answer(&canned, TEXT("{\"jsonrpc\":\"2.0\",\"id\":"), &answer);
  canned_answer(&canned, TEXT("{\"jsonrpc\":\"2.0\",\"id\":12"), &answer);
  canned_fini(&canned);
  assert_true(canned_init(&canned, "add-binary"));
  canned_answer(&canned, TEXT(""), &answer);
  canned_answer(&canned, TEXT("\0\3\1\0\20the"), &answer);
  canned_fini(&canned);
  buffer_fini(&answer);
}

UNIT_TEST(an_unknown_workload_is_refused)
{
  struct canned canned;
  assert_false(canned_init(&canned, "nothing"));
  canned_fini(&canned);
}

UNIT_MAIN

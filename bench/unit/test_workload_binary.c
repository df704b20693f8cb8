#include "workload_binary.h"

#include "colfer/messages.h"
#include "unit.h"

#include <stdio.h>

static const uint64_t ids[] = {1000000000, 1000000001, 1000000007, 16000012345, 256000099999};

/* A request of the workload `add-binary` with an id, and what its answer has to be. */
struct asked {
  struct workload_facts facts;
  struct workload_text request;
  struct workload_text answer;
  struct buffer bytes; /* the bytes of the request */
  struct arena arena;
  struct colfer_message message; /* the request, as the peer reads it */
};

static void ask(struct asked *asked, uint64_t id)
{
  const struct workload_row *row = workload_find("add-binary");
  struct jp_error error;
  *asked = (struct asked){.facts = {.id = id}};
  buffer_init(&asked->bytes);
  arena_init(&asked->arena);
  assert_non_null(row);
  assert_true(workload_step_parse(&row->steps[0], 0, &asked->request, &asked->answer));
  workload_write(&asked->request, &asked->facts, &asked->bytes);
  assert_int_equal(
      colfer_decode(&colfer_message_type, buffer_text(&asked->bytes), &asked->arena, &asked->message, &error),
      JP_OK);
}

static void finish(struct asked *asked)
{
  workload_text_fini(&asked->request);
  workload_text_fini(&asked->answer);
  buffer_fini(&asked->bytes);
  arena_fini(&asked->arena);
}

/* The peer's answer, with its own id before the request's. */
static void answer_with(const char *id, struct text responds_to, const char *sum, struct buffer *out)
{
  const struct binary_call call = {
      .id = responds_to, .class_name = TEXT("com.example.Calculator"), .method = TEXT("add")};
  const struct binary_value result = {TEXT("int"), text_of(sum)};
  buffer_clear(out);
  binary_append_return(&call, text_of(id), &result, out);
}

static bool matches(struct asked *asked, const struct buffer *answer)
{
  return workload_match(&asked->answer, &asked->facts, buffer_text(answer));
}

UNIT_TEST(a_request_is_a_message_of_its_own)
{
  for (size_t i = 0; i < COUNT_OF(ids); i++) {
    struct asked asked;
    char text[32];
    ask(&asked, ids[i]);
    const struct colfer_exec_message *exec = asked.message.exec_message;
    assert_int_equal(asked.message.message_type, COLFER_CALLS_CLASS_METHOD);
    assert_int_equal(exec->peer_uuid.len, 16);
    assert_int_equal(exec->message_id.len, 36);
    snprintf(text, sizeof text, "%012llu", (unsigned long long)ids[i]);
    assert_true(text_ends_with(exec->message_id, text_of(text)));
    snprintf(text, sizeof text, "%03llu", (unsigned long long)ids[i] / WORKLOAD_IDS_PER_CONNECTION);
    assert_true(text_ends_with(exec->peer_uuid, text_of(text)));
    assert_int_equal(exec->class_method_call->args.count, 2);
    snprintf(text, sizeof text, "%llu", (unsigned long long)ids[i] % 100000);
    assert_true(text_equal(exec->class_method_call->args.items[0].value, text_of(text)));
    finish(&asked);
  }
}

UNIT_TEST(only_the_answers_own_id_is_free)
{
  struct asked asked;
  struct buffer answer;
  buffer_init(&answer);
  ask(&asked, 1000000007);
  struct text id = asked.message.exec_message->message_id;
  answer_with("fc0d3f5e-0000-4000-8000-000000000001", id, "56", &answer);
  assert_true(matches(&asked, &answer));
  answer_with("1", id, "56", &answer);
  assert_true(matches(&asked, &answer));
  answer_with("1", id, "57", &answer);
  assert_false(matches(&asked, &answer));
  answer_with("1", id, "560", &answer);
  assert_false(matches(&asked, &answer));
  answer_with("1", TEXT("fc0d3f5e-0000-4000-8000-000000000001"), "56", &answer);
  assert_false(matches(&asked, &answer));
  buffer_fini(&answer);
  finish(&asked);
}

UNIT_TEST(a_part_of_an_answer_is_none)
{
  struct asked asked;
  struct buffer answer;
  buffer_init(&answer);
  ask(&asked, 1000000007);
  answer_with("1", asked.message.exec_message->message_id, "56", &answer);
  for (size_t i = 0; i < answer.len; i++)
    assert_false(workload_match(&asked.answer, &asked.facts, text_slice(buffer_text(&answer), 0, i)));
  buffer_append_char(&answer, 0x7f);
  assert_false(matches(&asked, &answer));
  buffer_fini(&answer);
  finish(&asked);
}

UNIT_MAIN

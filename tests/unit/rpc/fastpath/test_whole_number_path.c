/* Tests which requests take the whole-number path, and that the frame of each request is ended in every
 * case. */
#include "rpc/fastpath/whole_number_path.h"

#include "base/number_format.h"
#include "rpc/peer_state.h"
#include "service_bench.h"
#include "tests/unit/unit.h"

static struct stub_member members[1];
static const struct stub_member adds = STUB_MEMBER_ADD;

struct bench {
  struct service_bench *service;
  struct whole_number_path path;
  struct rpc_cached_request request;
  struct rpc_cached_call call;
  unsigned failures; /* calls of answer_failed */
};

static const struct rpc_written_answer written = {.before_id = TEXT("<"),
                                                  .after_id = TEXT(":"),
                                                  .has_number = true,
                                                  .after_number = TEXT(">"),
                                                  .member = (struct resolved_member *)(void *)&members[0]};

/* rpc_cached_call.answer: the outcome is valid because the request's frame is open. */
static bool answer_failed(void *context, struct rpc_cached_request *request, const struct outcome *failed,
                          struct rpc_written_answer *written_answer)
{
  struct bench *own = context;
  assert_ptr_equal(request, &own->request);
  assert_null(written_answer);
  assert_int_equal(stub.frames, 1);
  unit_assert_text(failed->message, TEXT("thrown"), __FILE__, __LINE__);
  own->failures++;
  return true;
}

static bool take_path(struct bench *own)
{
  buffer_clear(&own->service->out);
  bool served = whole_number_path_serve(&own->path, &own->request, &own->call);
  assert_int_equal(stub.frames, 0);
  return served;
}

static struct bench *own;

static int set_up(void **state)
{
  const struct service_bench_options options = {.members = members, .member_count = COUNT_OF(members)};
  const struct rpc_client_info info = {.channel = OP_CHANNEL_ZMQ, .routing_id = TEXT("client")};
  own = test_calloc(1, sizeof *own);
  struct service_bench *service;
  members[0] = adds;
  members[0].whole_number = 'I';
  service = service_bench_create(&options);
  stub.serial = 1;
  service->client = bench_open(service, &info);
  own->service = service;
  own->request = (struct rpc_cached_request){
      .id = TEXT("7"), .operation = {.kind = OP_CALL, .type = TEXT("C"), .member = TEXT("add")}};
  own->call = (struct rpc_cached_call){.runner = &service->lent.worker->runner,
                                       .client = service->client,
                                       .out = &service->out,
                                       .context = own,
                                       .answer = answer_failed};
  /* Makes the session and the verdict. */
  assert_int_equal(bench_serve(service, service->client, TEXT(ADD), 0), RPC_REPLY);
  whole_number_path_keep(&own->path, &own->call, &own->request.operation, &written);
  (void)state;
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  bool is_clean = service_bench_destroy(own->service);
  test_free(own);
  return is_clean ? 0 : 1;
}

UNIT_TEST_WITH(a_call_is_run_and_answered, set_up, tear_down)
{
  assert_true(take_path(own));
  unit_assert_text(buffer_text(&own->service->out), TEXT("<7:8>"), __FILE__, __LINE__);
  assert_int_equal(stub.whole_numbers, 1);
}

UNIT_TEST_WITH(a_void_call_is_answered_without_a_number, set_up, tear_down)
{
  struct rpc_written_answer has_none = {
      .before_id = TEXT("<"), .after_id = TEXT(">"), .member = written.member};
  members[0].whole_number = 'V';
  own->path.call.member = NULL;
  whole_number_path_keep(&own->path, &own->call, &own->request.operation, &written);
  assert_false(take_path(own)); /* the answer to a void call has a number */
  whole_number_path_keep(&own->path, &own->call, &own->request.operation, &has_none);
  assert_true(take_path(own));
  unit_assert_text(buffer_text(&own->service->out), TEXT("<7>"), __FILE__, __LINE__);
}

UNIT_TEST_WITH(a_failure_is_answered_inside_the_frame, set_up, tear_down)
{
  members[0].outcome =
      (struct outcome){.kind = OUTCOME_ERROR, .failure = FAILURE_SERVER, .message = TEXT("thrown")};
  assert_true(take_path(own));
  assert_int_equal(own->failures, 1);
  assert_int_equal(own->service->out.len, 0);
}

/* Nothing is run, and nothing has changed for the general path. */
static void check_unfit(struct bench *own)
{
  assert_false(take_path(own));
  assert_int_equal(own->service->out.len, 0);
  assert_int_equal(stub.whole_numbers, 0);
  assert_int_equal(own->failures, 0);
}

UNIT_TEST_WITH(a_call_that_does_not_fit_is_left_alone, set_up, tear_down)
{
  members[0].is_unfit = true;
  check_unfit(own);
}

UNIT_TEST_WITH(a_path_ends_with_the_cache_of_members, set_up, tear_down)
{
  stub.serial++;
  check_unfit(own);
}

UNIT_TEST_WITH(a_path_needs_a_verdict, set_up, tear_down)
{
  memset(members[0].verdicts, 0, sizeof members[0].verdicts);
  check_unfit(own);
}

UNIT_TEST_WITH(a_path_needs_a_session, set_up, tear_down)
{
  struct rpc_client nobody = *own->service->client;
  nobody.session = NULL;
  own->call.client = &nobody;
  check_unfit(own);
}

UNIT_TEST_WITH(a_request_may_name_a_session_only_on_channels_that_ignore_it, set_up, tear_down)
{
  own->request.peer_id = TEXT("01234567-89ab-cdef-0123-456789abcdef");
  check_unfit(own);
  own->service->client->channel = OP_CHANNEL_WEBSOCKET;
  memcpy(members[0].verdicts + OP_CHANNEL_WEBSOCKET * JUDGE_POLICIES,
         members[0].verdicts + OP_CHANNEL_ZMQ * JUDGE_POLICIES,
         JUDGE_POLICIES * sizeof members[0].verdicts[0]);
  assert_true(take_path(own));
  own->service->client->channel = OP_CHANNEL_ZMQ;
}

UNIT_TEST_WITH(an_answer_must_have_room, set_up, tear_down)
{
  const size_t longest = sizeof "<7:>" - 1 + NUMBER_TEXT_MAX;
  own->call.reply_max = longest - 1;
  check_unfit(own);
  own->call.reply_max = longest;
  assert_true(take_path(own));
}

UNIT_TEST_WITH(a_member_of_other_values_is_not_kept, set_up, tear_down)
{
  own->path.call.member = NULL;
  members[0].whole_number = 0;
  whole_number_path_keep(&own->path, &own->call, &own->request.operation, &written);
  check_unfit(own);
}

UNIT_MAIN

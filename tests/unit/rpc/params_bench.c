#include "params_bench.h"

#include "rpc/jsonrpc/json_params.h"
#include "rpc/values/value_read.h"
#include "show_operation.h"
#include "tests/unit/unit.h"

#include <stdio.h>

struct params_bench *params_bench_create(void)
{
  struct params_bench *bench = test_calloc(1, sizeof *bench);
  arena_init(&bench->arena);
  buffer_init(&bench->shown);
  return bench;
}

void params_bench_destroy(struct params_bench *bench)
{
  arena_fini(&bench->arena);
  buffer_fini(&bench->shown);
  test_free(bench);
}

/* rpc_callback_taker.take, with a bench */
static enum jp_status take_callback(void *context, int64_t id, struct jp_error *error)
{
  struct params_bench *bench = context;
  if (id == PARAMS_CALLBACK_LIMIT)
    return jp_fail(error, JP_LIMIT, "too many");
  bench->callbacks++;
  return JP_OK;
}

enum jp_status params_decode(struct params_bench *bench, const char *method, const char *params)
{
  struct jsonrpc_request request = {.method = text_of(method), .id = TEXT("1")};
  arena_reset(&bench->arena);
  if (params != NULL) {
    struct json_fault fault;
    struct text message = text_of(params);
    if (json_validate(message, (struct json_limits){.max_depth = 300}, TEXT(""), &fault) != JP_OK)
      fail_msg("a case is no JSON: %s", params);
    request.has_params = true;
    request.params = json_root(message);
  }
  const struct rpc_callback_taker taker = {.context = bench, .take = take_callback};
  const struct rpc_params_rules rules = {.digits_max = PARAMS_DIGITS_MAX,
                                         .callbacks = bench->refuses_callbacks ? NULL : &taker};
  bench->callbacks = 0;
  return rpc_params_decode(&request, &rules, &bench->arena, &bench->operation, &bench->outcome);
}

void params_check_requests(struct params_bench *bench, const struct params_request *cases, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    if (params_decode(bench, cases[i].method, cases[i].params) != JP_OK)
      fail_msg("%s %s: %.*s", cases[i].method, cases[i].params, TEXT_ARGS(bench->outcome.message));
    show_operation(&bench->shown, &bench->operation);
    buffer_append_char(&bench->shown, '\0');
    if (strcmp(bench->shown.data, cases[i].wanted) != 0)
      fail_msg("%s %s\ngot    %s\nwanted %s", cases[i].method, cases[i].params, bench->shown.data,
               cases[i].wanted);
  }
}

void params_check_errors(struct params_bench *bench, const struct params_error *cases, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    if (params_decode(bench, cases[i].method, cases[i].params) == JP_OK)
      fail_msg("%s %s was taken", cases[i].method, cases[i].params);
    struct outcome *outcome = &bench->outcome;
    if (outcome->kind != OUTCOME_ERROR || outcome->failure != cases[i].failure ||
        !text_equal(outcome->message, text_of(cases[i].message)))
      fail_msg("%s %s\ngot    %d %.*s\nwanted %d %s", cases[i].method, cases[i].params, outcome->failure,
               TEXT_ARGS(outcome->message), cases[i].failure, cases[i].message);
  }
}

void params_check_argument(struct params_bench *bench, const char *argument, const char *wanted)
{
  char params[512];
  char shown[512];
  snprintf(params, sizeof params, "{\"type\":\"C\",\"args\":[%s]}", argument);
  snprintf(shown, sizeof shown, "new C <init> %s", wanted);
  params_check_requests(bench, &(struct params_request){"new", params, shown}, 1);
  snprintf(params, sizeof params, "{\"type\":\"C\",\"field\":\"f\",\"value\":%s}", argument);
  snprintf(shown, sizeof shown, "put C f %s", wanted);
  params_check_requests(bench, &(struct params_request){"put", params, shown}, 1);
}

void params_check_wrong_argument(struct params_bench *bench, const char *argument, const char *message)
{
  char params[512];
  snprintf(params, sizeof params, "{\"type\":\"C\",\"method\":\"m\",\"args\":[1,%s]}", argument);
  params_check_errors(bench, &(struct params_error){"call", params, FAILURE_INVALID_PARAMS, message}, 1);
}

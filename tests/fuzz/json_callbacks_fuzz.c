/*
 * The messages that a client with callbacks sends: their kinds, the answers among them, and their callbacks. An
 * answer's value is walked to its last byte; no callback is accepted that a scan of the message does not find.
 */
#include "rpc/jsonrpc/json_callbacks.h"
#include "rpc/values/value_read.h"
#include "tests/fuzz/touch_operation.h"

#include "tests/fuzz/fuzz.h"

enum { DEPTH_MAX = 64, DIGITS_MAX = 1000 };

static void read_answer(struct text answer, struct callback_counts *counts)
{
  struct arena arena;
  arena_init(&arena);
  const struct rpc_callback_sink sink = {.context = counts, .accept = accept_callback};
  const struct rpc_value_rules rules = {.digits_max = DIGITS_MAX, .callbacks = &sink};
  struct jvm_callback_answer read;
  struct outcome outcome;
  if (rpc_jsonrpc_callbacks.read_answer(answer, &rules, &arena, &read, &outcome) != JP_OK) {
    require(outcome.kind == OUTCOME_ERROR && outcome.message.data != NULL);
  } else if (!read.is_error) {
    const struct operation operation = {.kind = OP_PUT, .args = &read.value, .arg_count = 1};
    touch_operation(&operation);
  }
  arena_fini(&arena);
}

static void require_number(void *context, uint64_t number, const char *reason)
{
  (void)context;
  require(number > 0 && reason != NULL);
}

FUZZ_TARGET(message)
{
  const struct rpc_callback_form *form = &rpc_jsonrpc_callbacks;
  struct callback_counts counts = {0};
  struct text answer;
  uint64_t number;
  size_t at = 0;
  form->find_given(message, DEPTH_MAX, find_callback, &counts);
  switch (form->classify(message, DEPTH_MAX, &number)) {
  case RPC_MESSAGE_ANSWER:
    read_answer(message, &counts);
    break;
  case RPC_MESSAGE_ANSWERS:
    while (form->next_answer(message, &at, &answer, &number))
      read_answer(answer, &counts);
    break;
  case RPC_MESSAGE_NESTED:
    break;
  case RPC_MESSAGE_FAULTY:
    form->find_faulty(message, DEPTH_MAX, require_number, &counts);
    break;
  case RPC_MESSAGE_ORDINARY:
    require(number == 0);
    break;
  }
  require(counts.taken <= counts.found);
}

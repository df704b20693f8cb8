#include "client/chain.h"
#include "client/step_names.h"

#include "base/number_format.h"

#include <stdlib.h>

/* ---- the batch ---- */

/* A chain that is sent: as one message, which many steps' requests are in. */
struct sending {
  struct exchange exchange; /* first: an exchange is its sending */
  struct jp_chain *chain;
  const struct step_names *names;
  enum answer_form *forms;
  struct jp_answer **answers;
};

static void append_id(struct buffer *out, uint64_t id)
{
  char digits[NUMBER_TEXT_MAX];
  buffer_append(out, digits, number_format_integer((int64_t)id, digits));
}

/* Writes a step with the ids in its holes. */
static void write_step(const struct sending *sending, size_t step, uint64_t first_id, struct buffer *out)
{
  const struct jp_chain *chain = sending->chain;
  struct text text = buffer_text(&chain->text);
  size_t at = chain->steps[step].start;
  bool is_last = step + 1 == chain->step_count;
  size_t end = is_last ? text.len : chain->steps[step + 1].start;
  size_t last_hole = is_last ? chain->hole_count : chain->steps[step + 1].first_hole;
  for (size_t i = chain->steps[step].first_hole; i < last_hole; i++) {
    const struct chain_hole *hole = &chain->holes[i];
    size_t meant = hole->name.data == NULL
                       ? step
                       : step_names_find(sending->names, hole->name)->step; /* it was checked */
    buffer_append_text(out, text_slice(text, at, hole->at));
    append_id(out, first_id + meant);
    at = hole->at;
  }
  buffer_append_text(out, text_slice(text, at, end));
}

static enum jp_client_status give_callbacks(const struct jp_chain *chain, struct jp_client_error *error)
{
  (void)callbacks_begin_message(chain->client); /* the steps have asked whose they are */
  for (size_t i = 0; i < chain->callbacks.count; i++) {
    if (!callbacks_give(chain->client, chain->callbacks.items[i]))
      return client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a callback");
  }
  return JP_CLIENT_OK;
}

static enum jp_client_status write_batch(struct exchange *exchange, uint64_t first_id, struct buffer *out,
                                         struct jp_client_error *error)
{
  const struct sending *sending = (const struct sending *)exchange;
  const struct jp_chain *chain = sending->chain;
  struct text within = chain->is_nested ? TEXT_ABSENT : callback_within(chain->client);
  enum jp_client_status status = chain_check_epoch(chain, error);
  if (status != JP_CLIENT_OK)
    return status;
  chain->client->named = chain->refs;
  for (size_t i = 0; i < chain->step_count; i++) {
    buffer_append_char(out, i == 0 ? '[' : ',');
    write_step(sending, i, first_id, out);
    if (i == 0 && within.data != NULL) /* it says so for all */
      message_add_within(out, chain->steps[0].has_options, within);
  }
  buffer_append_char(out, ']');
  return give_callbacks(chain, error);
}

/* ---- checks ---- */

/* `names` has those of the steps before. */
static enum jp_client_status check_holes(const struct jp_chain *chain, const struct step_names *names,
                                         size_t step, struct jp_client_error *error)
{
  bool is_last = step + 1 == chain->step_count;
  size_t last_hole = is_last ? chain->hole_count : chain->steps[step + 1].first_hole;
  for (size_t i = chain->steps[step].first_hole; i < last_hole; i++) {
    struct text name = chain->holes[i].name;
    if (name.data != NULL && step_names_find(names, name) == NULL)
      return client_fail(error, JP_CLIENT_INVALID, "step %zu (%.*s): no earlier step is named \"%.*s\"",
                         step + 1, TEXT_ARGS(chain->steps[step].what), TEXT_ARGS(name));
  }
  return JP_CLIENT_OK;
}

static enum jp_client_status add_name(const struct jp_chain *chain, struct step_names *names, size_t step,
                                      struct jp_client_error *error)
{
  struct text name = chain->steps[step].name;
  if (name.data == NULL || step_names_add(names, name, step))
    return JP_CLIENT_OK;
  return client_fail(error, JP_CLIENT_INVALID, "step %zu (%.*s): an earlier step is named \"%.*s\", too",
                     step + 1, TEXT_ARGS(chain->steps[step].what), TEXT_ARGS(name));
}

/* Gathers the names, too. */
static enum jp_client_status check_chain(struct jp_chain *chain, struct step_names *names,
                                         struct jp_client_error *error)
{
  enum jp_client_status status = chain->fault.status;
  if (status != JP_CLIENT_OK) {
    if (error != NULL)
      *error = chain->fault;
    return status;
  }
  if (chain->client->options.binary)
    return client_fail(error, JP_CLIENT_UNSUPPORTED, "binary messages have no batches, and so no chains");
  if (!step_names_init(names, chain->step_count, &chain->arena))
    return client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a chain");
  for (size_t i = 0; status == JP_CLIENT_OK && i < chain->step_count; i++) {
    status = check_holes(chain, names, i, error);
    if (status == JP_CLIENT_OK)
      status = add_name(chain, names, i, error);
  }
  return status;
}

/* ---- answers ---- */

/* Keeps the answer of a step that is told. False: no memory. */
static bool keep_answer(struct jp_chain *chain, const struct chain_step *step, struct jp_answer *answer)
{
  struct text name = arena_text(&chain->answer_arena, step->name);
  if (name.data == NULL)
    return false;
  chain->answers[chain->answer_count++] = (struct chain_answer){.name = name, .answer = answer};
  return true;
}

static enum jp_client_status report_step(const struct jp_chain *chain, size_t step,
                                         const struct jp_answer *answer, struct jp_client_error *error)
{
  const struct text name = chain->steps[step].name;
  bool is_named = chain->steps[step].is_told;
  enum jp_client_status status = client_report_remote(answer, error);
  client_error_prefix(error, "step %zu (%.*s%s%.*s): ", step + 1, TEXT_ARGS(chain->steps[step].what),
                      is_named ? ", " : "", is_named ? (int)name.len : 0, is_named ? name.data : "");
  return status;
}

/* JSON-RPC 2.0, 5.1: of a batch that the peer refuses, as one of too many steps, all answers are the same
 * error. */
static bool is_refused(const struct jp_chain *chain, struct jp_answer *const *answers)
{
  for (size_t i = 0; i < chain->step_count; i++) {
    if (jp_answer_kind(answers[i]) != JP_ANSWER_ERROR ||
        jp_answer_error_code(answers[i]) != JP_JSONRPC_INVALID_REQUEST)
      return false;
  }
  return chain->step_count > 1;
}

/* Takes the answers: those of steps that are told stay with the chain. The first error is what the chain
 * failed with: those that depend on it come later. */
static enum jp_client_status take_answers(struct jp_chain *chain, struct jp_answer **answers,
                                          struct jp_client_error *error)
{
  enum jp_client_status status = JP_CLIENT_OK;
  if (is_refused(chain, answers)) {
    status = client_report_remote(answers[0], error);
    chain->failure = answers[0];
  }
  chain->answers = calloc(chain->step_count, sizeof *chain->answers);
  bool has_memory = chain->answers != NULL;
  for (size_t i = 0; i < chain->step_count; i++) {
    struct jp_answer *answer = answers[i];
    if (status == JP_CLIENT_OK && jp_answer_kind(answer) == JP_ANSWER_ERROR) {
      status = report_step(chain, i, answer, error);
      chain->failure = answer;
    }
    if (has_memory && chain->steps[i].is_told && keep_answer(chain, &chain->steps[i], answer))
      continue;
    if (answer == chain->failure)
      chain->failure_owned = answer;
    else
      jp_answer_free(answer);
  }
  return has_memory ? status : client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a chain's answers");
}

/* ---- sending ---- */

static void free_answers(struct jp_answer **answers, size_t count)
{
  for (size_t i = 0; i < count; i++)
    jp_answer_free(answers[i]);
}

static enum jp_client_status send_steps(struct sending *sending, int timeout_ms,
                                        struct jp_client_error *error)
{
  struct jp_chain *chain = sending->chain;
  for (size_t i = 0; i < chain->step_count; i++)
    sending->forms[i] = chain->steps[i].form;
  sending->exchange = (struct exchange){.write = write_batch,
                                        .client = chain->client,
                                        .forms = sending->forms,
                                        .count = chain->step_count,
                                        .answers = sending->answers};
  enum jp_client_status status = client_exchange(&sending->exchange, timeout_ms, error);
  if (status == JP_CLIENT_OK || status == JP_CLIENT_REMOTE)
    return take_answers(chain, sending->answers, error);
  free_answers(sending->answers, chain->step_count);
  return status;
}

enum jp_client_status jp_chain_send(struct jp_chain *chain, int timeout_ms, struct jp_client_error *error)
{
  if (chain == NULL)
    return client_fail(error, JP_CLIENT_NO_MEMORY, "the chain is NULL: there was no memory for it");
  chain_clear_answers(chain);
  struct step_names names;
  enum jp_client_status status = check_chain(chain, &names, error);
  if (status == JP_CLIENT_OK && chain->step_count > 0) {
    struct sending sending = {.chain = chain,
                              .names = &names,
                              .forms = calloc(chain->step_count, sizeof *sending.forms),
                              .answers = calloc(chain->step_count, sizeof(struct jp_answer *))};
    status = sending.forms == NULL || sending.answers == NULL
                 ? client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a chain")
                 : send_steps(&sending, timeout_ms, error);
    free(sending.forms);
    free(sending.answers);
  }
  chain_clear(chain);
  return status;
}

struct jp_answer *jp_chain_answer(const struct jp_chain *chain, const char *name)
{
  for (size_t i = 0; chain != NULL && name != NULL && i < chain->answer_count; i++) {
    if (text_equal(chain->answers[i].name, text_of(name)))
      return chain->answers[i].answer;
  }
  return NULL;
}

const struct jp_answer *jp_chain_failure(const struct jp_chain *chain)
{
  return chain == NULL ? NULL : chain->failure;
}

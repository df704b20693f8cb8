#include "rpc/fastpath/whole_number_path.h"

#include "base/number_format.h"
#include "rpc/channel.h"
#include "rpc/peer_state.h"

/* ---- the text of an answer ---- */

static bool is_form_of(const struct rpc_answer_form *form, const struct op_memo *memo)
{
  return form->found == memo->found && form->serial == memo->serial;
}

/* Where the only occurrence of part in t begins; false where there is none, or another. */
static bool find_only(struct text t, struct text part, size_t *at)
{
  const char *found = memmem(t.data, t.len, part.data, part.len);
  if (found == NULL)
    return false;
  *at = (size_t)(found - t.data);
  return memmem(found + 1, t.len - *at - 1, part.data, part.len) == NULL;
}

/* Cuts what stands behind the id in two, where the number is; all of it is the middle where there is none. */
static bool cut(struct text rest, const struct outcome *outcome, struct rpc_answer_form *form)
{
  size_t at = rest.len;
  size_t behind = rest.len;
  if (outcome->kind == OUTCOME_VALUE) {
    char digits[NUMBER_TEXT_MAX];
    struct text number = {digits, number_format_integer(outcome->value.integer, digits)};
    if (!find_only(rest, number, &at))
      return false;
    behind = at + number.len;
  }
  if (at > sizeof form->middle || rest.len - behind > sizeof form->tail)
    return false;
  memcpy(form->middle, rest.data, at);
  memcpy(form->tail, rest.data + behind, rest.len - behind);
  form->middle_length = at;
  form->tail_length = rest.len - behind;
  return true;
}

static bool is_plain(const struct outcome *outcome)
{
  return outcome->kind == OUTCOME_VOID || (outcome->kind == OUTCOME_VALUE && outcome->has_value &&
                                           outcome->ref == 0 && outcome->value.kind == OP_INTEGER);
}

void rpc_brief_learn(struct rpc_worker *worker, struct rpc_shape *shape, const struct outcome *outcome,
                     struct text answer)
{
  const struct text head = TEXT(JSONRPC_ANSWER_HEAD);
  struct text id = shape->request.id;
  struct rpc_answer_form *form = &shape->answer;
  if (!is_plain(outcome) || jvm_brief_verdicts(worker->runner.thread, &shape->operation) == NULL ||
      id.data == NULL || answer.len < head.len + id.len)
    return;
  struct text rest = text_slice(answer, head.len + id.len, answer.len);
  if (!text_starts_with(rest, TEXT(JSONRPC_ANSWER_RESULT)) || !cut(rest, outcome, form))
    return;
  form->found = shape->memo.found;
  form->serial = shape->memo.serial;
}

static size_t longest_answer(const struct rpc_answer_form *form, struct text id)
{
  return sizeof JSONRPC_ANSWER_HEAD + id.len + form->middle_length + NUMBER_TEXT_MAX + form->tail_length;
}

/* In steps of a size that the compiler knows, which is quicker than a call; there is room for whole ones. */
static char *put_steps(char *at, const char *bytes, size_t length)
{
  for (size_t i = 0; i < length; i += RPC_ANSWER_STEP)
    memcpy(at + i, bytes + i, RPC_ANSWER_STEP);
  return at + length;
}

static void write_answer(const struct rpc_answer_form *form, struct text id, enum jvm_brief told,
                         int64_t integer, struct buffer *out)
{
  enum { HEAD = sizeof JSONRPC_ANSWER_HEAD - 1 };
  char *room = buffer_reserve(out, HEAD + id.len + sizeof form->middle + NUMBER_TEXT_MAX + sizeof form->tail);
  if (room == NULL)
    return;
  char *at = room;
  memcpy(at, JSONRPC_ANSWER_HEAD, HEAD);
  memcpy(at + HEAD, id.data, id.len);
  at += HEAD + id.len;
  at = put_steps(at, form->middle, form->middle_length);
  if (told == JVM_BRIEF_INTEGER)
    at += number_format_integer(integer, at);
  at = put_steps(at, form->tail, form->tail_length);
  out->len += (size_t)(at - room);
}

/* ---- the call ---- */

/* What a message may have beside its shape that the long way looks at. */
static bool may_be_brief(const struct rpc_worker *worker, const struct rpc_client *client,
                         const struct rpc_shape *shape, size_t reply_max)
{
  bool names_session =
      rpc_channels[client->channel].names_session_in_message && shape->request.peer_id.data != NULL;
  return client->session != NULL && !names_session && !shape->request.is_notification &&
         is_form_of(&shape->answer, &shape->memo) && !worker->runner.peer->config.compat_pal &&
         (reply_max == 0 || longest_answer(&shape->answer, shape->request.id) <= reply_max);
}

static bool is_allowed(struct rpc_worker *worker, const struct rpc_client *client,
                       const struct operation *operation, const uint64_t *verdicts)
{
  const struct rpc_authorizer authorizer = {.policy = worker->runner.policy,
                                            .names = &worker->runner.names,
                                            .channel = client->channel,
                                            .session = &client->key};
  return rpc_authorizer_has_allowed(&authorizer, operation, verdicts);
}

enum rpc_brief rpc_brief_serve(struct rpc_worker *worker, const struct rpc_client *client,
                               const struct rpc_shape *shape, size_t reply_max, struct buffer *out,
                               struct outcome *failed)
{
  const struct operation *operation = &shape->operation;
  const uint64_t *verdicts = jvm_brief_verdicts(worker->runner.thread, operation);
  if (verdicts == NULL || !may_be_brief(worker, client, shape, reply_max) ||
      !is_allowed(worker, client, operation, verdicts) || jvm_request_begin(worker->runner.thread) != JP_OK)
    return RPC_BRIEF_UNFIT;
  const struct jvm_request request = {.thread = worker->runner.thread,
                                      .objects = rpc_session_objects(client->session),
                                      .operation = operation,
                                      .arena = &worker->runner.arena,
                                      .limits = &worker->runner.peer->config.limits.java};
  int64_t integer = 0;
  enum jvm_brief told = jvm_brief_run(&request, &integer, failed);
  if (told == JVM_BRIEF_FAILED)
    return RPC_BRIEF_FAILED;
  if (told != JVM_BRIEF_UNFIT)
    write_answer(&shape->answer, shape->request.id, told, integer, out);
  jvm_request_end(worker->runner.thread);
  return told == JVM_BRIEF_UNFIT ? RPC_BRIEF_UNFIT : RPC_BRIEF_ANSWERED;
}

#include "rpc/fastpath/whole_number_path.h"

#include "base/number_format.h"
#include "judge/judge.h"
#include "rpc/channel.h"
#include "rpc/peer_state.h"

/* ---- the text of the answers ---- */

static bool copy_part(char *room, size_t room_length, struct text part, size_t *length)
{
  if (part.len > room_length)
    return false;
  if (part.len > 0)
    memcpy(room, part.data, part.len);
  *length = part.len;
  return true;
}

/* Copies the parts of an answer. False if it is too long; the template is then unusable. */
static bool fill_template(struct answer_template *template, const struct rpc_written_answer *written)
{
  template->has_number = written->has_number;
  return copy_part(template->before_id, sizeof template->before_id, written->before_id,
                   &template->before_id_length) &&
         copy_part(template->after_id, sizeof template->after_id, written->after_id,
                   &template->after_id_length) &&
         copy_part(template->after_number, sizeof template->after_number, written->after_number,
                   &template->after_number_length);
}

/* Appends an answer; number is ignored if the template has no place for a number. A failed allocation leaves
 * out->failed. */
static void write_answer(const struct answer_template *template, struct text id, int64_t number,
                         struct buffer *out)
{
  char *room = buffer_reserve(out, sizeof template->before_id + id.len + sizeof template->after_id +
                                       NUMBER_TEXT_MAX + sizeof template->after_number);
  if (room == NULL)
    return;
  char *at = room;
  memcpy(at, template->before_id, sizeof template->before_id);
  at += template->before_id_length;
  memcpy(at, id.data, id.len);
  at += id.len;
  /* the destination has room for whole steps */
  for (size_t i = 0; i < template->after_id_length; i += ANSWER_STEP)
    memcpy(at + i, template->after_id + i, ANSWER_STEP);
  at += template->after_id_length;
  if (template->has_number)
    at += number_format_integer(number, at);
  memcpy(at, template->after_number, sizeof template->after_number);
  at += template->after_number_length;
  out->len += (size_t)(at - room);
}

/* ---- keeping and serving ---- */

void whole_number_path_keep(struct whole_number_path *path, const struct rpc_cached_call *cached,
                            const struct operation *operation, const struct rpc_written_answer *written)
{
  struct jvm_whole_number_call call;
  struct rpc_runner *runner = cached->runner;
  if (!jvm_whole_number_call_keep(runner->thread, written->member, operation, &call) ||
      written->has_number != (call.result != 'V'))
    return;
  path->call.member = NULL;
  if (!fill_template(&path->answer, written))
    return;
  path->call = call;
  if (audit_is_on())
    operation_audit_keep(&path->audited, runner, cached->client->channel, operation,
                         jvm_whole_number_call_verdicts(runner->thread, &call));
}

static bool has_room(const struct answer_template *template, size_t id_length, size_t reply_max)
{
  size_t length_max = template->before_id_length + id_length + template->after_id_length + NUMBER_TEXT_MAX +
                      template->after_number_length;
  return reply_max == 0 || length_max <= reply_max;
}

bool whole_number_path_is_allowed(const struct jvm_whole_number_call *call, const struct operation *operation,
                                  struct rpc_runner *runner, const struct rpc_client *client)
{
  const uint64_t *verdicts = jvm_whole_number_call_verdicts(runner->thread, call);
  const struct judge judge = rpc_runner_judge(runner, client->channel, &client->key);
  return verdicts != NULL && judge_has_allowed(&judge, operation->kind, verdicts);
}

/* For the audit's line about a call that has failed. */
static void note_verdict(const struct jvm_whole_number_call *known, const struct rpc_cached_request *request,
                         const struct rpc_cached_call *call)
{
  struct rpc_runner *runner = call->runner;
  const uint64_t *verdicts = audit_is_on() ? jvm_whole_number_call_verdicts(runner->thread, known) : NULL;
  if (verdicts == NULL)
    return;
  const struct judge judge = rpc_runner_judge(runner, call->client->channel, &call->client->key);
  runner->names.allowance = judge_kept_verdict(&judge, request->operation.kind, verdicts);
  runner->names.has_allowance = true;
}

/* Called before the request's frame is closed. The function is not inlined, because most calls do not need
 * its stack. */
static __attribute__((noinline)) void answer_failed(const struct jvm_request *jvm,
                                                    const struct whole_number_path *path,
                                                    struct rpc_cached_request *request,
                                                    const struct rpc_cached_call *call)
{
  struct outcome failed;
  note_verdict(&path->call, request, call);
  jvm_whole_number_call_fail(jvm, &failed);
  const enum rpc_call_cause cause = rpc_call_ended_by(call->runner->watch);
  if (cause != RPC_CALL_RETURNS)
    rpc_call_fail(cause, jvm->arena, &failed);
  (void)call->answer(call->context, request, &failed, NULL);
}

/* Answers with the error of a call that was ended, for example by a timeout, although its member has
 * returned. */
static __attribute__((noinline)) bool answer_ended(enum rpc_call_cause cause, const struct jvm_request *jvm,
                                                   const struct whole_number_path *path,
                                                   struct rpc_cached_request *request,
                                                   const struct rpc_cached_call *call)
{
  struct outcome failed;
  note_verdict(&path->call, request, call);
  rpc_call_fail(cause, jvm->arena, &failed);
  call->client->calls++;
  (void)call->answer(call->context, request, &failed, NULL);
  return true;
}

static bool run_call(const struct whole_number_path *path, struct rpc_cached_request *request,
                     const struct rpc_cached_call *call)
{
  struct rpc_runner *runner = call->runner;
  const struct jvm_request jvm = {.thread = runner->thread,
                                  .objects = rpc_session_objects(call->client->session),
                                  .operation = &request->operation,
                                  .arena = &runner->arena,
                                  .limits = &runner->peer->config.limits.java};
  int64_t result = 0;
  rpc_call_begin(runner->watch, &request->operation, NULL, call->client, false);
  enum jvm_whole_number ending = jvm_whole_number_call_run(&jvm, &path->call, &result);
  if (ending == JVM_WHOLE_NUMBER_THREW)
    answer_failed(&jvm, path, request, call); /* before rpc_call_end, which may call the JVM */
  enum rpc_call_cause cause = rpc_call_end(runner->watch, runner->thread);
  if (cause != RPC_CALL_RETURNS && ending != JVM_WHOLE_NUMBER_THREW)
    return answer_ended(cause, &jvm, path, request, call);
  if (ending == JVM_WHOLE_NUMBER_UNFIT)
    return false;
  call->client->calls++;
  if (ending == JVM_WHOLE_NUMBER_THREW)
    return true; /* answer_failed has counted the request */
  rpc_count_request(runner, rpc_metrics_method(request->operation.kind), METRICS_OUTCOME_OK);
  write_answer(&path->answer, request->id, result, call->out);
  if (audit_is_on())
    operation_audit_end_known(&path->audited, runner, call->client);
  return true;
}

bool whole_number_path_serve(const struct whole_number_path *path, struct rpc_cached_request *request,
                             const struct rpc_cached_call *call)
{
  const struct rpc_client *client = call->client;
  bool names_session =
      request->peer_id.data != NULL && rpc_channels[client->channel].names_session_in_message;
  if (path->call.member == NULL || client->session == NULL || names_session ||
      (request->epoch.data != NULL &&
       !rpc_client_is_in_epoch(call->runner->peer, call->client, NULL, request->epoch)) ||
      !has_room(&path->answer, request->id.len, call->reply_max) ||
      (audit_is_on() && !operation_audit_knows(&path->audited, call->runner, client)) ||
      !whole_number_path_is_allowed(&path->call, &request->operation, call->runner, client) ||
      jvm_request_begin(call->runner->thread) != JP_OK)
    return false;
  bool served = run_call(path, request, call);
  jvm_request_end(call->runner->thread);
  return served;
}

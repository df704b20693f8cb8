#include "rpc/operation_audit.h"

#include "base/clock.h"
#include "rpc/address_audit.h"
#include "rpc/call_watch.h"
#include "rpc/channel.h"
#include "rpc/peer_state.h"
#include "rpc/values/value_write.h"
#include "json/writer.h"

#include <inttypes.h>
#include <stdio.h>

enum { VALUES_MAX = 4096 /* bytes of the arguments that a line shows */ };

/* ---- who ---- */

static void append_session(struct buffer *line, const struct op_session_key *key)
{
  char session[OP_SESSION_NAME_MAX];
  op_session_key_describe(key, session);
  if (session[0] != '\0')
    audit_line_text(line, "session", text_of(session));
}

/* Appends what is the same for all operations of a client, except for those that name another session. */
static void format_client(struct buffer *line, const struct rpc_client *client,
                          const struct op_session_key *key)
{
  audit_line_text(line, "principal", text_of(client->principal == NULL ? "owner" : client->principal->name));
  rpc_address_audit(line, &client->maker.address);
  append_session(line, key);
  if (key->length > 0) /* else the session has this number */
    audit_line_number(line, "client", (int64_t)client->number);
  if (client->connection_number != 0)
    audit_line_number(line, "connection", (int64_t)client->connection_number);
  audit_line_text(line, "channel", text_of(policy_channel_name(judge_policy_channels[client->channel])));
}

/* A thread mostly writes many lines about few connections. */
static void append_client(struct buffer *line, const struct rpc_client *client,
                          const struct op_session_key *key, struct rpc_runner *runner)
{
  if (rpc_channels[client->channel].span != RPC_SPAN_CONNECTION || key != &client->key ||
      client->number == 0) {
    format_client(line, client, key);
    return;
  }
  struct audit_client *kept = &runner->audit_clients[client->number % AUDIT_CLIENTS_KEPT];
  if (kept->number == client->number) {
    buffer_append(line, kept->text, kept->length);
    return;
  }
  const size_t start = line->len;
  format_client(line, client, key);
  if (line->failed || line->len - start > sizeof kept->text)
    return;
  kept->number = client->number;
  kept->length = line->len - start;
  memcpy(kept->text, line->data + start, kept->length);
}

void operation_audit_client(struct buffer *line, const struct rpc_client *client)
{
  if (client != NULL)
    format_client(line, client, &client->key);
}

/* ---- what ---- */

static const char *const kind_words[] = {
    [OP_NEW] = "new",           [OP_CALL] = "call",       [OP_GET] = "get",     [OP_PUT] = "put",
    [OP_CONTROL] = "control",   [OP_META] = "meta",       [OP_FETCH] = "fetch", [OP_DESCRIBE] = "describe",
    [OP_ASSEMBLE] = "assemble", [OP_COLUMNS] = "columns", [OP_ROWS] = "rows"};

static void append_member(struct buffer *line, const struct operation *operation,
                          const struct rpc_reached_member *reached)
{
  char reference[24];
  struct text class_name = operation->type;
  struct text member = operation->member;
  if (operation->kind == OP_CONTROL)
    class_name = op_control_methods[operation->command].name;
  else if (operation->kind == OP_META)
    class_name = operation->meta.service == OP_META_CLASSES ? TEXT("fetch_classes_info") : TEXT("list_names");
  else if (class_name.data == NULL && reached != NULL && reached->implied_type.data != NULL)
    class_name = reached->implied_type;
  if (class_name.data == NULL) {
    snprintf(reference, sizeof reference, "ref %" PRIu32, operation->instance);
    class_name = text_of(reference);
  }
  if (operation->kind == OP_CONTROL || operation->kind == OP_META || operation->kind == OP_FETCH ||
      operation->kind == OP_DESCRIBE || operation->kind == OP_ASSEMBLE || operation->kind == OP_COLUMNS ||
      operation->kind == OP_ROWS)
    member = TEXT_ABSENT;
  audit_line_name(line, "member", class_name, member);
}

/* "..." stands for the arguments from the first that does not fit. */
static void append_values(struct buffer *line, const struct operation *operation)
{
  size_t room = VALUES_MAX;
  struct buffer values;
  buffer_init(&values);
  audit_line_key(line, "values");
  buffer_append_char(line, '[');
  for (size_t i = 0; i < operation->arg_count; i++) {
    const size_t length = rpc_value_length(&operation->args[i]);
    if (i > 0)
      buffer_append_char(&values, ',');
    if (length > room) {
      BUFFER_LITERAL(&values, "\"...\"");
      break;
    }
    room -= length;
    rpc_value_write(&values, &operation->args[i]);
  }
  line->failed |= values.failed;
  audit_line_json(line, buffer_text(&values));
  buffer_fini(&values);
  buffer_append_char(line, ']');
}

static void append_operation(struct buffer *line, const struct operation *operation,
                             const struct rpc_reached_member *reached)
{
  audit_line_text(line, "operation", text_of(kind_words[operation->kind]));
  append_member(line, operation, reached);
  if (audit_switches.has_values && operation->kind <= OP_PUT)
    append_values(line, operation);
}

static void begin_start(struct buffer *line, const struct rpc_client *client,
                        const struct operation *operation, const struct rpc_reached_member *reached)
{
  audit_line_begin(line, "start");
  operation_audit_client(line, client);
  append_operation(line, operation, reached);
}

uint64_t operation_audit_lasts(const struct rpc_client *client, const struct operation *operation,
                               const struct rpc_reached_member *reached)
{
  struct buffer line;
  begin_start(&line, client, operation, reached);
  return audit_line_leave(&line);
}

uint64_t operation_audit_start(const struct rpc_client *client, const struct operation *operation)
{
  struct buffer line;
  begin_start(&line, client, operation, NULL);
  const uint64_t number = audit_line_end(&line);
  audit_settle(); /* the call may end the process */
  return number;
}

/* ---- how it ended ---- */

static void append_judgement(struct buffer *line, bool is_denied, struct policy_verdict verdict,
                             const struct policy *policy)
{
  audit_line_text(line, "verdict",
                  is_denied          ? TEXT("DENY")
                  : verdict.observed ? TEXT("OBSERVED")
                                     : TEXT("ALLOW"));
  audit_line_text(line, "rule", text_of(policy_reason(policy, verdict.reason)));
}

static void append_verdict(struct buffer *line, const struct audited_operation *ended,
                           const struct outcome *outcome)
{
  const struct rpc_run *run = ended->run;
  const bool is_denied = outcome->kind == OUTCOME_ERROR && outcome->failure == FAILURE_DENIED;
  const struct policy_verdict *verdict = NULL;
  if (run != NULL && is_denied && run->runner->names.has_denial)
    verdict = &run->runner->names.denial;
  else if (run != NULL && !is_denied && run->reached.has_verdict)
    verdict = &run->reached.verdict;
  else if (run != NULL && !is_denied && run->runner->names.has_allowance)
    verdict = &run->runner->names.allowance;
  if (verdict != NULL)
    append_judgement(line, is_denied, *verdict, run->runner->policy);
  else if (is_denied)
    audit_line_text(line, "verdict", TEXT("DENY"));
}

static const char *find_outcome_word(const struct outcome *outcome)
{
  static const char *const failures[] = {
      [FAILURE_INVALID_REQUEST] = "invalid", [FAILURE_INVALID_PARAMS] = "invalid",
      [FAILURE_NOT_FOUND] = "not found",     [FAILURE_SERVER] = "error",
      [FAILURE_DENIED] = "denied",           [FAILURE_INTERNAL] = "internal",
      [FAILURE_NOT_SAFE] = "not safe"};
  if (outcome->kind != OUTCOME_ERROR)
    return "ok";
  if (outcome->failure == FAILURE_SERVER && outcome->throwable != NULL)
    return "exception";
  if (outcome->failure == FAILURE_SERVER && outcome->is_limit)
    return "limit";
  if (outcome->failure == FAILURE_SERVER && outcome->is_unknown_ref)
    return "not found";
  return failures[outcome->failure];
}

static void append_outcome(struct buffer *line, const struct outcome *outcome)
{
  if (outcome->kind == OUTCOME_ERROR && outcome->reason.data != NULL) /* "timeout", "cancelled", "stale" */
    audit_line_text(line, "outcome", outcome->reason);
  else
    audit_line_text(line, "outcome", text_of(find_outcome_word(outcome)));
  if (outcome->kind != OUTCOME_ERROR)
    return;
  if (outcome->throwable != NULL)
    audit_line_text(line, "throwable", outcome->throwable->type);
  else
    audit_line_text(line, "throwable", outcome->throwable_type);
  if (audit_switches.has_values)
    audit_line_text(line, "message", outcome->message);
}

static void fill_line(struct buffer *line, const struct audited_operation *ended,
                      const struct outcome *outcome, int64_t now_ns)
{
  const struct rpc_run *run = ended->run;
  audit_line_begin_in(line, ended->event == NULL ? TEXT("end") : text_of(ended->event), now_ns);
  if (ended->client != NULL && run == NULL)
    format_client(line, ended->client, &ended->client->key);
  else if (ended->client != NULL)
    append_client(line, ended->client, run->guest != NULL ? &run->runner->guest_key : &ended->client->key,
                  run->runner);
  if (ended->operation != NULL)
    append_operation(line, ended->operation, run == NULL ? NULL : &run->reached);
  else
    audit_line_text(line, "method", ended->method);
  append_verdict(line, ended, outcome);
  if (ended->is_notification)
    audit_line_true(line, "notification");
  if (run != NULL && run->started != 0)
    audit_line_number(line, "start", (int64_t)run->started);
  if (ended->begun_ns != 0)
    audit_line_number(line, "us", (now_ns - ended->begun_ns) / 1000);
  append_outcome(line, outcome);
  audit_line_text(line, "reason", ended->reason);
}

void operation_audit_end(const struct audited_operation *ended, const struct outcome *outcome)
{
  const int64_t now_ns = clock_now_ns();
  struct buffer own;
  if (ended->run == NULL) {
    buffer_init(&own);
    fill_line(&own, ended, outcome, now_ns);
    (void)audit_line_end(&own);
    return;
  }
  struct rpc_runner *runner = ended->run->runner;
  fill_line(&runner->audit_line, ended, outcome, now_ns);
  (void)audit_line_queue(&runner->audit_line);
  runner->audited_ns = now_ns;
  runner->names.has_allowance = false;
}

int64_t operation_audit_begin(struct rpc_runner *runner)
{
  const int64_t arrived_ns = runner->watch == NULL || runner->watch->arrived_ns == NULL
                                 ? 0
                                 : atomic_load_explicit(runner->watch->arrived_ns, memory_order_relaxed);
  runner->names.has_denial = false;
  if (arrived_ns == 0)
    return clock_now_ns();
  return arrived_ns > runner->audited_ns ? arrived_ns : runner->audited_ns;
}

bool operation_audit_admits(struct arena *arena, struct outcome *outcome)
{
  if (audit_may_serve())
    return true;
  outcome_fail(outcome, arena, FAILURE_SERVER, NULL,
               "no operation runs, because the audit cannot be written (--audit-on-error stop)");
  outcome->reason = TEXT("audit");
  return false;
}

/* ---- the fast path ---- */

void operation_audit_keep(struct audit_template *kept, struct rpc_runner *runner, enum op_channel channel,
                          const struct operation *operation, const uint64_t *verdicts)
{
  struct buffer *line = &runner->audit_line;
  const struct judge judge = judge_make(runner->policy, &runner->names, channel, NULL);
  kept->length = 0;
  if (audit_switches.has_values || audit_switches.has_starts || operation->type.data == NULL ||
      !judge_has_allowed(&judge, operation->kind, verdicts))
    return;
  buffer_clear(line);
  append_operation(line, operation, NULL);
  append_judgement(line, false, judge_kept_verdict(&judge, operation->kind, verdicts), runner->policy);
  if (line->failed || line->len > sizeof kept->text)
    return;
  memcpy(kept->text, line->data, line->len);
  kept->length = line->len;
  kept->generation = policy_generation(runner->policy);
  kept->channel = channel;
}

bool operation_audit_knows(const struct audit_template *kept, const struct rpc_runner *runner,
                           const struct rpc_client *client)
{
  return kept->length > 0 && kept->channel == client->channel &&
         kept->generation == policy_generation(runner->policy) && audit_may_serve();
}

void operation_audit_end_known(const struct audit_template *kept, struct rpc_runner *runner,
                               const struct rpc_client *client)
{
  struct buffer *line = &runner->audit_line;
  const int64_t begun_ns = operation_audit_begin(runner);
  const int64_t now_ns = clock_now_ns();
  audit_line_begin_in(line, TEXT("end"), now_ns);
  append_client(line, client, &client->key, runner);
  buffer_append(line, kept->text, kept->length);
  if (runner->watch != NULL && runner->watch->started != 0)
    audit_line_number(line, "start", (int64_t)runner->watch->started);
  if (runner->watch != NULL)
    runner->watch->started = 0;
  BUFFER_LITERAL(line, ",\"us\":");
  json_write_integer(line, (now_ns - begun_ns) / 1000);
  BUFFER_LITERAL(line, ",\"outcome\":\"ok\"");
  (void)audit_line_queue(line);
  runner->audited_ns = now_ns;
}

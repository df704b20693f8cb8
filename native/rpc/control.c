#include "rpc/control.h"

#include "base/capabilities.h"
#include "judge/judge.h"
#include "rpc/callbacks/callback_incoming.h"
#include "rpc/channel.h"
#include "rpc/peer_state.h"
#include "json/writer.h"

#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <string.h>

enum { PROCESS_NAME_MIN = 22, PROCESS_NAME_MAX = 128 }; /* 128 random bits are 22 characters of base64 */

/* It is not an error if the session of a client that releases references has ended with all its objects. */
static enum jp_status delete_object(const struct rpc_run *run, struct rpc_session *session,
                                    const struct op_value *object)
{
  struct jvm_thread *thread = run->runner->thread;
  if (session == NULL)
    return object->release_count > 0 ? JP_OK : JP_NOT_FOUND;
  if (object->release_count == 0)
    return jvm_objects_delete(thread, rpc_session_objects(session), object->ref);
  jvm_objects_release_sent(thread, rpc_session_objects(session), object->ref, object->release_count);
  return JP_OK;
}

static void delete_objects(struct rpc_run *run, const struct operation *operation, struct outcome *outcome)
{
  struct rpc_session *session;
  if (run->client->callbacks != NULL)
    rpc_callbacks_await_answers(run->client->callbacks);
  if (rpc_run_find_session(run, false, &session, outcome) != JP_OK)
    return;
  for (size_t i = 0; i < operation->arg_count; i++) {
    enum jp_status status = delete_object(run, session, &operation->args[i]);
    if (status == JP_OK)
      continue;
    outcome_fail(outcome, &run->runner->arena, status == JP_NOT_FOUND ? FAILURE_SERVER : FAILURE_INTERNAL,
                 NULL, "No such object: %u", operation->args[i].ref);
    outcome->is_unknown_ref = status == JP_NOT_FOUND;
    return;
  }
}

static void delete_session(struct rpc_run *run, const struct operation *operation, struct outcome *outcome)
{
  (void)operation;
  struct rpc_session *session;
  if (rpc_run_find_session(run, false, &session, outcome) != JP_OK || session == NULL)
    return;
  rpc_callbacks_end_session(run->runner->peer, session);
  rpc_session_clear(session, run->runner->thread);
}

static void fill_text(struct text text, struct outcome *outcome)
{
  if (text.data == NULL)
    outcome_fail_memory(outcome);
  else
    *outcome = (struct outcome){.kind = OUTCOME_VALUE,
                                .type = TEXT("java.lang.String"),
                                .has_value = true,
                                .value = {.kind = OP_TEXT, .text = text}};
}

static void fill_stats(struct rpc_run *run, const struct operation *operation, struct outcome *outcome)
{
  (void)operation;
  struct rpc_client *client = run->client;
  struct rpc_session *session;
  if (rpc_run_find_session(run, false, &session, outcome) != JP_OK)
    return;
  size_t objects = session == NULL ? 0 : jvm_objects_count(rpc_session_objects(session));
  uint64_t calls = client->calls + (session == NULL ? 0 : rpc_session_calls(session));
  size_t sessions = rpc_sessions_count_of(run->runner->peer->sessions, &client->maker.address);
  struct text text = arena_printf(&run->runner->arena,
                                  "{\"objects\":%zu,\"sessions_of_this_address\":%zu,\"calls\":%" PRIu64 "}",
                                  objects, sessions, calls);
  fill_text(text, outcome);
}

static void fill_session_name(struct rpc_sessions *sessions, struct rpc_session *session, struct arena *arena,
                              struct outcome *outcome)
{
  struct uuid peer_id;
  char name[UUID_TEXT_LENGTH + 1];
  if (!rpc_session_share(sessions, session, &peer_id)) {
    outcome_fail(outcome, arena, FAILURE_INVALID_PARAMS, NULL,
                 "'share_session': this session is that of a routing id; give the message a member peer-id");
    return;
  }
  uuid_format(&peer_id, name);
  fill_text(arena_text(arena, text_of(name)), outcome);
}

static void share_session(struct rpc_run *run, const struct operation *operation, struct outcome *outcome)
{
  (void)operation;
  struct arena *arena = &run->runner->arena;
  struct rpc_session *session;
  /* The session of a single message ends before another client could share it. */
  bool is_of_message = !run->names_session && run->client->key.length == 0 &&
                       rpc_channels[run->client->channel].span == RPC_SPAN_MESSAGE;
  if (is_of_message) {
    outcome_fail(outcome, arena, FAILURE_INVALID_PARAMS, NULL,
                 "'share_session' is for connections; over HTTP give the header peer-id");
    return;
  }
  if (rpc_run_find_session(run, true, &session, outcome) == JP_OK)
    fill_session_name(run->runner->peer->sessions, session, arena, outcome);
}

bool rpc_control_share_beside(const struct rpc_peer *peer, struct rpc_client *client, struct arena *arena,
                              struct outcome *outcome)
{
  struct jp_error error;
  if (rpc_channels[client->channel].span != RPC_SPAN_CONNECTION ||
      (client->session == NULL && rpc_client_hold_session(peer, client, &error) != JP_OK))
    return false;
  fill_session_name(peer->sessions, client->session, arena, outcome);
  return true;
}

/* False: the client is not a connection. *outcome says why it cannot have a thread of its own or belong to a
 * process. */
static bool is_of_connection(const struct rpc_run *run, const char *method, struct outcome *outcome)
{
  const struct rpc_worker *own = rpc_worker_now();
  const char *reason = NULL;
  if (run->client->push == NULL)
    reason = "is for connections over WebSocket and shared memory; over HTTP and ZeroMQ a request has none "
             "of its own";
  else if (own == NULL || run->runner != &own->runner)
    reason = "cannot be nested in a callback";
  if (reason != NULL)
    outcome_fail(outcome, &run->runner->arena, FAILURE_INVALID_PARAMS, NULL, "'%s' %s", method, reason);
  return reason == NULL;
}

/* False: *outcome says why the client cannot join the process. */
static bool join_process(const struct rpc_run *run, struct text name, struct outcome *outcome)
{
  struct arena *arena = &run->runner->arena;
  struct jp_error error = {0};
  if (!is_of_connection(run, "session", outcome))
    return false;
  if (run->names_session || name.len < PROCESS_NAME_MIN || name.len > PROCESS_NAME_MAX) {
    outcome_fail(outcome, arena, FAILURE_INVALID_PARAMS, NULL,
                 run->names_session ? "'session': a process needs the connection's own session"
                                    : "'session': process is a text of %d to %d bytes",
                 (int)PROCESS_NAME_MIN, (int)PROCESS_NAME_MAX);
    return false;
  }
  /* Only JSON-RPC has callbacks. */
  enum jp_status status =
      rpc_process_join(run->runner->peer, run->client, rpc_codecs[RPC_CODEC_JSONRPC], name, &error);
  if (status == JP_INVALID)
    outcome_fail(outcome, arena, FAILURE_INVALID_PARAMS, NULL, "'session': %s", error.text);
  else if (status != JP_OK)
    outcome_fail_error(outcome, arena, &error);
  return status == JP_OK;
}

static void write_capabilities(bool carries_callbacks, struct buffer *out)
{
  bool is_first = true;
  for (size_t i = 0; i < CAPABILITIES; i++) {
    if (capabilities[i].kind == CAPABILITY_CALLBACKS && !carries_callbacks)
      continue;
    buffer_printf(out, "%s\"%.*s\"", is_first ? "" : ",", TEXT_ARGS(capabilities[i].name));
    is_first = false;
  }
}

static void fill_session(struct rpc_run *run, const struct operation *operation, struct outcome *outcome)
{
  const struct rpc_client *client = run->client;
  const struct rpc_peer_config *config = &run->runner->peer->config;
  struct arena *arena = &run->runner->arena;
  char epoch[RPC_EPOCH_LENGTH + 1];
  struct rpc_peer *peer = run->runner->peer;
  struct op_session_key key;
  uint64_t number; /* the number of the request's session, even if the session does not exist yet */
  if (operation->command_text.data != NULL && !join_process(run, operation->command_text, outcome))
    return;
  if (run->names_session) {
    op_session_key_peer_id(&key, principal_number(run->client->principal), &run->guest_id);
    number = rpc_sessions_epoch(peer->sessions, &key);
  } else {
    number = rpc_client_epoch(peer, run->client);
  }
  rpc_epoch_format(number, epoch);
  struct buffer words;
  buffer_init(&words);
  buffer_printf(&words,
                "{\"epoch\":\"%s\",\"client\":%" PRIu64 ",\"message_max\":%zu,\"values_max\":%zu,"
                "\"version\":\"%s\",\"protocol\":%d,\"capabilities\":[",
                epoch, client->process == NULL ? client->number : rpc_process_client(client->process),
                config->limits.message_max, config->limits.values_max, config->version,
                CAPABILITIES_PROTOCOL);
  write_capabilities(client->push != NULL, &words);
  BUFFER_LITERAL(&words, "]}");
  fill_text(words.failed ? TEXT_ABSENT : arena_text(arena, buffer_text(&words)), outcome);
  buffer_fini(&words);
}

/* A user or group without a name is its number. The look-up may wait for a service of the network. */
static struct text name_account(enum principal_proof_kind kind, uint32_t number, struct arena *arena)
{
  enum { ENTRY_MAX = 16 * 1024 };
  struct passwd user;
  struct group group;
  struct passwd *found_user = NULL;
  struct group *found_group = NULL;
  const char *name = NULL;
  char *strings = arena_alloc(arena, ENTRY_MAX);
  if (strings != NULL && kind == PRINCIPAL_BY_USER &&
      getpwuid_r(number, &user, strings, ENTRY_MAX, &found_user) == 0 && found_user != NULL)
    name = user.pw_name;
  else if (strings != NULL && kind == PRINCIPAL_BY_GROUP &&
           getgrgid_r(number, &group, strings, ENTRY_MAX, &found_group) == 0 && found_group != NULL)
    name = group.gr_name;
  const char *what = kind == PRINCIPAL_BY_USER ? "unix-user" : "unix-group";
  return name == NULL ? arena_printf(arena, "%s %u", what, number) : arena_printf(arena, "%s %s", what, name);
}

/* By what a client is known to be owner. */
static struct text describe_address(const struct rpc_address *address, struct arena *arena)
{
  uint32_t user;
  if (rpc_address_user(address, &user))
    return name_account(PRINCIPAL_BY_USER, user, arena);
  if (rpc_address_is_loopback(address))
    return TEXT("loopback");
  return address->length == 0 ? TEXT("nothing") : TEXT("insecure-listen");
}

/* The digests of tokens and certificates are shown by their first eight digits, which find the line in the file. */
static struct text describe_proof(const struct rpc_client *client, struct arena *arena)
{
  const struct principal_proof *proof = &client->proof;
  if (client->principal == NULL)
    return describe_address(&client->maker.address, arena);
  switch (proof->kind) {
  case PRINCIPAL_BY_TOKEN:
    return arena_printf(arena, "token sha256:%08x...", proof->number);
  case PRINCIPAL_BY_CERTIFICATE:
    return arena_printf(arena, "certificate sha256:%08x...", proof->number);
  case PRINCIPAL_BY_COMMON_NAME:
    return TEXT("certificate by its common name");
  case PRINCIPAL_BY_CURVE_KEY:
    return TEXT("curve-key");
  case PRINCIPAL_BY_USER:
  case PRINCIPAL_BY_GROUP:
    return name_account(proof->kind, proof->number, arena);
  default:
    return TEXT("nothing (anonymous)");
  }
}

/* The smaller one of the peer's limit and that of the principal. */
static size_t find_limit(const struct principal *principal, enum principal_limit limit, size_t of_peer)
{
  size_t own = principal == NULL ? SIZE_MAX : atomic_load(&principal->quotas[limit].max);
  return own < of_peer ? own : of_peer;
}

static void fill_whoami(struct rpc_run *run, struct outcome *outcome)
{
  struct arena *arena = &run->runner->arena;
  const struct principal *principal = run->client->principal;
  const struct rpc_limits *limits = &run->runner->peer->config.limits;
  size_t per_address =
      limits->sessions_per_address == 0 ? limits->sessions_max : limits->sessions_per_address;
  struct text known_by = describe_proof(run->client, arena);
  struct buffer words;
  buffer_init(&words);
  BUFFER_LITERAL(&words, "{\"principal\":");
  json_write_string(&words, text_of(principal == NULL ? "owner" : principal->name));
  BUFFER_LITERAL(&words, ",\"known_by\":");
  if (known_by.data == NULL)
    words.failed = true;
  else
    json_write_string(&words, known_by);
  /* For owner, whose sessions share no quota, the limit of objects is that of each session. */
  buffer_printf(&words,
                ",\"limits\":{\"connections\":%zu,\"sessions\":%zu,\"sessions_per_address\":%zu,"
                "\"objects\":%zu,\"calls\":%zu}",
                find_limit(principal, PRINCIPAL_CONNECTIONS, limits->connections_max),
                find_limit(principal, PRINCIPAL_SESSIONS, limits->sessions_max), per_address,
                find_limit(principal, PRINCIPAL_OBJECTS, limits->session_max_objects),
                find_limit(principal, PRINCIPAL_CALLS, limits->threads_max));
  if (principal != NULL)
    buffer_printf(&words, ",\"admin\":%s", principal_is_admin(principal) ? "true" : "false");
  BUFFER_LITERAL(&words, "}");
  fill_text(words.failed ? TEXT_ABSENT : arena_text(arena, buffer_text(&words)), outcome);
  buffer_fini(&words);
}

/* What others have is for principals with admin. False: *outcome is the refusal. */
static bool may_administer(const struct rpc_run *run, const char *what, struct outcome *outcome)
{
  const struct principal *principal = run->client->principal;
  if (principal_is_admin(principal))
    return true;
  outcome_fail(outcome, &run->runner->arena, FAILURE_DENIED, NULL,
               "RPC access denied: %s is for principals with admin, and %s has none", what, principal->name);
  return false;
}

static void list_calls(struct rpc_run *run, struct outcome *outcome)
{
  struct arena *arena = &run->runner->arena;
  struct buffer list;
  buffer_init(&list);
  rpc_workers_list_calls(run->runner->thread, arena, &list);
  fill_text(list.failed ? TEXT_ABSENT : arena_text(arena, buffer_text(&list)), outcome);
  buffer_fini(&list);
}

void rpc_control_fill_cancelled(bool is_found, struct outcome *outcome)
{
  *outcome = (struct outcome){.kind = OUTCOME_VALUE,
                              .type = TEXT("boolean"),
                              .has_value = true,
                              .value = {.kind = OP_BOOLEAN, .boolean = is_found}};
}

/* Cancels a request that is nested in a callback. The transport has obeyed the `cancel` before its turn, for the requests
 * that the connection itself runs or has received. Requests that are nested in its callbacks are not among these: they may run
 * on the thread of another connection. A `cancel` that is nested itself cancels nothing: the requests before it in its callback
 * have been answered. */
static bool cancel_nested(const struct rpc_run *run, struct text id)
{
  const struct rpc_worker *own = rpc_worker_now();
  struct rpc_callbacks *callbacks = run->client->callbacks;
  if (callbacks == NULL || own == NULL || run->runner != &own->runner)
    return false;
  return rpc_callbacks_cancel(NULL, callbacks, id, RPC_NESTED_RUNS) ||
         rpc_callbacks_cancel(NULL, callbacks, id, RPC_NESTED_WAITS);
}

static void pin_thread(const struct rpc_run *run, const struct operation *operation, struct outcome *outcome)
{
  struct arena *arena = &run->runner->arena;
  const struct rpc_client *client = run->client;
  struct text given = operation->command_text;
  struct jp_error error = {0};
  if (!is_of_connection(run, "pin_thread", outcome))
    return;
  if (given.data != NULL && (given.len == 0 || memchr(given.data, '\0', given.len) != NULL)) {
    outcome_fail(outcome, arena, FAILURE_INVALID_PARAMS, NULL,
                 "'pin_thread': the name of a thread is not empty and has no NUL");
    return;
  }
  struct text name = given.data == NULL ? arena_printf(arena, "%s-client-%" PRIu64,
                                                       run->runner->peer->config.name, client->number)
                                        : arena_printf(arena, "%.*s", TEXT_ARGS(given));
  if (name.data == NULL)
    outcome_fail_memory(outcome);
  else if (client->push->pin(client->connection, name.data, &error) != JP_OK)
    outcome_fail(outcome, arena, FAILURE_SERVER, NULL, "'pin_thread': %s", error.text);
}

static void unpin_thread(const struct rpc_run *run, struct outcome *outcome)
{
  if (is_of_connection(run, "unpin_thread", outcome))
    run->client->push->unpin(run->client->connection);
}

/* A switch without a default instead of a table: the compiler then reports a missing method. */
void rpc_control_run(struct rpc_run *run, const struct operation *operation, struct outcome *outcome)
{
  struct judge judge;
  switch (operation->command) {
  case OP_PING:
    return; /* a ping says only that the peer runs */
  case OP_DELETE_OBJECT:
    delete_objects(run, operation, outcome);
    return;
  case OP_DELETE_SESSION:
    delete_session(run, operation, outcome);
    return;
  case OP_GC:
    /* Judged as a call of System.gc, because a collection stops all threads of the peer. */
    judge = rpc_run_judge(run);
    if (judge_collection(&judge, &run->runner->arena, outcome) == JP_OK)
      rpc_collector_collect(run->runner->peer->collector, run->runner->thread);
    return;
  case OP_STATS:
    fill_stats(run, operation, outcome);
    return;
  case OP_SHARE_SESSION:
    share_session(run, operation, outcome);
    return;
  case OP_SESSION:
    fill_session(run, operation, outcome);
    return;
  case OP_WHOAMI:
    fill_whoami(run, outcome);
    return;
  case OP_CALLS:
    if (may_administer(run, "'calls'", outcome))
      list_calls(run, outcome);
    return;
  case OP_CANCEL:
    if (operation->command_call != 0 && !may_administer(run, "'cancel' of a call by its number", outcome))
      return;
    rpc_control_fill_cancelled(operation->command_call != 0 ? rpc_workers_end_call(operation->command_call)
                                                            : cancel_nested(run, operation->command_text),
                               outcome);
    return;
  case OP_PIN_THREAD:
    pin_thread(run, operation, outcome);
    return;
  case OP_UNPIN_THREAD:
    unpin_thread(run, outcome);
    return;
  case OP_COMMANDS:
    return;
  }
}

/* Tests the real policy with members of the stub: when the policy is asked, which verdicts are kept, and the
 * errors. */
#include "rpc/peer_state.h"
#include "stub_jni.h"
#include "tests/unit/temporary_file.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct bench {
  struct arena arena;
  struct rpc_peer peer;
  struct rpc_runner runner;
  struct rpc_client client;
  struct outcome outcome;
};

#define PUBLIC OP_ACC_PUBLIC
#define INT(n)                                                                                               \
  {                                                                                                          \
    .kind = OUTCOME_VALUE, .type = TEXT("int"), .has_value = true, .value = {                                \
      .kind = OP_INTEGER,                                                                                    \
      .integer = (n)                                                                                         \
    }                                                                                                        \
  }

static struct stub_member members[] = {
    {.type = "a.Calc",
     .member = "add",
     .kind = OP_MEMBER_STATIC_METHOD,
     .modifiers = PUBLIC,
     .outcome = INT(8)},
    {.type = "a.Calc",
     .member = "hidden",
     .kind = OP_MEMBER_STATIC_METHOD,
     .modifiers = OP_ACC_PRIVATE,
     .outcome = INT(1)},
    {.type = "a.Calc",
     .member = "note",
     .kind = OP_MEMBER_STATIC_METHOD,
     .modifiers = PUBLIC,
     .outcome = INT(8)},
};

static struct bench *bench;

static int set_up(void **state)
{
  bench = test_calloc(1, sizeof *bench);
  stub_reset(members, COUNT_OF(members));
  arena_init(&bench->arena);
  const struct rpc_session_limits limits = {.sessions_max = 10, .max_objects = 10};
  bench->peer.config.limits.java = (struct jvm_limits){.inline_array_max = 10};
  rpc_runner_init(&bench->runner, &bench->peer, stub_thread());
  (void)state;
  return rpc_sessions_create(&limits, &bench->peer.sessions) == JP_OK ? 0 : 1;
}

static int tear_down(void **state)
{
  (void)state;
  if (bench->client.session != NULL)
    rpc_session_release(bench->peer.sessions, bench->client.session, stub_thread(), 0);
  rpc_sessions_destroy(bench->peer.sessions);
  rpc_runner_fini(&bench->runner); /* the runner holds the policy, too */
  arena_fini(&bench->arena);
  test_free(bench);
  return 0;
}

static void use_policy(struct bench *bench, const char *yaml)
{
  char path[] = TEMPORARY_FILE;
  temporary_file_write(path, yaml, strlen(yaml));
  struct policy_config config = {.file = path};
  struct jp_error error;
  policy_destroy(bench->runner.policy);
  bench->runner.policy = NULL;
  enum jp_status status = policy_create(&config, &bench->runner.policy, &error);
  unlink(path);
  if (status != JP_OK)
    fail_msg("%s", error.text);
}

static void run_with(struct bench *bench, enum op_kind kind, const char *type, const char *member,
                     struct op_value *args, size_t arg_count)
{
  struct rpc_run run;
  rpc_run_init(&run, &bench->runner, &bench->client, 0);
  const struct operation operation = {
      .kind = kind, .type = text_of(type), .member = text_of(member), .args = args, .arg_count = arg_count};
  bench->outcome = (struct outcome){0};
  rpc_run_begin(&run, NULL, false);
  rpc_run_operation(&run, &operation, &bench->outcome);
  rpc_run_end(&run);
}

static void run_request(struct bench *bench, enum op_kind kind, const char *type, const char *member)
{
  run_with(bench, kind, type, member, NULL, 0);
}

static void assert_denied(struct bench *bench, const char *message)
{
  assert_int_equal(bench->outcome.kind, OUTCOME_ERROR);
  unit_assert_text(bench->outcome.message, text_of(message), __FILE__, __LINE__);
  assert_int_equal(bench->outcome.failure, FAILURE_DENIED);
  assert_null(bench->outcome.throwable_type.data);
}

static void assert_runs(struct bench *bench)
{
  if (bench->outcome.kind != OUTCOME_VALUE)
    fail_msg("%.*s", TEXT_ARGS(bench->outcome.message));
}

UNIT_TEST_WITH(test_types_are_checked_before_the_policy_is_asked, set_up, tear_down)
{
  use_policy(bench, "version: 1\n");
  run_request(bench, OP_CALL, "a/b", "m");
  assert_int_equal(bench->outcome.failure, FAILURE_INVALID_PARAMS);
  assert_true(text_starts_with(bench->outcome.message, TEXT("Invalid characters in type")));
  run_request(bench, OP_NEW, "int", "<init>");
  assert_true(text_starts_with(bench->outcome.message, TEXT("Type name is a Java reserved keyword")));
  assert_int_equal(stub.resolved, 0);
}

#define TYPED(name)                                                                                          \
  {                                                                                                          \
    .kind = OP_NULL, .type = TEXT(name)                                                                      \
  }

/* The member's own types are judged in this way, too. */
UNIT_TEST_WITH(test_a_type_that_was_not_named_is_not_judged, set_up, tear_down)
{
  struct op_value secret[] = {TYPED("b.Secret")};
  use_policy(bench, "version: 1\nrules:\n  - {class: \"a.Calc\", action: ALLOW}\n");
  run_with(bench, OP_CALL, "a.Calc", "add", secret, 1);
  assert_denied(bench, "RPC access denied: b.Secret.class via WEBSOCKET_RPC");
  assert_int_equal(stub.resolved, 0);
  secret[0].is_members_type = true;
  run_with(bench, OP_CALL, "a.Calc", "hidden", secret, 1);
  assert_runs(bench);
}

UNIT_TEST_WITH(test_an_allowed_member_is_not_resolved_again, set_up, tear_down)
{
  use_policy(bench, "version: 1\nrules:\n  - {class: \"a.Calc\", channel: [WEBSOCKET_RPC], action: ALLOW}\n");
  for (int i = 0; i < 3; i++) {
    run_request(bench, OP_CALL, "a.Calc", "add");
    assert_runs(bench);
  }
  assert_int_equal(stub.resolved, 1);
  bench->client.channel = OP_CHANNEL_HTTP;
  for (int i = 0; i < 2; i++) {
    run_request(bench, OP_CALL, "a.Calc", "add");
    assert_denied(bench, "RPC access denied: a.Calc.add via HTTP_RPC");
  }
  /* the member was not resolved again, because the names were enough for the verdict */
  assert_int_equal(stub.resolved, 1);
  bench->client.channel = OP_CHANNEL_WEBSOCKET;
  use_policy(bench, "version: 1\ndefaultAction: ALLOW\n");
  run_request(bench, OP_CALL, "a.Calc", "add");
  assert_runs(bench);
  assert_int_equal(stub.resolved, 2);
}

/* ---- the log ---- */

static size_t lines_of(const char *text)
{
  size_t count = 0;
  for (; *text != '\0'; text++)
    count += *text == '\n';
  return count;
}

UNIT_TEST_WITH(test_logging_rules_write_a_line_an_operation, set_up, tear_down)
{
  char written[4096];
  use_policy(bench, "version: 1\nrules:\n  - {class: \"a.Calc\", method: add, action: LOG_AND_ALLOW}\n"
                    "  - {class: \"a.Calc\", action: ALLOW}\n  - {class: \"b.**\", action: LOG_AND_DENY}\n"
                    "  - {class: \"c.**\", action: LOG_AND_ALLOW}\n");
  struct op_value named[] = {TYPED("c.D")};
  struct uuid peer_id = {{0xAB}};
  op_session_key_peer_id(&bench->client.key, 0, &peer_id);
  FILE *file = tmpfile();
  int saved = dup(STDERR_FILENO);
  assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
  run_request(bench, OP_CALL, "a.Calc", "add");
  run_request(bench, OP_CALL, "a.Calc", "add");
  run_request(bench, OP_CALL, "a.Calc", "hidden");
  run_request(bench, OP_NEW, "b.C", "<init>");
  run_request(bench, OP_CALL, "b.D", "x\" verdict=ALLOW rule=\"\xC2\x85");
  for (int i = 0; i < 2; i++)
    run_with(bench, OP_CALL, "a.Calc", "note", named, 1);
  assert_true(dup2(saved, STDERR_FILENO) >= 0);
  close(saved);
  rewind(file);
  written[fread(written, 1, sizeof written - 1, file)] = '\0';
  fclose(file);
  assert_int_equal(lines_of(written), 6);
  assert_non_null(
      strstr(written, "operation=get class=\"c.D\" member=\"class\" verdict=ALLOW rule=\"rule 4 ("));
  assert_non_null(strstr(written,
                         "policy channel=WEBSOCKET_RPC session=ab000000-0000-0000-0000-000000000000 "
                         "operation=call class=\"a.Calc\" member=\"add\" verdict=ALLOW rule=\"rule 1 ("));
  assert_non_null(
      strstr(written, "operation=new class=\"b.C\" member=\"<init>\" verdict=DENY rule=\"rule 3 ("));
  assert_non_null(strstr(
      written, "class=\"b.D\" member=\"x\\\" verdict=ALLOW rule=\\\"\\u0085\" verdict=DENY rule=\"rule 3 ("));
}

UNIT_MAIN

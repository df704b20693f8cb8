#include "tests/unit/jni/members_cases.h"
#include "judge/judge.h"
#include "tests/unit/jni/with_jvm.h"

#include "base/buffer.h"
#include "jni/fetch.h"
#include "rpc/jsonrpc/json_outcome.h"
#include "rpc/jsonrpc/json_params.h"
#include "rpc/values/value_read.h"
#include "json/reader.h"
#include "json/writer.h"

#include <ctype.h>

enum { PLENTY = 1024 * 1024 };

struct members_session session;

void members_session_init(struct members_session *session, struct jvm_thread *thread)
{
  *session = (struct members_session){.thread = thread, .limits = {1000, 50, 100, 10000}};
  assert_int_equal(jvm_objects_create(10000, &session->objects), JP_OK);
  arena_init(&session->arena);
  const struct policy_config everything = {.default_action = POLICY_ALLOW};
  struct jp_error error;
  if (policy_create(&everything, &session->policy, &error) != JP_OK)
    fail_msg("%s", error.text);
  session->judge = judge_make(session->policy, &session->names, OP_CHANNEL_WEBSOCKET, NULL);
}

void members_session_fini(struct members_session *session)
{
  jvm_objects_destroy(session->thread, session->objects);
  jvm_stored_fini(&session->stored);
  arena_fini(&session->arena);
  policy_destroy(session->policy);
}

static uint32_t find_kept(const struct members_session *session, const char *name)
{
  for (size_t i = 0; i < session->kept_count; i++)
    if (strcmp(session->kept[i].name, name) == 0)
      return session->kept[i].ref;
  fail_msg("no object is kept under the name %s", name);
  return 0;
}

static void keep(struct members_session *session, const char *name, uint32_t ref)
{
  for (size_t i = 0; i < session->kept_count; i++)
    if (strcmp(session->kept[i].name, name) == 0) {
      session->kept[i].ref = ref;
      return;
    }
  assert_true(session->kept_count < COUNT_OF(session->kept));
  session->kept[session->kept_count].name = name;
  session->kept[session->kept_count++].ref = ref;
}

/* Replaces $names by refs, and single quotes by double ones. */
static struct text expand(struct members_session *session, const char *params)
{
  struct buffer out;
  buffer_init(&out);
  for (const char *at = params; *at != '\0';) {
    if (at[0] != '$' || !islower((unsigned char)at[1])) {
      buffer_append_char(&out, *at == '\'' ? '"' : *at);
      at++;
      continue;
    }
    char name[32];
    size_t len = strspn(at + 1, "abcdefghijklmnopqrstuvwxyz");
    assert_true(len < sizeof name);
    memcpy(name, at + 1, len);
    name[len] = '\0';
    buffer_printf(&out, "%u", find_kept(session, name));
    at += len + 1;
  }
  struct text expanded = arena_text(&session->arena, buffer_text(&out));
  buffer_fini(&out);
  return expanded;
}

static void write_value(struct buffer *out, struct outcome *outcome)
{
  struct buffer json;
  struct buffer scratch;
  buffer_init(&json);
  buffer_init(&scratch);
  outcome->ref = 0;
  struct rpc_answer answer = {.scratch = &scratch};
  rpc_result_write(&json, outcome, &answer);
  struct text text = buffer_text(&json);
  const char *value = memmem(text.data, text.len, "\"value\":\"", 9);
  assert_non_null(value);
  struct text quoted = {value + 9, text.len - (size_t)(value + 9 - text.data)};
  const char *end = memrchr(quoted.data, '"', quoted.len);
  struct arena arena;
  arena_init(&arena);
  struct text plain = json_unescape((struct text){quoted.data, (size_t)(end - quoted.data)}, &arena);
  buffer_append_text(out, plain);
  arena_fini(&arena);
  buffer_fini(&json);
  buffer_fini(&scratch);
}

static void describe(struct buffer *out, struct outcome *outcome)
{
  switch (outcome->kind) {
  case OUTCOME_VOID:
    buffer_printf(out, "void");
    break;
  case OUTCOME_VALUE: {
    uint32_t ref = outcome->ref;
    buffer_append_text(out, outcome->type);
    if (outcome->is_null)
      buffer_printf(out, " null");
    if (outcome->has_value) {
      buffer_append_char(out, ' ');
      write_value(out, outcome);
    }
    if (ref != 0)
      buffer_printf(out, " ref");
    break;
  }
  default:
    buffer_printf(out, "%d ", rpc_failure_code(outcome->failure));
    if (outcome->throwable_type.data != NULL)
      buffer_printf(out, "%.*s: ", TEXT_ARGS(outcome->throwable_type));
    if (outcome->message.data != NULL)
      buffer_append_text(out, outcome->message);
    for (size_t i = 0; i < outcome->loader_count; i++)
      buffer_printf(out, "%s%.*s%s", i == 0 ? " [" : ", ", TEXT_ARGS(outcome->loaders[i].name),
                    i + 1 == outcome->loader_count ? "]" : "");
    break;
  }
}

static void run(struct members_session *session, const struct operation *operation, struct outcome *outcome)
{
  struct jvm_result result = {.object = NULL};
  const struct jvm_request request = {
      .thread = session->thread,
      .objects = session->objects,
      .operation = operation,
      .arena = &session->arena,
      .limits = &session->limits,
      .judge = &session->judge,
      .stored = &session->stored,
      .answer_max = session->answer_max,
      .result = &result,
  };
  session->stored.count = 0;
  struct jvm_target target;
  if (operation->kind == OP_FETCH)
    jvm_fetch(&request, outcome);
  else if (jvm_resolve(&request, &target, outcome) == JP_OK)
    jvm_invoke(&request, &target, outcome);
  jvm_result_end(&request);
}

static void prepare_fetch(const struct members_session *session, struct operation *operation)
{
  operation->by_value = true;
  operation->fetch.room = operation->fetch.room_max = session->room == 0 ? PLENTY : session->room;
}

/* The result's ref; for a fetch, the ref of the next call. */
static uint32_t find_ref(const struct outcome *outcome)
{
  if (outcome->kind != OUTCOME_VALUE)
    return 0;
  const struct op_value *value = &outcome->value;
  for (size_t i = 0; outcome->has_value && value->kind == OP_MAP && i < value->map.count; i++)
    if (text_equal(value->map.entries[i].key, TEXT("ref")) && value->map.entries[i].value.kind == OP_INTEGER)
      return (uint32_t)value->map.entries[i].value.integer;
  return outcome->ref;
}

struct text members_run(struct members_session *session, const char *method, const char *params,
                        uint32_t *ref)
{
  arena_reset(&session->arena);
  struct json_fault fault;
  struct jsonrpc_request request = {.method = text_of(method), .has_params = true};
  struct text text = expand(session, params);
  if (json_validate(text, (struct json_limits){128}, TEXT(""), &fault) != JP_OK)
    fail_msg("no JSON: %.*s", TEXT_ARGS(text));
  request.params = json_root(text);

  struct operation operation;
  struct outcome outcome = {0};
  assert_int_equal(jvm_request_begin(session->thread), JP_OK);
  const struct rpc_value_rules rules = {.digits_max = session->limits.number_digits_max};
  enum jp_status status = rpc_params_decode(&request, &rules, &session->arena, &operation, &outcome);
  operation.by_value = session->by_value;
  operation.loader = session->loader;
  operation.lists_loaders = true;
  operation.element_types = session->element_types;
  if (operation.kind == OP_FETCH)
    prepare_fetch(session, &operation);
  if (status == JP_OK && session->notify_run != NULL)
    session->notify_run(true);
  if (status == JP_OK)
    run(session, &operation, &outcome);
  if (session->notify_run != NULL)
    session->notify_run(false);
  assert_false((*session->thread->env)->ExceptionCheck(session->thread->env));
  jvm_request_end(session->thread);

  *ref = find_ref(&outcome);
  struct buffer out;
  buffer_init(&out);
  if (operation.by_value && outcome.kind != OUTCOME_ERROR)
    rpc_by_value_result_write(&out, &outcome);
  else
    describe(&out, &outcome);
  struct text described = arena_text(&session->arena, buffer_text(&out));
  buffer_fini(&out);
  return described;
}

/* An N in the wanted text matches any whole number. */
static bool fits(struct text got, const char *wanted)
{
  size_t at = 0;
  for (; *wanted != '\0'; wanted++) {
    size_t before = at;
    if (*wanted != 'N')
      at += at < got.len && got.data[at] == *wanted;
    else
      while (at < got.len && isdigit((unsigned char)got.data[at]))
        at++;
    if (at == before)
      return false;
  }
  return at == got.len;
}

void members_check(const char *method, const char *params, const char *wanted_text, const char *kept_as)
{
  uint32_t ref;
  struct text got = members_run(&session, method, params, &ref);
  struct text wanted = text_of(wanted_text);
  bool is_error = text_starts_with(wanted, TEXT("-32"));
  if (!(is_error ? text_starts_with(got, wanted) : text_equal(got, wanted) || fits(got, wanted_text)))
    fail_msg("%s %s\n  got    %.*s\n  wanted %s", method, params, TEXT_ARGS(got), wanted_text);
  if (kept_as != NULL)
    keep(&session, kept_as, ref);
}

void members_check_all(const struct members_case *cases, size_t count)
{
  for (size_t i = 0; i < count; i++)
    members_check(cases[i].method, cases[i].params, cases[i].wanted, cases[i].keep);
}

uint32_t members_ref(const char *name)
{
  return find_kept(&session, name);
}

int members_open(void **state)
{
  (void)state;
  members_session_init(&session, the_thread);
  return 0;
}

int members_close(void **state)
{
  (void)state;
  members_session_fini(&session);
  return 0;
}

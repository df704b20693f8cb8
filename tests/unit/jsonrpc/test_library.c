/* The public library: the examples of the specification and of jsonrpc2's README, compared as parsed JSON.
 * Backquotes are replaced by quotes. */
#include "include/jpeer/jsonrpc.h"
#include "include/jpeer/jsonrpc_jansson.h"

#include "tests/unit/cases.h"

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>

enum { BATCH_MAX = 16, HANDLER_CODE = 123 };

/* ---- the handlers that the examples call ---- */

static int64_t integer_of(struct jp_json value)
{
  int64_t integer = 0;
  jp_json_integer(value, &integer);
  return integer;
}

static int subtract(struct jp_jsonrpc_call *call)
{
  int64_t minuend = integer_of(jp_jsonrpc_param(call, 0, "minuend"));
  int64_t subtrahend = integer_of(jp_jsonrpc_param(call, 1, "subtrahend"));
  jp_json_write_integer(jp_jsonrpc_result(call), minuend - subtrahend);
  return 0;
}

static int sum(struct jp_jsonrpc_call *call)
{
  int64_t total = 0;
  struct jp_json_cursor cursor = jp_json_enter(jp_jsonrpc_params(call));
  struct jp_json value;
  while (jp_json_next(&cursor, NULL, &value))
    total += integer_of(value);
  jp_json_write_integer(jp_jsonrpc_result(call), total);
  return 0;
}

static int get_data(struct jp_jsonrpc_call *call)
{
  struct jp_json_writer *writer = jp_jsonrpc_result(call);
  jp_json_begin_array(writer);
  jp_json_write_string(writer, "hello");
  jp_json_write_integer(writer, 5);
  jp_json_end_array(writer);
  return 0;
}

static int reverse(struct jp_jsonrpc_call *call)
{
  struct jp_json params = jp_jsonrpc_params(call);
  struct jp_json_writer *writer = jp_jsonrpc_result(call);
  jp_json_begin_array(writer);
  for (size_t i = jp_json_count(params); i > 0; i--)
    jp_json_write_value(writer, jp_json_at(params, i - 1));
  jp_json_end_array(writer);
  return 0;
}

static int log_out(struct jp_jsonrpc_call *call)
{
  jp_jsonrpc_error(call, HANDLER_CODE, "Not logged in");
  return 0;
}

static int with_data(struct jp_jsonrpc_call *call)
{
  struct jp_json_writer *writer = jp_jsonrpc_error(call, JP_JSONRPC_INVALID_PARAMS, NULL);
  jp_json_begin_object(writer);
  jp_json_write_key(writer, "at");
  jp_json_write_integer(writer, 1);
  jp_json_end_object(writer);
  return 0;
}

static int accept_all(struct jp_jsonrpc_call *call)
{
  jp_json_write_null(jp_jsonrpc_result(call));
  return 0;
}

static int crash(struct jp_jsonrpc_call *call)
{
  jp_json_write_string(jp_jsonrpc_result(call), "half");
  return jp_jsonrpc_fail(call, "no %s", "luck");
}

static int say_nothing(struct jp_jsonrpc_call *call)
{
  (void)call;
  return 0;
}

static int write_rubbish(struct jp_jsonrpc_call *call)
{
  jp_json_write_raw(jp_jsonrpc_result(call), (struct jp_text){"{]", 2});
  return 0;
}

static int two_values(struct jp_jsonrpc_call *call)
{
  struct jp_json_writer *writer = jp_jsonrpc_result(call);
  jp_json_write_integer(writer, 1);
  jp_json_write_integer(writer, 2);
  return 0;
}

static int tree_sum(struct jp_jsonrpc_call *call)
{
  const json_t *params = jp_jansson_params(call);
  const json_t *value;
  size_t i;
  json_int_t total = 0;
  if (params == NULL)
    return jp_jsonrpc_error_tree(call, JP_JSONRPC_INVALID_PARAMS, NULL, json_string("an array is wanted"));
  json_array_foreach(params, i, value) total += json_integer_value(value);
  return jp_jansson_result(call, json_pack("{s:I}", "total", total));
}

static int too_large(struct jp_jsonrpc_call *call)
{
  static const char digits[] = "99999999999999999999";
  jp_json_write_raw(jp_jsonrpc_result(call), (struct jp_text){digits, sizeof digits - 1});
  return 0;
}

static const struct {
  const char *name;
  int (*run)(struct jp_jsonrpc_call *call);
} methods[] = {
    {"subtract", subtract},       {"sum", sum},
    {"get_data", get_data},       {"foo", reverse},
    {"Logout", log_out},          {"with_data", with_data},
    {"update", accept_all},       {"notify_hello", accept_all},
    {"notify_sum", accept_all},   {"crash", crash},
    {"say_nothing", say_nothing}, {"rubbish", write_rubbish},
    {"two_values", two_values},   {"tree_sum", tree_sum},
    {"too_large", too_large},
};

static atomic_int calls;

static int handle(void *context, struct jp_jsonrpc_call *call)
{
  (void)context;
  struct jp_text method = jp_jsonrpc_method(call);
  atomic_fetch_add(&calls, 1);
  for (size_t i = 0; i < COUNT_OF(methods); i++) {
    if (method.len == strlen(methods[i].name) && memcmp(method.data, methods[i].name, method.len) == 0)
      return methods[i].run(call);
  }
  jp_jsonrpc_error(call, JP_JSONRPC_METHOD_NOT_FOUND, NULL);
  return 0;
}

/* ---- the examples ---- */

struct example {
  const char *message;
  const char *reply; /* NULL: none */
};

static void assert_same_json(const struct jp_jsonrpc_reply *reply, const char *wanted, const char *message)
{
  json_t *got = json_loadb(reply->data, reply->len, 0, NULL);
  json_t *expected = json_loads(unit_json(wanted), 0, NULL);
  assert_non_null(expected);
  if (got == NULL || !json_equal(got, expected))
    fail_msg("%s\n  gave   %.*s\n  wanted %s", message, (int)reply->len, reply->data, wanted);
  json_decref(got);
  json_decref(expected);
}

static void check_example(const struct jp_jsonrpc_config *config, const struct example *example)
{
  struct jp_jsonrpc_reply reply;
  const char *message = unit_json(example->message);
  size_t length = strlen(message);
  char *copy = unit_exact_copy(message, length);
  enum jp_jsonrpc_status status =
      jp_jsonrpc_handle(config, (struct jp_text){copy, length}, handle, NULL, &reply);
  assert_int_equal(status, example->reply == NULL ? JP_JSONRPC_NO_REPLY : JP_JSONRPC_OK);
  if (example->reply != NULL)
    assert_same_json(&reply, example->reply, example->message);
  else
    assert_int_equal(reply.http_status, 204);
  jp_jsonrpc_reply_free(&reply);
  test_free(copy);
}

typedef void example_function(const struct jp_jsonrpc_config *config, const struct example *example);

/* For the examples. */
static const struct jp_jsonrpc_config *config_of_examples;
static example_function *check_of_examples;

static void check_row(const char *place, const char *message, const char *reply)
{
  (void)place;
  check_of_examples(config_of_examples, &(struct example){message, *reply == '\0' ? NULL : reply});
}

static void check_examples(example_function *check, const struct jp_jsonrpc_config *config)
{
  check_of_examples = check;
  config_of_examples = config;
  unit_cases(EXAMPLES, check_row);
}

UNIT_TEST(answers_the_examples)
{
  check_examples(check_example, NULL);
}

/* ---- a map that runs everything at the same time ---- */

struct job {
  pthread_t thread;
  void (*run)(void *item);
  void *item;
};

static void *run_job(void *argument)
{
  struct job *job = argument;
  job->run(job->item);
  return NULL;
}

/* The last item first, so that the answers have another order than the calls. */
static void map_threads(void *context, void (*run)(void *item), void *const *items, size_t count)
{
  struct job jobs[BATCH_MAX];
  assert_true(count <= BATCH_MAX);
  *(size_t *)context += count;
  for (size_t i = count; i > 0; i--) {
    jobs[i - 1] = (struct job){.run = run, .item = items[i - 1]};
    assert_int_equal(pthread_create(&jobs[i - 1].thread, NULL, run_job, &jobs[i - 1]), 0);
  }
  for (size_t i = 0; i < count; i++)
    pthread_join(jobs[i].thread, NULL);
}

UNIT_TEST(answers_the_examples_through_a_map)
{
  size_t mapped = 0;
  const struct jp_jsonrpc_config config = {.map = map_threads, .map_context = &mapped};
  check_examples(check_example, &config);
  assert_int_equal(mapped, 1 + 3 + 6 + 2 + 5);
}

/* ---- the log, the limits, trees ---- */

struct log {
  int lines;
  char last[200];
};

static void keep_line(void *context, const char *line)
{
  struct log *log = context;
  log->lines++;
  snprintf(log->last, sizeof log->last, "%s", line);
}

static enum jp_jsonrpc_status send(const struct jp_jsonrpc_config *config, const char *message,
                                   struct jp_jsonrpc_reply *reply)
{
  const char *json = unit_json(message);
  return jp_jsonrpc_handle(config, (struct jp_text){json, strlen(json)}, handle, NULL, reply);
}

UNIT_TEST(logs_failures)
{
  static const struct {
    const char *method;
    const char *line;
  } cases[] = {
      {"crash", "the handler of crash failed: no luck"},
      {"say_nothing", "the handler of say_nothing failed: it answered nothing"},
      {"rubbish", "the handler of rubbish failed: its output is not one JSON value"},
  };
  struct log log = {0};
  const struct jp_jsonrpc_config config = {.log = keep_line, .log_context = &log};
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    char message[100];
    struct jp_jsonrpc_reply reply;
    snprintf(message, sizeof message, "{`jsonrpc`:`2.0`,`method`:`%s`}", cases[i].method);
    /* the failure of a notification is logged, too */
    assert_int_equal(send(&config, message, &reply), JP_JSONRPC_NO_REPLY);
    assert_int_equal(log.lines, (int)i + 1);
    assert_string_equal(log.last, cases[i].line);
  }
}

UNIT_TEST(never_calls_the_handler_without_a_request)
{
  static const char *const messages[] = {"", " ", "dummy", "{`x`:42}", "[]", "[1]", "{`jsonrpc`:`2.0`}"};
  int before = atomic_load(&calls);
  for (size_t i = 0; i < COUNT_OF(messages); i++) {
    struct jp_jsonrpc_reply reply;
    assert_int_equal(send(NULL, messages[i], &reply), JP_JSONRPC_OK);
    jp_jsonrpc_reply_free(&reply);
  }
  assert_int_equal(atomic_load(&calls), before);
}

UNIT_TEST(keeps_to_the_limits)
{
  const struct jp_jsonrpc_config config = {.max_depth = 3, .max_batch = 2};
  static const char *const messages[] = {"[1,2,3]",
                                         "{`jsonrpc`:`2.0`,`method`:`sum`,`params`:[[[1]]],`id`:1}"};
  for (size_t i = 0; i < COUNT_OF(messages); i++) {
    struct jp_jsonrpc_reply reply;
    assert_int_equal(send(&config, messages[i], &reply), JP_JSONRPC_OK);
    assert_same_json(&reply,
                     "{`jsonrpc`:`2.0`,`error`:{`code`:-32600,`message`:`Invalid Request`},`id`:null}",
                     messages[i]);
    jp_jsonrpc_reply_free(&reply);
  }
}

UNIT_TEST(gives_handlers_trees)
{
  static const struct example cases[] = {
      {"{`jsonrpc`:`2.0`,`method`:`tree_sum`,`params`:[1,2,3],`id`:1}",
       "{`jsonrpc`:`2.0`,`result`:{`total`:6},`id`:1}"},
      {"{`jsonrpc`:`2.0`,`method`:`tree_sum`,`id`:1}",
       "{`jsonrpc`:`2.0`,`error`:{`code`:-32602,`message`:`Invalid params`,`data`:`an array is "
       "wanted`},`id`:1}"},
      {"{`jsonrpc`:`2.0`,`method`:`tree_sum`,`params`:[99999999999999999999],`id`:1}",
       "{`jsonrpc`:`2.0`,`error`:{`code`:-32602,`message`:`Invalid params`,`data`:`an array is "
       "wanted`},`id`:1}"},
  };
  const struct jp_jsonrpc_config config = {.codec = &jp_jsonrpc_jansson};
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    check_example(&config, &cases[i]);
}

/* ---- messages that were decoded before ---- */

static void check_decoded(const struct jp_jsonrpc_config *config, const struct example *example)
{
  json_t *message = json_loads(unit_json(example->message), JSON_DECODE_ANY, NULL);
  json_t *reply;
  if (message == NULL) { /* like a caller that cannot decode a message */
    reply = jp_jansson_parse_error();
  } else {
    enum jp_jsonrpc_status status = jp_jansson_handle(config, message, handle, NULL, &reply);
    assert_int_equal(status, example->reply == NULL ? JP_JSONRPC_NO_REPLY : JP_JSONRPC_OK);
  }
  json_decref(message);
  json_t *wanted =
      example->reply == NULL ? NULL : json_loads(unit_json(example->reply), JSON_DECODE_ANY, NULL);
  if (wanted == NULL)
    assert_null(reply);
  else if (!json_equal(reply, wanted))
    fail_msg("%s: not the expected reply", example->message);
  json_decref(wanted);
  json_decref(reply);
}

UNIT_TEST(answers_decoded_messages)
{
  size_t mapped = 0;
  const struct jp_jsonrpc_config config = {.map = map_threads, .map_context = &mapped};
  check_examples(check_decoded, NULL);
  check_examples(check_decoded, &config);
  assert_int_equal(mapped, 1 + 3 + 6 + 2 + 5);
}

UNIT_TEST(gives_decoded_messages_to_handlers)
{
  static const struct example cases[] = {
      {"{`jsonrpc`:`2.0`,`method`:`tree_sum`,`params`:[1,2,3],`id`:`a\\u0000b`}",
       "{`jsonrpc`:`2.0`,`result`:{`total`:6},`id`:`a\\u0000b`}"},
      {"[{`jsonrpc`:`2.0`,`method`:`too_large`,`id`:1},{`jsonrpc`:`2.0`,`method`:`tree_sum`,`params`:[4],`id`"
       ":1.5}]",
       "[{`jsonrpc`:`2.0`,`error`:{`code`:-32603,`message`:`Internal "
       "error`},`id`:1},{`jsonrpc`:`2.0`,`result`:{`total`:4},`id`:1.5}]"},
      {"{`version`:`1.1`,`method`:`tree_sum`,`params`:[1],`id`:{`a`:[]}}",
       "{`version`:`1.1`,`result`:{`total`:1},`id`:{`a`:[]}}"},
  };
  struct log log = {0};
  const struct jp_jsonrpc_config config = {.log = keep_line, .log_context = &log};
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    json_t *message = json_loads(unit_json(cases[i].message), JSON_ALLOW_NUL, NULL);
    json_t *wanted = json_loads(unit_json(cases[i].reply), JSON_ALLOW_NUL, NULL);
    json_t *reply;
    assert_non_null(message);
    assert_non_null(wanted);
    assert_int_equal(jp_jansson_handle(&config, message, handle, NULL, &reply), JP_JSONRPC_OK);
    assert_true(json_equal(reply, wanted));
    json_decref(message);
    json_decref(wanted);
    json_decref(reply);
  }
  assert_string_equal(log.last, "the handler of too_large failed: its output cannot become a tree");
}

UNIT_TEST(reports_text_that_is_no_message)
{
  void *reply = &reply;
  json_t *tree;
  assert_int_equal(jp_jansson_handle(NULL, NULL, handle, NULL, &tree), JP_JSONRPC_INVALID);
  assert_null(tree);
  const struct jp_jsonrpc_config without = {0};
  json_t *message = json_array();
  assert_int_equal(jp_jsonrpc_handle_tree(&without, message, handle, NULL, &reply), JP_JSONRPC_INVALID);
  assert_null(reply);
  json_t *inner = json_array();
  json_array_append(message, inner);
  json_array_append_new(inner, message); /* a tree that contains itself has no text */
  assert_int_equal(jp_jansson_handle(NULL, message, handle, NULL, &tree), JP_JSONRPC_INVALID);
  assert_null(tree);
  json_array_clear(inner);
  json_decref(inner);
}

UNIT_TEST(gives_a_parse_error)
{
  struct jp_jsonrpc_reply reply;
  assert_int_equal(jp_jsonrpc_parse_error(&reply), JP_JSONRPC_OK);
  unit_assert_text(
      (struct text){reply.data, reply.len},
      text_of(unit_json("{`jsonrpc`:`2.0`,`id`:null,`error`:{`code`:-32700,`message`:`Parse error`}}")),
      __FILE__, __LINE__);
  assert_int_equal(reply.http_status, 200);
  jp_jsonrpc_reply_free(&reply);
}

UNIT_MAIN

/* The document of the peer's own procedures, and the params of rpc.discover. */
#include "rpc/describe/openrpc.h"
#include "rpc/jsonrpc/procedures.h"
#include "tests/unit/unit.h"

#include <jansson.h>

static const char *const addresses[] = {"ws://127.0.0.1:4711/rpc", "http://127.0.0.1:4711/rpc", NULL};

static int open_service(void **state)
{
  struct openrpc *openrpc;
  struct jp_error error;
  const struct openrpc_config config = {.name = "a \"peer\"", .version = "1.2.3", .addresses = addresses};
  if (openrpc_create(&config, &openrpc, &error) != JP_OK) {
    print_error("%s\n", error.text);
    return 1;
  }
  *state = openrpc;
  return 0;
}

static int close_service(void **state)
{
  openrpc_destroy(*state);
  return 0;
}

static json_t *load(struct text document)
{
  json_t *tree = json_loadb(document.data, document.len, JSON_REJECT_DUPLICATES, NULL);
  assert_non_null(tree);
  return tree;
}

static const char *string_at(const json_t *tree, const char *name)
{
  return json_string_value(json_object_get(tree, name));
}

static void the_head_says_who_and_where(void **state)
{
  json_t *tree = load(openrpc_own_document(*state));
  const json_t *info = json_object_get(tree, "info");
  const json_t *servers = json_object_get(tree, "servers");
  assert_string_equal(string_at(tree, "openrpc"), "1.3.2");
  assert_string_equal(string_at(info, "title"), "a \"peer\"");
  assert_string_equal(string_at(info, "version"), "1.2.3");
  assert_int_equal(json_array_size(servers), 2);
  assert_string_equal(string_at(json_array_get(servers, 1), "name"), "http");
  assert_string_equal(string_at(json_array_get(servers, 1), "url"), addresses[1]);
  json_decref(tree);
}

/* The table's entry of that name; NULL: none. */
static const struct rpc_procedure_param *param_named(const struct rpc_procedure *procedure, const char *name)
{
  for (size_t i = 0; i < procedure->param_count; i++)
    if (text_equal(rpc_param_names[procedure->params[i].param], text_of(name)))
      return &procedure->params[i];
  return NULL;
}

/* Params, required ones first, each with its schema. */
static void every_procedure_is_described(void **state)
{
  json_t *tree = load(openrpc_own_document(*state));
  const json_t *methods = json_object_get(tree, "methods");
  size_t at = 0;
  for (size_t i = 0; i < rpc_procedure_count; i++) {
    const struct rpc_procedure *procedure = &rpc_procedures[i];
    if (procedure->only_1_1)
      continue;
    const json_t *method = json_array_get(methods, at++);
    const json_t *params = json_object_get(method, "params");
    assert_true(text_equal(procedure->name, text_of(string_at(method, "name"))));
    assert_int_equal(json_array_size(params), procedure->param_count);
    bool is_discover = procedure->kind == RPC_PROCEDURE_DISCOVER;
    assert_string_equal(string_at(method, "paramStructure"),
                        is_discover || rpc_procedures[i].is_own ? "either" : "by-name");
    bool optional = false;
    for (size_t p = 0; p < procedure->param_count; p++) {
      const json_t *param = json_array_get(params, p);
      bool required = json_is_true(json_object_get(param, "required"));
      const struct rpc_procedure_param *listed = param_named(procedure, string_at(param, "name"));
      assert_non_null(listed);
      assert_int_equal(required, listed->required && !listed->or_instance);
      if (rpc_procedures[i].is_own) /* its params may come by position */
        assert_ptr_equal(listed, &procedure->params[p]);
      assert_true(json_is_object(json_object_get(param, "schema")));
      assert_false(optional && required);
      optional = !required;
    }
    assert_true(json_is_object(json_object_get(json_object_get(method, "result"), "schema")));
  }
  assert_int_equal(json_array_size(methods), at);
  json_decref(tree);
}

/* The params of the method at an index, those that are required with a star. */
static void show_params(struct openrpc *openrpc, size_t method, char *out, size_t size)
{
  json_t *tree = load(openrpc_own_document(openrpc));
  const json_t *params = json_object_get(json_array_get(json_object_get(tree, "methods"), method), "params");
  size_t length = 0;
  for (size_t i = 0; i < json_array_size(params); i++) {
    const json_t *param = json_array_get(params, i);
    bool required = json_is_true(json_object_get(param, "required"));
    length += (size_t)snprintf(out + length, size - length, "%s%s%s", i > 0 ? " " : "",
                               string_at(param, "name"), required ? "*" : "");
  }
  json_decref(tree);
}

static void a_type_may_be_left_out_beside_an_instance(void **state)
{
  struct openrpc *compat;
  struct jp_error error;
  const struct openrpc_config config = {.name = "peer", .addresses = addresses, .compat_pal = true};
  static const char *const shown[][2] = {
      {"method* type instance args encoding", "type* method* instance args encoding"},
      {"type* args encoding", "type* args encoding"},
      {"field* type instance encoding", "type* field* instance encoding"},
      {"field* value* type instance", "type* field* value* instance"}};
  assert_int_equal(openrpc_create(&config, &compat, &error), JP_OK);
  for (size_t i = 0; i < COUNT_OF(shown); i++) {
    char own[200];
    char pal[200];
    show_params(*state, i, own, sizeof own);
    show_params(compat, i, pal, sizeof pal);
    assert_string_equal(own, shown[i][0]);
    assert_string_equal(pal, shown[i][1]);
  }
  openrpc_destroy(compat);
}

static void params_are_checked(void **state)
{
  static const struct {
    const char *params; /* NULL: none */
    enum outcome_failure failure;
    const char *message; /* NULL: it is answered by the peer's own document */
  } cases[] = {
      {NULL, 0, NULL},
      {"{}", 0, NULL},
      {"[]", 0, NULL},
      {"{\"openrpc\":true}", 0, NULL},
      {"{\"openrpc\":false}", FAILURE_INVALID_PARAMS, "'openrpc' can only be true"},
      {"{\"openrpc\":\"true\"}", FAILURE_INVALID_PARAMS, "'openrpc' can only be true"},
      {"{\"classes\":\"C\"}", FAILURE_INVALID_PARAMS, "'classes' must be an array"},
      {"{\"classes\":[5]}", FAILURE_INVALID_PARAMS, "'classes' must be an array of patterns: strings"},
      {"{\"classes\":[\"\"]}", FAILURE_INVALID_PARAMS, "'classes' has an empty pattern"},
      {"{\"classes\":[],\"classes\":[]}", FAILURE_INVALID_PARAMS, "'classes' is given twice"},
      {"{\"names\":\"own\"}", FAILURE_INVALID_PARAMS, "'names' can only be \"identifiers\""},
      {"[[],true,1]", FAILURE_INVALID_PARAMS, "'names' can only be \"identifiers\""},
      {"[[],true,\"identifiers\",1]", FAILURE_INVALID_PARAMS,
       "the params are 'classes', 'openrpc' and 'names'"},
      {"[[\"C\"]]", FAILURE_SERVER, "this peer serves no metadata"},
  };
  struct arena arena;
  struct buffer out;
  arena_init(&arena);
  buffer_init(&out);
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct jsonrpc_request request = {.method = TEXT("rpc.discover"), .has_params = cases[i].params != NULL};
    struct outcome outcome = {0};
    if (request.has_params)
      request.params = json_root(text_of(cases[i].params));
    buffer_clear(&out);
    const struct openrpc_view nobody = {.channel = POLICY_WEBSOCKET}; /* these ask for nothing of Java */
    enum jp_status status = openrpc_discover(*state, &request, &nobody, SIZE_MAX / 2, &arena, &out, &outcome);
    assert_int_equal(status == JP_OK, cases[i].message == NULL);
    if (cases[i].message == NULL) {
      assert_true(text_equal(buffer_text(&out), openrpc_own_document(*state)));
      continue;
    }
    assert_int_equal(outcome.failure, cases[i].failure);
    assert_true(text_starts_with(outcome.message, text_of(cases[i].message)));
  }
  arena_fini(&arena);
  buffer_fini(&out);
}

static void check_patterns(struct openrpc *openrpc, const char *pattern, size_t count, const char *wanted)
{
  struct arena arena;
  struct buffer params;
  struct buffer out;
  struct outcome outcome = {0};
  arena_init(&arena);
  buffer_init(&params);
  buffer_init(&out);
  for (size_t i = 0; i < count; i++)
    buffer_printf(&params, "%s\"%s\"", i == 0 ? "{\"classes\":[" : ",", pattern);
  buffer_printf(&params, "]}");
  struct jsonrpc_request request = {
      .method = TEXT("rpc.discover"), .has_params = true, .params = json_root(buffer_text(&params))};
  assert_int_not_equal(
      openrpc_discover(openrpc, &request, POLICY_WEBSOCKET, SIZE_MAX / 2, &arena, &out, &outcome), JP_OK);
  unit_assert_text(outcome.message, text_of(wanted), __FILE__, __LINE__);
  arena_fini(&arena);
  buffer_fini(&params);
  buffer_fini(&out);
}

/* Each class is held against each of them. */
static void patterns_have_limits(void **state)
{
  enum { LENGTH_MAX = 1024 };
  static const char taken[] = "this peer serves no metadata";
  static const char too_many[] =
      "'classes' has more patterns with a * before their end than the limit of 100";
  char longest[LENGTH_MAX + 2] = "";
  memset(longest, 'a', LENGTH_MAX);
  check_patterns(*state, "com.example.**", 1000, taken);
  check_patterns(*state, "a.b.*", 1000, taken);
  check_patterns(*state, "a.B", 1001, "'classes' has more patterns than the limit of 1000");
  check_patterns(*state, "**.B", 100, taken);
  check_patterns(*state, "**.B", 101, too_many);
  check_patterns(*state, "a.*b**", 101, too_many);
  check_patterns(*state, longest, 1, taken);
  longest[LENGTH_MAX] = 'a';
  check_patterns(*state, longest, 1, "'classes' has a pattern longer than the limit of 1024 bytes");
}

/* Fails where a generator would: at a type of several, and at a reference to a schema that is no object's. */
static void check_simple(const json_t *value, const json_t *components)
{
  const char *key;
  json_t *member;
  const char *reference = json_string_value(json_object_get(value, "$ref"));
  if (reference != NULL)
    assert_non_null(json_object_get(json_object_get(components, strrchr(reference, '/') + 1), "properties"));
  assert_false(json_is_array(json_object_get(value, "type")));
  json_object_foreach((json_t *)value, key, member)
  {
    check_simple(member, components);
  }
  for (size_t i = 0; i < json_array_size(value); i++)
    check_simple(json_array_get(value, i), components);
}

static void identifiers_come_with_simple_schemas(void **state)
{
  struct arena arena;
  struct buffer out;
  struct outcome outcome = {0};
  arena_init(&arena);
  buffer_init(&out);
  const struct openrpc_view nobody = {.channel = POLICY_WEBSOCKET};
  struct jsonrpc_request request = {.method = TEXT("rpc.discover"),
                                    .has_params = true,
                                    .params = json_root(TEXT("{\"names\":\"identifiers\"}"))};
  assert_int_equal(openrpc_discover(*state, &request, &nobody, SIZE_MAX / 2, &arena, &out, &outcome), JP_OK);
  json_t *tree = load(buffer_text(&out));
  const json_t *components = json_object_get(json_object_get(tree, "components"), "schemas");
  const json_t *object_value = json_object_get(json_object_get(components, "ObjectValue"), "properties");
  assert_string_equal(string_at(tree, "openrpc"), "1.2.6");
  check_simple(tree, components);
  assert_true(json_is_null(json_object_get(json_object_get(object_value, "value"), "default")));
  assert_null(json_object_get(json_object_get(object_value, "ref"), "default"));
  json_decref(tree);
  arena_fini(&arena);
  buffer_fini(&out);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_head_says_who_and_where),
      cmocka_unit_test(every_procedure_is_described),
      cmocka_unit_test(a_type_may_be_left_out_beside_an_instance),
      cmocka_unit_test(params_are_checked),
      cmocka_unit_test(patterns_have_limits),
      cmocka_unit_test(identifiers_come_with_simple_schemas),
  };
  return cmocka_run_group_tests(tests, open_service, close_service);
}

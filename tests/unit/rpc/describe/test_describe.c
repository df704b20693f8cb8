/* The service description of JSON-RPC 1.1, read back with another library. */
#include "rpc/describe/describe.h"

#include "rpc/jsonrpc/procedures.h"
#include "tests/unit/unit.h"

#include <jansson.h>

static json_t *describe(const char *const *addresses)
{
  struct rpc_service_facts facts = {.name = TEXT("a \"peer\""), .addresses = addresses};
  assert_true(uuid_parse(TEXT("11111111-2222-3333-4444-555555555555"), &facts.uuid));
  struct buffer out;
  buffer_init(&out);
  rpc_description_write(&out, &facts);
  json_t *root = json_loadb(out.data, out.len, JSON_REJECT_DUPLICATES, NULL);
  assert_non_null(root);
  buffer_fini(&out);
  return root;
}

static void assert_member(const json_t *object, const char *name, const char *value)
{
  const char *text = json_string_value(json_object_get(object, name));
  assert_non_null(text);
  assert_string_equal(text, value);
}

static void says_who_it_is_and_where(void **state)
{
  (void)state;
  static const char *const addresses[] = {"ws://h:1/rpc", "http://h:1/rpc", "tcp://h:2", NULL};
  json_t *root = describe(addresses);
  assert_member(root, "sdversion", "1.0");
  assert_member(root, "name", "a \"peer\"");
  assert_member(root, "id", "urn:uuid:11111111-2222-3333-4444-555555555555");
  assert_member(root, "address", "http://h:1/rpc");
  assert_member(root, "help", "http://h:1/help");
  unsigned major;
  unsigned minor;
  char rest;
  const char *version = json_string_value(json_object_get(root, "version"));
  assert_int_equal(sscanf(version, "%u.%u%c", &major, &minor, &rest), 2);
  json_decref(root);
}

static void has_no_address_where_there_is_none(void **state)
{
  (void)state;
  static const char *const addresses[] = {"tcp://h:2", NULL};
  json_t *root = describe(addresses);
  assert_null(json_object_get(root, "address"));
  assert_null(json_object_get(root, "help"));
  json_decref(root);
  root = describe(NULL);
  assert_null(json_object_get(root, "address"));
  json_decref(root);
}

static void lists_every_procedure_but_itself(void **state)
{
  (void)state;
  json_t *root = describe(NULL);
  const json_t *procs = json_object_get(root, "procs");
  size_t found = 0;
  for (size_t i = 0; i < rpc_procedure_count; i++) {
    if (rpc_procedures[i].unlisted)
      continue;
    const json_t *proc = json_array_get(procs, found++);
    assert_member(proc, "name", rpc_procedures[i].name.data);
    assert_member(proc, "summary", rpc_procedures[i].summary);
    assert_true(json_is_boolean(json_object_get(proc, "idempotent")));
    assert_member(json_object_get(proc, "return"), "type", "obj");
  }
  assert_int_equal(json_array_size(procs), found);
  json_decref(root);
}

static void orders_params_as_they_are_formally(void **state)
{
  (void)state;
  static const char *const names[] = {"type", "method", "instance", "args"};
  static const char *const types[] = {"str", "str", "num", "arr"};
  json_t *root = describe(NULL);
  const json_t *params = json_object_get(json_array_get(json_object_get(root, "procs"), 0), "params");
  assert_int_equal(json_array_size(params), COUNT_OF(names));
  for (size_t i = 0; i < COUNT_OF(names); i++) {
    assert_member(json_array_get(params, i), "name", names[i]);
    assert_member(json_array_get(params, i), "type", types[i]);
  }
  json_decref(root);
}

static void tells_people_of_every_procedure(void **state)
{
  (void)state;
  static const char *const addresses[] = {"http://h:1/rpc", NULL};
  const struct rpc_service_facts facts = {.name = TEXT("p"), .addresses = addresses};
  struct buffer out;
  buffer_init(&out);
  rpc_help_write(&out, &facts);
  buffer_append_char(&out, '\0');
  for (size_t i = 0; i < rpc_procedure_count; i++) {
    assert_non_null(strstr(out.data, rpc_procedures[i].name.data));
    assert_non_null(strstr(out.data, rpc_procedures[i].summary));
  }
  assert_non_null(strstr(out.data, "GET http://h:1/rpc/control?method=ping"));
  buffer_fini(&out);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(says_who_it_is_and_where),
      cmocka_unit_test(has_no_address_where_there_is_none),
      cmocka_unit_test(lists_every_procedure_but_itself),
      cmocka_unit_test(tells_people_of_every_procedure),
      cmocka_unit_test(orders_params_as_they_are_formally),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

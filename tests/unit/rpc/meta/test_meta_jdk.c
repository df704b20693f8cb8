/* Usage: test_meta_jdk JAVA_HOME. Queries over a whole JDK: scope, size of the pieces, inheritance. */
#include "rpc/meta/meta.h"

#include "classfile/catalog.h"
#include "tests/unit/unit.h"

#include <jansson.h>
#include <stdio.h>

enum { PIECE = 64 * 1024, HELD_MAX = 512 * 1024 };

static const char *java_home;
static struct catalog *catalog;
static struct rpc_meta *meta;
static struct policy *policy;

static int open_all(void **state)
{
  (void)state;
  struct jp_error error;
  const struct catalog_config config = {.class_path = "/nowhere", .java_home = java_home};
  const struct policy_config rules = {.default_action = POLICY_ALLOW};
  if (catalog_create(&config, &catalog, &error) == JP_OK &&
      rpc_meta_create(catalog, &meta, &error) == JP_OK && policy_create(&rules, &policy, &error) == JP_OK)
    return 0;
  print_error("%s\n", error.text);
  return 1;
}

static int close_all(void **state)
{
  (void)state;
  rpc_meta_destroy(meta);
  catalog_destroy(catalog);
  policy_destroy(policy);
  return 0;
}

static struct outcome_body begin(const struct operation *operation)
{
  struct outcome_body body;
  struct jp_error error;
  if (rpc_meta_open(meta, policy, POLICY_WEBSOCKET, NULL, operation, &body, &error) != JP_OK)
    fail_msg("%s", error.text);
  return body;
}

/* Where next_piece is on its way through an answer. */
struct pieces {
  struct outcome_body body;
  struct buffer piece;
};

static size_t next_piece(void *out, size_t size, void *context)
{
  struct pieces *pieces = context;
  if (pieces->piece.len == 0) {
    enum jp_status status = pieces->body.read(pieces->body.state, &pieces->piece, PIECE);
    assert_true(status == JP_OK || status == JP_CLOSED);
    assert_true(pieces->piece.len < HELD_MAX);
  }
  size_t step = pieces->piece.len < size ? pieces->piece.len : size;
  memcpy(out, pieces->piece.data, step);
  buffer_consume(&pieces->piece, step);
  return step;
}

static json_t *answer_of(const struct operation *operation)
{
  json_error_t why;
  struct pieces pieces = {.body = begin(operation)};
  buffer_init(&pieces.piece);
  json_t *answer = json_load_callback(next_piece, &pieces, 0, &why);
  if (answer == NULL)
    fail_msg("%s at %d", why.text, why.position);
  pieces.body.close(pieces.body.state);
  buffer_fini(&pieces.piece);
  return answer;
}

static const char *name_of(json_t *class)
{
  return json_string_value(json_object_get(class, "className"));
}

static void test_default_scope(void **state)
{
  (void)state;
  static const char *const left_out[] = {"com.sun.", "sun.", "jdk."};
  json_t *answer = answer_of(&(struct operation){.kind = OP_META});
  const char *before = "";
  size_t index;
  json_t *class;
  assert_true(json_array_size(answer) > 4000);
  json_array_foreach(answer, index, class)
  {
    for (size_t i = 0; i < COUNT_OF(left_out); i++)
      assert_int_not_equal(strncmp(name_of(class), left_out[i], strlen(left_out[i])), 0);
    assert_true(strcmp(before, name_of(class)) < 0); /* sorted, and each once */
    before = name_of(class);
  }
  json_decref(answer);
}

static void test_named_classes(void **state)
{
  (void)state;
  struct text names[] = {TEXT("sun.misc.Unsafe"), TEXT("jdk.internal.misc.Unsafe"), TEXT("java.lang.String")};
  struct operation operation = {.kind = OP_META};
  operation.meta.include_classes = names;
  operation.meta.include_count = COUNT_OF(names);
  json_t *answer = answer_of(&operation);
  assert_int_equal(json_array_size(answer), COUNT_OF(names));
  json_decref(answer);
}

static json_t *find_method(json_t *class, const char *name, size_t parameters)
{
  json_t *found = NULL;
  size_t index;
  json_t *method;
  json_array_foreach(json_object_get(class, "methods"), index, method)
  {
    if (strcmp(json_string_value(json_object_get(method, "name")), name) != 0 ||
        json_array_size(json_object_get(method, "parameters")) != parameters)
      continue;
    assert_null(found);
    found = method;
  }
  if (found == NULL)
    fail_msg("no method %s", name);
  return found;
}

static void test_inherited_through_generics(void **state)
{
  (void)state;
  struct text names[] = {TEXT("java.lang.Integer")};
  struct operation operation = {.kind = OP_META};
  operation.meta.include_classes = names;
  operation.meta.include_count = COUNT_OF(names);
  operation.meta.merge_ancestry = true;
  json_t *answer = answer_of(&operation);
  json_t *integer = json_array_get(answer, 0);
  /* Comparable.compareTo(T) is overridden by compareTo(Integer), through a bridge. */
  json_t *method = find_method(integer, "compareTo", 1);
  assert_true(json_is_true(json_object_get(method, "overridden")));
  assert_null(json_object_get(method, "inheritedFrom"));
  method = find_method(integer, "getClass", 0);
  assert_string_equal(json_string_value(json_object_get(method, "inheritedFrom")), "java.lang.Object");
  assert_string_equal(json_string_value(json_object_get(method, "returnType")), "java.lang.Class<?>");
  assert_true(json_is_true(json_object_get(find_method(integer, "intValue", 0), "overridden")));
  json_decref(answer);
}

static void test_nearest_interface_first(void **state)
{
  (void)state;
  struct text names[] = {TEXT("java.util.SortedSet")};
  struct operation operation = {.kind = OP_META};
  operation.meta.include_classes = names;
  operation.meta.include_count = COUNT_OF(names);
  operation.meta.merge_ancestry = true;
  json_t *answer = answer_of(&operation);
  json_t *set = json_array_get(answer, 0);
  json_t *method = find_method(set, "isEmpty", 0); /* declared by Set and by Collection */
  assert_string_equal(json_string_value(json_object_get(method, "inheritedFrom")), "java.util.Set");
  assert_true(json_is_true(json_object_get(find_method(set, "spliterator", 0), "overridden")));
  json_decref(answer);
}

int main(int argc, char **argv)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_default_scope),
      cmocka_unit_test(test_named_classes),
      cmocka_unit_test(test_inherited_through_generics),
      cmocka_unit_test(test_nearest_interface_first),
  };
  if (argc != 2) {
    fprintf(stderr, "usage: %s JAVA_HOME\n", argv[0]);
    return 2;
  }
  java_home = argv[1];
  return cmocka_run_group_tests(tests, open_all, close_all);
}

#include "jsonrpc/envelope.h"

#include "tests/unit/unit.h"

#include <stdio.h>

struct fixture {
  struct arena arena;
  struct envelope envelope;
  bool taken;
};

static struct fixture read_by_rules(const char *message, struct envelope_rules rules)
{
  struct fixture fixture;
  arena_init(&fixture.arena);
  struct text text = text_of(message);
  struct json_fault fault;
  assert_int_equal(json_validate(text, (struct json_limits){128}, TEXT("params"), &fault), JP_OK);
  fixture.taken = envelope_read(json_root(text), rules, &fixture.arena, &fixture.envelope);
  return fixture;
}

static struct fixture read_envelope(const char *message)
{
  return read_by_rules(message, (struct envelope_rules){.takes_options = true});
}

UNIT_TEST(reads_every_member_in_any_order)
{
  static const char *const messages[] = {
      "{\"jsonrpc\":\"2.0\",\"id\":\"a\\u0031\",\"method\":\"c\\u0061ll\",\"params\":{\"x\":5l},\"peer-id\":"
      "\"\\u0070\"}",
      "{\"params\":{\"x\":5l},\"peer-id\":\"\\u0070\",\"method\":\"c\\u0061ll\",\"id\":\"a\\u0031\","
      "\"jsonrpc\":\"2.0\"}",
      "{\"p\\u0061rams\":{\"x\":5l},\"peer\\u002did\":\"\\u0070\",\"meth\\u006fd\":\"c\\u0061ll\",\"other\":["
      "{\"id\":9}],"
      "\"\\u0069d\":\"a\\u0031\",\"other\":1,\"jsonrpc\":\"2\\u002e0\",\"version\":\"1.1\"}",
  };
  for (size_t i = 0; i < COUNT_OF(messages); i++) {
    struct fixture f = read_envelope(messages[i]);
    assert_true(f.taken);
    assert_text(f.envelope.request.method, "call");
    assert_text(f.envelope.request.id, "\"a\\u0031\"");
    assert_text(f.envelope.request.peer_id, "p");
    assert_true(f.envelope.request.has_params);
    assert_text(f.envelope.request.params.span, "{\"x\":5l}");
    assert_false(f.envelope.request.has_options);
    arena_fini(&f.arena);
  }
}

/* They are of any kind: the service judges them. */
UNIT_TEST(reads_options)
{
  static const char *const values[] = {"{\"a\":{}}", "{}", "null", "[1]", "5", "\"x\"", "true"};
  for (size_t i = 0; i < COUNT_OF(values); i++) {
    char message[128];
    snprintf(message, sizeof message, "{\"opti\\u006fns\":%s,\"jsonrpc\":\"2.0\",\"method\":\"m\"}",
             values[i]);
    struct fixture f = read_envelope(message);
    assert_true(f.taken);
    assert_true(f.envelope.request.has_options);
    unit_assert_text(f.envelope.request.options.span, text_of(values[i]), __FILE__, __LINE__);
    arena_fini(&f.arena);
  }
}

UNIT_TEST(passes_over_options_where_the_service_has_none)
{
  struct fixture f = read_by_rules("{\"jsonrpc\":\"2.0\",\"options\":5,\"method\":\"m\",\"options\":{}}",
                                   (struct envelope_rules){0});
  assert_true(f.taken);
  assert_false(f.envelope.request.has_options);
  arena_fini(&f.arena);
}

UNIT_TEST(knows_what_is_not_there)
{
  struct fixture f = read_envelope("{\"jsonrpc\":\"2.0\",\"method\":\"\"}");
  assert_true(f.taken);
  assert_text(f.envelope.request.method, "");
  assert_null(f.envelope.request.id.data);
  assert_null(f.envelope.request.peer_id.data);
  assert_false(f.envelope.request.has_params);
  arena_fini(&f.arena);
}

/* What is no request, why, and the id that the answer carries. */
static const struct bad_case {
  const char *message;
  const char *detail;
  const char *id; /* NULL: none */
} bad[] = {
    {"5", "The request is not an object", NULL},
    {"\"x\"", "The request is not an object", NULL},
    {"null", "The request is not an object", NULL},
    {"[]", "The request is not an object", NULL},
    {"{}", "The member jsonrpc is missing", NULL},
    {"{\"x\":42}", "The member jsonrpc is missing", NULL},
    {"{\"method\":\"m\",\"id\":1}", "The member jsonrpc is missing", "1"},
    {"{\"version\":\"1.0\",\"method\":\"m\",\"id\":1}", "The member jsonrpc is missing", "1"},
    {"{\"jsonrpc\":\"1.0\",\"method\":\"m\",\"id\":1}", "The member jsonrpc is not \"2.0\"", "1"},
    {"{\"jsonrpc\":2.0,\"method\":\"m\",\"id\":1}", "The member jsonrpc is not \"2.0\"", "1"},
    {"{\"jsonrpc\":null,\"version\":\"1.1\",\"method\":\"m\"}", "The member jsonrpc is not \"2.0\"", NULL},
    {"{\"jsonrpc\":\"2.00\",\"method\":\"m\",\"id\":1}", "The member jsonrpc is not \"2.0\"", "1"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1}", "Method is missing", "1"},
    {"{\"jsonrpc\":\"2.0\",\"Method\":\"m\",\"id\":1}", "Method is missing", "1"},
    {"{\"jsonrpc\":\"2.0\",\"method\":1,\"id\":\"x\"}", "The member method is not a string", "\"x\""},
    {"{\"jsonrpc\":\"2.0\",\"method\":null,\"id\":null}", "The member method is not a string", "null"},
    {"{\"jsonrpc\":\"2.0\",\"method\":[],\"params\":\"bar\"}", "The member method is not a string", NULL},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":true}",
     "The member id is neither a string, a number nor null", NULL},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":{}}",
     "The member id is neither a string, a number nor null", NULL},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":[1]}",
     "The member id is neither a string, a number nor null", NULL},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":1,\"params\":5}",
     "The member params is neither an object nor an array", "1"},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":null}",
     "The member params is neither an object nor an array", NULL},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":\"x\",\"id\":1}",
     "The member params is neither an object nor an array", "1"},
    {"{\"jsonrpc\":\"2.0\",\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":1}",
     "The member jsonrpc is given twice", "1"},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":1,\"method\":\"m\"}", "The member method is given twice",
     "1"},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":1,\"params\":{},\"p\\u0061rams\":{}}",
     "The member params is given twice", "1"},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":1,\"\\u0069d\":1}", "The member id is given twice", NULL},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":1,\"peer-id\":1,\"peer-id\":2}",
     "The member peer-id is given twice", "1"},
    {"{\"jsonrpc\":\"2.0\",\"options\":{},\"method\":\"m\",\"id\":1,\"options\":{}}",
     "The member options is given twice", "1"},
};

/* Which version a request is, and whether it is a notification. */
static const struct version_case {
  const char *message;
  enum jsonrpc_version version;
  bool is_notification;
} versions[] = {
    {"{\"version\":\"1.1\",\"method\":\"m\"}", JSONRPC_1_1, false},
    {"{\"version\":\"1.1\",\"method\":\"m\",\"id\":{}}", JSONRPC_1_1, false},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"m\"}", JSONRPC_2_0, true},
    {"{\"jsonrpc\":\"2.0\",\"version\":\"1.1\",\"method\":\"m\"}", JSONRPC_2_0, true},
    {"{\"jsonrpc\":\"2.0\",\"version\":\"1.1\",\"method\":\"m\",\"id\":null}", JSONRPC_2_0, false},
};

UNIT_TEST(knows_its_version)
{
  for (size_t i = 0; i < COUNT_OF(versions); i++) {
    struct fixture f = read_envelope(versions[i].message);
    assert_true(f.taken);
    assert_int_equal(f.envelope.request.version, versions[i].version);
    assert_int_equal(f.envelope.request.is_notification, versions[i].is_notification);
    arena_fini(&f.arena);
  }
}

UNIT_TEST(says_what_is_no_request_and_why)
{
  for (size_t i = 0; i < COUNT_OF(bad); i++) {
    struct fixture f = read_envelope(bad[i].message);
    if (f.taken || strcmp(f.envelope.detail, bad[i].detail) != 0)
      fail_msg("%s: taken %d, %s", bad[i].message, f.taken, f.taken ? "" : f.envelope.detail);
    assert_int_equal(f.envelope.code, JSONRPC_INVALID_REQUEST);
    if (bad[i].id == NULL)
      assert_null(f.envelope.request.id.data);
    else
      unit_assert_text(f.envelope.request.id, text_of(bad[i].id), __FILE__, __LINE__);
    arena_fini(&f.arena);
  }
}

UNIT_TEST(gives_ids_back_byte_for_byte)
{
  static const char *const ids[] = {
      "null",    "0",
      "-0",      "1.50",
      "1e400",   "123456789012345678901234567890",
      "\"\"",    "\"\\u0041\"",
      "\"\\/\"", "\"\xE2\x82\xAC\"",
  };
  for (size_t i = 0; i < COUNT_OF(ids); i++) {
    char message[128];
    snprintf(message, sizeof message, "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\": %s }", ids[i]);
    struct fixture f = read_envelope(message);
    assert_true(f.taken);
    unit_assert_text(f.envelope.request.id, text_of(ids[i]), __FILE__, __LINE__);
    arena_fini(&f.arena);
  }
}

UNIT_MAIN

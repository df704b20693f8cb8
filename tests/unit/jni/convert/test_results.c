#include "tests/unit/jni/members_cases.h"
#include "tests/unit/jni/with_jvm.h"

#include "jni/objects/object_table.h"

static struct members_session session;

#define CALL(type, method, args, wanted)                                                                     \
  {                                                                                                          \
    "call", "{'type':'" type "','method':'" method "','args':" args "}", wanted, NULL                        \
  }

static void scalars_leave_no_ref(void **state)
{
  (void)state;
  size_t before = jvm_objects_count(session.objects);
  static const struct members_case cases[] = {
      CALL("java.lang.Integer", "valueOf", "[5]", "java.lang.Integer 5"),
      CALL("java.lang.Boolean", "valueOf", "[true]", "java.lang.Boolean true"),
      CALL("java.lang.Character", "valueOf", "[{'type':'char','value':'x'}]", "java.lang.Character x"),
      CALL("java.lang.Double", "valueOf", "['1e3']", "java.lang.Double 1000.0"),
      CALL("java.lang.Float", "parseFloat", "['NaN']", "float NaN"),
      CALL("java.lang.Double", "parseDouble", "['-Infinity']", "double -Infinity"),
      CALL("java.lang.Long", "parseLong", "['-9223372036854775808']", "long -9223372036854775808"),
      CALL("java.lang.String", "valueOf", "[1.5f]", "java.lang.String 1.5"),
      CALL("java.util.Objects", "requireNonNullElse", "['a','b']", "java.lang.String a"),
      CALL("java.lang.System", "getProperty", "['no.such.property']", "java.lang.String null"),
      CALL("java.lang.String", "valueOf", "[{'type':'char[]','value':['\xC3\xA9','\\ud83d','\\ude00']}]",
           "java.lang.String \xC3\xA9\xF0\x9F\x98\x80"),
  };
  MEMBERS_CHECK(&session, cases);
  assert_int_equal(jvm_objects_count(session.objects), before);
}

static void objects_keep_their_ref(void **state)
{
  (void)state;
  uint32_t first;
  uint32_t again;
  static const struct members_case make = {"new", "{'type':'fixtures.User','args':['u',1]}",
                                           "fixtures.User ref", "user"};
  members_check(&session, &make);
  (void)members_run(&session, "call",
                    "{'type':'java.util.Objects','method':'requireNonNull','args':[{'ref':$user}]}", &first);
  (void)members_run(&session, "call",
                    "{'type':'java.util.Objects','method':'requireNonNull','args':[{'ref':$user}]}", &again);
  assert_int_equal(first, members_ref(&session, "user"));
  assert_int_equal(again, first);
}

static void arrays_travel_beside_their_ref(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      CALL("fixtures.Arguments", "manyInts", "[3]", "[I [0,1,2] ref"),
      CALL("fixtures.Arguments", "manyInts", "[0]", "[I [] ref"),
      CALL("java.lang.String", "valueOf", "[{'type':'Object','value':null}]", "java.lang.String null"),
      {"call", "{'type':'java.util.List','method':'of','args':[1,2]}",
       "java.util.ImmutableCollections$List12 ref", "list"},
      {"call", "{'type':'java.util.List','method':'toArray','instance':$list}", "[Ljava.lang.Object; ref",
       NULL},
      CALL("jpeer.members.Deep", "nested", "[]", "[Ljava.lang.Object; ref"),
  };
  MEMBERS_CHECK(&session, cases);

  session.limits.inline_array_max = 3;
  static const struct members_case limited[] = {
      CALL("fixtures.Arguments", "manyInts", "[3]", "[I [0,1,2] ref"),
      CALL("fixtures.Arguments", "manyInts", "[4]", "[I ref"),
      CALL("fixtures.Arguments", "echoStrings", "[['a','b','c']]",
           "[Ljava.lang.String; [\"a\",\"b\",\"c\"] ref"),
      CALL("fixtures.Arguments", "echoStrings", "[['a','b','c','d']]", "[Ljava.lang.String; ref"),
  };
  MEMBERS_CHECK(&session, limited);
  session.limits.inline_array_max = 1000;
}

static void bytes_travel_as_base64_when_asked(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      {"call",
       "{'type':'fixtures.Arguments','method':'echoBytes','encoding':'base64','args':[{'type':'byte[]','"
       "value':"
       "[0,1,-1]}]}",
       "[B AAH/ ref", NULL},
      {"call", "{'type':'fixtures.Arguments','method':'manyInts','encoding':'base64','args':[2]}",
       "[I AAAAAAEAAAA= ref", NULL},
      {"new", "{'type':'char[]','encoding':'base64','args':['x','\\u20bd']}", "[C eAC9IA== ref", NULL},
      {"new", "{'type':'boolean[]','encoding':'base64','args':[true,false]}", "[Z AQA= ref", NULL},
      {"new", "{'type':'short[]','encoding':'base64','args':[-2,1]}", "[S /v8BAA== ref", NULL},
      {"new", "{'type':'long[]','encoding':'base64','args':[[-2]]}", "[J /v////////8= ref", NULL},
      {"new", "{'type':'float[]','encoding':'base64','args':[1.5,-0.0]}", "[F AADAPwAAAIA= ref", NULL},
      {"new", "{'type':'double[]','encoding':'base64','args':[[1.5]]}", "[D AAAAAAAA+D8= ref", NULL},
      {"new", "{'type':'java.lang.Integer[]','encoding':'base64','args':[1,2]}",
       "[Ljava.lang.Integer; [1,2] ref", NULL},
      {"new", "{'type':'int[][]','encoding':'base64','args':[[1],[2]]}", "[[I ref", NULL},
  };
  MEMBERS_CHECK(&session, cases);
}

static void base64_has_no_limit_of_elements(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      {"call", "{'type':'fixtures.Arguments','method':'manyInts','encoding':'base64','args':[2]}",
       "[I AAAAAAEAAAA= ref", NULL},
      {"call", "{'type':'fixtures.Arguments','method':'manyInts','args':[2]}", "[I ref", NULL},
  };
  session.limits.inline_array_max = 1;
  MEMBERS_CHECK(&session, cases);
  session.limits.inline_array_max = 1000;
}

#define BY_VALUE(method, args, wanted) CALL("jpeer.members.Containers", method, args, wanted)

static void containers_travel_by_value(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      BY_VALUE("keys", "[]", "{\"1\":\"c\",\"2.5\":true,\"null\":[1,2],\"text\":[null,\"x\"]}"),
      BY_VALUE("shared", "[]", "[[1],[1]]"),
      BY_VALUE("nested", "[3]", "[[[]]]"),
      BY_VALUE("nested", "[4]", "{\"ref\":N,\"type\":\"java.util.ArrayList\",\"length\":1}"),
      BY_VALUE("circle", "[]", "{\"ref\":N,\"type\":\"java.util.LinkedHashMap\",\"length\":1}"),
      BY_VALUE("throwing", "[]", "{\"ref\":N,\"type\":\"jpeer.members.Containers$2\",\"length\":2}"),
      BY_VALUE("absent", "[]", "{\"ref\":N,\"type\":\"jpeer.members.Containers$3\"}"),
      CALL("jpeer.members.Deep", "nested", "[]", "{\"ref\":N,\"type\":\"[Ljava.lang.Object;\",\"length\":1}"),
      CALL("fixtures.Arguments", "manyInts", "[5]", "[0,1,2,3,4]"),
      CALL("fixtures.Calculator", "add", "[1,2]", "3"),
      CALL("java.lang.System", "gc", "[]", "null"),
      CALL("java.lang.System", "getProperty", "['no.such.property']", "null"),
  };
  session.by_value = true;
  session.limits.by_value_depth_max = 3;
  MEMBERS_CHECK(&session, cases);

  session.limits.inline_array_max = 2;
  static const struct members_case limited[] = {
      BY_VALUE("lying", "[]", "{\"ref\":N,\"type\":\"jpeer.members.Containers$1\",\"length\":1}"),
      BY_VALUE("shared", "[]", "{\"ref\":N,\"type\":\"java.util.ImmutableCollections$List12\",\"length\":2}"),
      CALL("fixtures.Arguments", "manyInts", "[3]", "{\"ref\":N,\"type\":\"[I\",\"length\":3}"),
      CALL("fixtures.Arguments", "manyInts", "[2]", "[0,1]"),
  };
  MEMBERS_CHECK(&session, limited);
  session.limits.inline_array_max = 1000;
  session.limits.by_value_depth_max = 100;
  session.by_value = false;
}

static void with_compat_pal_what_cannot_travel_is_an_error(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      BY_VALUE("circle", "[]", "-32000 the result has a cycle"),
      BY_VALUE("throwing", "[]", "-32000 java.lang.IllegalStateException: get"),
      BY_VALUE("absent", "[]", "-32000 a collection's toArray gave null"),
      BY_VALUE("lying", "[]", "-32000 the result has more than the limit of 2 elements (array-value-max)"),
      CALL("fixtures.Arguments", "manyInts", "[3]", "-32000 the result has more than the limit of 2"),
  };
  session.compat_pal = true;
  session.by_value = true;
  session.limits.by_value_depth_max = 3;
  session.limits.inline_array_max = 2;
  MEMBERS_CHECK(&session, cases);
  session.limits.inline_array_max = 1000;
  session.limits.by_value_depth_max = 100;
  session.by_value = false;
  session.compat_pal = false;
}

static void small_collections_have_a_value_beside_their_ref(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      BY_VALUE("keys", "[]",
               "java.util.LinkedHashMap {\"1\":\"c\",\"2.5\":true,\"null\":[1,2],\"text\":[null,\"x\"]} ref"),
      BY_VALUE("shared", "[]", "java.util.ImmutableCollections$List12 [[1],[1]] ref"),
      BY_VALUE("nested", "[3]", "java.util.ArrayList [[[]]] ref"),
      {"new", "{'type':'java.util.TreeSet'}", "java.util.TreeSet [] ref", NULL},
      /* What has no JSON text, and hostile collections, have a ref alone. */
      BY_VALUE("nested", "[4]", "java.util.ArrayList ref"),
      BY_VALUE("circle", "[]", "java.util.LinkedHashMap ref"),
      BY_VALUE("objectKeys", "[]", "java.util.LinkedHashMap ref"),
      BY_VALUE("objects", "[]", "java.util.ImmutableCollections$ListN ref"),
      BY_VALUE("throwing", "[]", "jpeer.members.Containers$2 ref"),
      BY_VALUE("absent", "[]", "jpeer.members.Containers$3 ref"),
      CALL("fixtures.Arguments", "manyInts", "[2]", "[I [0,1] ref"),
      CALL("fixtures.Calculator", "add", "[1,2]", "int 3"),
      {"new", "{'type':'java.lang.Object'}", "java.lang.Object ref", NULL},
  };
  session.collection_values = true;
  session.limits.by_value_depth_max = 3;
  MEMBERS_CHECK(&session, cases);

  session.limits.inline_array_max = 2;
  static const struct members_case limited[] = {
      BY_VALUE("lying", "[]", "jpeer.members.Containers$1 ref"),
      BY_VALUE("shared", "[]", "java.util.ImmutableCollections$List12 ref"),
      BY_VALUE("nested", "[2]", "java.util.ArrayList [[]] ref"),
  };
  MEMBERS_CHECK(&session, limited);
  session.limits.inline_array_max = 1000;
  session.limits.by_value_depth_max = 100;
  session.collection_values = false;
}

static void elements_of_a_collection_are_not_kept(void **state)
{
  (void)state;
  static const struct members_case objects =
      BY_VALUE("objects", "[]", "java.util.ImmutableCollections$ListN ref");
  static const struct members_case keys = BY_VALUE("objectKeys", "[]", "java.util.LinkedHashMap ref");
  size_t before = jvm_objects_count(session.objects);
  session.collection_values = true;
  members_check(&session, &objects);
  members_check(&session, &keys);
  session.collection_values = false;
  assert_int_equal(jvm_objects_count(session.objects), before + 2);
}

static void what_has_no_value_becomes_a_ref(void **state)
{
  (void)state;
  static const struct {
    const char *method;
    const char *params;
  } cases[] = {
      {"call", "{'type':'jpeer.members.Containers','method':'objectKeys'}"},
      {"new", "{'type':'java.util.ArrayList'}"},
      {"new", "{'type':'int[]','args':[2]}"},
  };
  session.by_value = true;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    uint32_t ref;
    struct text got = members_run(&session, cases[i].method, cases[i].params, &ref);
    assert_true(ref != 0);
    assert_true(text_starts_with(got, TEXT("{\"ref\":")));
  }
  session.by_value = false;
}

/* A result that is surely longer than the answer may be is not even read. */
static void what_is_too_long_becomes_a_ref(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      CALL("fixtures.Arguments", "longText", "[100]", "java.lang.String ref"),
      CALL("fixtures.Arguments", "manyInts", "[101]", "[I ref"),
      CALL("fixtures.Arguments", "echoStrings", "[['0123456789','0123456789','0123456789','0123456789','x']]",
           "[Ljava.lang.String; ref"),
      CALL("java.lang.Integer", "valueOf", "[5]", "java.lang.Integer 5"),
  };
  static const struct members_case by_value[] = {
      CALL("fixtures.Arguments", "longText", "[100]",
           "{\"ref\":N,\"type\":\"java.lang.String\",\"length\":100}"),
      CALL("java.util.Collections", "nCopies", "[5,'0123456789']",
           "{\"ref\":N,\"type\":\"java.util.Collections$CopiesList\",\"length\":5}"),
      CALL("java.util.Map", "of", "['0123456789012345678901234567890123456789',1]",
           "{\"ref\":N,\"type\":\"java.util.ImmutableCollections$Map1\",\"length\":1}"),
      CALL("java.util.List", "of", "[[1,2],'x']", "[[1,2],\"x\"]"),
  };
  session.answer_max = 39;
  MEMBERS_CHECK(&session, cases);
  session.by_value = true;
  MEMBERS_CHECK(&session, by_value);
  session.by_value = false;
  session.answer_max = 0;
}

static const struct operation objects_operation = {
    .kind = OP_CALL, .by_value = true, .type = TEXT("jpeer.members.Containers"), .member = TEXT("objects")};

/* Whoever writes the answer finds only then that it is too long. */
static void a_result_becomes_a_ref_later(void **state)
{
  (void)state;
  struct members_session small = {.thread = session.thread, .limits = session.limits};
  struct jvm_result result = {.object = NULL};
  struct jvm_target target;
  struct outcome outcome = {.kind = OUTCOME_VOID};
  assert_int_equal(jvm_objects_create(1, &small.objects), JP_OK);
  const struct jvm_request request = {.thread = small.thread,
                                      .objects = small.objects,
                                      .operation = &objects_operation,
                                      .arena = &small.arena,
                                      .limits = &small.limits,
                                      .stored = &small.stored,
                                      .result = &result};
  arena_init(&small.arena);
  assert_int_equal(jvm_request_begin(small.thread), JP_OK);
  assert_int_equal(jvm_resolve(&request, &target, &outcome), JP_OK);
  jvm_invoke(&request, &target, &outcome);
  assert_int_equal(outcome.value.kind, OP_LIST);
  assert_int_equal(jvm_objects_count(small.objects), 1); /* its third element */
  assert_true(jvm_result_become_ref(&request, true, &outcome));
  assert_int_equal(outcome.value.kind, OP_REF);
  assert_int_equal(outcome.value.ref, outcome.ref);
  assert_int_equal(outcome.value.length, 3);
  assert_text(outcome.value.type, "java.util.ImmutableCollections$ListN");
  assert_int_equal(jvm_objects_count(small.objects), 1); /* the list, in its place */
  assert_true(jvm_result_become_ref(&request, false, &outcome));
  assert_false(outcome.has_value);
  assert_text(outcome.type, "java.util.ImmutableCollections$ListN");
  jvm_result_end(&request);
  assert_false(jvm_result_become_ref(&request, true, &outcome));
  jvm_request_end(small.thread);
  members_session_fini(&small);
}

static void elements_stand_beside_the_ref(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      {"call", "{'type':'java.util.List','method':'of','args':[1,'a',[5]]}",
       "java.util.ImmutableCollections$ListN ref", "list"},
      {"call", "{'type':'java.util.List','method':'toArray','instance':$list}",
       "[Ljava.lang.Object; [1,\"a\",{\"ref\":N}] ref", NULL},
      {"new", "{'type':'java.lang.Object[]','args':[2]}", "[Ljava.lang.Object; [null,null] ref", NULL},
      {"new", "{'type':'int[][]','args':[[1]]}", "[[I [{\"ref\":N}] ref", NULL},
  };
  session.element_values = true;
  MEMBERS_CHECK(&session, cases);
  size_t before = jvm_objects_count(session.objects);
  static const struct members_case limited[] = {
      {"call", "{'type':'java.util.List','method':'toArray','instance':$list}", "[Ljava.lang.Object; ref",
       NULL},
  };
  session.limits.inline_array_max = 2;
  members_check(&session, &limited[0]);
  session.limits.inline_array_max = 1000;
  session.element_values = false;
  assert_int_equal(jvm_objects_count(session.objects), before + 1);
}

static void longs_are_texts_where_they_are_asked_for(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      CALL("java.lang.Long", "parseLong", "['-9223372036854775808']", "\"-9223372036854775808\""),
      CALL("java.lang.Long", "valueOf", "[5]", "\"5\""),
      CALL("java.lang.Integer", "valueOf", "[5]", "5"),
      CALL("fixtures.Arguments", "echoLongs", "[[1,-2]]", "[\"1\",\"-2\"]"),
      CALL("fixtures.Arguments", "echoInts", "[[1,-2]]", "[1,-2]"),
  };
  session.longs_as_text = true;
  static const struct members_case typed[] = {
      CALL("java.lang.Long", "valueOf", "[5]", "java.lang.Long 5"),
      CALL("fixtures.Arguments", "echoLongs", "[[1,-2]]", "[J [1,-2] ref"),
  };
  MEMBERS_CHECK(&session, typed);
  session.by_value = true;
  MEMBERS_CHECK(&session, cases);
  session.by_value = false;
  session.longs_as_text = false;
}

static void throwables_become_errors(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      CALL("fixtures.Throwables", "divide", "[1,0]", "-32000 java.lang.ArithmeticException: / by zero"),
      CALL("fixtures.Throwables", "checked", "[]", "-32000 java.io.IOException: checked"),
      CALL("fixtures.Throwables", "error", "[]", "-32000 java.lang.AssertionError: an error"),
      CALL("fixtures.Throwables", "hostileMessage", "[]", "-32000 fixtures.Throwables$HostileException: "),
      CALL("fixtures.Throwables", "hostileCause", "[]", "-32000 fixtures.Throwables$HostileCauseException: "),
      CALL("fixtures.Throwables", "outOfMemory", "[]", "-32000 java.lang.OutOfMemoryError: pretended"),
      CALL("jpeer.members.Deep", "forever", "[1]", "-32000 java.lang.StackOverflowError"),
      CALL("jpeer.members.Deep", "alwaysThrows", "[]", "-32000 java.lang.Throwable: bare"),
      CALL("jpeer.members.Deep", "throwsNull", "[]", "-32000 java.lang.NullPointerException"),
      CALL("jpeer.members.Deep", "tooMuch", "[]", "-32000 java.lang.OutOfMemoryError"),
      CALL("fixtures.Calculator", "add", "[1,2]", "int 3"),
  };
  MEMBERS_CHECK(&session, cases);
}

static void hostile_objects_are_held_and_called(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      {"new", "{'type':'fixtures.Hostile'}", "fixtures.Hostile ref", "hostile"},
      {"call", "{'type':'fixtures.Hostile','method':'alive','instance':$hostile}", "int 1", NULL},
      {"call", "{'type':'java.lang.Object','method':'toString','instance':$hostile}",
       "-32000 java.lang.IllegalStateException: toString", NULL},
      {"call", "{'type':'java.lang.String','method':'valueOf','args':[{'ref':$hostile}]}",
       "-32000 java.lang.IllegalStateException: toString", NULL},
      {"call", "{'type':'java.util.Objects','method':'requireNonNull','args':[{'ref':$hostile}]}",
       "fixtures.Hostile ref", NULL},
      {"call",
       "{'type':'fixtures.Arguments','method':'describe','args':[{'type':'Set','value':[{'ref':$hostile}]}]}",
       "-32000 java.lang.IllegalStateException: hashCode", NULL},
  };
  MEMBERS_CHECK(&session, cases);
}

static void a_full_session_is_an_error(void **state)
{
  (void)state;
  struct members_session small = {.thread = session.thread, .limits = session.limits};
  assert_int_equal(jvm_objects_create(1, &small.objects), JP_OK);
  arena_init(&small.arena);
  static const struct members_case cases[] = {
      {"new", "{'type':'java.lang.Object'}", "java.lang.Object ref", "only"},
      {"new", "{'type':'java.lang.Object'}", "-32000 ", NULL},
      {"call", "{'type':'java.util.Objects','method':'requireNonNull','args':[{'ref':$only}]}",
       "-32000 session-max-objects", NULL},
      {"call", "{'type':'java.lang.String','method':'valueOf','args':[5]}", "java.lang.String 5", NULL},
      {"get", "{'type':'java.lang.Integer','field':'MAX_VALUE'}", "int 2147483647", NULL},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    members_check(&small, &cases[i]);
  members_session_fini(&small);
}

static void a_deleted_session_drops_the_result(void **state)
{
  (void)state;
  const struct op_value none = {0};
  struct operation operation = {.kind = OP_NEW,
                                .type = TEXT("java.lang.Object"),
                                .member = TEXT("<init>"),
                                .args = (struct op_value *)&none};
  struct jvm_request request = {.thread = session.thread,
                                .objects = session.objects,
                                .operation = &operation,
                                .arena = &session.arena,
                                .limits = &session.limits};
  struct jvm_target target;
  struct outcome outcome;
  assert_int_equal(jvm_request_begin(session.thread), JP_OK);
  assert_int_equal(jvm_resolve(&request, &target, &outcome), JP_OK);
  jvm_objects_clear(session.thread, session.objects);
  jvm_invoke(&request, &target, &outcome);
  jvm_request_end(session.thread);
  assert_int_equal(outcome.kind, OUTCOME_ERROR);
  assert_int_equal(outcome.failure, FAILURE_SERVER);
  assert_text(outcome.message, "the session was deleted during the call; its result was dropped");
  assert_int_equal(jvm_objects_count(session.objects), 0);
}

static void targets_say_what_a_policy_needs(void **state)
{
  (void)state;
  static const struct {
    const char *type;
    const char *member;
    enum op_kind op;
    enum jvm_member_kind kind;
    unsigned modifiers; /* of the access and static bits */
    const char *named;
    const char *declaring;
  } cases[] = {
      {"fixtures.Calculator", "add", OP_CALL, JVM_STATIC_METHOD, 0x9, "fixtures.Calculator",
       "fixtures.Calculator"},
      {"jpeer.members.Lookup$Child", "privateStatic", OP_CALL, JVM_STATIC_METHOD, 0xA,
       "jpeer.members.Lookup$Child", "jpeer.members.Lookup$Base"},
      {"jpeer.members.Lookup$Child", "shared", OP_GET, JVM_STATIC_FIELD, 0x9, "jpeer.members.Lookup$Child",
       "jpeer.members.Lookup$Base"},
      {"int[][]", "<init>", OP_NEW, JVM_CONSTRUCTOR, 0x1, "int", "int"},
      {"fixtures.User[]", "<init>", OP_NEW, JVM_CONSTRUCTOR, 0x1, "fixtures.User", "fixtures.User"},
  };
  struct op_value ints[] = {{.kind = OP_INTEGER, .integer = 1}, {.kind = OP_INTEGER, .integer = 2}};
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct operation operation = {.kind = cases[i].op,
                                  .type = text_of(cases[i].type),
                                  .member = text_of(cases[i].member),
                                  .args = ints,
                                  .arg_count = i == 0 ? 2 : 0};
    struct jvm_request request = {.thread = session.thread,
                                  .objects = session.objects,
                                  .operation = &operation,
                                  .arena = &session.arena,
                                  .limits = &session.limits};
    struct jvm_target target;
    struct outcome outcome;
    assert_int_equal(jvm_request_begin(session.thread), JP_OK);
    assert_int_equal(jvm_resolve(&request, &target, &outcome), JP_OK);
    assert_int_equal(target.kind, cases[i].kind);
    assert_int_equal(target.modifiers & 0xF, cases[i].modifiers);
    assert_true(text_equal(target.named_class, text_of(cases[i].named)));
    assert_true(text_equal(target.declaring_class, text_of(cases[i].declaring)));
    assert_null(target.runtime_class.data);
    assert_int_equal(target.verdicts[0], 0);

    target.verdicts[0] = 7; /* kept with the record */
    struct jvm_target again;
    assert_int_equal(jvm_resolve(&request, &again, &outcome), JP_OK);
    assert_ptr_equal(again.resolved, target.resolved);
    assert_int_equal(again.verdicts[0], 7);
    again.verdicts[0] = 0;
    jvm_request_end(session.thread);
  }
}

static int run_all(struct jvm *jvm, struct jvm_thread *thread)
{
  (void)jvm;
  members_session_init(&session, thread);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(scalars_leave_no_ref),
      cmocka_unit_test(objects_keep_their_ref),
      cmocka_unit_test(arrays_travel_beside_their_ref),
      cmocka_unit_test(bytes_travel_as_base64_when_asked),
      cmocka_unit_test(base64_has_no_limit_of_elements),
      cmocka_unit_test(containers_travel_by_value),
      cmocka_unit_test(with_compat_pal_what_cannot_travel_is_an_error),
      cmocka_unit_test(small_collections_have_a_value_beside_their_ref),
      cmocka_unit_test(elements_of_a_collection_are_not_kept),
      cmocka_unit_test(what_has_no_value_becomes_a_ref),
      cmocka_unit_test(what_is_too_long_becomes_a_ref),
      cmocka_unit_test(a_result_becomes_a_ref_later),
      cmocka_unit_test(elements_stand_beside_the_ref),
      cmocka_unit_test(longs_are_texts_where_they_are_asked_for),
      cmocka_unit_test(throwables_become_errors),
      cmocka_unit_test(hostile_objects_are_held_and_called),
      cmocka_unit_test(a_full_session_is_an_error),
      cmocka_unit_test(a_deleted_session_drops_the_result),
      cmocka_unit_test(targets_say_what_a_policy_needs),
  };
  int failures = cmocka_run_group_tests(tests, NULL, NULL);
  members_session_fini(&session);
  return failures;
}

int main(void)
{
  return with_jvm(run_all);
}

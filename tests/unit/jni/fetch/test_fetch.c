#include "tests/unit/jni/members_cases.h"
#include "tests/unit/jni/with_jvm.h"

#include "jni/objects/object_table.h"

#include <stdio.h>

static struct members_session session;

#define MAKE(method, args, type, name)                                                                       \
  {                                                                                                          \
    "call", "{'type':'fixtures.Iterables','method':'" method "','args':" args "}", type " ref", name         \
  }
#define FETCH(params, wanted, name)                                                                          \
  {                                                                                                          \
    "jpeer.fetch", "{" params "}", wanted, name                                                              \
  }

static void check(const char *params, const char *wanted)
{
  const struct members_case one = {"jpeer.fetch", params, wanted, NULL};
  members_check(&session, &one);
}

/* ---- iterators ---- */

static void a_list_comes_in_steps_and_lets_its_iterator_go(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      FETCH("'instance':$list,'max':2", "{\"elements\":[\"s0\",\"s1\"],\"done\":false,\"ref\":N}", "rest"),
      FETCH("'instance':$rest,'max':2", "{\"elements\":[\"s2\",\"s3\"],\"done\":false,\"ref\":N}", NULL),
      FETCH("'instance':$rest,'max':2", "{\"elements\":[\"s4\"],\"done\":true}", NULL),
      FETCH("'instance':$rest", "-32000 java.lang.NullPointerException: No object found with objRef: ", NULL),
      FETCH("'instance':$list,'max':5", "{\"elements\":[\"s0\",\"s1\",\"s2\",\"s3\",\"s4\"],\"done\":true}",
            NULL),
  };
  static const struct members_case list = MAKE("strings", "[5]", "java.util.ArrayList", "list");
  members_check(&session, &list);
  size_t before = jvm_objects_count(session.objects);
  MEMBERS_CHECK(&session, cases);
  assert_int_equal(jvm_objects_count(session.objects), before);
}

static void an_iterator_of_the_client_stays(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      MAKE("strings", "[1]", "java.util.ArrayList", "list"),
      {"call", "{'type':'java.util.ArrayList','method':'iterator','instance':$list}",
       "java.util.ArrayList$Itr ref", "it"},
      FETCH("'instance':$it", "{\"elements\":[\"s0\"],\"done\":true}", NULL),
      FETCH("'instance':$it", "{\"elements\":[],\"done\":true}", NULL),
      MAKE("strings", "[0]", "java.util.ArrayList", "empty"),
      FETCH("'instance':$empty", "{\"elements\":[],\"done\":true}", NULL),
  };
  MEMBERS_CHECK(&session, cases);
}

/* Elements that are what the cursor itself tells by are elements all the same. */
static void any_object_is_an_element(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      {"call",
       "{'type':'java.util.Arrays','method':'asList','args':[true,null,false,{'type':'Class','value':'int'},'"
       "x',"
       "2.5]}",
       "java.util.Arrays$ArrayList ref", "list"},
      FETCH("'instance':$list",
            "{\"elements\":[true,null,false,{\"ref\":N,\"value\":\"int\"},\"x\",2.5],\"done\":true}", NULL),
      FETCH("'instance':$list,'max':1", "{\"elements\":[true],\"done\":false,\"ref\":N}", NULL),
      MAKE("oddElements", "[]", "java.util.ArrayList", "odd"),
      FETCH("'instance':$odd",
            "{\"elements\":[1,null,{\"ref\":N,\"type\":\"java.util.ArrayList\",\"length\":1},[\"a\",2.5],"
            "{\"ref\":N}],\"done\":true}",
            NULL),
      MAKE("nullMap", "[]", "java.util.LinkedHashMap", "map"),
      FETCH("'instance':$map", "{\"elements\":[[null,null],[\"k\",[1,{\"ref\":N}]]],\"done\":true}", NULL),
  };
  MEMBERS_CHECK(&session, cases);
}

static void what_came_before_an_exception_is_told_first(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      MAKE("throwing", "[2]", "fixtures.Iterables$1", "it"),
      FETCH("'instance':$it,'max':3", "{\"elements\":[0,1,2],\"done\":false,\"ref\":N}", NULL),
      FETCH("'instance':$it,'max':3", "-32000 java.lang.IllegalStateException: not yet", NULL),
      FETCH("'instance':$it,'max':3", "-32000 java.lang.IllegalStateException: not yet", NULL),
      FETCH("'instance':$it,'max':3", "{\"elements\":[3,4],\"done\":true}", NULL),
      MAKE("throwing", "[1]", "fixtures.Iterables$1", "other"),
      FETCH("'instance':$other,'max':4", "{\"elements\":[0,1,2],\"done\":false,\"ref\":N}", NULL),
      FETCH("'instance':$other,'max':4", "-32000 java.lang.IllegalStateException: not yet", NULL),
      FETCH("'instance':$other,'max':1", "{\"elements\":[3],\"done\":false,\"ref\":N}", NULL),
      FETCH("'instance':$other,'max':1", "{\"elements\":[4],\"done\":false,\"ref\":N}", NULL),
      FETCH("'instance':$other,'max':1", "{\"elements\":[],\"done\":true}", NULL),
  };
  MEMBERS_CHECK(&session, cases);
}

static void iterators_that_lie_or_break(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      MAKE("lyingAfter", "[2]", "fixtures.Iterables$LyingIterator", "it"),
      FETCH("'instance':$it", "{\"elements\":[0,1],\"done\":false,\"ref\":N}", NULL),
      FETCH("'instance':$it", "-32000 java.util.NoSuchElementException: there is none", NULL),
      FETCH("'instance':$it", "-32000 java.util.NoSuchElementException: there is none", NULL),
      MAKE("unknowing", "[2]", "fixtures.Iterables$UnknowingIterator", "unknowing"),
      FETCH("'instance':$unknowing", "{\"elements\":[0,1],\"done\":false,\"ref\":N}", NULL),
      FETCH("'instance':$unknowing", "-32000 java.lang.UnsupportedOperationException: unknown", NULL),
      MAKE("recursing", "[]", "fixtures.Iterables$RecursingIterator", "recursing"),
      FETCH("'instance':$recursing", "-32000 java.lang.StackOverflowError", NULL),
      MAKE("withoutIterator", "[]", "fixtures.Iterables$WithoutIterator", "without"),
      FETCH("'instance':$without", "-32000 fixtures.Iterables$WithoutIterator.iterator gave null", NULL),
  };
  MEMBERS_CHECK(&session, cases);
}

static void an_endless_stream_costs_max_elements(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      {"call", "{'type':'fixtures.Iterables','method':'endlessIterator'}", "fixtures.Iterables$Endless ref",
       "it"},
      FETCH("'instance':$it,'max':2000", NULL, NULL),
      {"call", "{'type':'fixtures.Iterables','method':'made'}", "int 2000", NULL},
  };
  uint32_t ref;
  members_check(&session, &cases[0]);
  (void)members_run(&session, cases[1].method, cases[1].params, &ref);
  assert_int_equal(ref, members_ref(&session, "it"));
  members_check(&session, &cases[2]);
}

/* ---- room ---- */

static void elements_without_room_wait(void **state)
{
  (void)state;
  static const struct members_case begin[] = {
      MAKE("strings", "[4]", "java.util.ArrayList", "list"),
      FETCH("'instance':$list", "{\"elements\":[\"s0\",\"s1\"],\"done\":false,\"ref\":N}", "rest"),
  };
  session.room = 12; /* a String and a comma are five bytes */
  for (size_t i = 0; i < COUNT_OF(begin); i++)
    members_check(&session, &begin[i]);
  session.room = 4;
  check("{'instance':$rest}", "{\"elements\":[],\"done\":false,\"ref\":N}");
  session.room = 12;
  check("{'instance':$rest,'max':1}", "{\"elements\":[\"s2\"],\"done\":false,\"ref\":N}");
  check("{'instance':$rest}", "{\"elements\":[\"s3\"],\"done\":true}");
  session.room = 0;
}

static void an_exception_waits_behind_elements_without_room(void **state)
{
  (void)state;
  static const struct members_case iterator = MAKE("throwing", "[1]", "fixtures.Iterables$1", "it");
  members_check(&session, &iterator);
  session.room = 62; /* a number counts with its longest text */
  check("{'instance':$it}", "{\"elements\":[0,1],\"done\":false,\"ref\":N}");
  check("{'instance':$it}", "{\"elements\":[2],\"done\":false,\"ref\":N}");
  check("{'instance':$it}", "-32000 java.lang.IllegalStateException: not yet");
  check("{'instance':$it}", "{\"elements\":[3,4],\"done\":true}");
  session.room = 0;
}

static void what_no_answer_can_hold_is_a_ref(void **state)
{
  (void)state;
  static const struct members_case list = MAKE("longStrings", "[1,300]", "java.util.ArrayList", "list");
  members_check(&session, &list);
  session.room = 200;
  check("{'instance':$list}",
        "{\"elements\":[{\"ref\":N,\"type\":\"java.lang.String\",\"length\":300}],\"done\":true}");
  session.room = 80; /* not even for the name of its class */
  check("{'instance':$list}", "{\"elements\":[{\"ref\":N}],\"done\":true}");
  session.room = 200;
  session.answer_max = 299;
  check("{'instance':$list}",
        "{\"elements\":[{\"ref\":N,\"type\":\"java.lang.String\",\"length\":300}],\"done\":true}");
  session.answer_max = 0;
  session.room = 0;
}

/* ---- types ---- */

/* A request without the option gets such as one with it has left, and the other way round. */
static void pairs_wait_with_their_entry(void **state)
{
  (void)state;
  static const struct members_case begin[] = {
      MAKE("pairs", "[2]", "java.util.LinkedHashMap", "map"),
      FETCH("'instance':$map", "{\"elements\":[[\"a\",\"xx\"]],\"done\":false,\"ref\":N}", "rest"),
  };
  session.room = 20; /* a pair and a comma are 15 bytes */
  session.element_types = true;
  members_check(&session, &begin[0]);
  members_check(&session, &begin[1]);
  session.element_types = false;
  check("{'instance':$rest}", "{\"elements\":[[\"b\",\"xx\"]],\"done\":false,\"ref\":N}");
  session.element_types = true;
  session.room = 0;
  check("{'instance':$rest}", "{\"elements\":[[\"c\",\"xx\"]],\"done\":true}");
  session.element_types = false;
}

static void a_pair_that_no_answer_can_hold_is_an_array_of_two(void **state)
{
  (void)state;
  static const struct members_case map = MAKE("pairs", "[300]", "java.util.LinkedHashMap", "map");
  members_check(&session, &map);
  session.room = 200;
  session.element_types = true;
  check("{'instance':$map,'max':1}",
        "{\"elements\":[{\"ref\":N,\"type\":\"[Ljava.lang.Object;\",\"length\":2}],"
        "\"done\":false,\"ref\":N}");
  session.answer_max = 299; /* the String alone is too long */
  check("{'instance':$map,'max':1}",
        "{\"elements\":[[\"a\",{\"ref\":N,\"type\":\"java.lang.String\"}]],\"done\":false,\"ref\":N}");
  session.answer_max = 0;
  session.room = 0;
  session.element_types = false;
}

static void an_element_that_the_session_has_no_place_for_waits(void **state)
{
  (void)state;
  struct jvm_objects *roomy = session.objects;
  static const struct members_case begin[] = {
      MAKE("oddElements", "[]", "java.util.ArrayList", "odd"),
      {"call", "{'type':'java.util.ArrayList','method':'iterator','instance':$odd}",
       "java.util.ArrayList$Itr ref", "it"},
      {"new", "{'type':'java.lang.Object'}", "java.lang.Object ref", "object"},
  };
  assert_int_equal(jvm_objects_create(3, &session.objects), JP_OK);
  for (size_t i = 0; i < COUNT_OF(begin); i++)
    members_check(&session, &begin[i]);
  check("{'instance':$it}", "{\"elements\":[1,null],\"done\":false,\"ref\":N}");
  check("{'instance':$it}", "-32000 ");
  assert_int_equal(jvm_objects_delete(session.thread, session.objects, members_ref(&session, "object")),
                   JP_OK);
  check(
      "{'instance':$it}",
      "{\"elements\":[{\"ref\":N,\"type\":\"java.util.ArrayList\",\"length\":1},[\"a\",2.5]],\"done\":false,"
      "\"ref\":N}");
  jvm_objects_destroy(session.thread, session.objects);
  session.objects = roomy;
}

/* ---- the guard ---- */

static const char *denied_member;

static enum jp_status check_nothing(void *context, enum jvm_member_kind kind, struct text class_name,
                                    struct text member, struct arena *arena, struct outcome *denied)
{
  (void)context, (void)kind, (void)class_name, (void)member, (void)arena, (void)denied;
  return JP_OK;
}

static enum jp_status check_target(void *context, const struct operation *operation,
                                   const struct jvm_target *target, struct arena *arena,
                                   struct outcome *denied)
{
  (void)context, (void)operation;
  if (!text_equal(target->member, text_of(denied_member)))
    return JP_OK;
  outcome_fail(denied, arena, FAILURE_DENIED, NULL, "%.*s.%.*s", TEXT_ARGS(target->runtime_class),
               TEXT_ARGS(target->member));
  return JP_INVALID;
}

/* Nothing is taken then, and no iterator stays. */
static void each_member_is_asked_about(void **state)
{
  (void)state;
  static const struct members_case begin[] = {
      MAKE("strings", "[2]", "java.util.ArrayList", "list"),
      MAKE("nullMap", "[]", "java.util.LinkedHashMap", "map"),
      MAKE("bytes", "[2]", "java.io.ByteArrayInputStream", "stream"),
      {"new", "{'type':'int[]','args':[1,2]}", "[I [1,2] ref", "ints"},
      {"call", "{'type':'java.util.stream.IntStream','method':'range','args':[0,2]}",
       "java.util.stream.IntPipeline$Head ref", "pipeline"},
  };
  static const struct {
    const char *denied;
    const char *params;
    const char *wanted;
  } rows[] = {
      {"iterator", "{'instance':$list}", "-32001 java.util.ArrayList.iterator"},
      {"hasNext", "{'instance':$list}", "-32001 java.util.ArrayList$Itr.hasNext"},
      {"next", "{'instance':$list}", "-32001 java.util.ArrayList$Itr.next"},
      {"entrySet", "{'instance':$map}", "-32001 java.util.LinkedHashMap.entrySet"},
      {"iterator", "{'instance':$map}", "-32001 java.util.LinkedHashMap$LinkedEntrySet.iterator"},
      {"read", "{'instance':$stream}", "-32001 java.io.ByteArrayInputStream.read"},
      {"[]", "{'instance':$ints}", "-32001 int.[]"},
      {"iterator", "{'instance':$pipeline}", "-32001 java.util.stream.IntPipeline$Head.iterator"},
  };
  for (size_t i = 0; i < COUNT_OF(begin); i++)
    members_check(&session, &begin[i]);
  size_t before = jvm_objects_count(session.objects);
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    denied_member = rows[i].denied;
    session.guard = (struct jvm_guard){.stamp = 1, .check = check_nothing, .check_target = check_target};
    check(rows[i].params, rows[i].wanted);
    session.guard = (struct jvm_guard){.check = NULL};
    jvm_objects_take_back(session.thread, session.objects, &session.stored,
                          0); /* as the codec does after an error */
  }
  assert_int_equal(jvm_objects_count(session.objects), before);
  check("{'instance':$list}", "{\"elements\":[\"s0\",\"s1\"],\"done\":true}");
  check("{'instance':$stream}", "{\"elements\":[0,1],\"done\":false,\"ref\":N}");
  check("{'instance':$pipeline}", "{\"elements\":[0,1],\"done\":true}");
}

/* ---- arrays ---- */

static void arrays_of_every_primitive(void **state)
{
  (void)state;
  static const struct {
    const char *type;
    const char *args;
    const char *list;
    const char *base64;
  } rows[] = {
      {"boolean", "[true,false]", "[true,false]", "AQA="},
      {"byte", "[-1,127]", "[-1,127]", "/38="},
      {"char", "['x','\\u20bd']", "[\"x\",\"\xe2\x82\xbd\"]", "eAC9IA=="},
      {"short", "[-2,1]", "[-2,1]", "/v8BAA=="},
      {"int", "[1,-2]", "[1,-2]", "AQAAAP7///8="},
      {"long", "[-2,9223372036854775807]", "[-2,9223372036854775807]", "/v//////////////////fw=="},
      {"float", "[1.5,-0.0]", "[1.5,-0.0]", "AADAPwAAAIA="},
      {"double", "[1.5,'NaN']", "[1.5,\"NaN\"]", "AAAAAAAA+D8AAAAAAAD4fw=="},
  };
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    char params[128];
    char wanted[128];
    uint32_t ref;
    (void)snprintf(params, sizeof params, "{'type':'%s[]','args':[%s]}", rows[i].type, rows[i].args);
    (void)members_run(&session, "new", params, &ref);
    assert_int_not_equal(ref, 0);
    (void)snprintf(params, sizeof params, "{'instance':%u}", ref);
    (void)snprintf(wanted, sizeof wanted, "{\"elements\":%s,\"done\":true}", rows[i].list);
    check(params, wanted);
    (void)snprintf(params, sizeof params, "{'instance':%u,'encoding':'base64'}", ref);
    (void)snprintf(wanted, sizeof wanted, "{\"elements\":\"%s\",\"done\":true}", rows[i].base64);
    check(params, wanted);
  }
}

static void ranges_of_arrays(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      {"new", "{'type':'int[]','args':[1,2,3]}", "[I [1,2,3] ref", "ints"},
      FETCH("'instance':$ints,'from':1,'max':1", "{\"elements\":[2],\"done\":false,\"ref\":N}", NULL),
      FETCH("'instance':$ints,'from':2,'max':2147483647", "{\"elements\":[3],\"done\":true}", NULL),
      FETCH("'instance':$ints,'from':3", "{\"elements\":[],\"done\":true}", NULL),
      FETCH("'instance':$ints,'from':3,'encoding':'base64'", "{\"elements\":\"\",\"done\":true}", NULL),
      FETCH("'instance':$ints,'from':4",
            "-32000 java.lang.ArrayIndexOutOfBoundsException: 'from' is 4, and the length 3", NULL),
      FETCH("'instance':$ints,'from':-1", "-32602 ", NULL),
      FETCH("'instance':$ints,'max':-1", "-32602 ", NULL),
      FETCH("'instance':$ints,'max':0", "-32602 ", NULL),
      FETCH("'instance':$ints,'max':2147483648", "-32602 ", NULL),
      {"new", "{'type':'int[][]','args':[[1],null,[2,3]]}", "[[I ref", "nested"},
      FETCH("'instance':$nested,'max':2", "{\"elements\":[[1],null],\"done\":false,\"ref\":N}", NULL),
      FETCH("'instance':$nested,'from':2,'encoding':'base64'",
            "{\"elements\":[\"AgAAAAMAAAA=\"],\"done\":true}", NULL),
  };
  MEMBERS_CHECK(&session, cases);
}

static void primitives_that_have_no_room_are_left_for_the_next_call(void **state)
{
  (void)state;
  static const struct members_case ints = {"new", "{'type':'int[]','args':[1,2,3]}", "[I [1,2,3] ref",
                                           "ints"};
  members_check(&session, &ints);
  session.room = 25; /* an int and a comma are twelve bytes at most */
  check("{'instance':$ints}", "{\"elements\":[1,2],\"done\":false,\"ref\":N}");
  session.room = 11; /* eight characters hold six bytes */
  check("{'instance':$ints,'encoding':'base64'}", "{\"elements\":\"AQAAAA==\",\"done\":false,\"ref\":N}");
  session.room = 0;
}

static void longs_are_texts_where_they_are_asked_for(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      {"new", "{'type':'long[]','args':[1,-2]}", "[J [1,-2] ref", "longs"},
      FETCH("'instance':$longs", "{\"elements\":[\"1\",\"-2\"],\"done\":true}", NULL),
      {"call", "{'type':'java.util.Arrays','method':'asList','args':[3l,4]}",
       "java.util.Arrays$ArrayList ref", "list"},
      FETCH("'instance':$list", "{\"elements\":[\"3\",4],\"done\":true}", NULL),
  };
  session.longs_as_text = true;
  MEMBERS_CHECK(&session, cases);
  session.longs_as_text = false;
}

/* ---- Strings ---- */

/* One that an answer has no room for has a ref. */
static void keep_string(const char *json)
{
  char params[256];
  (void)snprintf(params, sizeof params, "{'type':'fixtures.Arguments','method':'echoString','args':['%s']}",
                 json);
  const struct members_case one = {"call", params, "java.lang.String ref", "string"};
  session.answer_max = 1;
  members_check(&session, &one);
  session.answer_max = 0;
}

static void pieces_of_a_string_split_no_pair(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      FETCH("'instance':$string,'max':1", "{\"elements\":[\"a\"],\"done\":false,\"ref\":N}", NULL),
      FETCH("'instance':$string,'max':2", "{\"elements\":[\"a\"],\"done\":false,\"ref\":N}", NULL),
      FETCH("'instance':$string,'max':3", "{\"elements\":[\"a\xf0\x9f\x98\x80\"],\"done\":false,\"ref\":N}",
            NULL),
      FETCH("'instance':$string,'max':4", "{\"elements\":[\"a\xf0\x9f\x98\x80\"],\"done\":false,\"ref\":N}",
            NULL),
      FETCH("'instance':$string,'from':1,'max':1", "-32602 'max' is 1, and a surrogate pair begins at 'from'",
            NULL),
      FETCH("'instance':$string,'from':2", "-32602 'from' is inside a surrogate pair", NULL),
      FETCH("'instance':$string,'from':5,'max':1000", "{\"elements\":[\"z\"],\"done\":true}", NULL),
      FETCH("'instance':$string,'from':6", "{\"elements\":[\"\"],\"done\":true}", NULL),
      FETCH("'instance':$string,'from':7",
            "-32000 java.lang.StringIndexOutOfBoundsException: 'from' is 7, and the length 6", NULL),
  };
  keep_string("a\\ud83d\\ude00\\ud83d\\ude01z");
  MEMBERS_CHECK(&session, cases);
}

static void lone_surrogates_are_units(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      FETCH("'instance':$string,'max':1", "{\"elements\":[\"\\ude00\"],\"done\":false,\"ref\":N}", NULL),
      FETCH("'instance':$string,'from':1,'max':1", "{\"elements\":[\"\\ud83d\"],\"done\":false,\"ref\":N}",
            NULL),
      FETCH("'instance':$string,'from':2,'max':1", "-32602 ", NULL),
      FETCH("'instance':$string,'from':2,'max':2",
            "{\"elements\":[\"\xf0\x9f\x98\x80\"],\"done\":false,\"ref\":N}", NULL),
      FETCH("'instance':$string,'from':4", "{\"elements\":[\"\\ud83d\"],\"done\":true}", NULL),
  };
  keep_string("\\ude00\\ud83d\\ud83d\\ude00\\ud83d");
  MEMBERS_CHECK(&session, cases);
}

static void a_string_is_cut_where_the_answer_ends(void **state)
{
  (void)state;
  keep_string("abc");
  session.room = 13; /* a unit is six bytes at most */
  check("{'instance':$string}", "{\"elements\":[\"ab\"],\"done\":false,\"ref\":N}");
  session.room = 0;
}

/* ---- InputStreams ---- */

static void input_streams(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      MAKE("haltingStream", "[]", "fixtures.Iterables$HaltingStream", "stream"),
      FETCH("'instance':$stream", "{\"elements\":[],\"done\":false,\"ref\":N}", NULL),
      FETCH("'instance':$stream", "{\"elements\":[1,-2],\"done\":false,\"ref\":N}", NULL),
      FETCH("'instance':$stream", "-32000 java.io.IOException: not now", NULL),
      FETCH("'instance':$stream,'encoding':'base64'", "{\"elements\":\"Aw==\",\"done\":false,\"ref\":N}",
            NULL),
      FETCH("'instance':$stream", "{\"elements\":[],\"done\":true}", NULL),
      FETCH("'instance':$stream,'encoding':'base64'", "{\"elements\":\"\",\"done\":true}", NULL),
      FETCH("'instance':$stream,'from':1", "-32602 'from' is for arrays and Strings", NULL),
      MAKE("bytes", "[3]", "java.io.ByteArrayInputStream", "bytes"),
      FETCH("'instance':$bytes,'max':2", "{\"elements\":[0,1],\"done\":false,\"ref\":N}", NULL),
      FETCH("'instance':$bytes,'max':2147483647", "{\"elements\":[2],\"done\":false,\"ref\":N}", NULL),
      FETCH("'instance':$bytes", "{\"elements\":[],\"done\":true}", NULL),
  };
  MEMBERS_CHECK(&session, cases);
}

/* ---- the object ---- */

static void what_has_no_elements_is_refused(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      {"new", "{'type':'java.lang.Object'}", "java.lang.Object ref", "object"},
      FETCH("'instance':$object", "-32602 The object with objRef ", NULL),
      FETCH("'instance':$object,'from':1", "-32602 The object with objRef ", NULL),
      FETCH("'instance':4000000",
            "-32000 java.lang.NullPointerException: No object found with objRef: 4000000", NULL),
  };
  MEMBERS_CHECK(&session, cases);
}

static int run_all(struct jvm *jvm, struct jvm_thread *thread)
{
  (void)jvm;
  members_session_init(&session, thread);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_list_comes_in_steps_and_lets_its_iterator_go),
      cmocka_unit_test(an_iterator_of_the_client_stays),
      cmocka_unit_test(any_object_is_an_element),
      cmocka_unit_test(what_came_before_an_exception_is_told_first),
      cmocka_unit_test(iterators_that_lie_or_break),
      cmocka_unit_test(an_endless_stream_costs_max_elements),
      cmocka_unit_test(elements_without_room_wait),
      cmocka_unit_test(pairs_wait_with_their_entry),
      cmocka_unit_test(a_pair_that_no_answer_can_hold_is_an_array_of_two),
      cmocka_unit_test(an_exception_waits_behind_elements_without_room),
      cmocka_unit_test(what_no_answer_can_hold_is_a_ref),
      cmocka_unit_test(an_element_that_the_session_has_no_place_for_waits),
      cmocka_unit_test(each_member_is_asked_about),
      cmocka_unit_test(arrays_of_every_primitive),
      cmocka_unit_test(ranges_of_arrays),
      cmocka_unit_test(primitives_that_have_no_room_are_left_for_the_next_call),
      cmocka_unit_test(longs_are_texts_where_they_are_asked_for),
      cmocka_unit_test(pieces_of_a_string_split_no_pair),
      cmocka_unit_test(lone_surrogates_are_units),
      cmocka_unit_test(a_string_is_cut_where_the_answer_ends),
      cmocka_unit_test(input_streams),
      cmocka_unit_test(what_has_no_elements_is_refused),
  };
  int failures = cmocka_run_group_tests(tests, NULL, NULL);
  members_session_fini(&session);
  return failures;
}

int main(void)
{
  return with_jvm(run_all);
}

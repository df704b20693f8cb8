/* What an answer has no room for. tests/conformance/pieces has what is fetched of each kind of object. */
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

static void a_string_is_cut_where_the_answer_ends(void **state)
{
  (void)state;
  static const struct members_case one = {
      "call", "{'type':'fixtures.Arguments','method':'echoString','args':['abc']}", "java.lang.String ref",
      "string"};
  session.answer_max = 1; /* one that an answer has no room for has a ref */
  members_check(&session, &one);
  session.answer_max = 0;
  session.room = 13; /* a unit is six bytes at most */
  check("{'instance':$string}", "{\"elements\":[\"ab\"],\"done\":false,\"ref\":N}");
  session.room = 0;
}

static int run_all(struct jvm *jvm, struct jvm_thread *thread)
{
  (void)jvm;
  members_session_init(&session, thread);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(elements_without_room_wait),
      cmocka_unit_test(pairs_wait_with_their_entry),
      cmocka_unit_test(a_pair_that_no_answer_can_hold_is_an_array_of_two),
      cmocka_unit_test(an_exception_waits_behind_elements_without_room),
      cmocka_unit_test(what_no_answer_can_hold_is_a_ref),
      cmocka_unit_test(an_element_that_the_session_has_no_place_for_waits),
      cmocka_unit_test(primitives_that_have_no_room_are_left_for_the_next_call),
      cmocka_unit_test(a_string_is_cut_where_the_answer_ends),
  };
  int failures = cmocka_run_group_tests(tests, NULL, NULL);
  members_session_fini(&session);
  return failures;
}

int main(void)
{
  return with_jvm(run_all);
}

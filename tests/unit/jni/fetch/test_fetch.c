/* Elements that do not fit in an answer. tests/conformance/pieces tests each kind of object. */
#include "tests/unit/jni/members_cases.h"
#include "tests/unit/jni/with_jvm.h"

#include "jni/objects/object_table.h"

#include <stdio.h>

static void make(const char *params, const char *type, const char *name)
{
  char all[200];
  snprintf(all, sizeof all, "{'type':'fixtures.Iterables',%s}", params);
  members_check("call", all, type, name);
}

static void check(const char *params, const char *wanted)
{
  members_check("jpeer.fetch", params, wanted, NULL);
}

/* Fetches the first elements; the rest is kept. */
static void begin(const char *params, const char *wanted)
{
  members_check("jpeer.fetch", params, wanted, "rest");
}

UNIT_TEST(elements_that_do_not_fit_are_kept)
{
  session.room = 12; /* a String and a comma are five bytes */
  make("'method':'strings','args':[4]", "java.util.ArrayList ref", "list");
  begin("{'instance':$list}", "{\"elements\":[\"s0\",\"s1\"],\"done\":false,\"ref\":N}");
  session.room = 4;
  check("{'instance':$rest}", "{\"elements\":[],\"done\":false,\"ref\":N}");
  session.room = 12;
  check("{'instance':$rest,'max':1}", "{\"elements\":[\"s2\"],\"done\":false,\"ref\":N}");
  check("{'instance':$rest}", "{\"elements\":[\"s3\"],\"done\":true}");
  session.room = 0;
}

UNIT_TEST(an_exception_is_kept_until_all_elements_are_sent)
{
  make("'method':'throwing','args':[1]", "fixtures.Iterables$1 ref", "it");
  session.room = 62; /* each number counts as its longest possible text */
  check("{'instance':$it}", "{\"elements\":[0,1],\"done\":false,\"ref\":N}");
  check("{'instance':$it}", "{\"elements\":[2],\"done\":false,\"ref\":N}");
  check("{'instance':$it}", "-32000 java.lang.IllegalStateException: not yet");
  check("{'instance':$it}", "{\"elements\":[3,4],\"done\":true}");
  session.room = 0;
}

UNIT_TEST(an_element_too_long_for_any_answer_becomes_a_ref)
{
  make("'method':'longStrings','args':[1,300]", "java.util.ArrayList ref", "list");
  session.room = 200;
  check("{'instance':$list}",
        "{\"elements\":[{\"ref\":N,\"type\":\"java.lang.String\",\"length\":300}],\"done\":true}");
  session.room = 80; /* too short even for the name of its class */
  check("{'instance':$list}", "{\"elements\":[{\"ref\":N}],\"done\":true}");
  session.room = 200;
  session.answer_max = 299;
  check("{'instance':$list}",
        "{\"elements\":[{\"ref\":N,\"type\":\"java.lang.String\",\"length\":300}],\"done\":true}");
  session.answer_max = 0;
  session.room = 0;
}

/* A request without the option also gets elements that a request with the option has not consumed, and vice
 * versa. */
UNIT_TEST(pairs_are_kept_with_their_entry)
{
  session.room = 20; /* a pair and a comma are 15 bytes */
  session.element_types = true;
  make("'method':'pairs','args':[2]", "java.util.LinkedHashMap ref", "map");
  begin("{'instance':$map}", "{\"elements\":[[\"a\",\"xx\"]],\"done\":false,\"ref\":N}");
  session.element_types = false;
  check("{'instance':$rest}", "{\"elements\":[[\"b\",\"xx\"]],\"done\":false,\"ref\":N}");
  session.element_types = true;
  session.room = 0;
  check("{'instance':$rest}", "{\"elements\":[[\"c\",\"xx\"]],\"done\":true}");
  session.element_types = false;
}

UNIT_TEST(a_pair_too_long_for_any_answer_becomes_an_array)
{
  make("'method':'pairs','args':[300]", "java.util.LinkedHashMap ref", "map");
  session.room = 200;
  session.element_types = true;
  check("{'instance':$map,'max':1}",
        "{\"elements\":[{\"ref\":N,\"type\":\"[Ljava.lang.Object;\",\"length\":2}],"
        "\"done\":false,\"ref\":N}");
  session.answer_max = 299; /* the String itself is too long */
  check("{'instance':$map,'max':1}",
        "{\"elements\":[[\"a\",{\"ref\":N,\"type\":\"java.lang.String\"}]],\"done\":false,\"ref\":N}");
  session.answer_max = 0;
  session.room = 0;
  session.element_types = false;
}

UNIT_TEST(an_element_is_kept_while_the_session_is_full)
{
  struct jvm_objects *roomy = session.objects;
  assert_int_equal(jvm_objects_create(3, &session.objects), JP_OK);
  make("'method':'oddElements','args':[]", "java.util.ArrayList ref", "odd");
  members_check("call", "{'type':'java.util.ArrayList','method':'iterator','instance':$odd}",
                "java.util.ArrayList$Itr ref", "it");
  members_check("new", "{'type':'java.lang.Object'}", "java.lang.Object ref", "object");
  check("{'instance':$it}", "{\"elements\":[1,null],\"done\":false,\"ref\":N}");
  check("{'instance':$it}", "-32000 ");
  assert_int_equal(jvm_objects_delete(session.thread, session.objects, members_ref("object")), JP_OK);
  check(
      "{'instance':$it}",
      "{\"elements\":[{\"ref\":N,\"type\":\"java.util.ArrayList\",\"length\":1},[\"a\",2.5]],\"done\":false,"
      "\"ref\":N}");
  jvm_objects_destroy(session.thread, session.objects);
  session.objects = roomy;
}

UNIT_TEST(primitives_that_do_not_fit_are_for_the_next_call)
{
  members_check("new", "{'type':'int[]','args':[1,2,3]}", "[I [1,2,3] ref", "ints");
  session.room = 25; /* an int and a comma are twelve bytes at most */
  check("{'instance':$ints}", "{\"elements\":[1,2],\"done\":false,\"ref\":N}");
  session.room = 11; /* eight characters encode six bytes */
  check("{'instance':$ints,'encoding':'base64'}", "{\"elements\":\"AQAAAA==\",\"done\":false,\"ref\":N}");
  session.room = 0;
}

UNIT_TEST(a_string_is_cut_to_fit_in_the_answer)
{
  session.answer_max = 1; /* an object that does not fit in an answer gets a ref */
  members_check("call", "{'type':'fixtures.Arguments','method':'echoString','args':['abc']}",
                "java.lang.String ref", "string");
  session.answer_max = 0;
  session.room = 13; /* a unit is six bytes at most */
  check("{'instance':$string}", "{\"elements\":[\"ab\"],\"done\":false,\"ref\":N}");
  session.room = 0;
}

JVM_MAIN(members_open, members_close)

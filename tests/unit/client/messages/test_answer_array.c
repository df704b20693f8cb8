#include "client/messages/answer_parts.h"

#include "tests/unit/client/messages/stub_refs.h"
#include "tests/unit/unit.h"

#include <math.h>

static struct jp_answer *array_of(const char *type, const char *value)
{
  struct jp_answer *answer = answer_create();
  assert_true(answer_set_type(answer, text_of(type)));
  assert_true(answer_set_value(answer, text_of(type), text_of(value)));
  return answer;
}

UNIT_TEST(reads_lists)
{
  int32_t ints[3] = {0};
  struct jp_answer *answer = array_of("[I", "[5,-6,2147483647]");
  assert_int_equal(jp_answer_array(answer, "int[]", ints, 3), 3);
  assert_int_equal(ints[0], 5);
  assert_int_equal(ints[1], -6);
  assert_int_equal(ints[2], INT32_MAX);
  jp_answer_free(answer);
  double doubles[4];
  answer = array_of("[D", "[1.5,\"NaN\",\"-Infinity\",3.0]");
  assert_int_equal(jp_answer_array(answer, "double[]", doubles, 4), 4);
  assert_true(doubles[0] == 1.5 && isnan(doubles[1]) && doubles[2] == -INFINITY && doubles[3] == 3);
  jp_answer_free(answer);
  uint8_t flags[2];
  answer = array_of("[Z", "[true,false]");
  assert_int_equal(jp_answer_array(answer, "boolean[]", flags, 2), 2);
  assert_true(flags[0] == 1 && flags[1] == 0);
  jp_answer_free(answer);
  uint16_t units[2];
  answer = array_of("[C", "[\"a\",\"\\ud83d\"]");
  assert_int_equal(jp_answer_array(answer, "char[]", units, 2), 2);
  assert_true(units[0] == 'a' && units[1] == 0xD83D);
  jp_answer_free(answer);
}

UNIT_TEST(reads_base64)
{
  double doubles[2];
  struct jp_answer *answer = array_of("[D", "AAAAAAAA+D8AAAAAAAAAwA==");
  assert_int_equal(jp_answer_array(answer, "[D", doubles, 2), 2);
  assert_true(doubles[0] == 1.5 && doubles[1] == -2);
  jp_answer_free(answer);
  answer = array_of("[I", "");
  assert_int_equal(jp_answer_array(answer, "int[]", NULL, 0), 0);
  jp_answer_free(answer);
  answer = array_of("[D", "AAAA");
  assert_int_equal(jp_answer_array(answer, "double[]", doubles, 2), SIZE_MAX);
  jp_answer_free(answer);
}

UNIT_TEST(tells_how_many_there_are)
{
  int8_t bytes[2] = {7, 7};
  struct jp_answer *answer = array_of("[B", "[1,2,3]");
  assert_int_equal(jp_answer_array(answer, "byte[]", NULL, 0), 3);
  assert_int_equal(jp_answer_array(answer, "byte[]", bytes, 1), 3);
  assert_true(bytes[0] == 1 && bytes[1] == 7);
  jp_answer_free(answer);
}

UNIT_TEST(refuses_other_types)
{
  int32_t ints[1];
  struct jp_answer *answer = array_of("[J", "[1]");
  assert_int_equal(jp_answer_array(answer, "int[]", ints, 1), SIZE_MAX);
  jp_answer_free(answer);
  answer = array_of("[Ljava.lang.String;", "[\"a\"]");
  assert_int_equal(jp_answer_array(answer, "java.lang.String[]", ints, 1), SIZE_MAX);
  jp_answer_free(answer);
  answer = array_of("int", "5");
  assert_int_equal(jp_answer_array(answer, "int[]", ints, 1), SIZE_MAX);
  jp_answer_free(answer);
}

UNIT_MAIN

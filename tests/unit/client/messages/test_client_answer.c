#include "client/messages/client_answer.h"

#include "tests/unit/client/messages/stub_refs.h"
#include "tests/unit/unit.h"

#include <math.h>

#define ELEMENTS(element, ...) (const element[]){__VA_ARGS__}, sizeof((const element[]){__VA_ARGS__})

static const struct {
  const char *type;
  const char *value;
  const char *wanted_type;
  size_t room;
  size_t count;         /* SIZE_MAX: refused */
  const void *elements; /* the expected elements; NULL: none */
  size_t size;
} CASES[] = {
    {"[I", "[5,-6,2147483647]", "int[]", 3, 3, ELEMENTS(int32_t, 5, -6, INT32_MAX)},
    {"[D", "[1.5,\"NaN\",\"-Infinity\",3.0]", "double[]", 4, 4, ELEMENTS(double, 1.5, NAN, -INFINITY, 3)},
    {"[Z", "[true,false]", "boolean[]", 2, 2, ELEMENTS(uint8_t, 1, 0)},
    {"[C", "[\"a\",\"\\ud83d\"]", "char[]", 2, 2, ELEMENTS(uint16_t, 'a', 0xD83D)},
    /* Base64. */
    {"[D", "AAAAAAAA+D8AAAAAAAAAwA==", "[D", 2, 2, ELEMENTS(double, 1.5, -2)},
    {"[I", "", "int[]", 0, 0, NULL, 0},
    {"[D", "AAAA", "double[]", 2, SIZE_MAX, NULL, 0},
    /* Counts all elements, even without room for them. */
    {"[B", "[1,2,3]", "byte[]", 0, 3, NULL, 0},
    {"[B", "[1,2,3]", "byte[]", 1, 3, ELEMENTS(int8_t, 1, 7)},
    /* Other types. */
    {"[J", "[1]", "int[]", 1, SIZE_MAX, NULL, 0},
    {"[Ljava.lang.String;", "[\"a\"]", "java.lang.String[]", 1, SIZE_MAX, NULL, 0},
    {"int", "5", "int[]", 1, SIZE_MAX, NULL, 0},
};

UNIT_TEST(reads_arrays_of_primitives)
{
  for (size_t i = 0; i < COUNT_OF(CASES); i++) {
    uint8_t got[64];
    struct jp_answer *answer = answer_create();
    memset(got, 7, sizeof got);
    assert_true(answer_set_type(answer, text_of(CASES[i].type)));
    assert_true(answer_set_value(answer, text_of(CASES[i].type), text_of(CASES[i].value)));
    size_t count =
        jp_answer_array(answer, CASES[i].wanted_type, CASES[i].room == 0 ? NULL : got, CASES[i].room);
    if (count != CASES[i].count || (CASES[i].size > 0 && memcmp(got, CASES[i].elements, CASES[i].size) != 0))
      fail_msg("case %zu: %zu", i, count);
    jp_answer_free(answer);
  }
}

UNIT_MAIN

#include "client/messages/argument_json.h"

#include "tests/unit/client/messages/stub_refs.h"
#include "tests/unit/unit.h"

#include <float.h>
#include <math.h>

struct written {
  struct buffer out;
  enum jp_client_status status;
  struct jp_client_error error;
};

static void write_one(struct written *written, struct jp_argument argument)
{
  buffer_init(&written->out);
  struct argument_writer writer = {.out = &written->out, .error = &written->error};
  argument_write_json(&writer, &argument);
  written->status = writer.status;
}

static void expect(struct jp_argument argument, const char *json)
{
  struct written written;
  write_one(&written, argument);
  if (written.status != JP_CLIENT_OK)
    fail_msg("%s instead of %s", written.error.text, json);
  unit_assert_text(buffer_text(&written.out), text_of(json), __FILE__, __LINE__);
  buffer_fini(&written.out);
}

static void expect_fault(struct jp_argument argument, enum jp_client_status status, const char *text)
{
  struct written written;
  write_one(&written, argument);
  assert_int_equal(written.status, status);
  assert_string_equal(written.error.text, text);
  buffer_fini(&written.out);
}

UNIT_TEST(writes_scalars_with_their_types)
{
  expect(jp_int(INT32_MIN), "{\"type\":\"int\",\"value\":-2147483648}");
  expect(jp_long(INT64_MIN), "{\"type\":\"long\",\"value\":-9223372036854775808}");
  expect(jp_byte(-128), "{\"type\":\"byte\",\"value\":-128}");
  expect(jp_short(32767), "{\"type\":\"short\",\"value\":32767}");
  expect(jp_boolean(true), "{\"type\":\"boolean\",\"value\":true}");
  expect(jp_double(0.1), "{\"type\":\"double\",\"value\":0.1}");
  expect(jp_double(DBL_MAX), "{\"type\":\"double\",\"value\":1.7976931348623157E308}");
  expect(jp_double(-0.0), "{\"type\":\"double\",\"value\":-0.0}");
  expect(jp_double(NAN), "{\"type\":\"double\",\"value\":\"NaN\"}");
  expect(jp_double(-INFINITY), "{\"type\":\"double\",\"value\":\"-Infinity\"}");
  expect(jp_float(0.1F), "{\"type\":\"float\",\"value\":0.1}");
  expect(jp_char("\xC3\xA4"), "{\"type\":\"char\",\"value\":\"\xC3\xA4\"}");
  expect(jp_null("java.lang.Integer"), "{\"type\":\"java.lang.Integer\",\"value\":null}");
  expect(jp_null(NULL), "null");
}

UNIT_TEST(writes_bare_values)
{
  expect(jp_as_type(NULL, jp_int(5)), "5");
  expect(jp_as_type(NULL, jp_double(3)), "3.0");
  expect(jp_as_type(NULL, jp_string("a")), "\"a\"");
  /* The peer would read a bare "NaN" as a String. */
  expect(jp_as_type(NULL, jp_double(NAN)), "{\"value\":\"NaN\",\"encoding\":\"number\"}");
}

UNIT_TEST(writes_texts)
{
  expect(jp_string("a\"\\\n\x01"), "{\"type\":\"java.lang.String\",\"value\":\"a\\\"\\\\\\n\\u0001\"}");
  expect(jp_text_argument((struct jp_text){"a\0b", 3}),
         "{\"type\":\"java.lang.String\",\"value\":\"a\\u0000b\"}");
  expect(jp_string("\xF0\x9F\x98\x80"), "{\"type\":\"java.lang.String\",\"value\":\"\xF0\x9F\x98\x80\"}");
  /* A lone surrogate of Java, in the form of answers. */
  expect(jp_string("x\xED\xA0\xBDy"), "{\"type\":\"java.lang.String\",\"value\":\"x\\ud83dy\"}");
  expect(jp_text_of_type("java.util.concurrent.TimeUnit", "SECONDS"),
         "{\"type\":\"java.util.concurrent.TimeUnit\",\"value\":\"SECONDS\"}");
}

UNIT_TEST(refuses_invalid_texts)
{
  expect_fault(jp_string("ab\xFF"), JP_CLIENT_INVALID, "a text is not UTF-8: byte 2 of 3");
  expect_fault(jp_string("\xED\xA0"), JP_CLIENT_INVALID, "a text is not UTF-8: byte 0 of 2");
  expect_fault(jp_string("\xC0\x80"), JP_CLIENT_INVALID, "a text is not UTF-8: byte 0 of 2");
  expect_fault(jp_text_argument((struct jp_text){NULL, 0}), JP_CLIENT_INVALID, "a text is NULL");
  expect_fault(jp_text_of_type("", "a"), JP_CLIENT_INVALID, "the type of an argument is missing");
  expect_fault(jp_text_of_type("\xFF", "a"), JP_CLIENT_INVALID, "a text is not UTF-8: byte 0 of 1");
}

UNIT_TEST(writes_refs)
{
  struct jp_ref *ref = stub_ref(42, "java.util.ArrayList");
  expect(jp_object(ref), "{\"ref\":42}");
  expect(jp_as_type("java.util.Collection", jp_object(ref)),
         "{\"type\":\"java.util.Collection\",\"ref\":42}");
  expect(jp_object_number(7), "{\"ref\":7}");
  expect_fault(jp_object(NULL), JP_CLIENT_INVALID, "an object is NULL; jp_null makes a null");
  expect_fault(jp_object_number(0), JP_CLIENT_INVALID, "an object is NULL; jp_null makes a null");
  expect_fault(jp_named("list"), JP_CLIENT_INVALID, "a named result (\"list\") belongs into a chain");
  jp_ref_release(ref);
}

UNIT_TEST(writes_lists_and_maps)
{
  const struct jp_argument inner[] = {jp_as_type(NULL, jp_int(1)), jp_object_number(4)};
  const struct jp_argument items[] = {jp_long(39), jp_null(NULL), jp_list(NULL, inner, 2)};
  expect(
      jp_list("java.util.ArrayList", items, 3),
      "{\"type\":\"java.util.ArrayList\",\"value\":[{\"type\":\"long\",\"value\":39},null,[1,{\"ref\":4}]]}");
  expect(jp_list(NULL, NULL, 0), "[]");
  const struct jp_entry entries[] = {{jp_text_of("a\""), jp_boolean(false)}, {jp_text_of(""), jp_null(NULL)}};
  expect(jp_map("java.util.HashMap", entries, 2), "{\"type\":\"java.util.HashMap\",\"value\":{\"a\\\"\":{"
                                                  "\"type\":\"boolean\",\"value\":false},\"\":null}}");
  expect(jp_map(NULL, entries, 1), "{\"a\\\"\":{\"type\":\"boolean\",\"value\":false}}");
  /* The peer would read a bare object with this member as an argument. */
  const struct jp_entry like[] = {{jp_text_of("value"), jp_null(NULL)}};
  expect(jp_map(NULL, like, 1), "{\"type\":\"java.util.Map\",\"value\":{\"value\":null}}");
}

UNIT_TEST(names_the_place_of_a_fault)
{
  const struct jp_argument inner[] = {jp_int(1), jp_string("\xFF")};
  const struct jp_entry entries[] = {{jp_text_of("k"), jp_list(NULL, inner, 2)}};
  const struct jp_argument items[] = {jp_map(NULL, entries, 1)};
  expect_fault(jp_list(NULL, items, 1), JP_CLIENT_INVALID,
               "element 0: entry 0: element 1: a text is not UTF-8: byte 0 of 1");
}

UNIT_TEST(refuses_endless_nesting)
{
  static struct jp_argument list;
  list = jp_list(NULL, &list, 1);
  struct written written;
  write_one(&written, list);
  assert_int_equal(written.status, JP_CLIENT_INVALID);
  assert_non_null(strstr(written.error.text, "element 0: "));
  buffer_fini(&written.out);
}

UNIT_TEST(writes_packed_arrays)
{
  const double doubles[] = {1.5, -2.0};
  const uint8_t flags[] = {1, 0};
  const uint8_t bad[] = {0, 2};
  expect(jp_array("double[]", doubles, 2),
         "{\"type\":\"double[]\",\"value\":\"AAAAAAAA+D8AAAAAAAAAwA==\",\"encoding\":\"base64\"}");
  expect(jp_array("boolean[]", flags, 2),
         "{\"type\":\"boolean[]\",\"value\":\"AQA=\",\"encoding\":\"base64\"}");
  expect(jp_array("int[]", NULL, 0), "{\"type\":\"int[]\",\"value\":\"\",\"encoding\":\"base64\"}");
  expect_fault(jp_array("boolean[]", bad, 2), JP_CLIENT_INVALID,
               "an element of a boolean[] is neither 0 nor 1");
  expect_fault(jp_array("java.lang.String[]", doubles, 2), JP_CLIENT_INVALID,
               "\"java.lang.String[]\" is no array of primitives");
  expect_fault(jp_array("int[]", NULL, 1), JP_CLIENT_INVALID, "the elements of an array are missing");
  expect_fault(jp_array("int[]", doubles, SIZE_MAX), JP_CLIENT_INVALID,
               "the elements of an array are missing");
}

UNIT_TEST(writes_elements_of_a_type_of_their_own)
{
  const double doubles[] = {1.5, -2.0};
  struct jp_argument argument = jp_elements("double", doubles, 2);
  expect(argument,
         "{\"value\":\"AAAAAAAA+D8AAAAAAAAAwA==\",\"encoding\":\"base64\",\"elements\":\"double\"}");
  argument.out = 1;
  expect(jp_as_type("float[]", argument), "{\"type\":\"float[]\",\"value\":\"AAAAAAAA+D8AAAAAAAAAwA==\","
                                          "\"encoding\":\"base64\",\"elements\":\"double\",\"out\":true}");
  const struct jp_argument items[] = {jp_as_type(NULL, jp_int(1))};
  argument = jp_list(NULL, items, 1);
  argument.elements = "long";
  expect(argument, "{\"value\":[1],\"elements\":\"long\"}");
  const struct jp_entry entry = {.key = jp_text_of("5"), .value = items[0]};
  argument = jp_map(NULL, &entry, 1);
  argument.keys = "int";
  expect(argument, "{\"value\":{\"5\":1},\"keys\":\"int\"}");
  expect_fault(jp_elements("int[]", doubles, 1), JP_CLIENT_INVALID, "\"int[]\" is no primitive type");
}

UNIT_TEST(accepts_valid_json)
{
  expect(jp_json_argument(jp_text_of("{\"type\":\"float\",\"value\":1.5f}")),
         "{\"type\":\"float\",\"value\":1.5f}");
  expect_fault(jp_json_argument(jp_text_of("1}")), JP_CLIENT_INVALID,
               "an argument is no JSON: byte 1: text after the end of the value");
  expect_fault(jp_json_argument((struct jp_text){NULL, 0}), JP_CLIENT_INVALID, "an argument is missing");
}

UNIT_TEST(refuses_invalid_arguments)
{
  expect_fault((struct jp_argument){0}, JP_CLIENT_INVALID, "this is no value (an argument of kind 0)");
  expect_fault((struct jp_argument){.kind = (enum jp_argument_kind)99}, JP_CLIENT_INVALID,
               "this is no value (an argument of kind 99)");
  expect_fault(jp_callback_argument(NULL), JP_CLIENT_UNSUPPORTED,
               "a callback needs a connection over WebSocket or shared memory");
}

UNIT_MAIN

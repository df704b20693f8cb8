/* A message that fits a shape means what it means on the general path. */
#include "rpc/fastpath/shape_cache.h"
#include "tests/unit/rpc/fastpath/read_twice.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

#define CALL(id, rest) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"call\",\"params\":{" rest "}}"
#define ADD(id, a, b)                                                                                        \
  CALL(id,                                                                                                   \
       "\"type\":\"C\",\"method\":\"add\",\"args\":[{\"type\":\"int\",\"value\":" a "},{\"type\":\"int\","   \
       "\"value\":" b "}]")
#define BARE(args)         CALL("1", "\"type\":\"C\",\"method\":\"m\",\"args\":[" args "]")
#define TYPED(type, value) "{\"type\":\"" type "\",\"value\":" value "}"
#define ON(instance)       CALL("1", "\"type\":\"C\",\"method\":\"m\",\"instance\":" instance)

#define DELETE(id, rest)                                                                                     \
  "{\"jsonrpc\":\"2.0\",\"id\":" id                                                                          \
  ",\"method\":\"control\",\"params\":{\"method\":\"delete_object\",\"args\":[{\"ref\":" rest "}]}}"
#define PUT(value, id)                                                                                       \
  "{\"jsonrpc\":\"2.0\",\"method\":\"put\",\"params\":{\"type\":\"C\",\"field\":\"f\",\"value\":" value      \
  "},\"id\":" id "}"
#define LET_GO(ref, told) DELETE("1", ref ",\"told\":" told)
#define GET(field)                                                                                           \
  "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"get\",\"params\":{\"type\":\"C\",\"instance\":1,\"field\":"    \
  "\"" field "\"}}"

struct shape_case {
  const char *first;
  const char *second;
  bool fits;
};

static const struct shape_case cases[] = {
    /* the same with other values */
    {ADD("1", "2", "3"), ADD("1", "2", "3"), true},
    {ADD("1", "2", "3"), ADD("123456", "-20", "3000000000"), true},
    {ADD("1", "2", "3"), ADD("-1.5e3", "2.5", "3d"), true},
    {ADD("1", "2", "3"), ADD("1", "123456789012345678901234567890", "0"), true},
    {ADD("1", "2", "3"), ADD("1", "-0", "0"), true},
    {ADD("1", "-0", "2.5"), ADD("1", "0", "3"), true},
    {BARE("[1,2]"), BARE("[0,-0]"), true},
    {BARE("[1,-0]"), BARE("[-0,0]"), true},
    /* whose digits are to be counted */
    {ADD("1", "2", "3"), ADD("1", "123456789012345678901234567890123", "0"), false},
    {ADD("1", "2", "3"), ADD("1", "0.1234567890123456789012345678901", "0"), false},
    {BARE("[1,2]"), BARE("[3,123456789012345678901234567890123]"), false},
    {ADD("\"a\"", "2", "3"), ADD("\"\"", "2", "3"), true},
    {ADD("\"a\"", "2", "3"), ADD("\"b]},{\"", "2", "3"), true},
    {ADD("null", "2", "3"), ADD("null", "4", "5"), true},
    {BARE("1,\"x\",null,true"), BARE("2,\"yy\",null,true"), true},
    {BARE("\"x\""), BARE("\"\xC3\xA9\xF0\x9F\x98\x80\""), true},
    {BARE("\"\xE2\x82\xAC\",\"y\""), BARE("\"x\",\"\xE2\x82\xAC\""), true},
    {BARE("{\"ref\":1}"), BARE("{\"ref\":2147483647}"), true},
    {BARE("{\"type\":\"T\",\"ref\":1}"), BARE("{\"type\":\"T\",\"ref\":7}"), true},
    {BARE("{\"ignored\":5,\"value\":1}"), BARE("{\"ignored\":5,\"value\":2}"), true},
    {ON("1"), ON("2"), true},
    /* without a type the next object may be of another class */
    {CALL("1", "\"method\":\"m\",\"instance\":1"), CALL("1", "\"method\":\"m\",\"instance\":1"), false},
    {CALL("1", "\"method\":\"m\",\"instance\":1"), CALL("2", "\"method\":\"m\",\"instance\":2"), false},
    /* one callback, whose ID is counted by the codec */
    {BARE("{\"ref\":{\"callback\":1}}"), BARE("{\"ref\":{\"callback\":123456789012345678}}"), true},
    {BARE("1,{\"type\":\"T\",\"ref\":{\"callback\":1}}"), BARE("2,{\"type\":\"T\",\"ref\":{\"callback\":3}}"),
     true},
    {BARE("{\"ref\":{\"callback\":1},\"arity\":2,\"borrow\":true}"),
     BARE("{\"ref\":{\"callback\":2},\"arity\":2,\"borrow\":true}"), true},
    {BARE("{\"ref\":{\"callback\":1},\"oneway\":true}"), BARE("{\"ref\":{\"callback\":1},\"oneway\":false}"),
     false},
    {BARE("{\"ref\":{\"callback\":1}}"), BARE("{\"ref\":{\"callback\":0}}"), false},
    {BARE("{\"ref\":{\"callback\":1}}"), BARE("{\"ref\":{\"callback\":-1}}"), false},
    {BARE("{\"ref\":{\"callback\":1}}"), BARE("{\"ref\":{\"callback\":1l}}"), false},
    {BARE("{\"ref\":{\"callback\":1}}"), BARE("{\"ref\":{\"callback\":9223372036854775808}}"), false},
    {BARE("{\"ref\":{\"callback\":1}},{\"ref\":{\"callback\":2}}"),
     BARE("{\"ref\":{\"callback\":1}},{\"ref\":{\"callback\":2}}"), false},
    {BARE("{\"ref\":{\"callback\":1},\"interfaces\":[\"T\"]}"),
     BARE("{\"ref\":{\"callback\":1},\"interfaces\":[\"T\"]}"), false},
    {BARE("{\"ref\":{\"callback\":1},\"overrides\":[\"m\"]}"),
     BARE("{\"ref\":{\"callback\":1},\"overrides\":[\"m\"]}"), false},
    {BARE("[{\"ref\":{\"callback\":1}}]"), BARE("[{\"ref\":{\"callback\":2}}]"), false},
    {BARE("{\"a\":{\"ref\":{\"callback\":1}}}"), BARE("{\"a\":{\"ref\":{\"callback\":1}}}"), false},
    {CALL("1", "\"args\":[1],\"instance\":2,\"method\":\"m\",\"type\":\"C\""),
     CALL("3", "\"args\":[4],\"instance\":5,\"method\":\"m\",\"type\":\"C\""), true},
    {"{ \"params\" : {\"type\":\"C\"} , \"method\":\"new\", \"jsonrpc\":\"2.0\"}\n",
     "{ \"params\" : {\"type\":\"C\"} , \"method\":\"new\", \"jsonrpc\":\"2.0\"}\n", true},
    {PUT("1", "9"), PUT("2", "8"), true},
    {DELETE("1", "1"), DELETE("2", "3"), true},
    {LET_GO("1", "2"), LET_GO("3", "2"), true},
    {LET_GO("1", "2"), LET_GO("1", "3"), false},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"peer-id\":\"p\",\"method\":\"new\",\"params\":{\"type\":\"C\"}}",
     "{\"jsonrpc\":\"2.0\",\"id\":2,\"peer-id\":\"p\",\"method\":\"new\",\"params\":{\"type\":\"C\"}}", true},

    /* lists, of any length but where only one element was seen */
    {BARE("[1,2]"), BARE("[1,2]"), true},
    {BARE("[1,2]"), BARE("[3]"), true},
    {BARE("[1,2]"), BARE("[-1,2.5,3d,4l,1e3,123456789012345678901234567890]"), true},
    {BARE("[1, 2]"), BARE("[1, 2, 3]"), true},
    {BARE("[ 1 , 2 ]"), BARE("[ 4 , 5 , 6 ]"), true},
    {BARE("[1]"), BARE("[2]"), true},
    {BARE("[1]"), BARE("[1,2]"), false},
    {BARE("[\"a\",\"b\"]"), BARE("[\"\",\"],[\",\"c\"]"), true},
    {BARE("[1,2],[\"a\",\"b\"]"), BARE("[3],[\"c\",\"d\",\"e\"]"), true},
    {BARE("{\"type\":\"List\",\"value\":[1,2]}"), BARE("{\"type\":\"List\",\"value\":[1,2,3]}"), true},
    {BARE("[" TYPED("int", "1") "," TYPED("int", "2") "]"),
     BARE("[" TYPED("int", "5") "," TYPED("int", "6") "," TYPED("int", "7") "]"), true},
    {BARE("[{\"ref\":1},{\"ref\":2}]"), BARE("[{\"ref\":3},{\"ref\":1},{\"ref\":9}]"), true},
    {BARE("[{\"value\":1,\"type\":\"T\"},{\"value\":2,\"type\":\"T\"}]"),
     BARE("[{\"value\":3,\"type\":\"T\"},{\"value\":2,\"type\":\"T\"},{\"value\":1,\"type\":\"T\"}]"), true},
    {BARE("1,[1,2],\"x\""), BARE("2,[1,2,3],\"y\""), true},
    {BARE("[1,2]"), BARE("[]"), false},
    {BARE("[1,2]"), BARE("[1,2,]"), false},
    {BARE("[1,2]"), BARE("[1,,2]"), false},
    {BARE("[1,2]"), BARE("[1,02]"), false},
    {BARE("[1,2]"), BARE("[1,2"), false},
    {BARE("[1,2]"), BARE("[1,\"x\"]"), false},
    {BARE("[1,2]"), BARE("[1,null]"), false},
    {BARE("[1,2]"), BARE("[1,2]]"), false},
    {BARE("[\"a\",\"b\"]"), BARE("[\"a\",\"\\n\"]"), false},
    {BARE("[{\"ref\":1},{\"ref\":2}]"), BARE("[{\"ref\":3},{\"ref\":0}]"), false},
    {BARE("[" TYPED("int", "1") "," TYPED("int", "2") "]"),
     BARE("[" TYPED("int", "1") "," TYPED("long", "2") "]"), false},

    /* another shape */
    {ADD("1", "2", "3"), ADD("\"1\"", "2", "3"), false},
    {ADD("1", "2", "3"), ADD("1", "\"2\"", "3"), false},
    {ADD("1", "2", "3"), ADD("1", "2", "null"), false},
    {ADD("1", "2", "3"), ADD("1", "2", "[3]"), false},
    {ADD("1", "2", "3"), BARE("2,3"), false},
    {ON("1"), BARE("1"), false},
    {BARE("null,1"), BARE("true,1"), false},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"new\",\"params\":{\"type\":\"C\"}}",
     "{\"jsonrpc\":\"2.0\",\"method\":\"new\",\"params\":{\"type\":\"D\"}}", false},

    /* what fits but for what is in a hole */
    {ADD("1", "2", "3"), ADD("1l", "2", "3"), false},
    {ADD("1", "2", "3"), ADD("1", "02", "3"), false},
    {ADD("1", "2", "3"), ADD("1", "2.", "3"), false},
    {ADD("1", "2", "3"), ADD("1", "-", "3"), false},
    {ADD("1", "2", "3"), ADD("1", "+2", "3"), false},
    {ADD("1", "2", "3"), ADD("1", "2", ""), false},
    {ADD("1", "2", "3"), ADD("1", "2", "3 "), false},
    {BARE("\"x\""), BARE("\"\\n\""), false},
    {BARE("\"x\""), BARE("\"\t\""), false},
    {BARE("\"x\""), BARE("\"\xFF\""), false},
    {BARE("\"x\""), BARE("\"\xC3\""), false},
    {BARE("\"x\""), BARE("\"\xED\xA0\x80\""), false},
    {BARE("\"x\""), BARE("\"\xC3\xA9\\n\""), false},
    {BARE("\"x\""), BARE("\"\xC3\xA9\t\""), false},
    {BARE("\"x\""), BARE("\"x"), false},
    {ON("1"), ON("0"), false},
    {ON("1"), ON("1l"), false},
    {ON("1"), ON("2147483648"), false},
    {BARE("{\"ref\":1}"), BARE("{\"ref\":0}"), false},
    {BARE("{\"ref\":1}"), BARE("{\"ref\":1.0}"), false},

    /* what is never kept */
    {BARE("[]"), BARE("[]"), false},
    {ON("{\"type\":\"T\",\"value\":1}"), ON("{\"type\":\"T\",\"value\":1}"), false},
    {ON("1"), ON("{\"type\":\"T\",\"value\":1}"), false},
    {GET("f"), GET("f"), true},
    {GET("[1]"), GET("[1]"), false},
    {GET("[1:]"), GET("[1:]"), false},
    {BARE("[1,null]"), BARE("[1,null]"), false},
    {BARE("[1,\"x\"]"), BARE("[1,\"x\"]"), false},
    {BARE("[[1],[2]]"), BARE("[[1],[2]]"), false},
    {BARE("[{\"a\":1},{\"a\":2}]"), BARE("[{\"a\":1},{\"a\":2}]"), false},
    {BARE("[1,2, 3]"), BARE("[1,2, 3]"), false},
    {BARE("[\"a\",\"\\n\"]"), BARE("[\"a\",\"b\"]"), false},
    {BARE("[" TYPED("int", "1") "," TYPED("long", "2") "]"),
     BARE("[" TYPED("int", "1") "," TYPED("long", "2") "]"), false},
    {BARE("[" TYPED("int", "1") ",2," TYPED("int", "3") "]"),
     BARE("[" TYPED("int", "1") ",2," TYPED("int", "3") "]"), false},
    {BARE("[" TYPED("\\u0041", "1") "]"), BARE("[" TYPED("\\u0041", "1") "]"), false},
    {BARE("[1],[2],[3]"), BARE("[1],[2],[3]"), false},
    {BARE("{\"a\":1}"), BARE("{\"a\":1}"), false},
    {BARE("{\"type\":\"int[]\",\"value\":[1]}"), BARE("{\"type\":\"int[]\",\"value\":[1]}"), false},
    {BARE("\"\\u0041\""), BARE("\"\\u0041\""), false},
    {CALL("1", "\"type\":\"\\u0043\",\"method\":\"m\""), CALL("1", "\"type\":\"\\u0043\",\"method\":\"m\""),
     false},
    {"[" ON("1") "]", "[" ON("1") "]", false},
    {BARE("1,2,3,4,5,6,7,8,9"), BARE("1,2,3,4,5,6,7,8,9"), false},
    {"{\"version\":\"1.1\",\"id\":1,\"method\":\"new\",\"params\":{\"type\":\"C\"}}",
     "{\"version\":\"1.1\",\"id\":1,\"method\":\"new\",\"params\":{\"type\":\"C\"}}", false},
};

static struct rpc_fastpath *fastpath;
static struct buffer shown;
static struct buffer message;

static int tear_down(void **state)
{
  (void)state;
  free(fastpath);
  fastpath = NULL;
  buffer_fini(&message);
  buffer_fini(&shown);
  return 0;
}

static enum read_twice read_again(struct text text)
{
  return read_twice(&fastpath, text, &shown);
}

UNIT_TEST_WITH(means_the_same, NULL, tear_down)
{
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    assert_int_equal(read_again(text_of(cases[i].first)), READ_GENERALLY);
    enum read_twice second = read_again(text_of(cases[i].second));
    if (second != (cases[i].fits ? READ_FROM_CACHE : READ_GENERALLY))
      fail_msg("%d for %s\nafter %s", second, cases[i].second, cases[i].first);
    free(fastpath);
    fastpath = NULL;
  }
}

UNIT_TEST_WITH(keeps_as_many_as_it_has_room_for, NULL, tear_down)
{
  for (unsigned round = 0; round < 3; round++) {
    for (unsigned i = 0; i < SHAPES + (round == 2); i++) {
      char call[200];
      snprintf(call, sizeof call, CALL("%u", "\"type\":\"C\",\"method\":\"m%u\""), round, i);
      enum read_twice wanted = round == 0 || i == SHAPES ? READ_GENERALLY : READ_FROM_CACHE;
      assert_int_equal(read_again(text_of(call)), wanted);
    }
  }
  /* The one that came last has taken the place of the first. */
  assert_int_equal(read_again(text_of(CALL("1", "\"type\":\"C\",\"method\":\"m1\""))), READ_FROM_CACHE);
  assert_int_equal(read_again(text_of(CALL("1", "\"type\":\"C\",\"method\":\"m0\""))), READ_GENERALLY);
}

UNIT_TEST_WITH(passes_over_long_texts, NULL, tear_down)
{
  for (unsigned space = 0; space < 2; space++) {
    buffer_clear(&message);
    for (unsigned i = 0; i < space * SHAPE_TEXT_MAX; i++)
      buffer_append_char(&message, ' ');
    buffer_append_text(&message, text_of(BARE("\"")));
    buffer_truncate(&message, message.len - 3);
    for (unsigned i = 0; i < 2 * SHAPE_TEXT_MAX; i++)
      buffer_append_char(&message, 'x');
    BUFFER_LITERAL(&message, "\"]}");
    for (unsigned i = 0; i < space * SHAPE_TEXT_MAX; i++)
      buffer_append_char(&message, ' ');
    buffer_append_char(&message, '}');
    /* What is in a hole may be long; the rest may not. */
    assert_int_equal(read_again(buffer_text(&message)), READ_GENERALLY);
    assert_true(shown.len > 0);
    assert_int_equal(read_again(buffer_text(&message)), space == 0 ? READ_FROM_CACHE : READ_GENERALLY);
  }
}

static void write_list(size_t count)
{
  static const char end[] = "]]}}";
  buffer_clear(&message);
  buffer_append_text(&message, text_of(BARE("[1,1")));
  buffer_truncate(&message, message.len - strlen("]}}"));
  for (size_t i = 2; i < count; i++)
    BUFFER_LITERAL(&message, ",1");
  buffer_append(&message, end, strlen(end));
}

UNIT_TEST_WITH(reads_very_long_lists_in_full, NULL, tear_down)
{
  write_list(2);
  assert_int_equal(read_again(buffer_text(&message)), READ_GENERALLY);
  write_list(SHAPE_LIST_ITEMS_MAX);
  assert_int_equal(read_again(buffer_text(&message)), READ_FROM_CACHE);
  write_list(SHAPE_LIST_ITEMS_MAX + 1);
  assert_int_equal(read_again(buffer_text(&message)), READ_GENERALLY);
}

/* Items that were made before a list turned out not to fit are given back. */
UNIT_TEST_WITH(leaves_the_arena_as_it_was_where_nothing_fits, NULL, tear_down)
{
  enum { COUNT = 1000 };
  struct arena arena;
  arena_init(&arena);
  write_list(COUNT);
  assert_int_equal(read_again(buffer_text(&message)), READ_GENERALLY);
  assert_non_null(rpc_fastpath_find(fastpath, buffer_text(&message), &arena, NULL));
  arena_reset(&arena);
  struct arena_mark before = arena_mark(&arena);
  message.data[message.len - 1] = ']'; /* the last of it is looked at first */
  assert_null(rpc_fastpath_find(fastpath, buffer_text(&message), &arena, NULL));
  message.data[message.len - 1] = '}';
  message.data[message.len / 2] = ' '; /* in the midst of the list */
  assert_null(rpc_fastpath_find(fastpath, buffer_text(&message), &arena, NULL));
  struct arena_mark after = arena_mark(&arena);
  assert_ptr_equal(after.chunk, before.chunk);
  assert_ptr_equal(after.next, before.next);
  arena_fini(&arena);
}

/* Where nothing ever fits, most messages are not even looked at; one that comes again is found again soon. */
UNIT_TEST_WITH(recovers_after_many_misses, NULL, tear_down)
{
  for (unsigned i = 0; i < 1000; i++) {
    char call[200];
    snprintf(call, sizeof call, CALL("1", "\"type\":\"C\",\"method\":\"m%u\""), i);
    assert_int_equal(read_again(text_of(call)), READ_GENERALLY);
  }
  unsigned until_found = 0;
  while (read_again(text_of(ON("1"))) != READ_FROM_CACHE && until_found < 100)
    until_found++;
  assert_in_range(until_found, 1, 50);
  assert_int_equal(read_again(text_of(ON("2"))), READ_FROM_CACHE);
}

/* What could not be kept leaves a hole far behind the text's end; nothing is compared up to there. */
UNIT_TEST_WITH(forgets_what_it_could_not_keep, NULL, tear_down)
{
  static const char rest[] = ON("1");
  buffer_append_char(&message, '{');
  for (size_t i = 0; i < 2 * sizeof *fastpath; i++)
    buffer_append_char(&message, ' ');
  buffer_append(&message, rest + 1, sizeof rest - 2);
  for (unsigned i = 0; i < 2 * SHAPES; i++)
    assert_int_equal(read_again(buffer_text(&message)), READ_GENERALLY);
}

UNIT_MAIN

/* A message that fits a shape has the same meaning as on the general path. */
#include "rpc/fastpath/shape_cache.h"
#include "tests/unit/cases.h"
#include "tests/unit/rpc/fastpath/read_twice.h"

#include <stdlib.h>

#define CALL(id, rest) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"call\",\"params\":{" rest "}}"
#define ADD                                                                                                  \
  CALL("%s", "\"type\":\"C\",\"method\":\"add\",\"args\":[{\"type\":\"int\",\"value\":%s},"                  \
             "{\"type\":\"int\",\"value\":%s}]")
#define BARE(args)   CALL("1", "\"type\":\"C\",\"method\":\"m\",\"args\":[" args "]")
#define ON(instance) CALL("1", "\"type\":\"C\",\"method\":\"m\",\"instance\":" instance)

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

static void check_shape(const char *place, const char *first, const char *second, bool fits)
{
  assert_int_equal(read_again(text_of(first)), READ_GENERALLY);
  enum read_twice again = read_again(text_of(second));
  if (again != (fits ? READ_FROM_CACHE : READ_GENERALLY))
    fail_msg("%s: %d for %s\nafter %s", place, again, second, first);
  free(fastpath);
  fastpath = NULL;
}

/* A line of shapes.txt as a message. */
static void expand_line(const char *line, char message[1000])
{
  char words[3][100];
  if (sscanf(line, "add %99s %99s %99s", words[0], words[1], words[2]) == 3)
    snprintf(message, 1000, ADD, words[0], words[1], words[2]);
  else if (strncmp(line, "args ", 5) == 0)
    snprintf(message, 1000, BARE("%s"), line + 5);
  else if (strncmp(line, "on ", 3) == 0)
    snprintf(message, 1000, ON("%s"), line + 3);
  else
    snprintf(message, 1000, "%s", line);
}

static void check_lines(const char *place, const char *first, const char *wanted)
{
  char messages[2][1000];
  bool fits = strncmp(wanted, "fits ", 5) == 0;
  assert_true(fits || strncmp(wanted, "not ", 4) == 0);
  expand_line(first, messages[0]);
  expand_line(wanted + (fits ? strlen("fits ") : strlen("not ")), messages[1]);
  check_shape(place, messages[0], messages[1], fits);
}

UNIT_TEST_WITH(means_the_same, NULL, tear_down)
{
  static const char spaced[] = "{ \"params\" : {\"type\":\"C\"} , \"method\":\"new\", \"jsonrpc\":\"2.0\"}\n";
  static const char *const wrong[] = {BARE("\"\t\""), BARE("\"\xFF\""), BARE("\"\xC3\""),
                                      BARE("\"\xED\xA0\x80\""), BARE("\"\xC3\xA9\t\"")};
  unit_cases(SHAPE_CASES, check_lines);
  check_shape("spaces", spaced, spaced, true);
  for (size_t i = 0; i < COUNT_OF(wrong); i++)
    check_shape("bytes", BARE("\"x\""), wrong[i], false);
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
  /* The last shape has replaced the first. */
  assert_int_equal(read_again(text_of(CALL("1", "\"type\":\"C\",\"method\":\"m1\""))), READ_FROM_CACHE);
  assert_int_equal(read_again(text_of(CALL("1", "\"type\":\"C\",\"method\":\"m0\""))), READ_GENERALLY);
}

UNIT_TEST_WITH(skips_long_texts, NULL, tear_down)
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
    /* The content of a hole may be long; the text between the holes may not. */
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

/* If a list does not fit after all, the items that were made are freed. */
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
  message.data[message.len - 1] = ']'; /* the end of the list is checked first */
  assert_null(rpc_fastpath_find(fastpath, buffer_text(&message), &arena, NULL));
  message.data[message.len - 1] = '}';
  message.data[message.len / 2] = ' '; /* in the middle of the list */
  assert_null(rpc_fastpath_find(fastpath, buffer_text(&message), &arena, NULL));
  struct arena_mark after = arena_mark(&arena);
  assert_ptr_equal(after.chunk, before.chunk);
  assert_ptr_equal(after.next, before.next);
  arena_fini(&arena);
}

/* If nothing ever fits, most messages are not examined; a message that is repeated is soon found again. */
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

/* A message that could not be kept leaves a hole far after the text's end; the comparison stops before
 * that. */
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

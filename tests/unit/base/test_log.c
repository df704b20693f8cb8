#include "base/log.h"

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <poll.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char captured[8192];

/* Runs write_lines with stderr going to a file, and reads that file into `captured`. */
static void capture(void (*write_lines)(void))
{
  FILE *file = tmpfile();
  assert_non_null(file);
  int saved = dup(STDERR_FILENO);
  assert_true(saved >= 0);
  assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
  write_lines();
  assert_true(dup2(saved, STDERR_FILENO) >= 0);
  close(saved);
  rewind(file);
  captured[fread(captured, 1, sizeof captured - 1, file)] = '\0';
  fclose(file);
}

static void assert_matches(const char *pattern)
{
  regex_t regex;
  assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
  int found = regexec(&regex, captured, 0, NULL, 0);
  regfree(&regex);
  if (found != 0)
    fail_msg("\"%s\" does not match %s", captured, pattern);
}

static void write_plain(void)
{
  log_info("port %d", 4711);
}

UNIT_TEST(writes_time_level_and_text)
{
  log_set_level(LOG_LEVEL_INFO);
  capture(write_plain);
  assert_matches("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z info  port 4711\n$");
}

static void write_forged(void)
{
  log_error("class %s", "a\nb\x1B[2J\x7F\xC2\x85\xC2\x9B\xE2\x80\xAE\x9B\xC3\xA9");
}

UNIT_TEST(keeps_an_event_on_one_line)
{
  capture(write_forged);
  assert_matches("error class a\\\\x0ab\\\\x1b\\[2J\\\\x7f\\\\u0085\\\\u009b\\\\u202e\\\\x9b\xC3\xA9\n$");
}

static void write_long(void)
{
  log_warn("%5000d", 1);
}

static void write_long_controls(void)
{
  char text[4000];
  memset(text, '\x01', sizeof text);
  log_warn("%.*s", (int)sizeof text, text);
}

UNIT_TEST(cuts_a_long_event_and_ends_its_line)
{
  capture(write_long);
  assert_in_range(strlen(captured), 2000, 4096);
  assert_matches("  [.][.][.]\n$");
  capture(write_long_controls);
  assert_in_range(strlen(captured), 2000, 4096);
  assert_ptr_equal(strchr(captured, '\n'), captured + strlen(captured) - 1);
}

static void write_json(void)
{
  log_set_format(LOG_JSON);
  log_error("class %s", "\"a\\b\"\n\xC3\xA9\x9B");
  log_set_format(LOG_TEXT);
}

static void write_long_json(void)
{
  log_set_format(LOG_JSON);
  write_long_controls();
  log_set_format(LOG_TEXT);
}

UNIT_TEST(an_object_of_json_has_the_same_text)
{
  capture(write_json);
  assert_matches("^\\{\"time\":\"2[0-9:T.-]*Z\",\"level\":\"error\",\"message\":"
                 "\"class \\\\\"a\\\\\\\\b\\\\\"\\\\\\\\x0a\xC3\xA9\\\\\\\\x9b\"\\}\n$");
  capture(write_long_json);
  assert_in_range(strlen(captured), 2000, 4096);
  assert_matches("x01\"\\}\n$");
}

static void write_all_levels(void)
{
  log_error("e");
  log_warn("w");
  log_info("i");
  log_debug("d");
}

UNIT_TEST(leaves_out_events_below_the_level)
{
  log_set_level(LOG_LEVEL_WARN);
  assert_true(log_enabled(LOG_LEVEL_ERROR));
  assert_false(log_enabled(LOG_LEVEL_INFO));
  capture(write_all_levels);
  assert_matches("error e\n.*warn  w\n$");
  log_set_level(LOG_LEVEL_DEBUG);
  capture(write_all_levels);
  assert_matches("warn  w\n.*info  i\n.*debug d\n$");
}

UNIT_TEST(one_line_a_second_passes_and_the_rest_is_counted)
{
  struct log_gate gate = {0};
  uint64_t left_out = 99;
  assert_true(log_gate_pass(&gate, 5000, &left_out));
  assert_int_equal(left_out, 0);
  for (int i = 0; i < 37; i++)
    assert_false(log_gate_pass(&gate, 5000 + i * 27, &left_out));
  assert_true(log_gate_pass(&gate, 6000, &left_out));
  assert_int_equal(left_out, 37);
  assert_false(log_gate_pass(&gate, 6999, &left_out));
  assert_true(log_gate_pass(&gate, 90000, &left_out));
  assert_int_equal(left_out, 1);
}

static void write_often(void)
{
  for (int i = 0; i < 1000; i++)
    log_warn_rarely("line %d", i);
  log_error_rarely("another place");
}

UNIT_TEST(a_place_that_writes_often_gets_one_line)
{
  log_set_level(LOG_LEVEL_WARN);
  capture(write_often);
  assert_matches("warn  line 0\n[^\n]*error another place\n$");
}

static void write_counted(void)
{
  struct log_gate gate = {.left_out = 38};
  log_write_rarely(&gate, LOG_LEVEL_WARN, "full");
  struct log_gate other = {.left_out = UINT64_MAX};
  log_write_rarely(&other, LOG_LEVEL_WARN, "%5000d", 1);
}

UNIT_TEST(a_line_counts_the_lines_left_out)
{
  capture(write_counted);
  assert_matches("warn  full \\(38 such lines were left out before this one\\)\n");
  assert_matches(" \\(18446744073709551615 such lines were left out before this one\\)\n$");
}

/* Reads the text that is written within a second. */
static size_t read_lines(int fd, char *into, size_t room)
{
  size_t length = 0;
  struct pollfd polled = {.fd = fd, .events = POLLIN};
  while (length < room && poll(&polled, 1, 1000) > 0) {
    ssize_t count = read(fd, into + length, room - length);
    assert_true(count > 0);
    length += (size_t)count;
  }
  return length;
}

/* More lines than are kept, while nobody reads the pipe: the writer does not wait, and the reader finds all except those
 * that are counted. */
UNIT_TEST(nobody_waits_for_a_reader)
{
  enum { LINES = 100000, ROOM = 4 * 1024 * 1024 };
  static char all[ROOM + 1];
  int ends[2];
  log_set_level(LOG_LEVEL_WARN);
  assert_int_equal(pipe(ends), 0);
  int saved = dup(STDERR_FILENO);
  assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
  close(ends[1]);
  for (int i = 0; i < LINES; i++)
    log_warn("line %d", i);
  size_t length = read_lines(ends[0], all, ROOM);
  log_warn("the last line");
  length += read_lines(ends[0], all + length, ROOM - length);
  assert_true(dup2(saved, STDERR_FILENO) >= 0);
  close(saved);
  close(ends[0]);
  all[length] = '\0';
  unsigned long long left_out = 0;
  const char *note = strstr(all, " lines were left out here");
  assert_non_null(note);
  while (note[-1] != ' ')
    note--;
  assert_int_equal(sscanf(note, "%llu", &left_out), 1);
  unsigned long long lines = 0;
  for (size_t i = 0; i < length; i++)
    lines += all[i] == '\n';
  assert_int_equal(lines - 1 + left_out, LINES + 1);
  assert_non_null(strstr(all, "the last line\n"));
}

/* The pipe has no room for a line, and its writer may not block. */
UNIT_TEST(a_line_is_not_lost_where_stderr_does_not_block)
{
  enum { ROOM = 1024 * 1024 };
  static char all[ROOM + 1];
  static const char filler[4096] = "";
  int ends[2];
  log_set_level(LOG_LEVEL_WARN);
  assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
  while (write(ends[1], filler, sizeof filler) > 0)
    ;
  int saved = dup(STDERR_FILENO);
  assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
  close(ends[1]);
  log_warn("a kept line");
  log_finish(20);
  size_t length = read_lines(ends[0], all, ROOM);
  assert_true(dup2(saved, STDERR_FILENO) >= 0);
  close(saved);
  close(ends[0]);
  assert_non_null(memmem(all, length, "a kept line\n", sizeof "a kept line\n" - 1));
}

UNIT_MAIN

#include "audit/audit.h"

#include "tests/unit/temporary_file.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static char path[] = TEMPORARY_FILE;

/* The whole file, which the caller frees. */
static char *read_file(void)
{
  FILE *file = fopen(path, "r");
  char *text = calloc(1, 1024 * 1024);
  assert_non_null(file);
  assert_true(fread(text, 1, 1024 * 1024 - 1, file) > 0);
  fclose(file);
  return text;
}

static int open_audit(void **state)
{
  struct jp_error error;
  const struct audit_config config = {.path = path};
  (void)state;
  temporary_file_write(path, "", 0);
  chmod(path, 0644);
  assert_int_equal(audit_open(&config, &error), JP_OK);
  return 0;
}

static int remove_file(void **state)
{
  (void)state;
  return unlink(path);
}

UNIT_TEST(texts_of_clients_are_quoted_escaped_and_cut)
{
  char longer[AUDIT_TEXT_MAX + 2];
  memset(longer, 'x', sizeof longer);
  static const struct {
    const char *text;
    const char *wanted;
  } cases[] = {
      {"plain", "\"t\":\"plain\""},
      {"\"\\\n\x7f", "\"t\":\"\\\"\\\\\\n\\u007f\""},
      {"Gr\xc3\xb6\xc3\x9f"
       "e",
       "\"t\":\"Gr\xc3\xb6\xc3\x9f"
       "e\""},
      {"a\xe2\x80\x8b"
       "b\xe2\x80\xae",
       "\"t\":\"a\\u200bb\\u202e\""},                   /* a zero-width space, and an override */
      {"\xf3\xa0\x80\x81", "\"t\":\"\\udb40\\udc01\""}, /* a tag */
      {"\xff", "\"t\":\"\\ufffd\""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct buffer line;
    audit_line_begin(&line, "test");
    audit_line_text(&line, "t", text_of(cases[i].text));
    assert_true(text_ends_with(buffer_text(&line), text_of(cases[i].wanted)));
    (void)audit_line_end(&line);
  }
  struct buffer line;
  audit_line_begin(&line, "test");
  audit_line_text(&line, "t", (struct text){longer, sizeof longer});
  assert_true(text_ends_with(buffer_text(&line), TEXT("xxx...\"")));
  assert_true(line.len < AUDIT_TEXT_MAX + 128);
  (void)audit_line_end(&line);
  audit_settle();
}

enum { THREADS = 4, LINES = 2000 };

static void *write_lines(void *argument)
{
  (void)argument;
  for (int i = 0; i < LINES; i++) {
    struct buffer line;
    audit_line_begin(&line, "test");
    (void)audit_line_end(&line);
    if (i % 7 == 0)
      audit_settle();
  }
  audit_settle();
  return NULL;
}

UNIT_TEST(lines_of_all_threads_are_in_the_order_of_their_numbers)
{
  pthread_t threads[THREADS];
  struct stat facts;
  for (size_t i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, write_lines, NULL), 0);
  for (size_t i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  char *text = read_file();
  unsigned long number = 0;
  for (char *line = text; *line != '\0'; line = strchr(line, '\n') + 1) {
    unsigned long found = 0;
    assert_int_equal(sscanf(line, "{\"seq\":%lu,", &found), 1);
    assert_int_equal(found, ++number);
  }
  assert_true(number >= (unsigned long)THREADS * LINES);
  free(text);
  assert_int_equal(stat(path, &facts), 0);
  assert_int_equal(facts.st_mode & 0777, 0600);
}

UNIT_MAIN_WITH(open_audit, remove_file)

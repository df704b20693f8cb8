/* Tests the bound on the members that are noted for `jpeer policy suggest`, by the lines in the audit. */
#include "judge/uses.h"

#include "tests/unit/temporary_file.h"

#include <stdio.h>
#include <stdlib.h>

static char path[] = TEMPORARY_FILE;
static struct policy *policy;

static int open_audit(void **state)
{
  struct jp_error error;
  const struct audit_config config = {.path = path};
  const struct policy_config all = {.default_action = POLICY_ALLOW};
  (void)state;
  temporary_file_write(path, "", 0);
  assert_int_equal(audit_open(&config, &error), JP_OK);
  assert_int_equal(policy_create(&all, &policy, &error), JP_OK);
  return 0;
}

static int remove_file(void **state)
{
  (void)state;
  policy_destroy(policy);
  return unlink(path);
}

static void note(struct text class_name, struct text member)
{
  const struct policy_query query = {.channel = POLICY_HTTP,
                                     .category = POLICY_METHOD,
                                     .visibility = POLICY_PUBLIC,
                                     .class_name = class_name,
                                     .member_name = member};
  uses_note(policy, &query, policy_check(policy, &query));
}

/* Counts the lines with this text. */
static size_t count(const char *text)
{
  char line[2048];
  size_t found = 0;
  audit_settle();
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  while (fgets(line, sizeof line, file) != NULL)
    found += strstr(line, text) != NULL;
  fclose(file);
  return found;
}

UNIT_TEST(members_beyond_the_bound_are_not_noted_and_one_line_says_so)
{
  char name[AUDIT_TEXT_MAX + 2];
  memset(name, 'x', sizeof name);
  note(TEXT("a.A"), (struct text){name, sizeof name}); /* a line would cut it */
  assert_int_equal(count("\"event\":\"used\""), 0);
  for (int i = 0; i < USES_MAX + 10; i++) {
    snprintf(name, sizeof name, "m%d", i);
    note(TEXT("a.A"), text_of(name));
    note(TEXT("a.A"), text_of(name)); /* is noted already, or cannot be */
  }
  assert_int_equal(count("\"event\":\"used\""), USES_MAX);
  assert_int_equal(count("\"event\":\"unnoted\",\"count\":65536"), 1);
  uses_write_again(); /* as into a file that was opened anew */
  assert_int_equal(count("\"event\":\"used\""), 2 * USES_MAX);
  assert_int_equal(count("\"event\":\"unnoted\",\"count\":65536"), 2);
}

UNIT_MAIN_WITH(open_audit, remove_file)

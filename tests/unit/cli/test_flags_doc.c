/* docs/flags.md agrees with the table of options: its rows are compared one by one. */
#include "cli/run_option_rows.h"
#include "tests/unit/unit.h"

#include <stdlib.h>

static char page[64 * 1024];

static void read_page(void)
{
  FILE *file = fopen(FLAGS_PAGE, "r");
  assert_non_null(file);
  size_t length = fread(page, 1, sizeof page - 1, file);
  fclose(file);
  page[length] = '\0';
}

static void append_escaped(char *row, const char *text)
{
  row += strlen(row);
  for (; *text != '\0'; text++) {
    if (*text == '|')
      *row++ = '\\';
    *row++ = *text;
  }
  *row = '\0';
}

/* | `-n`, `--name` NAME | `JPEER_NAME` | the default | what it does | */
static void expected_row(const struct option *option, char *row)
{
  strcpy(row, "| ");
  for (size_t i = 0; i < OPTION_NAMES && option->names[i] != NULL; i++)
    sprintf(row + strlen(row), "%s`%s`", i > 0 ? ", " : "", option->names[i]);
  if (option->takes != NULL) {
    strcat(row, " ");
    append_escaped(row, option->takes);
  }
  strcat(row, " | ");
  if (option->variable != NULL)
    sprintf(row + strlen(row), "`%s`", option->variable);
  strcat(row, " | ");
  append_escaped(row, option->standard != NULL ? option->standard : "");
  strcat(row, " | ");
  append_escaped(row, option->help);
  strcat(row, " |\n");
}

UNIT_TEST(test_every_option_has_its_row)
{
  read_page();
  size_t missing = 0;
  for (size_t i = 0; i < run_option_count; i++) {
    char row[1024];
    expected_row(&run_option_rows[i], row);
    if (strstr(page, row) == NULL) {
      print_error("missing: %s", row);
      missing++;
    }
  }
  assert_int_equal(missing, 0);
}

UNIT_TEST(test_no_row_too_many)
{
  read_page();
  size_t rows = 0;
  for (const char *at = page; (at = strstr(at, "\n| `-")) != NULL; at++)
    rows++;
  assert_int_equal(rows, run_option_count);
}

UNIT_MAIN

#include "cli/run_notices.h"

#include "base/near_name.h"
#include "classfile/class_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char prefix[] = "JPEER_";

void run_notices_java_variable(const struct run_options *options)
{
  if (options->java_variable != NULL && options->java_variable[0] != '\0')
    fprintf(stderr, "NOTE: Picked up JDK_JAVA_OPTIONS: %s\n", options->java_variable);
}

/* ---- variables ---- */

static bool is_known_variable(struct text name)
{
  for (size_t row = 0; row < run_option_count; row++) {
    const char *variable = run_option_rows[row].variable;
    if (variable != NULL && text_equal(text_of(variable), name))
      return true;
  }
  return false;
}

const char *run_notices_near_variable(struct text name)
{
  struct near_name search;
  near_name_init(&search, name);
  for (size_t row = 0; row < run_option_count; row++) {
    if (run_option_rows[row].variable != NULL)
      near_name_offer(&search, text_of(run_option_rows[row].variable));
  }
  return search.best.data;
}

static void log_unknown_variables(char *const *environment)
{
  for (; *environment != NULL; environment++) {
    struct text name = {*environment, strcspn(*environment, "=")};
    if (!text_starts_with(name, TEXT(prefix)) || is_known_variable(name))
      continue;
    const char *near = run_notices_near_variable(name);
    if (near == NULL)
      log_warn("%.*s is set, and no option has this variable", TEXT_ARGS(name));
    else
      log_warn("%.*s is set, and no option has this variable: did you mean %s?", TEXT_ARGS(name), near);
  }
}

/* ---- paths ---- */

static void log_missing_entries(const char *path, const char *what)
{
  struct text rest = text_of(path);
  struct text entry;
  while (class_path_next(&rest, &entry)) {
    struct text path_name = entry;
    (void)class_path_is_wildcard(entry, &path_name); /* only its folder has to be there */
    char *name = strndup(path_name.data, path_name.len);
    if (name != NULL && path_name.len > 0 && access(name, F_OK) != 0)
      log_warn("the %s names %.*s, which is not there", what, TEXT_ARGS(entry));
    free(name);
  }
}

void run_notices_log(const struct run_options *options, char *const *environment)
{
  for (size_t i = 0; i < options->passed_over.count; i++)
    log_warn("%s", options->passed_over.items[i]);
  log_unknown_variables(environment);
  if (options->class_path != NULL && options->jar == NULL)
    log_missing_entries(options->class_path, "class path");
  if (options->module_path != NULL)
    log_missing_entries(options->module_path, "module path");
}

#include "cli/run_application.h"

#include <string.h>
#include <unistd.h>

/* The command line's choice of what to run replaces that of the environment. */
static enum jp_status choose_application(struct run_options *options, const struct run_words *words,
                                         bool has_class, struct jp_error *error)
{
  const char *module = options->main_module;
  if (words->service_given && (words->jar_given || module != NULL))
    return jp_fail(error, JP_INVALID, "--as-service runs no main class: it cannot stand with %s",
                   words->jar_given ? "-jar" : "-m");
  if (words->service_given && has_class)
    return jp_fail(error, JP_INVALID, "--as-service runs no main class: \"%.200s\" is one too many",
                   words->items[0]);
  if (words->jar_given || module != NULL || has_class)
    options->as_service = false;
  if (words->service_given || module != NULL || has_class)
    options->jar = NULL;
  if (options->as_service && options->jar != NULL)
    return jp_fail(error, JP_INVALID, "JPEER_AS_SERVICE and JPEER_JAR cannot both be set");
  return JP_OK;
}

static bool is_source_file(const char *word)
{
  const char *dot = strrchr(word, '.');
  return dot != NULL && strcmp(dot, ".java") == 0 && access(word, F_OK) == 0;
}

static enum jp_status take_main_class(struct run_options *options, const struct run_words *words,
                                      struct jp_error *error)
{
  if (words->count == 0)
    return jp_fail(error, JP_INVALID, "run takes a main class, -jar FILE, -m MODULE or --as-service");
  options->main_class = words->items[0];
  if (is_source_file(options->main_class))
    return jp_fail(error, JP_INVALID, "%.200s: programs in source files are not run: compile them first",
                   options->main_class);
  return JP_OK;
}

enum jp_status run_application_settle(struct run_options *options, const struct run_words *words,
                                      struct jp_error *error)
{
  /* -jar and -m end the options, and arguments follow. */
  bool has_class = !words->jar_given && options->main_module == NULL && words->count > 0;
  enum jp_status status = choose_application(options, words, has_class, error);
  if (status != JP_OK)
    return status;
  if (options->class_path == NULL && words->variable != NULL)
    options->class_path = words->variable("CLASSPATH");
  options->args = words->items;
  options->arg_count = words->count;
  if (options->jar != NULL || options->main_module != NULL || options->as_service)
    return JP_OK;
  if (words->count == 0 && (options->version || options->show != NULL))
    return JP_OK;
  status = take_main_class(options, words, error);
  if (status != JP_OK)
    return status;
  options->args++;
  options->arg_count--;
  return JP_OK;
}

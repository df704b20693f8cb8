/* run_options_read: turns arguments and environment into a struct run_options and checks the rules. */
#include "cli/java_arguments.h"
#include "cli/java_options.h"
#include "cli/run_application.h"
#include "cli/run_options.h"
#include "cli/run_rules.h"

static bool was_set(uint64_t set, size_t offset)
{
  for (size_t row = 0; row < run_option_count; row++) {
    if (run_option_rows[row].offset == offset)
      return (set >> row & 1) != 0;
  }
  return false;
}

/* Parses the peer's options and java's, those of the command line and of the environment. */
static enum jp_status parse_options(const struct java_arguments *arguments,
                                    const char *(*variable)(const char *name), struct run_options *options,
                                    struct option_result *result, struct jp_error *error)
{
  struct option_input input = {.options = run_option_rows,
                               .option_count = run_option_count,
                               .args = arguments->words,
                               .arg_count = arguments->count,
                               .variable = variable,
                               .read_other = java_option_read,
                               .other_name = java_option_name};
  enum jp_status status = options_parse(&input, options, result, error);
  if (status == JP_OK && was_set(result->from_variable, offsetof(struct run_options, jvm_options)))
    option_list_rotate(&options->jvm_options, options->line_jvm_options);
  return status;
}

enum jp_status run_options_read(char *const *args, size_t arg_count,
                                const char *(*variable)(const char *name), struct run_options *options,
                                struct jp_error *error)
{
  run_rules_set_defaults(options);
  arena_init(&options->arena);
  if (variable != NULL)
    options->java_variable = variable("JDK_JAVA_OPTIONS");
  struct java_arguments arguments;
  enum jp_status status =
      java_arguments_expand(args, arg_count, options->java_variable, &options->arena, &arguments, error);
  if (status != JP_OK)
    return status;
  struct option_result result;
  status = parse_options(&arguments, variable, options, &result, error);
  if (status != JP_OK || options->help)
    return status;
  options->has_uuid = was_set(result.given | result.from_variable, offsetof(struct run_options, uuid));
  const struct run_words words = {.items = arguments.words + result.used,
                                  .count = arguments.count - result.used,
                                  .jar_given = was_set(result.given, offsetof(struct run_options, jar)),
                                  .service_given =
                                      was_set(result.given, offsetof(struct run_options, as_service)),
                                  .variable = variable};
  status = run_application_settle(options, &words, error);
  return status == JP_OK ? run_rules_check(options, error) : status;
}

void run_options_fini(struct run_options *options)
{
  option_list_fini(&options->json.texts);
  option_list_fini(&options->zmq.texts);
  option_list_fini(&options->jvm_options);
  option_list_fini(&options->passed_over);
  option_list_fini(&options->thread_affinities);
  arena_fini(&options->arena);
}

/* `jpeer policy` checks a policy file and explains its decisions, without a JVM. */
#include "base/buffer.h"
#include "base/options.h"
#include "cli/policy_options.h"
#include "cli/subcommands.h"
#include "policy/explain.h"
#include "policy/lint.h"
#include "policy/vocabulary.h"

#include <stdio.h>
#include <stdlib.h>

enum { OBJECT_CLASSES_MAX = 32 };

struct explain_options {
  struct option_list object_classes;
  const char *presets;
  const char *allow;
  unsigned channels; /* set of 1 << enum policy_channel; 0: not given */
  int default_action;
  bool help;
};

#define AT(member) .offset = offsetof(struct explain_options, member)

static const struct option explain_rows[] = {
    {.names = {"--channel"},
     .takes = "CHANNEL",
     .help = "of the request; without it, WEBSOCKET_RPC, HTTP_RPC and ZMQ_SOCKET_RPC",
     .read = policy_option_read_channel,
     AT(channels)},
    {.names = {"--class"},
     .takes = "CLASS",
     .help = "the class of the object, or one between it and the member's; may be given more than once",
     .read = option_read_list,
     AT(object_classes),
     .repeats = true},
    {.names = {"--rpc-policy-preset"},
     .takes = "A,B,...",
     .help = "presets beside those of the file, as jpeer run takes them",
     .read = option_read_text,
     AT(presets)},
    {.names = {"--rpc-allow"},
     .takes = "A,B,...",
     .help = "patterns of allowed classes, as jpeer run takes them",
     .read = option_read_text,
     AT(allow)},
    {.names = {"--rpc-default-action"},
     .takes = "ALLOW|DENY",
     .help = "as jpeer run takes it",
     .read = policy_option_read_action,
     AT(default_action),
     .words = policy_option_actions},
    {.names = {"--help", "-h"}, .help = "shows this", .read = option_read_switch, AT(help)},
};
enum { EXPLAIN_ROWS = sizeof explain_rows / sizeof explain_rows[0] };

static void print_help(FILE *out)
{
  fputs(
      "usage: jpeer policy check FILE\n"
      "       jpeer policy explain FILE CLASS.MEMBER [options]\n"
      "\n"
      "check reads a policy file and says whether it is good, with warnings of rules that are never used or "
      "mean\n"
      "something else than they seem to. explain says what it decides about a member,\n"
      "and which rule or preset does: CLASS.MEMBER is a method or a field, CLASS.<init> the constructors.\n",
      out);
  options_print_help(out, explain_rows, EXPLAIN_ROWS);
  fputs("\nExit codes: 0, 1 (the file is not good), 2 (usage).\n", out);
}

static int print_error(const char *command, const struct jp_error *error, int code)
{
  fprintf(stderr, "jpeer policy%s: %s\n", command, error->text);
  return code;
}

/* ---- check ---- */

static int check_file(char *const *args, size_t arg_count)
{
  struct jp_error error = {0};
  if (arg_count != 1) {
    jp_fail(&error, JP_INVALID, "takes one FILE");
    return print_error(" check", &error, EXIT_USAGE);
  }
  const struct policy_config config = {.file = args[0]};
  struct policy_document document;
  struct policy *policy = NULL;
  struct buffer warnings;
  struct arena arena;
  size_t count = 0;
  buffer_init(&warnings);
  arena_init(&arena);
  /* The policy also has the rules of presets, for which no warnings are wanted. */
  enum jp_status status = policy_create(&config, &policy, &error);
  if (status == JP_OK)
    status = policy_load_file(args[0], &arena, &document, &error);
  if (status == JP_OK)
    status = policy_lint(&document, args[0], &warnings, &count, &error);
  if (status == JP_OK) {
    if (warnings.len > 0) /* the data of an empty buffer may be NULL */
      fwrite(warnings.data, 1, warnings.len, stderr);
    if (count == 0)
      printf("%s: good\n", args[0]);
    else
      printf("%s: good, with %zu warning%s\n", args[0], count, count == 1 ? "" : "s");
    if (policy_notice(policy) != NULL)
      puts(policy_notice(policy));
  }
  policy_destroy(policy);
  arena_fini(&arena);
  buffer_fini(&warnings);
  return status == JP_OK ? EXIT_GOOD : print_error(" check", &error, EXIT_RUN_TIME);
}

/* ---- explain ---- */

static int print_explanation(const char *file, struct text member, const struct explain_options *options,
                             struct jp_error *error)
{
  const struct policy_config config = {.file = file,
                                       .presets = options->presets,
                                       .allow = options->allow,
                                       .default_action = (enum policy_action)options->default_action};
  struct policy *policy;
  if (policy_create(&config, &policy, error) != JP_OK)
    return EXIT_RUN_TIME;
  /* Without a JDK no classes exist that a wildcard could allow. */
  struct jvm_home home;
  if (options->allow != NULL && jvm_locate(NULL, &home, NULL) == JP_OK &&
      policy_option_check_allow(options->allow, NULL, &home, error) != JP_OK) {
    policy_destroy(policy);
    return EXIT_RUN_TIME;
  }
  struct text object_classes[OBJECT_CLASSES_MAX];
  for (size_t i = 0; i < options->object_classes.count; i++)
    object_classes[i] = text_of(options->object_classes.items[i]);
  size_t dot = text_find_last(member, '.');
  const struct policy_question question = {.channels = options->channels != 0 ? options->channels
                                                                              : POLICY_SERVED_CHANNELS,
                                           .class_name = text_slice(member, 0, dot),
                                           .member_name = text_slice(member, dot + 1, member.len),
                                           .object_classes = object_classes,
                                           .object_class_count = options->object_classes.count};
  struct buffer out;
  buffer_init(&out);
  policy_explain(policy, &question, &out);
  int code = EXIT_GOOD;
  if (out.failed) {
    jp_fail_memory(error, NULL);
    code = EXIT_RUN_TIME;
  }
  fwrite(out.data, 1, out.len, stdout);
  buffer_fini(&out);
  policy_destroy(policy);
  return code;
}

/* Reads FILE and CLASS.MEMBER, with options before, between and after them. */
static enum jp_status read_arguments(char *const *args, size_t arg_count, struct explain_options *options,
                                     const char *words[2], struct jp_error *error)
{
  struct option_input input = {.options = explain_rows,
                               .option_count = EXPLAIN_ROWS,
                               .args = args,
                               .arg_count = arg_count,
                               .variable = NULL};
  size_t count = 0;
  for (;;) {
    struct option_result result;
    enum jp_status status = options_parse(&input, options, &result, error);
    if (status != JP_OK || options->help)
      return status;
    input.args += result.used;
    input.arg_count -= result.used;
    if (input.arg_count == 0)
      break;
    if (count == 2)
      return jp_fail(error, JP_INVALID, "\"%.*s\" is one argument too many (jpeer policy --help)",
                     OPTION_SHOWN(input.args[0]));
    words[count++] = input.args[0];
    input.args++;
    input.arg_count--;
  }
  if (count < 2)
    return jp_fail(error, JP_INVALID, "takes FILE and CLASS.MEMBER (jpeer policy --help)");
  if (options->object_classes.count > OBJECT_CLASSES_MAX)
    return jp_fail(error, JP_INVALID, "--class is given more than %d times", OBJECT_CLASSES_MAX);
  struct text member = text_of(words[1]);
  size_t dot = text_find_last(member, '.');
  if (dot == SIZE_MAX || dot == 0 || dot + 1 == member.len)
    return jp_fail(error, JP_INVALID, "\"%.*s\" has to be CLASS.MEMBER", OPTION_SHOWN(words[1]));
  return JP_OK;
}

static int explain_member(char *const *args, size_t arg_count)
{
  struct explain_options options = {0};
  struct jp_error error = {0};
  const char *words[2] = {"", ""};
  int code = EXIT_GOOD;
  if (read_arguments(args, arg_count, &options, words, &error) != JP_OK)
    code = EXIT_USAGE;
  else if (options.help)
    print_help(stdout);
  else
    code = print_explanation(words[0], text_of(words[1]), &options, &error);
  if (code != EXIT_GOOD)
    print_error(" explain", &error, code);
  option_list_fini(&options.object_classes);
  return code;
}

static bool is_help(size_t arg_count, char *const *args)
{
  return arg_count > 0 && (strcmp(args[0], "--help") == 0 || strcmp(args[0], "-h") == 0);
}

int subcommand_policy(char *const *args, size_t arg_count)
{
  bool is_help_on_check = arg_count > 0 && strcmp(args[0], "check") == 0 && is_help(arg_count - 1, args + 1);
  if (is_help(arg_count, args) || is_help_on_check) {
    print_help(stdout);
    return EXIT_GOOD;
  }
  if (arg_count > 0 && strcmp(args[0], "check") == 0)
    return check_file(args + 1, arg_count - 1);
  if (arg_count > 0 && strcmp(args[0], "explain") == 0)
    return explain_member(args + 1, arg_count - 1);
  print_help(stderr);
  return EXIT_USAGE;
}

/* `jpeer policy` checks a policy file, explains its decisions, and suggests a file from an audit, without a JVM. */
#include "base/buffer.h"
#include "base/options.h"
#include "cli/policy_options.h"
#include "cli/subcommands.h"
#include "policy/explain.h"
#include "policy/lint.h"
#include "policy/suggested_rules.h"
#include "policy/vocabulary.h"
#include "json/reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
      "       jpeer policy suggest AUDIT-FILE...\n"
      "\n"
      "check reads a policy file and says whether it is good, with warnings of rules that are never used or "
      "mean\n"
      "something else than they seem to. explain says what it decides about a member,\n"
      "and which rule or preset does: CLASS.MEMBER is a method or a field, CLASS.<init> the constructors.\n"
      "suggest prints a policy file that allows exactly the members that clients have used, as the files of "
      "an "
      "audit\n"
      "(jpeer run --audit) say.\n",
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

/* ---- suggest ---- */

/* The members of a line "used", in the order of the names below. */
enum used_key { USED_EVENT, USED_CHANNEL, USED_KIND, USED_VISIBILITY, USED_CLASS, USED_MEMBER, USED_KEYS };

static enum jp_status find_word(const struct policy_vocabulary *vocabulary, struct text word, unsigned *index,
                                struct jp_error *error)
{
  unsigned value;
  if (!policy_word_find(vocabulary, word, &value))
    return jp_fail(error, JP_INVALID, "unknown %s '%.*s'", vocabulary->what, TEXT_ARGS(word));
  *index = (unsigned)__builtin_ctz(value);
  return JP_OK;
}

static enum jp_status add_used(const struct text values[USED_KEYS], struct policy_suggestion *suggestion,
                               struct jp_error *error)
{
  unsigned channel = 0;
  unsigned category = 0;
  unsigned visibility = 0;
  enum jp_status status = find_word(&policy_channel_words, values[USED_CHANNEL], &channel, error);
  if (status == JP_OK)
    status = find_word(&policy_category_words, values[USED_KIND], &category, error);
  if (status == JP_OK)
    status = find_word(&policy_visibility_words, values[USED_VISIBILITY], &visibility, error);
  if (status != JP_OK)
    return status;
  const struct policy_query used = {.channel = (enum policy_channel)channel,
                                    .category = (enum policy_category)category,
                                    .visibility = (enum policy_visibility)visibility,
                                    .class_name = values[USED_CLASS],
                                    .member_name = values[USED_MEMBER]};
  return policy_suggestion_add(suggestion, &used, error);
}

static void warn_of_gaps(struct text event)
{
  if (text_equal(event, TEXT("unnoted")))
    fputs("jpeer policy suggest: warning: not all that was used was noted: what is missing will be denied\n",
          stderr);
  else if (text_equal(event, TEXT("lost")))
    fputs("jpeer policy suggest: warning: lines were lost: what they said was used will be denied\n", stderr);
}

enum audit_line_state { LINE_WHOLE, LINE_BROKEN };

/* Sets *state to LINE_BROKEN with JP_INVALID if the line is no JSON. */
static enum jp_status read_audit_line(struct text line, struct arena *arena,
                                      struct policy_suggestion *suggestion, enum audit_line_state *state,
                                      struct jp_error *error)
{
  static const struct text names[USED_KEYS] = {TEXT("event"),      TEXT("channel"), TEXT("kind"),
                                               TEXT("visibility"), TEXT("class"),   TEXT("member")};
  const struct json_limits limits = {.max_depth = 128};
  struct json_fault fault;
  struct json_members members;
  struct text values[USED_KEYS];
  *state = LINE_WHOLE;
  if (json_validate(line, limits, TEXT_ABSENT, &fault) != JP_OK) {
    *state = LINE_BROKEN;
    return jp_fail(error, JP_INVALID, "byte %zu: %s", fault.offset + 1, fault.reason);
  }
  if (json_root(line).kind != JSON_KIND_OBJECT)
    return jp_fail(error, JP_INVALID, "no line of an audit");
  json_members_collect(json_root(line), names, USED_KEYS, &members);
  for (int i = 0; i < USED_KEYS; i++) {
    const bool is_text = members.has[i] && members.value[i].kind == JSON_KIND_STRING;
    values[i] = is_text ? json_read_string(members.value[i], arena) : TEXT_ABSENT;
    if (is_text && values[i].data == NULL)
      return jp_fail_memory(error, NULL);
  }
  if (values[USED_EVENT].data == NULL)
    return jp_fail(error, JP_INVALID, "no line of an audit");
  warn_of_gaps(values[USED_EVENT]);
  if (!text_equal(values[USED_EVENT], TEXT("used")))
    return JP_OK;
  for (int i = 0; i < USED_KEYS; i++) {
    if (values[i].data == NULL)
      return jp_fail(error, JP_INVALID, "the line has no text '%.*s'", TEXT_ARGS(names[i]));
  }
  return add_used(values, suggestion, error);
}

enum {
  AUDIT_LINE_MAX = 1024 * 1024
}; /* far more than a line of an audit has: each of its texts is bounded */

/* Reads a line, without its end. JP_NOT_FOUND: the file has ended, or cannot be read (ferror). JP_INVALID: the line is too
 * long. JP_NO_MEMORY. */
static enum jp_status read_line(FILE *file, struct buffer *line, struct jp_error *error)
{
  int byte = EOF;
  buffer_clear(line);
  while (line->len <= AUDIT_LINE_MAX && !line->failed && (byte = getc_unlocked(file)) != EOF && byte != '\n')
    buffer_append_char(line, (char)byte);
  if (line->failed)
    return jp_fail_memory(error, NULL);
  if (line->len > AUDIT_LINE_MAX)
    return jp_fail(error, JP_INVALID, "the line has more than %d bytes: no line of an audit", AUDIT_LINE_MAX);
  return byte == EOF && line->len == 0 ? JP_NOT_FOUND : JP_OK;
}

/* A line may be cut, because the machine was switched off or the file is copied while it is written. A file without a whole
 * line is no audit. */
static enum jp_status read_audit(const char *path, struct policy_suggestion *suggestion,
                                 struct jp_error *error)
{
  FILE *file = fopen(path, "re");
  struct buffer line;
  enum jp_status status = JP_OK;
  enum audit_line_state state;
  size_t whole_lines = 0;
  struct jp_error broken = {0}; /* the first broken line */
  struct arena arena;
  if (file == NULL)
    return jp_fail(error, JP_IO, "%s: %s", path, strerror(errno));
  arena_init(&arena);
  buffer_init(&line);
  errno = 0;
  for (int number = 1; status == JP_OK; number++) {
    arena_reset(&arena);
    state = LINE_WHOLE;
    status = read_line(file, &line, error);
    if (status == JP_OK)
      status =
          read_audit_line(line.len == 0 ? TEXT("") : buffer_text(&line), &arena, suggestion, &state, error);
    if (status == JP_INVALID)
      jp_error_prefix(error, "%s:%d", path, number);
    whole_lines += status == JP_OK;
    if (state == LINE_WHOLE)
      continue;
    status = JP_OK;
    fprintf(stderr, "%s:%d: warning: the line is not whole, and is left out\n", path, number);
    if (broken.status == JP_OK)
      broken = *error;
  }
  if (status == JP_NOT_FOUND)
    status = ferror(file) ? jp_fail(error, JP_IO, "%s: %s", path, strerror(errno)) : JP_OK;
  if (status == JP_OK && whole_lines == 0 && broken.status != JP_OK) {
    *error = broken;
    status = JP_INVALID;
  }
  buffer_fini(&line);
  fclose(file);
  arena_fini(&arena);
  return status;
}

static int suggest_policy(char *const *args, size_t arg_count)
{
  struct jp_error error = {0};
  if (arg_count == 0) {
    jp_fail(&error, JP_INVALID, "takes the files of an audit (jpeer policy --help)");
    return print_error(" suggest", &error, EXIT_USAGE);
  }
  struct policy_suggestion *suggestion;
  struct buffer out;
  buffer_init(&out);
  enum jp_status status = policy_suggestion_create(&suggestion, &error);
  for (size_t i = 0; status == JP_OK && i < arg_count; i++)
    status = read_audit(args[i], suggestion, &error);
  if (status == JP_OK) {
    BUFFER_LITERAL(&out,
                   "# What clients have used, by jpeer policy suggest. Review it before it is enforced.\n");
    if (policy_suggestion_write(suggestion, &out) == 0)
      fputs("jpeer policy suggest: no client has used a member: nothing will be allowed\n", stderr);
    if (out.failed)
      status = jp_fail_memory(&error, NULL);
  }
  if (status == JP_OK && (fwrite(out.data, 1, out.len, stdout) != out.len || fflush(stdout) != 0))
    status = jp_fail(&error, JP_IO, "the policy cannot be written: %s", strerror(errno));
  buffer_fini(&out);
  policy_suggestion_destroy(suggestion);
  return status == JP_OK ? EXIT_GOOD : print_error(" suggest", &error, EXIT_RUN_TIME);
}

static bool is_help(size_t arg_count, char *const *args)
{
  return arg_count > 0 && (strcmp(args[0], "--help") == 0 || strcmp(args[0], "-h") == 0);
}

int subcommand_policy(char *const *args, size_t arg_count)
{
  bool is_help_on_one = arg_count > 0 && (strcmp(args[0], "check") == 0 || strcmp(args[0], "suggest") == 0) &&
                        is_help(arg_count - 1, args + 1);
  if (is_help(arg_count, args) || is_help_on_one) {
    print_help(stdout);
    return EXIT_GOOD;
  }
  if (arg_count > 0 && strcmp(args[0], "check") == 0)
    return check_file(args + 1, arg_count - 1);
  if (arg_count > 0 && strcmp(args[0], "explain") == 0)
    return explain_member(args + 1, arg_count - 1);
  if (arg_count > 0 && strcmp(args[0], "suggest") == 0)
    return suggest_policy(args + 1, arg_count - 1);
  print_help(stderr);
  return EXIT_USAGE;
}

/* cli/run_options.c over cli/options.c: accepted command lines, and the text of each usage error. */
#include "cli/run_options.h"

#include "base/buffer.h"
#include "cli/run_option_rows.h"
#include "policy/policy.h"

#include "tests/unit/cases.h"
#include "tests/unit/temporary_file.h"

enum { MAX_WORDS = 24 };

static const char *const *variables; /* name, value, name, value, ..., NULL */

static const char *variable(const char *name)
{
  for (const char *const *at = variables; at != NULL && *at != NULL; at += 2) {
    if (strcmp(at[0], name) == 0)
      return at[1];
  }
  return NULL;
}

/* Splits a line at blanks, in place. */
static size_t split_words(char *line, char **words)
{
  size_t count = 0;
  char *rest;
  for (char *word = strtok_r(line, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
    assert_true(count < MAX_WORDS);
    words[count++] = word;
  }
  return count;
}

struct command {
  char line[512];
  char *words[MAX_WORDS];
  struct run_options options;
  struct jp_error error;
};

static enum jp_status read_command(struct command *command, const char *line, const char *const *environment)
{
  assert_true(strlen(line) < sizeof command->line);
  strcpy(command->line, line);
  size_t count = split_words(command->line, command->words);
  variables = environment;
  command->error.text[0] = '\0';
  return run_options_read(command->words, count, variable, &command->options, &command->error);
}

/* Values that an option accepts, and values before a main class that it refuses. */
static const struct {
  const char *option;
  const char *takes;
  const char *values;
} refused[] = {
    {"-n", "a name of 1 to 255 bytes of UTF-8 without control characters", "\x01 \xff"},
    {"--json-rpc", "a port from 1 to 65535, or auto", "0 65536"},
    {"--json-rpc", "[HOST:]PORT|auto|unix:PATH|fd:NAME", "00001234 -1 +80 80x :80 host/x:80 ipc:///tmp/x"},
    {"--allow-origin", "origins one by one, since * would let every web page call the peer",
     "* http://a.test,*"},
    {"--zmq-rpc", "[HOST:]PORT|auto|ipc://PATH|fd:NAME", "never unix:x"},
    {"--rpc-threads", "N, from 1 to 10000", "0 1.5"},
    {"--allow-user", "the name or number of a user (this machine has no such user)",
     "no-such-user -1 4294967295 0x10 1.5"},
    {"--allow-group", "the name or number of a group (this machine has no such group)",
     "no-such-group -1 4294967295"},
    {"--socket-group", "the name or number of a group (this machine has no such group)", "no-such-group"},
    {"--socket-mode", "an octal mode that begins with 06 or 07, such as 0660",
     "0 66 0066 0466 1666 01666 0o660 rw- 0668"},
    {"--thread-affinity", "NAME=CLASS.MEMBER",
     "GUI GUI= =a.B.c GUI=c GUI=.c GUI=a. GUI=a..b GUI=a/B.c GUI=a.B.c() GUI=a.B=c a.b=c GUI=a.B;.c"},
    {"--grace", "MS: milliseconds, or a number with ms, s, m or h, from 0 to 86400000 ms",
     "1d 99999999999999999999"},
    {"--message-max", "BYTES, from 256 to 1073741824", "9223372036854775807G 1T"},
    {"--depth-max", "N, from 4 to 256", "-4 257"},
    {"--rpc-default-action", "ALLOW|DENY", "allow LOG_AND_ALLOW"},
};

static void check_error(const char *place, const char *line, const char *message)
{
  struct command command;
  enum jp_status status = read_command(&command, line, NULL);
  unit_assert_text(text_of(command.error.text), text_of(message), place, __LINE__);
  assert_int_equal(status, JP_INVALID);
  run_options_fini(&command.options);
}

UNIT_TEST(test_usage_errors)
{
  unit_cases(FILES "/usage_errors.txt", check_error);
  check_error("nothing", "", "run takes a main class, -jar FILE, -m MODULE or --as-service");
  for (size_t i = 0; i < COUNT_OF(refused); i++) {
    char value[UNIT_WORD_MAX];
    for (const char *at = refused[i].values; unit_next_word(&at, value);) {
      char line[512];
      char message[1024];
      snprintf(line, sizeof line, "%s %s Main", refused[i].option, value);
      snprintf(message, sizeof message, "%s takes %s, not \"%s\"", refused[i].option, refused[i].takes,
               value);
      check_error(line, line, message);
    }
  }
}

/* ---- accepted command lines, shown ---- */

/* Numbers of eight bytes, and their defaults. */
static const struct {
  const char *name;
  size_t offset;
  int64_t standard;
} numbers[] = {
#define NUMBER(name, member, standard)                                                                       \
  {                                                                                                          \
    name, offsetof(struct run_options, member), standard                                                     \
  }
    NUMBER("grace_ms", grace_ms, 5000),
    NUMBER("session_ttl_ms", limits.session_ttl_ms, 600000),
    NUMBER("callback_timeout_ms", limits.callbacks.timeout_ms, 0),
    NUMBER("callbacks_max", limits.callbacks.calls_max, 1000),
    NUMBER("callback_depth", limits.callbacks.depth_max, 64),
    NUMBER("callback_classes_max", limits.java.callback_classes_max, 10000),
    NUMBER("callback_threads_max", limits.callbacks.threads_max, 256),
    NUMBER("message_max", net.message_max, 16 << 20),
    NUMBER("input_max_total", net.input_max_total, 256 << 20),
    NUMBER("shm_ring", net.shm_ring, 1 << 20),
    NUMBER("shm_total", net.shm_total, 256 << 20),
    NUMBER("shm_spin_us", net.shm_spin_us, 50),
    NUMBER("depth_max", limits.max_depth, 128),
    NUMBER("batch_max", limits.max_batch, 1000),
    NUMBER("session_max_objects", limits.session_max_objects, 4000000),
    NUMBER("sessions_max", limits.sessions_max, 100000),
    NUMBER("sessions_per_address", limits.sessions_per_address, 10000),
    NUMBER("threads_max", net.threads_max, 256),
    NUMBER("threads", net.threads, 0),
};

static void show_text(struct buffer *out, const char *name, const char *value)
{
  if (value != NULL)
    buffer_printf(out, " %s=%s", name, value);
}

static void show_flag(struct buffer *out, const char *name, bool is_set)
{
  if (is_set)
    buffer_printf(out, " %s", name);
}

static void show_list(struct buffer *out, const char *name, const char *const *items, size_t count)
{
  for (size_t i = 0; i < count; i++)
    buffer_printf(out, i == 0 ? " %s=%s" : "|%s%s", i == 0 ? name : "", items[i]);
}

/* Shows the addresses that are passed to the transport. */
static void show_addresses(struct buffer *out, const char *name, const struct run_endpoints *addresses)
{
  struct net_endpoints endpoints = endpoints_for_net(addresses);
  for (size_t i = 0; i < endpoints.count; i++) {
    buffer_printf(out, i == 0 ? " %s=" : "|", name);
    if (endpoints.items[i].path != NULL)
      buffer_append_text(out, text_of(endpoints.items[i].path));
    else
      buffer_printf(out, "%s:%d", endpoints.items[i].host, (int)endpoints.items[i].port);
  }
}

static void show_ids(struct buffer *out, const char *name, const unsigned *ids, size_t count)
{
  for (size_t i = 0; i < count; i++)
    buffer_printf(out, i == 0 ? " %s=%u" : "|%s%u", i == 0 ? name : "", ids[i]);
}

/* Shows all values that differ from the defaults. If help is requested, shows only that. */
static void show_options(const struct run_options *o, struct buffer *out)
{
  show_flag(out, "help", o->help);
  if (o->help)
    return;
  show_text(out, "class", o->main_class);
  show_text(out, "jar", o->jar);
  show_text(out, "module", o->main_module);
  show_list(out, "args", (const char *const *)o->args, o->arg_count);
  if (o->name != NULL && (o->main_class == NULL || strcmp(o->name, o->main_class) != 0))
    show_text(out, "name", o->name);
  show_text(out, "class_path", o->class_path);
  show_text(out, "module_path", o->module_path);
  show_list(out, "jvm", o->jvm_options.items, o->jvm_options.count);
  show_addresses(out, "json", &o->json);
  show_addresses(out, "zmq", &o->zmq);
  show_ids(out, "users", o->net.admission.users, o->net.admission.user_count);
  show_ids(out, "groups", o->net.admission.groups, o->net.admission.group_count);
  if (o->net.socket_access.mode != 0600)
    buffer_printf(out, " mode=%04o", o->net.socket_access.mode);
  if (o->net.socket_access.group != (gid_t)-1)
    buffer_printf(out, " group=%u", o->net.socket_access.group);
  for (size_t i = 0; i < o->executor_count; i++)
    buffer_printf(out, " %.*s=%.*s.%.*s", TEXT_ARGS(o->executors[i].name),
                  TEXT_ARGS(o->executors[i].class_name), TEXT_ARGS(o->executors[i].member));
  for (size_t i = 0; i < COUNT_OF(numbers); i++) {
    int64_t value;
    memcpy(&value, (const char *)o + numbers[i].offset, sizeof value);
    if (value != numbers[i].standard)
      buffer_printf(out, " %s=%lld", numbers[i].name, (long long)value);
  }
  show_text(out, "allow", o->allow);
  show_flag(out, "ALLOW", o->default_action == POLICY_ALLOW);
  show_flag(out, "debug", o->log_level == LOG_LEVEL_DEBUG);
  show_flag(out, "service", o->as_service);
  show_flag(out, "compat", o->compat_pal);
  show_flag(out, "dry", o->dry_run);
  show_flag(out, "uuid", o->has_uuid);
  show_text(out, "show", o->show);
  show_text(out, "of", o->show_value);
  show_text(out, "first", o->show_first);
  show_flag(out, "ignored", o->ignored_options.count == 1);
}

/* input: lines of variables, and the arguments in the last. */
static void check_accepted(const char *place, const char *input, const char *wanted)
{
  char lines[1024];
  const char *environment[20] = {NULL};
  char *line = lines;
  struct command command;
  struct buffer out;
  buffer_init(&out);
  assert_true(snprintf(lines, sizeof lines, "%s", input) < (int)sizeof lines);
  for (size_t i = 0; strchr(line, '\n') != NULL; i += 2) {
    char *pair = strsep(&line, "\n");
    environment[i] = strsep(&pair, "=");
    environment[i + 1] = pair;
  }
  if (read_command(&command, line, environment) != JP_OK)
    fail_msg("%s: %s", place, command.error.text);
  show_options(&command.options, &out);
  unit_assert_text(text_slice(buffer_text(&out), 1, out.len), text_of(wanted), place, __LINE__);
  buffer_fini(&out);
  run_options_fini(&command.options);
}

UNIT_TEST(test_accepted_command_lines)
{
  unit_cases(FILES "/accepted.txt", check_accepted);
}

UNIT_TEST(test_environment_errors)
{
  static const struct {
    const char *environment[5];
    const char *message;
  } cases[] = {
      {{"JPEER_JSON_RPC", "http"}, "JPEER_JSON_RPC takes [HOST:]PORT|auto|unix:PATH|fd:NAME, not \"http\""},
      {{"JPEER_AS_SERVICE", "maybe"}, "JPEER_AS_SERVICE takes 1, true, yes, 0, false or no, not \"maybe\""},
      {{"JPEER_AS_SERVICE", "1", "JPEER_JAR", "a.jar"}, "JPEER_AS_SERVICE and JPEER_JAR cannot both be set"},
      {{"JDK_JAVA_OPTIONS", "-Da='b"}, "JDK_JAVA_OPTIONS: a quote (') is open at its end"},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct command command;
    assert_int_equal(read_command(&command, "", cases[i].environment), JP_INVALID);
    assert_string_equal(command.error.text, cases[i].message);
    run_options_fini(&command.options);
  }
}

/* Words of 300 bytes, whose characters begin at even and at odd places. */
UNIT_TEST(cuts_what_an_error_shows_between_characters)
{
  static const char *const lines[] = {"--%s", "-n \x01%s Main", "-m %s/", "--as-service %s", "@%s", "Main"};
  char word[302];
  for (size_t i = 0; i < 150; i++)
    memcpy(word + 2 * i, "\xC3\xA9", 2);
  for (size_t odd = 0; odd < 2; odd++) {
    word[300] = odd == 1 ? 'z' : '\0';
    word[301] = '\0';
    if (odd == 1) {
      memmove(word + 1, word, 300);
      word[0] = 'z';
    }
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
      bool is_last = i + 1 == COUNT_OF(lines);
      const char *const environment[] = {"JDK_JAVA_OPTIONS", word, NULL};
      char line[400];
      struct command command;
      snprintf(line, sizeof line, lines[i], word); /* the last line has the word in the environment */
      assert_int_equal(read_command(&command, line, is_last ? environment : NULL), JP_INVALID);
      struct text shown = text_of(command.error.text);
      if (text_valid_utf8(shown) != shown.len || memmem(shown.data, shown.len, "\xC3\xA9", 2) == NULL)
        fail_msg("%s: %s", lines[i], command.error.text);
      run_options_fini(&command.options);
    }
  }
}

/* The forms of argument files are tested in tests/unit/cli/test_java_arguments.c. */
UNIT_TEST(test_argument_files)
{
  static const char content[] =
      "# for the peer\n--name \"a b\" -Dx='y z'\n--add-opens\n\ta/b=c @not-a-file two\n";
  char path[] = TEMPORARY_FILE;
  char line[512];
  char wanted[512];
  struct command command;
  struct buffer out;
  buffer_init(&out);
  temporary_file_write(path, content, sizeof content - 1);
  /* The main class is in the first file. The second @FILE is not expanded: all words after the main class are
   * its arguments. */
  snprintf(line, sizeof line, "-Xmx1g @%s @%s --name x", path, path);
  snprintf(wanted, sizeof wanted,
           " class=@not-a-file args=two|@%s|--name|x name=a b jvm=-Xmx1g|-Dx=y z|--add-opens=a/b=c", path);
  assert_int_equal(read_command(&command, line, NULL), JP_OK);
  show_options(&command.options, &out);
  unit_assert_text(buffer_text(&out), text_of(wanted), __FILE__, __LINE__);
  run_options_fini(&command.options);
  buffer_fini(&out);
  unlink(path);
}

/* Captures the lines of run_options_log_notices, without the times before the levels. */
static void capture_notices(const struct run_options *options, char *const *environment, struct buffer *out)
{
  char line[1024];
  FILE *file = tmpfile();
  assert_non_null(file);
  int saved = dup(STDERR_FILENO);
  assert_true(saved >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
  run_options_log_notices(options, environment);
  assert_true(dup2(saved, STDERR_FILENO) >= 0);
  close(saved);
  rewind(file);
  while (fgets(line, sizeof line, file) != NULL)
    buffer_append_text(out, text_of(strchr(line, ' ') + 1));
  fclose(file);
}

UNIT_TEST(logs_oddities_that_are_no_errors)
{
  static char rpc[] = "JPEER_JSONRPC=auto", ttl[] = "JPEER_SESION_TTL=1",
              names[] = "JPEER_NAMES=", colour[] = "JPEER_COLOUR_OF_THE_LOG=red", known[] = "JPEER_NAME=a",
              other[] = "JPEERS=1";
  static char *const environment[] = {rpc, ttl, names, colour, known, other, NULL};
  static const char wanted[] =
      "warn  -splash: is ignored: a peer shows no splash screen\n"
      "warn  JPEER_JSONRPC is set, and no option has this variable: did you mean JPEER_JSON_RPC?\n"
      "warn  JPEER_SESION_TTL is set, and no option has this variable: did you mean JPEER_SESSION_TTL?\n"
      "warn  JPEER_NAMES is set, and no option has this variable: did you mean JPEER_NAME?\n"
      "warn  JPEER_COLOUR_OF_THE_LOG is set, and no option has this variable\n"
      "warn  the class path names /nowhere/a.jar, which does not exist\n"
      "warn  the class path names /nowhere/*, which does not exist\n"
      "warn  the module path names /nowhere/mods, which does not exist\n";
  struct command command;
  struct buffer out;
  buffer_init(&out);
  assert_int_equal(
      read_command(&command, "-splash:x -p /nowhere/mods -cp /:/nowhere/a.jar:/nowhere/*:/* Main", NULL),
      JP_OK);
  capture_notices(&command.options, environment, &out);
  unit_assert_text(buffer_text(&out), text_of(wanted), __FILE__, __LINE__);
  buffer_fini(&out);
  run_options_fini(&command.options);
}

/* Every row of the table is complete: it has a variable in the environment, a text for help, and a function
 * that reads the value. */
UNIT_TEST(test_table)
{
  for (size_t i = 0; i < run_option_count; i++) {
    const struct option *option = &run_option_rows[i];
    assert_non_null(option->names[0]);
    assert_non_null(option->help);
    assert_non_null(option->read);
    if (option->variable != NULL)
      assert_int_equal(strncmp(option->variable, "JPEER_", 6), 0);
  }
}

UNIT_MAIN

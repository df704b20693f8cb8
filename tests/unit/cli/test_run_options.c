/* cli/run_options.c over cli/options.c: what is taken, and what each usage error says. */
#include "cli/run_options.h"

#include "policy/policy.h"

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
static size_t split(char *line, char **words)
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
  size_t count = split(command->line, command->words);
  variables = environment;
  command->error.text[0] = '\0';
  return run_options_read(command->words, count, variable, &command->options, &command->error);
}

static const struct {
  const char *line;
  const char *message; /* the whole of it */
} usage_errors[] = {
    {"", "run takes a main class, -jar FILE, -m MODULE or --as-service"},
    {"--no-such Main", "unknown option \"--no-such\" (--help lists them)"},
    {"--json-rcp auto Main", "unknown option \"--json-rcp\": did you mean --json-rpc? (--help lists them)"},
    {"--add-open=a/b=c Main",
     "unknown option \"--add-open=a/b=c\": did you mean --add-opens? (--help lists them)"},
    {"-eab Main", "unknown option \"-eab\": did you mean -ea? (--help lists them)"},
    {"- Main", "unknown option \"-\" (--help lists them)"},
    {"--json-rpc", "--json-rpc takes [HOST:]PORT|auto|unix:PATH, and nothing follows it"},
    {"--json-rpc 0 Main", "--json-rpc takes a port from 1 to 65535, or auto, not \"0\""},
    {"--json-rpc 65536 Main", "--json-rpc takes a port from 1 to 65535, or auto, not \"65536\""},
    {"--json-rpc 00001234 Main", "--json-rpc takes [HOST:]PORT|auto|unix:PATH, not \"00001234\""},
    {"--json-rpc -1 Main", "--json-rpc takes [HOST:]PORT|auto|unix:PATH, not \"-1\""},
    {"--json-rpc +80 Main", "--json-rpc takes [HOST:]PORT|auto|unix:PATH, not \"+80\""},
    {"--json-rpc 80x Main", "--json-rpc takes [HOST:]PORT|auto|unix:PATH, not \"80x\""},
    {"--json-rpc :80 Main", "--json-rpc takes [HOST:]PORT|auto|unix:PATH, not \":80\""},
    {"--json-rpc= Main", "--json-rpc takes [HOST:]PORT|auto|unix:PATH, not \"\""},
    {"--json-rpc host/x:80 Main", "--json-rpc takes [HOST:]PORT|auto|unix:PATH, not \"host/x:80\""},
    {"--json-rpc ::1:80 Main",
     "--json-rpc takes [HOST:]PORT or auto, with an IPv6 address in brackets, not \"::1:80\""},
    {"--allow-origin * Main",
     "--allow-origin takes origins one by one, since * would let every web page call the peer, not \"*\""},
    {"--allow-origin http://a.test,* Main",
     "--allow-origin takes origins one by one, since * would let every web "
     "page call the peer, not \"http://a.test,*\""},
    {"--allow-origin null Main",
     "--allow-origin takes origins one by one, since any web page can have null for one, not \"null\""},
    {"--allow-origin http://a.test/ Main", "--allow-origin takes origins (scheme://host[:port]) between "
                                           "commas (\"http://a.test/\" has no host alone "
                                           "behind its scheme), not \"http://a.test/\""},
    {"--zmq-rpc never Main", "--zmq-rpc takes [HOST:]PORT|auto|ipc://PATH, not \"never\""},
    {"--json-rpc unix: Main", "--json-rpc takes the path of a file, not \"unix:\""},
    {"--json-rpc unix:@x Main", "--json-rpc takes a path, because an abstract name has no mode that keeps "
                                "other users out, not \"unix:@x\""},
    {"--json-rpc ipc:///tmp/x Main", "--json-rpc takes [HOST:]PORT|auto|unix:PATH, not \"ipc:///tmp/x\""},
    {"--zmq-rpc unix:x Main", "--zmq-rpc takes [HOST:]PORT|auto|ipc://PATH, not \"unix:x\""},
    {"--zmq-rpc ipc://a/ Main", "--zmq-rpc takes the path of a file, not \"ipc://a/\""},
    {"--json-rpc 1 --json-rpc 2 --json-rpc 3 --json-rpc 4 --json-rpc 5 --json-rpc 6 --json-rpc 7 --json-rpc "
     "8 "
     "--json-rpc 9 Main",
     "--json-rpc takes 8 addresses at most, not \"9\""},
    {"--json-rpc unix:x --json-rpc 0.0.0.0:80 Main",
     "--json-rpc takes a loopback address unless --insecure-listen is given: anyone who reaches 0.0.0.0 "
     "could "
     "use the peer"},
    {"--json-rpc 0.0.0.0:80 Main", "--json-rpc takes a loopback address unless --insecure-listen is given: "
                                   "anyone who reaches 0.0.0.0 could "
                                   "use the peer"},
    {"--zmq-rpc [::]:auto Main",
     "--zmq-rpc takes a loopback address unless --insecure-listen is given: anyone who reaches :: could use "
     "the peer"},
    {"--json-rpc 127.0.0.1.example.org:80 Main",
     "--json-rpc takes a loopback address unless --insecure-listen is given: anyone who reaches "
     "127.0.0.1.example.org could use the peer"},
    {"-n", "-n takes NAME, and nothing follows it"},
    {"-n \x01 Main", "-n takes a name of 1 to 128 bytes of UTF-8 without control characters, not \"\x01\""},
    {"-n \xff Main", "-n takes a name of 1 to 128 bytes of UTF-8 without control characters, not \"\xff\""},
    {"--uuid 1234 Main", "-u takes UUID, not \"1234\""},
    {"--rpc-threads 0 Main", "--rpc-threads takes N, from 1 to 10000, not \"0\""},
    {"--rpc-threads 1.5 Main", "--rpc-threads takes N, from 1 to 10000, not \"1.5\""},
    {"--rpc-threads 300 Main", "--rpc-threads takes at most --rpc-threads-max, which is 256"},
    {"--thread-affinity GUI Main", "--thread-affinity takes NAME=CLASS.MEMBER, not \"GUI\""},
    {"--thread-affinity GUI= Main", "--thread-affinity takes NAME=CLASS.MEMBER, not \"GUI=\""},
    {"--thread-affinity =a.B.c Main", "--thread-affinity takes NAME=CLASS.MEMBER, not \"=a.B.c\""},
    {"--thread-affinity GUI=c Main", "--thread-affinity takes NAME=CLASS.MEMBER, not \"GUI=c\""},
    {"--thread-affinity GUI=.c Main", "--thread-affinity takes NAME=CLASS.MEMBER, not \"GUI=.c\""},
    {"--thread-affinity GUI=a. Main", "--thread-affinity takes NAME=CLASS.MEMBER, not \"GUI=a.\""},
    {"--thread-affinity GUI=a..b Main", "--thread-affinity takes NAME=CLASS.MEMBER, not \"GUI=a..b\""},
    {"--thread-affinity GUI=a/B.c Main", "--thread-affinity takes NAME=CLASS.MEMBER, not \"GUI=a/B.c\""},
    {"--thread-affinity GUI=a.B.c() Main", "--thread-affinity takes NAME=CLASS.MEMBER, not \"GUI=a.B.c()\""},
    {"--thread-affinity GUI=a.B=c Main", "--thread-affinity takes NAME=CLASS.MEMBER, not \"GUI=a.B=c\""},
    {"--thread-affinity a.b=c Main", "--thread-affinity takes NAME=CLASS.MEMBER, not \"a.b=c\""},
    {"--thread-affinity GUI=a.B;.c Main", "--thread-affinity takes NAME=CLASS.MEMBER, not \"GUI=a.B;.c\""},
    {"--thread-affinity GUI=a.B.c --thread-affinity GUI=a.B.d Main",
     "--thread-affinity takes each name once (FX is that of --fx-thread): GUI is given twice"},
    {"--fx-thread --thread-affinity FX=a.B.d Main",
     "--thread-affinity takes each name once (FX is that of --fx-thread): FX is given twice"},
    {"--fx-thread=1 Main", "--fx-thread takes no value"},
    {"--grace 1d Main",
     "--grace takes MS: milliseconds, or a number with ms, s, m or h, from 0 to 86400000 ms, not \"1d\""},
    {"--grace 99999999999999999999 Main",
     "--grace takes MS: milliseconds, or a number with ms, s, m or h, from 0 to 86400000 ms, not "
     "\"99999999999999999999\""},
    {"--message-max 9223372036854775807G Main",
     "--message-max takes BYTES, from 256 to 1073741824, not \"9223372036854775807G\""},
    {"--message-max 1T Main", "--message-max takes BYTES, from 256 to 1073741824, not \"1T\""},
    {"--message-max 2M --input-max-total 1M Main",
     "--input-max-total takes at least --message-max, which is 2097152 bytes"},
    {"--shm-ring 1G Main",
     "--shm-total takes at least the memory of one connection, a page and two rings of --shm-ring, which is "
     "2147487744 bytes"},
    {"--shm-total 0 Main",
     "--shm-total takes at least the memory of one connection, a page and two rings of --shm-ring, which is "
     "2101248 bytes"},
    {"--shm-ring 5000 Main", "--shm-ring takes 0 or a multiple of 4096 bytes (64K, 1M), not \"5000\""},
    {"--shm-ring 2G Main", "--shm-ring takes BYTES, from 0 to 1073741824, not \"2G\""},
    {"--depth-max -4 Main", "--depth-max takes N, from 4 to 256, not \"-4\""},
    {"--depth-max 257 Main", "--depth-max takes N, from 4 to 256, not \"257\""},
    {"--rpc-allow", "--rpc-allow takes A,B,..., and nothing follows it"},
    {"--rpc-allow a.** --rpc-allow b.** Main", "--rpc-allow is given twice"},
    {"--rpc-default-action allow Main", "--rpc-default-action takes ALLOW|DENY, not \"allow\""},
    {"--rpc-default-action LOG_AND_ALLOW Main",
     "--rpc-default-action takes ALLOW|DENY, not \"LOG_AND_ALLOW\""},
    {"--compat java Main", "--compat takes pal, not \"java\""},
    {"--log-level loud Main", "--log-level takes error|warn|info|debug, not \"loud\""},
    {"-d localhost:2379 Main", "-d: directory registration is not available in this version"},
    {"-d", "-d: directory registration is not available in this version"},
    {"--dir=localhost:2379 Main", "-d: directory registration is not available in this version"},
    {"--as-service=1", "--as-service takes no value"},
    {"--as-service Main", "--as-service runs no main class: \"Main\" is one too many"},
    {"--as-service -jar app.jar", "--as-service runs no main class: it cannot stand with -jar"},
    {"-jar", "-jar takes FILE, and nothing follows it"},
    {"-J", "-J takes OPTION, and nothing follows it"},
    {"--add-opens", "--add-opens takes MODULE/PACKAGE=MODULE,..., and nothing follows it"},
    {"-p mods -m", "-m takes MODULE[/CLASS], and nothing follows it"},
    {"-m /a.Main", "-m takes MODULE[/CLASS], not \"/a.Main\""},
    {"-m a/", "-m takes MODULE[/CLASS], not \"a/\""},
    {"--module= x", "--module takes MODULE[/CLASS], not \"\""},
    {"--as-service -m a", "--as-service runs no main class: it cannot stand with -m"},
    {"--source 21 Main.java", "--source: programs in source files are not run: compile them first"},
    {"-XshowSettings:vm Main",
     "-XshowSettings: a peer does not show the JVM's settings: java -XshowSettings does"},
    {"@/nonexistent/arguments Main",
     "the argument file /nonexistent/arguments cannot be opened: No such file or directory"},
    {"@/ Main", "the argument file / cannot be read: Is a directory"},
    {"@/dev/zero Main", "the argument file /dev/zero has more than 16777216 bytes"},
};

UNIT_TEST(test_usage_errors)
{
  for (size_t i = 0; i < COUNT_OF(usage_errors); i++) {
    struct command command;
    enum jp_status status = read_command(&command, usage_errors[i].line, NULL);
    if (status != JP_INVALID || strcmp(command.error.text, usage_errors[i].message) != 0)
      print_error("jpeer run %s\n  said: %s\n", usage_errors[i].line, command.error.text);
    assert_string_equal(command.error.text, usage_errors[i].message);
    assert_int_equal(status, JP_INVALID);
    run_options_fini(&command.options);
  }
}

static void read_good(struct command *command, const char *line, const char *const *environment)
{
  enum jp_status status = read_command(command, line, environment);
  if (status != JP_OK)
    print_error("jpeer run %s\n  said: %s\n", line, command->error.text);
  assert_int_equal(status, JP_OK);
}

UNIT_TEST(test_defaults)
{
  struct command command;
  read_good(&command, "com.example.Main", NULL);
  const struct run_options *options = &command.options;
  assert_string_equal(options->main_class, "com.example.Main");
  assert_string_equal(options->name, "com.example.Main");
  assert_int_equal(options->arg_count, 0);
  assert_int_equal(options->json.count + options->zmq.count, 0);
  assert_false(options->as_service || options->has_uuid);
  assert_int_equal(options->default_action, POLICY_UNSET);
  assert_null(options->allow);
  assert_int_equal(options->grace_ms, 5000);
  assert_int_equal(options->session_ttl_ms, 600000);
  assert_int_equal(options->callback_timeout_ms, 0);
  assert_int_equal(options->callbacks_max, 1000);
  assert_int_equal(options->callback_depth, 64);
  assert_int_equal(options->callback_classes_max, 10000);
  assert_int_equal(options->callback_threads_max, 256);
  assert_int_equal(options->message_max, 16 << 20);
  assert_int_equal(options->input_max_total, 256 << 20);
  assert_int_equal(options->shm_ring, 1 << 20);
  assert_int_equal(options->shm_total, 256 << 20);
  assert_int_equal(options->shm_spin_us, 50);
  assert_int_equal(options->depth_max, 128);
  assert_int_equal(options->batch_max, 1000);
  assert_int_equal(options->session_max_objects, 4000000);
  assert_int_equal(options->sessions_max, 100000);
  assert_int_equal(options->sessions_per_address, 10000);
  assert_int_equal(options->threads_max, 256);
  assert_int_equal(options->threads, 0);
  run_options_fini(&command.options);
}

UNIT_TEST(test_the_bound_on_input_follows_the_longest_message)
{
  struct command command;
  read_good(&command, "--message-max 1G Main", NULL);
  assert_int_equal(command.options.input_max_total, (int64_t)4 << 30);
  run_options_fini(&command.options);
  read_good(&command, "--message-max 1G --input-max-total 1G Main", NULL);
  assert_int_equal(command.options.input_max_total, 1 << 30);
  run_options_fini(&command.options);
}

UNIT_TEST(test_shared_memory_has_room_for_one_connection)
{
  struct command command;
  read_good(&command, "--shm-ring 1G --shm-total 2147487744 Main", NULL);
  run_options_fini(&command.options);
  read_good(&command, "--shm-ring 0 --shm-total 0 Main", NULL);
  run_options_fini(&command.options);
}

UNIT_TEST(test_options_end_at_the_main_class)
{
  struct command command;
  read_good(&command, "-cp a.jar:b Main --json-rpc auto -x", NULL);
  assert_string_equal(command.options.class_path, "a.jar:b");
  assert_int_equal(command.options.json.count, 0);
  assert_int_equal(command.options.arg_count, 3);
  assert_string_equal(command.options.args[0], "--json-rpc");
  run_options_fini(&command.options);

  read_good(&command, "-jar /x/app.jar --name y", NULL);
  assert_string_equal(command.options.jar, "/x/app.jar");
  assert_string_equal(command.options.name, "app.jar");
  assert_null(command.options.main_class);
  assert_int_equal(command.options.arg_count, 2);
  run_options_fini(&command.options);

  read_good(&command, "-- --Main a", NULL);
  assert_string_equal(command.options.main_class, "--Main");
  assert_int_equal(command.options.arg_count, 1);
  run_options_fini(&command.options);
}

UNIT_TEST(test_values)
{
  struct command command;
  read_good(&command,
            "--json-rpc auto --zmq-rpc=localhost:4712 --grace 2s --message-max 64K -J -Xmx1g -J-ea "
            "--compat pal --rpc-default-action ALLOW --rpc-allow a.**,b.C --log-level=debug --as-service",
            NULL);
  const struct run_options *options = &command.options;
  assert_int_equal(options->json.count, 1);
  assert_int_equal(options->zmq.count, 1);
  assert_true(options->as_service && options->compat_pal);
  assert_string_equal(options->json.items[0].host, "127.0.0.1");
  assert_int_equal(options->json.items[0].port, 0);
  assert_string_equal(options->zmq.items[0].host, "localhost");
  assert_int_equal(options->zmq.items[0].port, 4712);
  assert_int_equal(options->grace_ms, 2000);
  assert_int_equal(options->message_max, 65536);
  assert_int_equal(options->input_max_total, 256 << 20);
  assert_int_equal(options->jvm_options.count, 2);
  assert_string_equal(options->jvm_options.items[0], "-Xmx1g");
  assert_string_equal(options->jvm_options.items[1], "-ea");
  assert_int_equal(options->default_action, POLICY_ALLOW);
  assert_string_equal(options->allow, "a.**,b.C");
  assert_int_equal(options->log_level, LOG_LEVEL_DEBUG);
  assert_string_equal(options->name, "jpeer");
  run_options_fini(&command.options);

  read_good(&command, "--json-rpc [::1]:81 --zmq-rpc 0.0.0.0:auto --insecure-listen Main", NULL);
  assert_string_equal(options->json.items[0].host, "::1");
  assert_int_equal(options->json.items[0].port, 81);
  assert_string_equal(options->zmq.items[0].host, "0.0.0.0");
  run_options_fini(&command.options);
}

UNIT_TEST(test_addresses)
{
  static const char *const environment[] = {"JPEER_JSON_RPC", "auto", "JPEER_ZMQ_RPC", "ipc://z", NULL};
  struct command command;
  const struct run_options *options = &command.options;
  read_good(&command, "--json-rpc unix:/run/p.sock --json-rpc [::1]:81 --json-rpc=unix:rel Main",
            environment);
  assert_int_equal(options->json.count, 3);
  struct net_endpoints endpoints = endpoints_for_net(&options->json);
  assert_int_equal(endpoints.count, 3);
  assert_string_equal(endpoints.items[0].path, "/run/p.sock");
  assert_null(endpoints.items[1].path);
  assert_string_equal(endpoints.items[1].host, "::1");
  assert_int_equal(endpoints.items[1].port, 81);
  assert_string_equal(endpoints.items[2].path, "rel");
  assert_int_equal(options->zmq.count, 1);
  assert_string_equal(options->zmq.items[0].path, "z");
  run_options_fini(&command.options);

  static const char *const split[] = {"JPEER_JSON_RPC", " auto  unix:/run/a 4711", NULL};
  read_good(&command, "Main", split);
  assert_int_equal(options->json.count, 3);
  assert_string_equal(options->json.items[1].path, "/run/a");
  assert_int_equal(options->json.items[2].port, 4711);
  run_options_fini(&command.options);
}

static void assert_executor(const struct run_options *options, size_t i, const char *name,
                            const char *class_name, const char *member)
{
  assert_true(i < options->executor_count);
  assert_true(text_equal(options->executors[i].name, text_of(name)));
  assert_true(text_equal(options->executors[i].class_name, text_of(class_name)));
  assert_true(text_equal(options->executors[i].member, text_of(member)));
}

UNIT_TEST(test_executors)
{
  static const char *const environment[] = {"JPEER_THREAD_AFFINITY", "IO=a.Io.pool  GUI=b.Gui.later",
                                            "JPEER_FX_THREAD", "1", NULL};
  struct command command;
  read_good(&command, "Main", NULL);
  assert_int_equal(command.options.executor_count, 0);
  run_options_fini(&command.options);

  read_good(&command,
            "--thread-affinity a.b=Main.gui --fx-thread --thread-affinity=IO=a.b.Outer$Io._pool Main", NULL);
  assert_int_equal(command.options.executor_count, 3);
  assert_executor(&command.options, 0, "a.b", "Main", "gui");
  assert_executor(&command.options, 1, "IO", "a.b.Outer$Io", "_pool");
  assert_executor(&command.options, 2, "FX", "javafx.application.Platform", "runLater");
  run_options_fini(&command.options);

  read_good(&command, "Main", environment);
  assert_int_equal(command.options.executor_count, 3);
  assert_executor(&command.options, 1, "GUI", "b.Gui", "later");
  run_options_fini(&command.options);
}

UNIT_TEST(test_environment)
{
  static const char *const environment[] = {"JPEER_JSON_RPC",
                                            "auto",
                                            "JPEER_JVM_OPTIONS",
                                            "-Xmx1g  -ea",
                                            "JPEER_COMPAT",
                                            "pal",
                                            "JPEER_NAME",
                                            "from-variable",
                                            "JPEER_GRACE",
                                            "",
                                            "JPEER_AS_SERVICE",
                                            "yes",
                                            "JPEER_RPC_ALLOW",
                                            "com.example.**",
                                            NULL};
  struct command command;
  read_good(&command, "--name from-line", environment);
  const struct run_options *options = &command.options;
  assert_int_equal(options->json.count, 1);
  assert_true(options->compat_pal && options->as_service);
  assert_string_equal(options->name, "from-line");
  assert_string_equal(options->allow, "com.example.**");
  assert_int_equal(options->grace_ms, 5000);
  assert_int_equal(options->jvm_options.count, 2);
  assert_string_equal(options->jvm_options.items[1], "-ea");
  run_options_fini(&command.options);

  read_good(&command, "-J -Xss1m Main", environment);
  assert_false(options->as_service);
  assert_string_equal(options->main_class, "Main");
  assert_int_equal(options->jvm_options.count, 1);
  run_options_fini(&command.options);
}

UNIT_TEST(test_environment_errors)
{
  static const struct {
    const char *environment[5];
    const char *message;
  } cases[] = {
      {{"JPEER_JSON_RPC", "http"}, "JPEER_JSON_RPC takes [HOST:]PORT|auto|unix:PATH, not \"http\""},
      {{"JPEER_AS_SERVICE", "maybe"}, "JPEER_AS_SERVICE takes 1, true, yes, 0, false or no, not \"maybe\""},
      {{"JPEER_AS_SERVICE", "1", "JPEER_JAR", "a.jar"}, "JPEER_AS_SERVICE and JPEER_JAR cannot both be set"},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct command command;
    assert_int_equal(read_command(&command, "", cases[i].environment), JP_INVALID);
    assert_string_equal(command.error.text, cases[i].message);
    run_options_fini(&command.options);
  }
}

static void assert_items(const struct option_list *list, const char *const *items)
{
  size_t count = 0;
  for (; items[count] != NULL; count++) {
    assert_true(count < list->count);
    assert_string_equal(list->items[count], items[count]);
  }
  assert_int_equal(list->count, count);
}

/* What java passes to the JVM goes there, in its order, between and among the peer's own options. */
UNIT_TEST(test_options_of_java)
{
  static const struct {
    const char *line;
    const char *jvm_options[12];
  } cases[] = {
      {"-Xmx1g -J -Xss1m --json-rpc auto -Da.b=c -D -XX:+UseSerialGC Main",
       {"-Xmx1g", "-Xss1m", "-Da.b=c", "-D", "-XX:+UseSerialGC"}},
      {"-ea -da:a.b... -esa -dsa -enableassertions:x -disablesystemassertions Main",
       {"-ea", "-da:a.b...", "-esa", "-dsa", "-enableassertions:x", "-disablesystemassertions"}},
      {"--add-opens a/b=ALL-UNNAMED --add-opens=c/d=e --add-modules x,y --add-exports p/q=r --add-reads a=b "
       "Main",
       {"--add-opens=a/b=ALL-UNNAMED", "--add-opens=c/d=e", "--add-modules=x,y", "--add-exports=p/q=r",
        "--add-reads=a=b"}},
      {"--patch-module a=b.jar --limit-modules a --upgrade-module-path u --enable-native-access m Main",
       {"--patch-module=a=b.jar", "--limit-modules=a", "--upgrade-module-path=u",
        "--enable-native-access=m"}},
      {"-p mods --module-path=more --enable-preview --finalization=disabled Main",
       {"--module-path=mods", "--module-path=more", "--enable-preview", "--finalization=disabled"}},
      {"-javaagent:a.jar=x -agentlib:jdwp=server=y -agentpath:/x.so -verbose -verbose:gc Main",
       {"-javaagent:a.jar=x", "-agentlib:jdwp=server=y", "-agentpath:/x.so", "-verbose", "-verbose:gc"}},
      {"-verbosegc -noverify -Xdiag -server -client --disable-@files Main",
       {"-verbose:gc", "-Xverify:none", "-Dsun.java.launcher.diag=true"}},
      {"--illegal-native-access=deny --sun-misc-unsafe-memory-access=allow --illegal-access=deny Main",
       {"--illegal-native-access=deny", "--sun-misc-unsafe-memory-access=allow", "--illegal-access=deny"}},
      {"--show-module-resolution Main", {"-Djdk.module.showModuleResolution=true"}},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct command command;
    read_good(&command, cases[i].line, NULL);
    assert_items(&command.options.jvm_options, cases[i].jvm_options);
    assert_string_equal(command.options.main_class, "Main");
    run_options_fini(&command.options);
  }
}

UNIT_TEST(test_modules_and_class_paths)
{
  struct command command;
  const struct run_options *options = &command.options;
  read_good(&command, "-p mods -m a.b/c.Main --json-rpc x", NULL);
  assert_string_equal(options->main_module, "a.b/c.Main");
  assert_string_equal(options->module_path, "mods");
  assert_string_equal(options->name, "a.b/c.Main");
  assert_null(options->main_class);
  assert_null(options->class_path);
  assert_int_equal(options->arg_count, 2);
  assert_string_equal(options->args[0], "--json-rpc");
  run_options_fini(&command.options);

  static const char *const environment[] = {"CLASSPATH", "from-variable", "JPEER_JAR", "x.jar", NULL};
  read_good(&command, "--module=a", environment);
  assert_string_equal(options->main_module, "a");
  assert_string_equal(options->class_path, "from-variable");
  assert_null(options->jar);
  run_options_fini(&command.options);

  read_good(&command, "-cp a --class-path b -Djava.class.path=c -classpath d Main", environment);
  assert_string_equal(options->class_path, "d");
  assert_int_equal(options->jvm_options.count, 0);
  run_options_fini(&command.options);
}

UNIT_TEST(test_what_only_shows)
{
  struct command command;
  const struct run_options *options = &command.options;
  static const char *const names[] = {"-version",     "-fullversion",   "--full-version",    "-X",
                                      "--help-extra", "--list-modules", "--validate-modules"};
  for (size_t i = 0; i < COUNT_OF(names); i++) {
    read_good(&command, names[i], NULL);
    assert_string_equal(options->show, names[i]);
    assert_null(options->show_value);
    run_options_fini(&command.options);
  }
  read_good(&command, "--describe-module java.sql", NULL);
  assert_string_equal(options->show, "--describe-module");
  assert_string_equal(options->show_value, "java.sql");
  run_options_fini(&command.options);
  read_good(&command, "--dry-run -showversion -splash:a.png Main", NULL);
  assert_true(options->dry_run);
  assert_string_equal(options->show_first, "-version");
  assert_int_equal(options->passed_over.count, 1);
  run_options_fini(&command.options);
  read_good(&command, "-?", NULL);
  assert_true(options->help);
  run_options_fini(&command.options);
}

UNIT_TEST(test_the_variable_of_java)
{
  static const char *const environment[] = {"JDK_JAVA_OPTIONS", "-Da=1 '-Db=x y' -cp c -Dq=\"'\"",
                                            "JPEER_JVM_OPTIONS", "-Da=0 -Dz", NULL};
  struct command command;
  const struct run_options *options = &command.options;
  read_good(&command, "-Da=2 Main @x", environment);
  static const char *const wanted[] = {"-Da=0", "-Dz", "-Da=1", "-Db=x y", "-Dq='", "-Da=2", NULL};
  assert_items(&options->jvm_options, wanted);
  assert_string_equal(options->class_path, "c");
  assert_string_equal(options->args[0], "@x");
  run_options_fini(&command.options);

  static const struct {
    const char *variable;
    const char *message;
  } errors[] = {
      {"-Da='b", "JDK_JAVA_OPTIONS: a quote (') is open at its end"},
      {"-Da Main", "JDK_JAVA_OPTIONS cannot name a main class (\"Main\")"},
      {"-jar a.jar", "JDK_JAVA_OPTIONS cannot have -jar: java takes it on its command line alone"},
      {"-m a", "JDK_JAVA_OPTIONS cannot have -m: java takes it on its command line alone"},
      {"-version", "JDK_JAVA_OPTIONS cannot have -version: java takes it on its command line alone"},
      {"--json-rpc auto",
       "JDK_JAVA_OPTIONS cannot have --json-rpc: the peer's own options have variables of their own"},
      {"-Xmx1g --add-opens", "JDK_JAVA_OPTIONS ends before the value of --add-opens"},
      {"@/nonexistent/x", "the argument file /nonexistent/x cannot be opened: No such file or directory"},
  };
  for (size_t i = 0; i < COUNT_OF(errors); i++) {
    const char *const one[] = {"JDK_JAVA_OPTIONS", errors[i].variable, NULL};
    assert_int_equal(read_command(&command, "Main", one), JP_INVALID);
    assert_string_equal(command.error.text, errors[i].message);
    run_options_fini(&command.options);
  }
}

static void write_file(char *path, const char *content)
{
  strcpy(path, TEMPORARY_FILE);
  temporary_file_write(path, content, strlen(content));
}

UNIT_TEST(test_argument_files)
{
  char path[64];
  char line[512];
  struct command command;
  const struct run_options *options = &command.options;

  write_file(path, "# for the peer\n--name \"a b\" -Dx='y z'\n--add-opens\n\ta/b=c @not-a-file two\n");
  snprintf(line, sizeof line, "-Xmx1g @%s @%s --name x", path, path);
  read_good(&command, line, NULL);
  static const char *const wanted[] = {"-Xmx1g", "-Dx=y z", "--add-opens=a/b=c", NULL};
  assert_items(&options->jvm_options, wanted);
  assert_string_equal(options->name, "a b");
  assert_string_equal(options->main_class, "@not-a-file"); /* no file is looked for in a file */
  assert_int_equal(options->arg_count, 4); /* the main class stood in the file: the rest are its arguments */
  assert_string_equal(options->args[0], "two");
  assert_int_equal(options->args[1][0], '@');
  run_options_fini(&command.options);

  snprintf(line, sizeof line, "--disable-@files @%s", path);
  read_good(&command, line, NULL);
  assert_string_equal(options->main_class, command.words[1]);
  run_options_fini(&command.options);

  read_good(&command, "-cp @@x @@Main", NULL);
  assert_string_equal(options->class_path, "@x");
  assert_string_equal(options->main_class, "@Main");
  run_options_fini(&command.options);
  unlink(path);

  write_file(path, "app.jar");
  snprintf(line, sizeof line, "-jar @%s @%s", path, path);
  read_good(&command, line, NULL);
  assert_string_equal(options->jar, "app.jar");
  assert_int_equal(options->arg_count, 1);
  assert_int_equal(options->args[0][0], '@');
  run_options_fini(&command.options);
  unlink(path);
}

/* Every row can be explained: a twin in the environment, words for help, a reader. */
UNIT_TEST(test_table)
{
  for (size_t i = 0; i < run_option_count; i++) {
    const struct option *option = &run_option_rows[i];
    assert_non_null(option->names[0]);
    assert_non_null(option->help);
    assert_true((option->read != NULL) != (option->refused != NULL));
    if (option->variable != NULL)
      assert_int_equal(strncmp(option->variable, "JPEER_", 6), 0);
  }
}

UNIT_MAIN

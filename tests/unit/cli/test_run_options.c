/* cli/run_options.c over cli/options.c: what is taken, and what each usage error says. */
#include "cli/run_options.h"

#include "base/buffer.h"
#include "policy/policy.h"

#include "tests/unit/temporary_file.h"

#include <stdio.h>

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
    {"--json-rpc= Main", "--json-rpc takes [HOST:]PORT|auto|unix:PATH, not \"\""},
    {"--json-rpc 1 --json-rpc 2 --json-rpc 3 --json-rpc 4 --json-rpc 5 --json-rpc 6 --json-rpc 7 --json-rpc "
     "8 --json-rpc 9 Main",
     "--json-rpc takes 8 addresses at most, not \"9\""},
    {"--json-rpc unix:x --json-rpc 0.0.0.0:80 Main",
     "--json-rpc takes a loopback address unless --insecure-listen is given: anyone who reaches 0.0.0.0 "
     "could use the peer"},
    {"--json-rpc 0.0.0.0:80 Main", "--json-rpc takes a loopback address unless --insecure-listen is given: "
                                   "anyone who reaches 0.0.0.0 could use the peer"},
    {"--zmq-rpc [::]:auto Main", "--zmq-rpc takes a loopback address unless --insecure-listen is given: "
                                 "anyone who reaches :: could use the peer"},
    {"--json-rpc 127.0.0.1.example.org:80 Main",
     "--json-rpc takes a loopback address unless --insecure-listen is given: anyone who reaches "
     "127.0.0.1.example.org could use the peer"},
    {"-n", "-n takes NAME, and nothing follows it"},
    {"-n \x01 Main", "-n takes a name of 1 to 128 bytes of UTF-8 without control characters, not \"\x01\""},
    {"-n \xff Main", "-n takes a name of 1 to 128 bytes of UTF-8 without control characters, not \"\xff\""},
    {"--uuid 1234 Main", "-u takes UUID, not \"1234\""},
    {"--rpc-threads 300 Main", "--rpc-threads takes at most --rpc-threads-max, which is 256"},
    {"--thread-affinity GUI=a.B.c --thread-affinity GUI=a.B.d Main",
     "--thread-affinity takes each name once (FX is that of --fx-thread): GUI is given twice"},
    {"--fx-thread --thread-affinity FX=a.B.d Main",
     "--thread-affinity takes each name once (FX is that of --fx-thread): FX is given twice"},
    {"--fx-thread=1 Main", "--fx-thread takes no value"},
    {"--message-max 2M --input-max-total 1M Main",
     "--input-max-total takes at least --message-max, which is 2097152 bytes"},
    {"--shm-ring 1G Main", "--shm-total takes at least the memory of one connection, a page and two rings of "
                           "--shm-ring, which is 2147487744 bytes"},
    {"--shm-total 0 Main", "--shm-total takes at least the memory of one connection, a page and two rings of "
                           "--shm-ring, which is 2101248 bytes"},
    {"--rpc-allow", "--rpc-allow takes A,B,..., and nothing follows it"},
    {"--rpc-allow a.** --rpc-allow b.** Main", "--rpc-allow is given twice"},
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
    {"--json-rpc ::1:80 Main",
     "--json-rpc takes [HOST:]PORT or auto, with an IPv6 address in brackets, not \"::1:80\""},
    {"--allow-origin null Main",
     "--allow-origin takes origins one by one, since any web page can have null for one, not \"null\""},
    {"--allow-origin http://a.test/ Main",
     "--allow-origin takes origins (scheme://host[:port]) between commas (\"http://a.test/\" has no host "
     "alone behind its scheme), not \"http://a.test/\""},
    {"--json-rpc unix: Main", "--json-rpc takes the path of a file, not \"unix:\""},
    {"--json-rpc unix:@x Main", "--json-rpc takes a path, because an abstract name has no mode that keeps "
                                "other users out, not \"unix:@x\""},
    {"--zmq-rpc ipc://a/ Main", "--zmq-rpc takes the path of a file, not \"ipc://a/\""},
    {"--shm-ring 5000 Main", "--shm-ring takes 0 or a multiple of 4096 bytes (64K, 1M), not \"5000\""},
    {"--shm-ring 2G Main", "--shm-ring takes BYTES, from 0 to 1073741824, not \"2G\""},
    {"--compat java Main", "--compat takes pal, not \"java\""},
    {"--log-level loud Main", "--log-level takes error|warn|info|debug, not \"loud\""},
};

/* What an option takes, and values before a main class that it does not. */
static const struct {
  const char *option;
  const char *takes;
  const char *values;
} refused[] = {
    {"--json-rpc", "a port from 1 to 65535, or auto", "0 65536"},
    {"--json-rpc", "[HOST:]PORT|auto|unix:PATH", "00001234 -1 +80 80x :80 host/x:80 ipc:///tmp/x"},
    {"--allow-origin", "origins one by one, since * would let every web page call the peer",
     "* http://a.test,*"},
    {"--zmq-rpc", "[HOST:]PORT|auto|ipc://PATH", "never unix:x"},
    {"--rpc-threads", "N, from 1 to 10000", "0 1.5"},
    {"--thread-affinity", "NAME=CLASS.MEMBER",
     "GUI GUI= =a.B.c GUI=c GUI=.c GUI=a. GUI=a..b GUI=a/B.c GUI=a.B.c() GUI=a.B=c a.b=c GUI=a.B;.c"},
    {"--grace", "MS: milliseconds, or a number with ms, s, m or h, from 0 to 86400000 ms",
     "1d 99999999999999999999"},
    {"--message-max", "BYTES, from 256 to 1073741824", "9223372036854775807G 1T"},
    {"--depth-max", "N, from 4 to 256", "-4 257"},
    {"--rpc-default-action", "ALLOW|DENY", "allow LOG_AND_ALLOW"},
};

static void check_error(const char *line, const char *message)
{
  struct command command;
  enum jp_status status = read_command(&command, line, NULL);
  unit_assert_text(text_of(command.error.text), text_of(message), line, __LINE__);
  assert_int_equal(status, JP_INVALID);
  run_options_fini(&command.options);
}

UNIT_TEST(test_usage_errors)
{
  for (size_t i = 0; i < COUNT_OF(usage_errors); i++)
    check_error(usage_errors[i].line, usage_errors[i].message);
  for (size_t i = 0; i < COUNT_OF(refused); i++) {
    char value[UNIT_WORD_MAX];
    for (const char *at = refused[i].values; unit_next_word(&at, value);) {
      char line[512];
      char message[1024];
      snprintf(line, sizeof line, "%s %s Main", refused[i].option, value);
      snprintf(message, sizeof message, "%s takes %s, not \"%s\"", refused[i].option, refused[i].takes,
               value);
      check_error(line, message);
    }
  }
}

/* ---- what is taken, shown ---- */

/* Numbers of eight bytes, and their defaults. */
static const struct {
  const char *name;
  size_t offset;
  int64_t standard;
} numbers[] = {
#define NUMBER(member, standard)                                                                             \
  {                                                                                                          \
#member, offsetof(struct run_options, member), standard                                                  \
  }
    NUMBER(grace_ms, 5000),
    NUMBER(session_ttl_ms, 600000),
    NUMBER(callback_timeout_ms, 0),
    NUMBER(callbacks_max, 1000),
    NUMBER(callback_depth, 64),
    NUMBER(callback_classes_max, 10000),
    NUMBER(callback_threads_max, 256),
    NUMBER(message_max, 16 << 20),
    NUMBER(input_max_total, 256 << 20),
    NUMBER(shm_ring, 1 << 20),
    NUMBER(shm_total, 256 << 20),
    NUMBER(shm_spin_us, 50),
    NUMBER(depth_max, 128),
    NUMBER(batch_max, 1000),
    NUMBER(session_max_objects, 4000000),
    NUMBER(sessions_max, 100000),
    NUMBER(sessions_per_address, 10000),
    NUMBER(threads_max, 256),
    NUMBER(threads, 0),
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

/* As they are given to the transport. */
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

/* All that is not as it is without options; for help nothing else counts. */
static void show(const struct run_options *o, struct buffer *out)
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
  show_flag(out, "passed over", o->passed_over.count == 1);
}

/* Without an environment. */
#define TAKES(a_line, an_outcome)                                                                            \
  {                                                                                                          \
    .line = a_line, .shown = an_outcome                                                                      \
  }

static const struct {
  const char *line;
  const char *shown;
  const char *environment[20];
} good[] = {
    TAKES("com.example.Main", " class=com.example.Main"),
    /* bounds that follow others */
    TAKES("--message-max 1G Main", " class=Main message_max=1073741824 input_max_total=4294967296"),
    TAKES("--message-max 1G --input-max-total 1G Main",
          " class=Main message_max=1073741824 input_max_total=1073741824"),
    TAKES("--shm-ring 1G --shm-total 2147487744 Main",
          " class=Main shm_ring=1073741824 shm_total=2147487744"),
    TAKES("--shm-ring 0 --shm-total 0 Main", " class=Main shm_ring=0 shm_total=0"),
    /* options end at the main class */
    TAKES("-cp a.jar:b Main --json-rpc auto -x", " class=Main args=--json-rpc|auto|-x class_path=a.jar:b"),
    TAKES("-jar /x/app.jar --name y", " jar=/x/app.jar args=--name|y name=app.jar"),
    TAKES("-- --Main a", " class=--Main args=a"),
    /* values */
    TAKES("--json-rpc auto --zmq-rpc=localhost:4712 --grace 2s --message-max 64K -J -Xmx1g -J-ea --compat "
          "pal --rpc-default-action ALLOW --rpc-allow a.**,b.C --log-level=debug --as-service",
          " name=jpeer jvm=-Xmx1g|-ea json=127.0.0.1:0 zmq=localhost:4712 grace_ms=2000 message_max=65536 "
          "allow=a.**,b.C ALLOW debug service compat"),
    TAKES("--json-rpc [::1]:81 --zmq-rpc 0.0.0.0:auto --insecure-listen Main",
          " class=Main json=::1:81 zmq=0.0.0.0:0"),
    {"--json-rpc unix:/run/p.sock --json-rpc [::1]:81 --json-rpc=unix:rel Main",
     " class=Main json=/run/p.sock|::1:81|rel zmq=z",
     {"JPEER_JSON_RPC", "auto", "JPEER_ZMQ_RPC", "ipc://z"}},
    {"Main",
     " class=Main json=127.0.0.1:0|/run/a|127.0.0.1:4711",
     {"JPEER_JSON_RPC", " auto  unix:/run/a 4711"}},
    TAKES("--thread-affinity a.b=Main.gui --fx-thread --thread-affinity=IO=a.b.Outer$Io._pool Main",
          " class=Main a.b=Main.gui IO=a.b.Outer$Io._pool FX=javafx.application.Platform.runLater"),
    {"Main",
     " class=Main IO=a.Io.pool GUI=b.Gui.later FX=javafx.application.Platform.runLater",
     {"JPEER_THREAD_AFFINITY", "IO=a.Io.pool  GUI=b.Gui.later", "JPEER_FX_THREAD", "1"}},
    /* the environment: an option of the command line wins over its variable */
    {"--name from-line",
     " name=from-line jvm=-Xmx1g|-ea json=127.0.0.1:0 allow=com.example.** service compat",
     {"JPEER_JSON_RPC", "auto", "JPEER_JVM_OPTIONS", "-Xmx1g  -ea", "JPEER_COMPAT", "pal", "JPEER_NAME",
      "from-variable", "JPEER_GRACE", "", "JPEER_AS_SERVICE", "yes", "JPEER_RPC_ALLOW", "com.example.**"}},
    {"-J -Xss1m Main",
     " class=Main jvm=-Xss1m",
     {"JPEER_JVM_OPTIONS", "-Xmx1g  -ea", "JPEER_AS_SERVICE", "yes"}},
    /* what java passes to the JVM goes there, in its order, between and among the peer's own options */
    TAKES("-Xmx1g -J -Xss1m --json-rpc auto -Da.b=c -D -XX:+UseSerialGC Main",
          " class=Main jvm=-Xmx1g|-Xss1m|-Da.b=c|-D|-XX:+UseSerialGC json=127.0.0.1:0"),
    TAKES("-ea -da:a.b... -esa -dsa -enableassertions:x -disablesystemassertions Main",
          " class=Main jvm=-ea|-da:a.b...|-esa|-dsa|-enableassertions:x|-disablesystemassertions"),
    TAKES("--add-opens a/b=ALL-UNNAMED --add-opens=c/d=e --add-modules x,y --add-exports p/q=r --add-reads "
          "a=b Main",
          " class=Main "
          "jvm=--add-opens=a/b=ALL-UNNAMED|--add-opens=c/d=e|--add-modules=x,y|--add-exports=p/"
          "q=r|--add-reads=a=b"),
    TAKES("--patch-module a=b.jar --limit-modules a --upgrade-module-path u --enable-native-access m Main",
          " class=Main "
          "jvm=--patch-module=a=b.jar|--limit-modules=a|--upgrade-module-path=u|--enable-native-access=m"),
    TAKES("-p mods --module-path=more --enable-preview --finalization=disabled Main",
          " class=Main module_path=more "
          "jvm=--module-path=mods|--module-path=more|--enable-preview|--finalization=disabled"),
    TAKES("-javaagent:a.jar=x -agentlib:jdwp=server=y -agentpath:/x.so -verbose -verbose:gc Main",
          " class=Main jvm=-javaagent:a.jar=x|-agentlib:jdwp=server=y|-agentpath:/x.so|-verbose|-verbose:gc"),
    TAKES("-verbosegc -noverify -Xdiag -server -client --disable-@files Main",
          " class=Main jvm=-verbose:gc|-Xverify:none|-Dsun.java.launcher.diag=true"),
    TAKES("--illegal-native-access=deny --sun-misc-unsafe-memory-access=allow --illegal-access=deny Main",
          " class=Main "
          "jvm=--illegal-native-access=deny|--sun-misc-unsafe-memory-access=allow|--illegal-access=deny"),
    TAKES("--show-module-resolution Main", " class=Main jvm=-Djdk.module.showModuleResolution=true"),
    {"-Da=2 Main @x",
     " class=Main args=@x class_path=c jvm=-Da=0|-Dz|-Da=1|-Db=x y|-Dq='|-Da=2",
     {"JDK_JAVA_OPTIONS", "-Da=1 '-Db=x y' -cp c -Dq=\"'\"", "JPEER_JVM_OPTIONS", "-Da=0 -Dz"}},
    TAKES("-cp @@x @@Main", " class=@Main class_path=@x"),
    /* modules and class paths */
    TAKES("-p mods -m a.b/c.Main --json-rpc x",
          " module=a.b/c.Main args=--json-rpc|x name=a.b/c.Main module_path=mods jvm=--module-path=mods"),
    {"--module=a",
     " module=a name=a class_path=from-variable",
     {"CLASSPATH", "from-variable", "JPEER_JAR", "x.jar"}},
    {"-cp a --class-path b -Djava.class.path=c -classpath d Main",
     " class=Main class_path=d",
     {"CLASSPATH", "from-variable", "JPEER_JAR", "x.jar"}},
    /* what only shows */
    TAKES("-version", " name=jpeer show=-version"),
    TAKES("-fullversion", " name=jpeer show=-fullversion"),
    TAKES("--full-version", " name=jpeer show=--full-version"),
    TAKES("-X", " name=jpeer show=-X"),
    TAKES("--help-extra", " name=jpeer show=--help-extra"),
    TAKES("--list-modules", " name=jpeer show=--list-modules"),
    TAKES("--validate-modules", " name=jpeer show=--validate-modules"),
    TAKES("--describe-module java.sql", " name=jpeer show=--describe-module of=java.sql"),
    TAKES("--dry-run -showversion -splash:a.png Main", " class=Main dry first=-version passed over"),
    TAKES("-?", " help"),
};

UNIT_TEST(test_what_is_taken)
{
  for (size_t i = 0; i < COUNT_OF(good); i++) {
    struct command command;
    struct buffer out;
    buffer_init(&out);
    if (read_command(&command, good[i].line, good[i].environment) != JP_OK)
      fail_msg("jpeer run %s\n  said: %s", good[i].line, command.error.text);
    show(&command.options, &out);
    unit_assert_text(buffer_text(&out), text_of(good[i].shown), good[i].line, __LINE__);
    buffer_fini(&out);
    run_options_fini(&command.options);
  }
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
      {{"JDK_JAVA_OPTIONS", "-Da='b"}, "JDK_JAVA_OPTIONS: a quote (') is open at its end"},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct command command;
    assert_int_equal(read_command(&command, "", cases[i].environment), JP_INVALID);
    assert_string_equal(command.error.text, cases[i].message);
    run_options_fini(&command.options);
  }
}

/* tests/unit/cli/test_java_arguments.c has the forms of such files. */
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
  /* The main class is in the file, and no file is looked for in a file: the rest are its arguments. */
  snprintf(line, sizeof line, "-Xmx1g @%s @%s --name x", path, path);
  snprintf(wanted, sizeof wanted,
           " class=@not-a-file args=two|@%s|--name|x name=a b jvm=-Xmx1g|-Dx=y z|--add-opens=a/b=c", path);
  assert_int_equal(read_command(&command, line, NULL), JP_OK);
  show(&command.options, &out);
  unit_assert_text(buffer_text(&out), text_of(wanted), __FILE__, __LINE__);
  run_options_fini(&command.options);
  buffer_fini(&out);
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

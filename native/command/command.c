#include "command/command.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* ---- the table of commands, and their options ---- */

enum command_bit {
  CALL = 1 << 0,
  LIST = 1 << 1,
  DESCRIBE = 1 << 2,
  PING = 1 << 3,
  STATS = 1 << 4,
  GC = 1 << 5,
  ALL = (1 << 6) - 1
};

static const struct command_row {
  const char *name;
  enum command_bit bit;
  const char *arguments;
  const char *summary;
  const char *help; /* after the options; NULL: none */
  size_t words_min;
  size_t words_max;
  int (*run)(struct command *command);
} commands[] = {
    {"call", CALL, "EXPRESSION | NAME [WORD ...]", "evaluates an expression of Java on a peer",
     "\nAn EXPRESSION is one argument, in quotes: jpeer call 'Math.max(3, 5) + 1'.\n"
     "With WORDs, NAME is a static method or CLASS.new: jpeer call java.lang.Math.max 3 5. A WORD that is "
     "JSON\n"
     "is JSON, else text; int:5, java.lang.Long:7, ref:3, null:String, int[]:1,2,3 and text:@a have types;\n"
     "@FILE is the text of a file, - that of stdin.\n"
     "\nExit status: 0; 1 Java threw, or another error; 2 usage; 3 denied by the policy; 4 no peer or no\n"
     "connection; 5 timed out; 130 Ctrl-C.\n",
     1, COMMAND_WORDS_MAX, command_call},
    {"ls", LIST, "[PREFIX]", "lists packages, then classes, that this client may use", NULL, 0, 1,
     command_list},
    {"describe", DESCRIBE, "CLASS | EXPRESSION", "prints the members of a class or an object, as javap does",
     NULL, 1, 1, command_describe},
    {"ping", PING, "", "asks a peer for a sign of life", NULL, 0, 0, command_ping},
    {"stats", STATS, "", "prints what this client has and has called, as JSON", NULL, 0, 0, command_stats},
    {"gc", GC, "", "runs Java's garbage collector", NULL, 0, 0, command_gc},
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

#define AT(member) .offset = offsetof(struct command_options, member)

static const struct {
  unsigned commands;
  struct option option;
} rows[] = {
    {ALL,
     {.group = "The peer",
      .names = {"-u", "--url"},
      .variable = "JPEER_URL",
      .takes = "URL",
      .help = "its address: ws://HOST:PORT, ws+unix:PATH, shm:PATH, http://HOST:PORT, tcp://HOST:PORT",
      .read = option_read_text,
      AT(url)}},
    {ALL,
     {.names = {"-cp", "--class-path", "-classpath"},
      .takes = "PATH",
      .help = "launches a peer with this class path, for the time of the command",
      .read = option_read_text,
      AT(class_path)}},
    {ALL,
     {.names = {"-jar"},
      .takes = "FILE",
      .help = "launches a peer with the classes of this jar, whose main class does not run",
      .read = option_read_text,
      AT(jar)}},
    {ALL,
     {.names = {"--run"},
      .takes = "OPTIONS",
      .help = "options of jpeer run for the launched peer, split at blanks; may be repeated",
      .read = option_read_list,
      AT(run),
      .repeats = true}},
    {ALL,
     {.names = {"--timeout"},
      .takes = "MS",
      .help = "how long to wait for each answer (2s, 500ms); without it, for ever",
      .read = option_read_duration,
      AT(timeout_ms),
      .min = 1,
      .max = INT_MAX}},
    {CALL | LIST | DESCRIBE | STATS,
     {.group = "Output", .names = {"--json"}, .help = "prints JSON", .read = option_read_switch, AT(json)}},
    {CALL,
     {.names = {"--raw"},
      .help = "prints the text alone, without a line end",
      .read = option_read_switch,
      AT(raw)}},
    {CALL | LIST,
     {.names = {"-n"},
      .takes = "COUNT",
      .standard = "10; ls 1000",
      .help = "how many elements of an object, or names, are shown at most",
      .read = option_read_count,
      AT(elements),
      .min = 1,
      .max = 65536}},
    {DESCRIBE,
     {.names = {"--inherited"},
      .help = "also the members of superclasses and interfaces",
      .read = option_read_switch,
      AT(inherited)}},
    {CALL | LIST | DESCRIBE,
     {.names = {"-v", "--verbose"},
      .help = "exceptions have all frames",
      .read = option_read_switch,
      AT(verbose)}},
    {ALL,
     {.names = {"--time"},
      .help = "prints time, round trips and the objects that variables hold to stderr",
      .read = option_read_switch,
      AT(time)}},
    {ALL, {.names = {"--help", "-h"}, .help = "shows this", .read = option_read_switch, AT(help)}},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static size_t select_rows(unsigned bit, struct option *selected)
{
  size_t count = 0;
  for (size_t i = 0; i < ROWS; i++) {
    if ((rows[i].commands & bit) != 0)
      selected[count++] = rows[i].option;
  }
  return count;
}

const char *command_name(size_t index)
{
  return index < COMMANDS ? commands[index].name : NULL;
}

const char *command_summary(size_t index)
{
  return commands[index].summary;
}

/* ---- Ctrl-C ---- */

static volatile sig_atomic_t interrupts;

/* The first one ends the wait, and with it the call in Java; the second one ends the program. */
static void count_interrupt(int number)
{
  (void)number;
  if (++interrupts > 1)
    _exit(COMMAND_INTERRUPTED);
}

static bool is_interrupted(void *context)
{
  (void)context;
  return interrupts > 0;
}

static void handle_interrupts(void)
{
  struct sigaction action = {.sa_handler = count_interrupt};
  sigemptyset(&action.sa_mask);
  (void)sigaction(SIGINT, &action, NULL);
}

/* ---- errors ---- */

int command_fail_usage(const struct command *command, const char *format, ...)
{
  char message[1200];
  va_list args;
  va_start(args, format);
  text_format_va(message, sizeof message, format, args);
  va_end(args);
  fprintf(stderr, "jpeer %s: %s (jpeer %s --help)\n", command->name, message, command->name);
  return COMMAND_USAGE;
}

static const int exit_of_failure[] = {
    [FAILURE_NONE] = COMMAND_FAILED,
    [FAILURE_PROGRAM] = COMMAND_FAILED,
    [FAILURE_THROWN] = COMMAND_FAILED,
    [FAILURE_DENIED] = COMMAND_DENIED,
    [FAILURE_CONNECTION] = COMMAND_UNREACHED,
    [FAILURE_TIMEOUT] = COMMAND_TIMED_OUT,
    [FAILURE_INTERRUPTED] = COMMAND_INTERRUPTED,
    [FAILURE_MEMORY] = COMMAND_FAILED,
};

int command_report(const struct command *command, const struct failure *failure, struct text source)
{
  struct buffer out;
  buffer_init(&out);
  if (failure->kind == FAILURE_PROGRAM && failure->has_place && source.data != NULL)
    language_write_fault(&out, NULL, source, failure->at, failure->error.text);
  else
    buffer_append_text(&out, buffer_text(&failure->report));
  if (failure->kind == FAILURE_INTERRUPTED)
    fputc('\n', stderr); /* after the terminal's ^C */
  if (failure->kind == FAILURE_PROGRAM || failure->kind == FAILURE_CONNECTION ||
      failure->kind == FAILURE_TIMEOUT || failure->kind == FAILURE_DENIED ||
      failure->kind == FAILURE_INTERRUPTED)
    fprintf(stderr, "jpeer %s: ", command->name);
  fwrite(out.data, 1, out.len, stderr);
  buffer_fini(&out);
  return exit_of_failure[failure->kind];
}

/* ---- the peer ---- */

static int fail_connection(const struct command *command, enum jp_client_status status,
                           const struct jp_client_error *error)
{
  struct failure failure;
  failure_init(&failure);
  failure_set(&failure, status, error, NULL, false);
  int code = command_report(command, &failure, TEXT_ABSENT);
  failure_fini(&failure);
  return status == JP_CLIENT_INVALID ? COMMAND_USAGE : code == COMMAND_INTERRUPTED ? code : COMMAND_UNREACHED;
}

/* Splits the values of --run at blanks; the words are in *copies, which the caller frees. NULL: no memory. */
static const char **split_run_options(const struct option_list *run, char **copies)
{
  size_t length = 1;
  for (size_t i = 0; i < run->count; i++)
    length += strlen(run->items[i]) + 1;
  const char **words = calloc(length + 1, sizeof *words);
  char *copy = calloc(length, 1);
  *copies = copy;
  if (words == NULL || copy == NULL) {
    free(words);
    return NULL;
  }
  size_t count = 0;
  for (size_t i = 0; i < run->count; i++) {
    char *rest;
    char *word = strtok_r(strcpy(copy, run->items[i]), " \t\n", &rest);
    for (; word != NULL; word = strtok_r(NULL, " \t\n", &rest))
      words[count++] = word;
    copy += strlen(run->items[i]) + 1;
  }
  return words;
}

/* What Java prints appears where the command runs, without the line that says that the peer is ready. */
static void pass_output(void *context, int descriptor, struct jp_text bytes)
{
  struct text rest = {bytes.data, bytes.len};
  bool *is_ready = context;
  while (rest.len > 0) {
    const char *feed = memchr(rest.data, '\n', rest.len);
    size_t length = feed == NULL ? rest.len : (size_t)(feed - rest.data) + 1;
    if (descriptor == STDERR_FILENO && !*is_ready && text_starts_with(rest, TEXT("jpeer ready: ")))
      *is_ready = true;
    else if (write(descriptor, rest.data, length) < 0)
      return; /* nobody reads it any more */
    rest = text_slice(rest, length, rest.len);
  }
}

static int launch_peer(struct command *command, const struct jp_client_config *client)
{
  const struct command_options *options = &command->options;
  char program[PATH_MAX];
  char *copies = NULL;
  ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  const char **words = split_run_options(&options->run, &copies);
  struct jp_client_error error = {0};
  enum jp_client_status status = JP_CLIENT_NO_MEMORY;
  if (words != NULL) {
    program[length < 0 ? 0 : length] = '\0';
    const struct jp_launch_config config = {.size = sizeof config,
                                            .program = length < 0 ? NULL : program,
                                            .class_path =
                                                options->jar != NULL ? options->jar : options->class_path,
                                            .options = words,
                                            .on_output = pass_output,
                                            .output_context = &command->is_ready,
                                            .client = client};
    status = jp_launch(&config, &command->peer, &error);
  }
  free(words);
  free(copies);
  if (status != JP_CLIENT_OK)
    return fail_connection(command, status, &error);
  command->client = jp_peer_client(command->peer);
  return COMMAND_GOOD;
}

static int find_peer(struct command *command)
{
  const struct command_options *options = &command->options;
  const struct jp_client_config config = {.size = sizeof config, .interrupted = is_interrupted};
  struct jp_client_error error = {0};
  bool is_launched = options->class_path != NULL || options->jar != NULL;
  if (options->class_path != NULL && options->jar != NULL)
    return command_fail_usage(command, "-cp and -jar exclude each other");
  if (!is_launched && options->run.count > 0)
    return command_fail_usage(command, "--run is for a peer that -cp or -jar launches");
  if (is_launched)
    return launch_peer(command, &config);
  if (options->url == NULL) {
    fprintf(stderr, "jpeer %s: which peer? Name it with -u URL or JPEER_URL, or launch one with -cp PATH\n",
            command->name);
    return COMMAND_UNREACHED;
  }
  enum jp_client_status status = jp_client_open(options->url, &config, &command->client, &error);
  return status == JP_CLIENT_OK ? COMMAND_GOOD : fail_connection(command, status, &error);
}

static void leave_peer(struct command *command)
{
  evaluator_destroy(command->evaluator);
  if (command->peer != NULL)
    (void)jp_peer_stop(command->peer, 5000);
  else
    jp_client_close(command->client);
}

/* ---- running ---- */

static void print_help(const struct command_row *row, const struct option *options, size_t count)
{
  printf("usage: jpeer %s [options] %s\n\n%s\n", row->name, row->arguments, row->summary);
  options_print_help(stdout, options, count);
  if (row->help != NULL)
    fputs(row->help, stdout);
}

static int run_with_peer(const struct command_row *row, struct command *command)
{
  int code = row->bit == CALL ? command_check_call(command) : COMMAND_GOOD;
  if (code == COMMAND_GOOD)
    code = find_peer(command);
  if (code != COMMAND_GOOD)
    return code;
  const struct evaluator_config config = {
      .client = command->client,
      .timeout_ms = command->options.timeout_ms == 0 ? JP_FOREVER : (int)command->options.timeout_ms,
      .verbose = command->options.verbose,
      .interrupted = is_interrupted};
  struct timespec begin;
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  command->evaluator = evaluator_create(&config);
  if (command->evaluator == NULL) {
    fprintf(stderr, "jpeer %s: out of memory\n", row->name);
    code = COMMAND_FAILED;
  } else {
    code = row->run(command);
    if (command->peer != NULL)
      jp_peer_await_output(command->peer);
    clock_gettime(CLOCK_MONOTONIC, &end);
    if (command->options.time)
      fprintf(stderr, "%.1f ms, %zu round trip%s, %zu object%s held\n",
              (double)(end.tv_sec - begin.tv_sec) * 1e3 + (double)(end.tv_nsec - begin.tv_nsec) / 1e6,
              evaluator_round_trips(command->evaluator),
              evaluator_round_trips(command->evaluator) == 1 ? "" : "s", jp_client_ref_count(command->client),
              jp_client_ref_count(command->client) == 1 ? "" : "s");
  }
  if (fflush(stdout) != 0 && code == COMMAND_GOOD) {
    fprintf(stderr, "jpeer %s: cannot write the output: %s\n", row->name, strerror(errno));
    code = COMMAND_FAILED;
  }
  leave_peer(command);
  return code;
}

static const char *read_variable(const char *name)
{
  return getenv(name);
}

static int run_row(const struct command_row *row, char *const *args, size_t arg_count)
{
  struct option options[ROWS];
  struct command command = {.name = row->name};
  struct jp_error error = {0};
  struct option_result result;
  const struct option_input input = {.options = options,
                                     .option_count = select_rows(row->bit, options),
                                     .args = args,
                                     .arg_count = arg_count,
                                     .variable = read_variable};
  int code;
  command.is_terminal = isatty(STDOUT_FILENO) == 1;
  const char *no_colour = getenv("NO_COLOR");
  command.has_colour = command.is_terminal && (no_colour == NULL || *no_colour == '\0');
  if (options_parse(&input, &command.options, &result, &error) != JP_OK) {
    code = command_fail_usage(&command, "%s", error.text);
  } else if (command.options.help) {
    print_help(row, options, input.option_count);
    code = COMMAND_GOOD;
  } else {
    command.words = args + result.used;
    command.word_count = arg_count - result.used;
    if (command.word_count < row->words_min)
      code = command_fail_usage(&command, "needs %s", row->arguments);
    else if (command.word_count > row->words_max)
      code = command_fail_usage(&command, "\"%.*s\" is one argument too many",
                                OPTION_SHOWN(command.words[row->words_max]));
    else {
      handle_interrupts();
      code = run_with_peer(row, &command);
    }
  }
  option_list_fini(&command.options.run);
  return code;
}

bool command_run(const char *name, char *const *args, size_t arg_count, int *exit_status)
{
  for (size_t i = 0; i < COMMANDS; i++) {
    if (strcmp(commands[i].name, name) == 0) {
      *exit_status = run_row(&commands[i], args, arg_count);
      return true;
    }
  }
  return false;
}

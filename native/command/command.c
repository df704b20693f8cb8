#include "command/command.h"

#include "base/clock.h"
#include "client/client_directory.h"
#include "client/client_sessions.h"
#include "client/transports/client_url.h"
#include "command/peers.h"
#include "command/session_file.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
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
  EACH = 1 << 6,
  RPC = 1 << 7,
  CALLS = 1 << 8,
  CANCEL = 1 << 9,
  PS = 1 << 10,
  SHELL = 1 << 11,
  SESSIONS = 1 << 12,
  END = 1 << 13,
  PEERS = 1 << 14,
  ALL = (1 << 15) - 1,
  WITH_PEER = ALL & ~(PS | SESSIONS | END | PEERS),
  EVALUATING = CALL | EACH | DESCRIBE
};

/* What a command needs before it runs. */
enum command_needs { NEEDS_CLIENT, NEEDS_ADDRESS, NEEDS_NOTHING };

static const struct command_row {
  const char *name;
  enum command_bit bit;
  enum command_needs needs;
  const char *arguments;
  const char *summary;
  const char *help; /* after the options; NULL: none */
  size_t words_min;
  size_t words_max;
  int (*run)(struct command *command);
} commands[] = {
    {"call", CALL, NEEDS_CLIENT, "EXPRESSION | NAME [WORD ...]", "evaluates an expression of Java on a peer",
     "\nAn EXPRESSION is one argument, in quotes: jpeer call 'Math.max(3, 5) + 1'.\n"
     "With WORDs, NAME is a static method or CLASS.new: jpeer call java.lang.Math.max 3 5. A WORD that is "
     "JSON\n"
     "is JSON, else text; int:5, java.lang.Long:7, ref:3, null:String, int[]:1,2,3 and text:@a have types;\n"
     "@FILE is the text of a file, - that of stdin.\n"
     "\nExit status: 0; 1 Java threw, or another error; 2 usage; 3 denied by the policy; 4 no peer or no\n"
     "connection; 5 timed out; 130 Ctrl-C.\n",
     1, COMMAND_WORDS_MAX, command_call},
    {"each", EACH, NEEDS_CLIENT, "EXPRESSION",
     "prints the elements of a collection, an iterator or a stream as they come, a line each",
     "\nThe end of the pipe (| head) and Ctrl-C end the iteration in Java, and close a Stream.\n", 1, 1,
     command_each},
    {"shell", SHELL, NEEDS_CLIENT, "[URL] [ARGUMENT ...]",
     "reads statements of Java from the terminal, a file or stdin",
     "\nWithout -f and -e, and if stdin is no terminal, stdin is the script. A script stops at its first "
     "error. Its\n"
     "ARGUMENTs are the List args. In the terminal \\? lists the commands of the shell.\n",
     0, COMMAND_WORDS_MAX, command_shell},
    {"sessions", SESSIONS, NEEDS_NOTHING, "", "lists the sessions that -s keeps between commands", NULL, 0, 0,
     command_sessions},
    {"end", END, NEEDS_NOTHING, "NAME", "ends a session: its objects are released", NULL, 1, 1, command_end},
    {"ls", LIST, NEEDS_CLIENT, "[PREFIX | PATTERN]", "lists packages, then classes, that this client may use",
     NULL, 0, 1, command_list},
    {"describe", DESCRIBE, NEEDS_CLIENT, "CLASS | EXPRESSION",
     "prints the members of a class or an object, as javap does", NULL, 1, 1, command_describe},
    {"ping", PING, NEEDS_CLIENT, "", "asks a peer for a sign of life", NULL, 0, 0, command_ping},
    {"stats", STATS, NEEDS_CLIENT, "", "prints what this client has and has called, as JSON", NULL, 0, 0,
     command_stats},
    {"gc", GC, NEEDS_CLIENT, "", "runs Java's garbage collector", NULL, 0, 0, command_gc},
    {"rpc", RPC, NEEDS_ADDRESS, "",
     "sends the JSON-RPC messages of stdin, one a line, and prints the answers in order",
     "\nMessages are sent as they are, without a wait for the answers before. Exit status 1: an answer is an "
     "error.\n",
     0, 0, command_rpc},
    {"ps", PS, NEEDS_NOTHING, "",
     "lists the running peers of this user: name, process, start, UUID, addresses", NULL, 0, 0, command_ps},
    {"peers", PEERS, NEEDS_NOTHING, "", "lists the peers of a directory (etcd): name, UUID, start, addresses",
     "\nA peer of the list is reached by -u dir://HOST:PORT/NAME or /UUID, one of a service by\n"
     "-u dir://HOST:PORT/service/NAME. Exit status 4: the directory does not answer.\n",
     0, 0, command_peers},
    {"calls", CALLS, NEEDS_CLIENT, "", "lists the calls of Java members that run in a peer, of all clients",
     NULL, 0, 0, command_calls},
    {"cancel", CANCEL, NEEDS_CLIENT, "NUMBER", "ends a call that jpeer calls lists", NULL, 1, 1,
     command_cancel},
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

#define AT(member) .offset = offsetof(struct command_options, member)

static const struct {
  unsigned commands;
  struct option option;
} rows[] = {
    {WITH_PEER,
     {.group = "The peer",
      .names = {"-u", "--url"},
      .variable = "JPEER_URL",
      .takes = "URL",
      .help = "its address: ws://HOST:PORT, ws+unix:PATH, shm:PATH, http://HOST:PORT, tcp://HOST:PORT, "
              "dir://HOST:PORT/NAME; without it, the only peer of this user that runs",
      .read = option_read_text,
      AT(url)}},
    {WITH_PEER,
     {.names = {"-cp", "--class-path", "-classpath"},
      .takes = "PATH",
      .help = "launches a peer with this class path, for the time of the command",
      .read = option_read_text,
      AT(class_path)}},
    {WITH_PEER,
     {.names = {"-jar"},
      .takes = "FILE",
      .help = "launches a peer with the classes of this jar, whose main class does not run",
      .read = option_read_text,
      AT(jar)}},
    {WITH_PEER,
     {.names = {"--run"},
      .takes = "OPTIONS",
      .help = "options of jpeer run for the launched peer, split at blanks; may be repeated",
      .read = option_read_list,
      AT(run),
      .repeats = true}},
    {WITH_PEER | END,
     {.names = {"--token-file"},
      .takes = "FILE",
      .help = "the token for the peer is in the file",
      .read = option_read_text,
      AT(token_file)}},
    {WITH_PEER | END,
     {.names = {"--ca-file"},
      .takes = "FILE",
      .help = "PEM: the certificates that verify the peer's (wss:// and https://)",
      .read = option_read_text,
      AT(ca_file)}},
    {WITH_PEER,
     {.names = {"--timeout"},
      .takes = "MS",
      .help = "how long to wait for each answer (2s, 500ms); without it, for ever",
      .read = option_read_duration,
      AT(timeout_ms),
      .min = 1,
      .max = INT_MAX}},
    {CALL | EACH | DESCRIBE | SHELL,
     {.names = {"-s", "--session"},
      .takes = "NAME",
      .help = "keeps the variables for further commands with that name, until jpeer end NAME",
      .read = option_read_text,
      AT(session)}},
    {EVALUATING | SHELL,
     {.names = {"--read-only"},
      .help = "refuses members that the peer's operator has not named idempotent; fields are read",
      .read = option_read_switch,
      AT(read_only)}},
    {SHELL,
     {.group = "Scripts",
      .names = {"-f"},
      .takes = "FILE",
      .help = "runs the file; - is stdin",
      .read = option_read_text,
      AT(file),
      .ends = false}},
    {SHELL,
     {.names = {"-e"},
      .takes = "STATEMENTS",
      .help = "runs these",
      .read = option_read_text,
      AT(expression)}},
    {PEERS,
     {.group = "The directory",
      .names = {"-d", "--dir"},
      .variable = "JPEER_DIRECTORY",
      .takes = "HOST:PORT,...",
      .help = "an etcd cluster; https://HOST:PORT for TLS",
      .read = option_read_text,
      AT(directory.endpoints)}},
    {PEERS,
     {.names = {"--dir-namespace"},
      .variable = "JPEER_DIR_NAMESPACE",
      .takes = "NAME",
      .standard = "pal",
      .help = "the first part of the directory's keys",
      .read = option_read_text,
      AT(directory.name_space)}},
    {PEERS,
     {.names = {"--dir-timeout"},
      .variable = "JPEER_DIR_TIMEOUT",
      .takes = "MS",
      .standard = "5s",
      .help = "how long to wait for the directory",
      .read = option_read_duration,
      AT(directory.timeout_ms),
      .min = 100,
      .max = INT_MAX}},
    {PEERS,
     {.names = {"--dir-cacert"},
      .variable = "JPEER_DIR_CACERT",
      .takes = "FILE",
      .standard = "the system's authorities",
      .help = "authorities of the directory's certificates (PEM)",
      .read = option_read_text,
      AT(directory.ca_file)}},
    {PEERS,
     {.names = {"--dir-cert"},
      .variable = "JPEER_DIR_CERT",
      .takes = "FILE",
      .help = "a certificate for the directory (PEM)",
      .read = option_read_text,
      AT(directory.cert_file)}},
    {PEERS,
     {.names = {"--dir-key"},
      .variable = "JPEER_DIR_KEY",
      .takes = "FILE",
      .help = "its key (PEM)",
      .read = option_read_text,
      AT(directory.key_file)}},
    {PEERS,
     {.names = {"--dir-user-file"},
      .variable = "JPEER_DIR_USER_FILE",
      .takes = "FILE",
      .help = "a line USER:PASSWORD for the directory; only its owner may read the file",
      .read = option_read_text,
      AT(directory.user_file)}},
    {CALL | EACH | LIST | DESCRIBE | STATS | PS | CALLS | SHELL | PEERS,
     {.group = "Output", .names = {"--json"}, .help = "prints JSON", .read = option_read_switch, AT(json)}},
    {CALL | EACH,
     {.names = {"--ndjson"},
      .help = "prints each element as JSON, a line each",
      .read = option_read_switch,
      AT(ndjson)}},
    {CALL | SHELL,
     {.names = {"--table"},
      .help = "prints a table: of a List of Maps, records or beans, of a ResultSet, of a Map",
      .read = option_read_switch,
      AT(table)}},
    {CALL,
     {.names = {"--raw"},
      .help = "prints the text alone, without a line end",
      .read = option_read_switch,
      AT(raw)}},
    {CALL | LIST | SHELL,
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
    {CALL | EACH | LIST | DESCRIBE | SHELL,
     {.names = {"-v", "--verbose"},
      .help = "exceptions have all frames",
      .read = option_read_switch,
      AT(verbose)}},
    {EVALUATING,
     {.names = {"--print-request"},
      .help = "prints the first message of JSON-RPC that would be sent, and does not send it",
      .read = option_read_switch,
      AT(print_request)}},
    {EVALUATING,
     {.names = {"--curl"}, .help = "the same as a command of curl", .read = option_read_switch, AT(curl)}},
    {CALL,
     {.names = {"--watch"},
      .takes = "MS",
      .help = "repeats it at that interval until Ctrl-C, and marks what has changed (2s)",
      .read = option_read_duration,
      AT(watch_ms),
      .min = 10,
      .max = INT_MAX}},
    {PEERS,
     {.names = {"--watch"},
      .help = "prints the peers again when they have changed, until Ctrl-C",
      .read = option_read_switch,
      AT(watch)}},
    {WITH_PEER & ~RPC,
     {.names = {"--time"},
      .help = "prints time, round trips and the objects that variables hold to stderr",
      .read = option_read_switch,
      AT(time)}},
    {PS,
     {.names = {"--jvms"},
      .help = "also the JVMs of this user that are no peers",
      .read = option_read_switch,
      AT(jvms)}},
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

size_t command_select_options(const char *name, struct option *selected)
{
  for (size_t i = 0; i < COMMANDS; i++) {
    if (strcmp(commands[i].name, name) == 0)
      return select_rows(commands[i].bit, selected);
  }
  return 0;
}

bool command_print_manual(const char *name)
{
  for (size_t i = 0; i < COMMANDS; i++) {
    const struct command_row *row = &commands[i];
    struct option options[ROWS];
    char title[64];
    char synopsis[200];
    if (strcmp(row->name, name) != 0)
      continue;
    text_format(title, sizeof title, "jpeer %s", name);
    text_format(synopsis, sizeof synopsis, "jpeer %s [options] %s", name, row->arguments);
    options_print_manual(stdout, title, row->summary, synopsis, row->help, options,
                         select_rows(row->bit, options));
    return true;
  }
  return false;
}

/* ---- Ctrl-C ---- */

static volatile sig_atomic_t interrupts;
static int interrupt_event = -1; /* readable after an interrupt, whichever thread has got the signal */
static bool survives_interrupts; /* the shell */

enum pipe_state { PIPE_UNWATCHED, PIPE_WATCHED, PIPE_ENDED };
static enum pipe_state output_pipe;

/* The first one ends the wait, and with it the call in Java; the second one ends the program. */
static void count_interrupt(int number)
{
  const uint64_t one = 1;
  const int fault = errno;
  (void)number;
  if (++interrupts > 1 && !survives_interrupts)
    _exit(COMMAND_INTERRUPTED);
  (void)!write(interrupt_event, &one, sizeof one);
  errno = fault;
}

static bool has_no_reader(int descriptor)
{
  struct pollfd output = {.fd = descriptor};
  return poll(&output, 1, 0) > 0 && (output.revents & POLLERR) != 0;
}

static bool is_interrupted(void *context)
{
  (void)context;
  if (output_pipe == PIPE_WATCHED && has_no_reader(STDOUT_FILENO))
    output_pipe = PIPE_ENDED;
  return interrupts > 0 || output_pipe == PIPE_ENDED;
}

bool command_is_interrupted(void)
{
  return is_interrupted(NULL);
}

void command_forget_interrupt(void)
{
  uint64_t count;
  interrupts = 0; /* first: a signal after this line is counted, and its event at worst read away */
  (void)!read(interrupt_event, &count, sizeof count);
  output_pipe = PIPE_UNWATCHED;
}

int command_poll(struct pollfd *fds, size_t count, int timeout_ms)
{
  struct pollfd all[COMMAND_POLL_MAX + 1];
  if (count > 0)
    memcpy(all, fds, count * sizeof *fds);
  all[count] = (struct pollfd){.fd = interrupt_event, .events = POLLIN};
  int ready = poll(all, (nfds_t)count + 1, timeout_ms);
  if (count > 0)
    memcpy(fds, all, count * sizeof *fds);
  if (ready > 0 && all[count].revents != 0) {
    errno = EINTR;
    return -1;
  }
  return ready;
}

void command_watch_pipe(void)
{
  output_pipe = PIPE_WATCHED;
}

bool command_pipe_has_ended(void)
{
  return output_pipe == PIPE_ENDED;
}

/* The end of a pipe is seen where it is written to. */
static void pass_over(int number)
{
  (void)number;
}

/* Handlers, also where a signal could be ignored: the programs that the shell runs begin with the standard actions then. */
static void handle_signals(void)
{
  struct sigaction interrupt = {.sa_handler = count_interrupt};
  struct sigaction end_of_pipe = {.sa_handler = pass_over, .sa_flags = SA_RESTART};
  interrupt_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); /* -1: Ctrl-C is seen at the end of a wait */
  sigemptyset(&interrupt.sa_mask);
  sigemptyset(&end_of_pipe.sa_mask);
  (void)sigaction(SIGINT, &interrupt, NULL);
  (void)sigaction(SIGPIPE, &end_of_pipe, NULL);
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
    [FAILURE_PRINTED] = COMMAND_GOOD,
    [FAILURE_MEMORY] = COMMAND_FAILED,
};

void command_show_progress(struct progress *progress, size_t count)
{
  enum { FIRST_MS = 1000, NEXT_MS = 200 };
  const int64_t now_ms = clock_now_ms();
  if (progress->begin_ms == 0)
    progress->begin_ms = now_ms;
  bool is_due = progress->shown_ms == 0 ? now_ms - progress->begin_ms >= FIRST_MS
                                        : now_ms - progress->shown_ms >= NEXT_MS;
  if (!is_due || isatty(STDERR_FILENO) != 1)
    return;
  progress->shown_ms = now_ms;
  fprintf(stderr, "\r%zu elements, %" PRId64 " s", count, (now_ms - progress->begin_ms) / 1000);
}

void command_end_progress(struct progress *progress)
{
  if (progress->shown_ms != 0)
    fputs("\r\033[K", stderr);
  *progress = (struct progress){0};
}

int command_flush_output(const struct command *command)
{
  errno = EIO; /* of a write before, whose reason is not known any more */
  if (fflush(command->out) == 0 && !ferror(command->out))
    return COMMAND_GOOD;
  const int fault = errno;
  clearerr(command->out);
  if (has_no_reader(fileno(command->out))) {
    output_pipe = PIPE_ENDED;
    return COMMAND_GOOD;
  }
  fprintf(stderr, "jpeer %s: cannot write the output: %s\n", command->name, strerror(fault));
  return COMMAND_FAILED;
}

/* A text for a POSIX shell, in single quotes. */
static void append_quoted(struct buffer *out, struct text word)
{
  buffer_append_char(out, '\'');
  for (size_t i = 0; i < word.len; i++) {
    if (word.data[i] == '\'')
      BUFFER_LITERAL(out, "'\\''");
    else
      buffer_append_char(out, word.data[i]);
  }
  buffer_append_char(out, '\'');
}

static int print_curl(const struct command *command, struct text message)
{
  const char *url = command->peer != NULL ? jp_peer_url(command->peer) : command->options.url;
  const struct transport_kind *kind;
  struct client_url parts;
  struct jp_client_error error;
  struct buffer out;
  if (client_url_parse(url, &parts, &kind, &error) != JP_CLIENT_OK ||
      text_starts_with(parts.whole, TEXT("tcp:")) || text_starts_with(parts.whole, TEXT("ipc:")))
    return command_fail_usage(command, "curl does not reach %s: it speaks HTTP", url);
  buffer_init(&out);
  BUFFER_LITERAL(&out, "curl -s ");
  if (parts.host.data == NULL) {
    BUFFER_LITERAL(&out, "--unix-socket ");
    append_quoted(&out, parts.path);
    BUFFER_LITERAL(&out, " http://localhost/rpc");
  } else {
    bool is_secure =
        text_starts_with(parts.whole, TEXT("wss:")) || text_starts_with(parts.whole, TEXT("https:"));
    buffer_append_text(&out, is_secure ? TEXT("https://") : TEXT("http://"));
    client_url_write_host(&parts, &out);
    buffer_append_text(&out, client_url_request_path(&parts));
  }
  if (command->options.ca_file != NULL) {
    BUFFER_LITERAL(&out, " --cacert ");
    append_quoted(&out, text_of(command->options.ca_file));
  }
  if (command->options.token_file != NULL) { /* the token itself is not shown */
    BUFFER_LITERAL(&out, " -H \"Authorization: Bearer $(cat ");
    append_quoted(&out, text_of(command->options.token_file));
    BUFFER_LITERAL(&out, ")\"");
  }
  BUFFER_LITERAL(&out, " -H 'Content-Type: application/json' -d ");
  append_quoted(&out, message);
  command_write_text(command, buffer_text(&out));
  fputc('\n', command->out);
  buffer_fini(&out);
  return COMMAND_GOOD;
}

static int print_request(const struct command *command, const struct failure *failure)
{
  struct text message = buffer_text(&command->printed);
  struct buffer batch;
  int code = COMMAND_GOOD;
  buffer_init(&batch);
  if (memmem(message.data, message.len, ",\n ", 3) != NULL) {
    buffer_printf(&batch, "[%.*s]", TEXT_ARGS(message));
    message = buffer_text(&batch);
  }
  if (command->options.curl) {
    code = print_curl(command, message);
  } else {
    command_write_text(command, message);
    fputc('\n', command->out);
  }
  buffer_fini(&batch);
  if (code == COMMAND_GOOD && failure->has_place)
    fprintf(stderr, "jpeer %s: what follows depends on the answer\n", command->name);
  return code;
}

int command_report(const struct command *command, const struct failure *failure, struct text source)
{
  return command_report_at(command, failure, source, NULL);
}

int command_report_at(const struct command *command, const struct failure *failure, struct text source,
                      const char *place)
{
  struct buffer out;
  if (failure->kind == FAILURE_PRINTED)
    return print_request(command, failure);
  buffer_init(&out);
  if (failure->kind == FAILURE_PROGRAM && failure->has_place && source.data != NULL)
    language_write_fault(&out, NULL, source, failure->at, failure->error.text);
  else
    buffer_append_text(&out, buffer_text(&failure->report));
  if (failure->kind == FAILURE_INTERRUPTED)
    fputc('\n', stderr); /* after the terminal's ^C */
  if (place != NULL)
    fprintf(stderr, "%s: ", place);
  else if (failure->kind == FAILURE_PROGRAM || failure->kind == FAILURE_CONNECTION ||
           failure->kind == FAILURE_TIMEOUT || failure->kind == FAILURE_DENIED ||
           failure->kind == FAILURE_INTERRUPTED)
    fprintf(stderr, "jpeer %s: ", command->name);
  fwrite(out.data, 1, out.len, stderr);
  buffer_fini(&out);
  return exit_of_failure[failure->kind];
}

int command_report_lost(const struct command *command)
{
  const struct failure *failure = evaluator_failure(command->evaluator);
  if (failure->kind == FAILURE_NONE || failure->kind == FAILURE_THROWN || failure->kind == FAILURE_DENIED)
    return COMMAND_GOOD;
  return command_report(command, failure, TEXT_ABSENT);
}

/* ---- the peer ---- */

int command_report_status(const struct command *command, enum jp_client_status status,
                          const struct jp_client_error *error, const struct jp_answer *answer)
{
  struct failure failure;
  failure_init(&failure);
  failure_set(&failure, status, error, answer, command->options.verbose);
  int code = command_report(command, &failure, TEXT_ABSENT);
  failure_fini(&failure);
  return code;
}

static int fail_connection(const struct command *command, enum jp_client_status status,
                           const struct jp_client_error *error)
{
  int code = command_report_status(command, status, error, NULL);
  return status == JP_CLIENT_INVALID ? COMMAND_USAGE : code == COMMAND_INTERRUPTED ? code : COMMAND_UNREACHED;
}

struct jp_client_config command_client_config(const struct command *command)
{
  return (struct jp_client_config){.size = sizeof(struct jp_client_config),
                                   .interrupted = is_interrupted,
                                   .reconnects = command->reconnects,
                                   .peer_id = command->session_id,
                                   .token_file = command->options.token_file,
                                   .ca_file = command->options.ca_file};
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
    memcpy(copy, run->items[i], strlen(run->items[i]) + 1);
    char *word = strtok_r(copy, " \t\n", &rest);
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

/* Without an address: the only peer of this user. */
static int find_only_peer(struct command *command)
{
  struct running_peer *first;
  struct jp_error error;
  if (peers_list(&command->peers, &first, &error) != JP_OK)
    fprintf(stderr, "jpeer %s: %s\n", command->name, error.text);
  const char *url = first == NULL ? NULL : peers_choose_address(first);
  if (url != NULL && first->next == NULL) {
    command->options.url = url;
    return COMMAND_GOOD;
  }
  fprintf(stderr, "jpeer %s: which peer? Name it with -u URL or JPEER_URL, or launch one with -cp PATH\n",
          command->name);
  for (const struct running_peer *peer = first; peer != NULL; peer = peer->next) {
    url = peers_choose_address(peer);
    if (url != NULL)
      fprintf(stderr, "  -u %-40s %.*s, process %lld\n", url, TEXT_ARGS(peer->name), (long long)peer->pid);
  }
  return COMMAND_UNREACHED;
}

/* For what needs the address of a peer itself: looks up that of a dir: URL. */
static int find_address(struct command *command)
{
  enum { TIMEOUT_MS = 5000 };
  struct jp_client_error error = {0};
  char *address;
  if (!text_starts_with(text_of(command->options.url), TEXT("dir:")))
    return COMMAND_GOOD;
  enum jp_client_status status =
      client_directory_find_address(command->options.url, TIMEOUT_MS, &address, &error);
  if (status != JP_CLIENT_OK)
    return fail_connection(command, status, &error);
  command->options.url = arena_printf(&command->peers, "%s", address).data;
  free(address);
  return command->options.url != NULL ? COMMAND_GOOD : COMMAND_FAILED;
}

static int find_peer(struct command *command, enum command_needs needs)
{
  const struct command_options *options = &command->options;
  const struct jp_client_config config = command_client_config(command);
  struct jp_client_error error = {0};
  bool is_launched = options->class_path != NULL || options->jar != NULL;
  if (options->class_path != NULL && options->jar != NULL)
    return command_fail_usage(command, "-cp and -jar exclude each other");
  if (!is_launched && options->run.count > 0)
    return command_fail_usage(command, "--run is for a peer that -cp or -jar launches");
  if (is_launched)
    return launch_peer(command, &config);
  if (options->url == NULL) {
    int code = find_only_peer(command);
    if (code != COMMAND_GOOD)
      return code;
  }
  if (needs == NEEDS_ADDRESS || options->curl) {
    int code = find_address(command);
    if (code != COMMAND_GOOD || needs == NEEDS_ADDRESS)
      return code;
  }
  enum jp_client_status status = jp_client_open(options->url, &config, &command->client, &error);
  return status == JP_CLIENT_OK ? COMMAND_GOOD : fail_connection(command, status, &error);
}

/* What the prompt of the shell begins with. */
static void name_peer(struct command *command)
{
  const struct command_options *options = &command->options;
  const char *name = options->jar != NULL ? options->jar : options->url;
  if (command->peer != NULL && options->jar == NULL)
    name = "java";
  struct running_peer *first;
  (void)!peers_list(&command->peers, &first, NULL); /* without it the address is the name */
  for (const struct running_peer *peer = first; peer != NULL && command->peer == NULL; peer = peer->next) {
    for (const char **address = peer->addresses; *address != NULL; address++) {
      if (strcmp(*address, options->url) == 0)
        name = peer->name.data;
    }
  }
  const char *scheme = strstr(name, "://");
  const char *slash = strrchr(name, '/');
  name = scheme != NULL ? scheme + 3 : slash != NULL && slash[1] != '\0' ? slash + 1 : name;
  text_format(command->peer_name, sizeof command->peer_name, "%s", name);
}

static struct evaluator *create_evaluator(struct command *command)
{
  const struct evaluator_config config = {
      .client = command->client,
      .timeout_ms = command->options.timeout_ms == 0 ? JP_FOREVER : (int)command->options.timeout_ms,
      .verbose = command->options.verbose,
      .read_only = command->options.read_only,
      .interrupted = is_interrupted,
      .printed = command->options.print_request || command->options.curl ? &command->printed : NULL};
  return evaluator_create(&config);
}

static void leave_peer(struct command *command)
{
  if (command->peer != NULL)
    (void)jp_peer_stop(command->peer, 5000);
  else
    jp_client_close(command->client);
  evaluator_destroy(command->evaluator);
}

int command_open_peer(struct command *command, const char *url)
{
  struct command other = *command;
  struct jp_client_config config = command_client_config(command);
  config.peer_id = NULL; /* a session is of one peer */
  struct jp_client_error error = {0};
  other.peer = NULL;
  other.client = NULL;
  enum jp_client_status status = jp_client_open(url, &config, &other.client, &error);
  if (status != JP_CLIENT_OK)
    return fail_connection(command, status, &error);
  other.evaluator = create_evaluator(&other);
  const char *kept = arena_printf(&command->peers, "%s", url).data;
  if (other.evaluator == NULL || kept == NULL) {
    evaluator_destroy(other.evaluator);
    jp_client_close(other.client);
    return COMMAND_FAILED;
  }
  leave_peer(command);
  command->peer = NULL;
  command->client = other.client;
  command->evaluator = other.evaluator;
  command->options.url = kept;
  name_peer(command);
  return COMMAND_GOOD;
}

bool command_open_for_completion(struct command *command, const char *url)
{
  const struct jp_client_config config = {.size = sizeof config, .connect_timeout_ms = 1000};
  struct jp_client_error error;
  *command = (struct command){.name = "complete", .out = stdout, .options = {.url = url, .timeout_ms = 3000}};
  arena_init(&command->peers);
  buffer_init(&command->printed);
  if (url == NULL) {
    struct running_peer *first;
    (void)!peers_list(&command->peers, &first, NULL);
    url = first == NULL || first->next != NULL ? NULL : peers_choose_address(first);
  }
  if (url != NULL && jp_client_open(url, &config, &command->client, &error) == JP_CLIENT_OK)
    command->evaluator = create_evaluator(command);
  return command->evaluator != NULL;
}

void command_close_for_completion(struct command *command)
{
  evaluator_destroy(command->evaluator);
  jp_client_close(command->client);
  buffer_fini(&command->printed);
  arena_fini(&command->peers);
}

/* ---- running ---- */

static void print_help(const struct command_row *row, const struct option *options, size_t count)
{
  printf("usage: jpeer %s [options] %s\n\n%s\n", row->name, row->arguments, row->summary);
  options_print_help(stdout, options, count);
  if (row->help != NULL)
    fputs(row->help, stdout);
}

/* Prints what the run prints; on a terminal in the place of the last one, with the changed lines marked. */
static void print_watched(const struct command *command, struct text shown, struct text last)
{
  if (!command->is_terminal) {
    if (!text_equal(shown, last))
      fwrite(shown.data, 1, shown.len, command->out);
    return;
  }
  fputs("\033[H\033[2J", command->out);
  for (size_t at = 0; at < shown.len;) {
    size_t end = at;
    while (end < shown.len && shown.data[end] != '\n')
      end++;
    struct text line = text_slice(shown, at, end);
    bool is_changed = last.data != NULL && !text_has_line(last, line);
    fprintf(command->out, "%s%.*s%s\n", is_changed ? "\033[7m" : "", TEXT_ARGS(line),
            is_changed ? "\033[0m" : "");
    at = end + 1;
  }
}

/* Runs it again and again. */
static int repeat_command(struct command *command, int (*run)(struct command *command))
{
  char *last = NULL;
  size_t last_length = 0;
  int code = COMMAND_GOOD;
  while (code == COMMAND_GOOD && !command_is_interrupted()) {
    FILE *terminal = command->out;
    char *shown = NULL;
    size_t length = 0;
    command->out = open_memstream(&shown, &length);
    if (command->out == NULL) {
      command->out = terminal;
      code = COMMAND_FAILED;
      break;
    }
    evaluator_set_results(command->evaluator, 0);
    code = run(command);
    fclose(command->out);
    command->out = terminal;
    print_watched(command, (struct text){shown, length}, (struct text){last, last_length});
    if (code == COMMAND_GOOD)
      code = command_flush_output(command);
    free(last);
    last = shown;
    last_length = length;
    if (code == COMMAND_GOOD && !command_pipe_has_ended())
      (void)command_poll(NULL, 0, (int)command->options.watch_ms);
  }
  free(last);
  return code != COMMAND_GOOD || command_pipe_has_ended() ? code : COMMAND_INTERRUPTED;
}

/* -s NAME: the session's own address counts if none is given. */
static int open_session(struct command *command)
{
  struct command_options *options = &command->options;
  const char *url = NULL;
  if (options->class_path != NULL || options->jar != NULL)
    return command_fail_usage(command, "-s is for a peer that runs on: it excludes -cp and -jar");
  int code = session_file_open(command, options->session, &command->session, &command->session_id, &url);
  if (code != COMMAND_GOOD)
    return code;
  if (url != NULL && options->url != NULL && strcmp(url, options->url) != 0)
    return command_fail_usage(command, "the session %s is of the peer at %s: jpeer end %s ends it",
                              options->session, url, options->session);
  options->url = url != NULL ? url : options->url;
  if (options->url != NULL && strncmp(options->url, "dir:", 4) == 0 &&
      strstr(options->url, "/service/") != NULL)
    return command_fail_usage(command, "-s is for one peer: name one of the service (jpeer peers)");
  return COMMAND_GOOD;
}

/* Leaves the session's objects in the peer. */
static void leave_session(struct command *command)
{
  client_leave_session(command->client);
  evaluator_destroy(command->evaluator);
  command->client = NULL;
  command->evaluator = NULL;
}

static int save_session(struct command *command, int code)
{
  evaluator_release_rest(command->evaluator);
  int saved = session_file_save(command->session, command, command->options.url);
  leave_session(command);
  return code == COMMAND_GOOD ? saved : code;
}

/* The first word is an address, if it looks like one. */
static bool take_address(struct command *command)
{
  static const char *const kinds[] = {"ws+unix:", "ws://",  "http+unix:", "http://",  "shm:",
                                      "tcp://",   "ipc://", "wss://",     "https://", "dir://"};
  const char *word = command->word_count == 0 ? "" : command->words[0];
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    if (!text_starts_with(text_of(word), text_of(kinds[i])))
      continue;
    command->options.url = word;
    command->words++;
    command->word_count--;
    return true;
  }
  return false;
}

/* The address of a shell, and the options that follow it. Of a script that the options name, the words are arguments. */
static enum jp_status read_shell_words(struct command *command, const struct option_input *input,
                                       const struct option_result *result, struct jp_error *error)
{
  if (command->options.file != NULL || command->options.expression != NULL || !take_address(command))
    return JP_OK;
  const char *address = command->options.url;
  struct option_input rest = *input;
  struct option_result of_rest;
  if (result->used > 0 && strcmp(input->args[result->used - 1], "--") == 0)
    return JP_OK;
  rest.args = command->words;
  rest.arg_count = command->word_count;
  rest.variable = NULL;
  enum jp_status status = options_parse(&rest, &command->options, &of_rest, error);
  if (status == JP_OK && command->options.url != address)
    status = jp_fail(error, JP_INVALID, "the address is given twice: \"%.*s\" and \"%.*s\"",
                     OPTION_SHOWN(address), OPTION_SHOWN(command->options.url));
  command->words += status == JP_OK ? of_rest.used : 0;
  command->word_count -= status == JP_OK ? of_rest.used : 0;
  return status;
}

static int run_with_peer(const struct command_row *row, struct command *command)
{
  int code = row->bit == CALL ? command_check_call(command) : COMMAND_GOOD;
  if (row->bit == SHELL) {
    survives_interrupts = true;
    command->reconnects = true;
  }
  if (code == COMMAND_GOOD && command->options.session != NULL)
    code = open_session(command);
  if (code == COMMAND_GOOD)
    code = find_peer(command, row->needs);
  if (code != COMMAND_GOOD)
    return code;
  if (row->needs == NEEDS_ADDRESS) {
    code = row->run(command);
    leave_peer(command);
    return code;
  }
  struct timespec begin;
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  if (row->bit == SHELL)
    name_peer(command);
  command->evaluator = create_evaluator(command);
  if (command->evaluator == NULL) {
    fprintf(stderr, "jpeer %s: out of memory\n", row->name);
    code = COMMAND_FAILED;
  } else {
    if (command->session != NULL)
      code = session_file_load(command->session, command);
    if (code != COMMAND_GOOD) {
      leave_session(command);
      return code;
    }
    code = command->options.watch_ms > 0 ? repeat_command(command, row->run) : row->run(command);
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
  code = code == COMMAND_GOOD ? command_flush_output(command) : code;
  if (command->session != NULL && command->evaluator != NULL)
    return save_session(command, code);
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
  buffer_init(&command.printed);
  arena_init(&command.peers);
  command.out = stdout;
  command.is_terminal = isatty(STDOUT_FILENO) == 1;
  const char *no_colour = getenv("NO_COLOR");
  command.has_colour = command.is_terminal && (no_colour == NULL || *no_colour == '\0');
  enum jp_status status = options_parse(&input, &command.options, &result, &error);
  if (status == JP_OK) {
    command.words = args + result.used;
    command.word_count = arg_count - result.used;
    if (row->bit == SHELL)
      status = read_shell_words(&command, &input, &result, &error);
  }
  if (status != JP_OK) {
    code = command_fail_usage(&command, "%s", error.text);
  } else if (command.options.help) {
    print_help(row, options, input.option_count);
    code = COMMAND_GOOD;
  } else {
    if (command.word_count < row->words_min)
      code = command_fail_usage(&command, "needs %s", row->arguments);
    else if (command.word_count > row->words_max)
      code = command_fail_usage(&command, "\"%.*s\" is one argument too many",
                                OPTION_SHOWN(command.words[row->words_max]));
    else {
      handle_signals();
      code = row->needs == NEEDS_NOTHING ? row->run(&command) : run_with_peer(row, &command);
      code = code == COMMAND_GOOD ? command_flush_output(&command) : code;
    }
  }
  session_file_close(command.session);
  buffer_fini(&command.printed);
  arena_fini(&command.peers);
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

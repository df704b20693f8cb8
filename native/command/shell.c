/* `jpeer shell`: statements from a terminal, a file or stdin. */
#include "command/command.h"

#include "base/clock.h"
#include "command/completer.h"
#include "command/line_editor.h"
#include "command/peers.h"
#include "command/tokens.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum shell_flow { SHELL_GOES_ON, SHELL_ENDS };

struct shell {
  struct statement_listener listener; /* first */
  struct command *command;
  struct line_editor *editor; /* NULL: a script */
  struct completer *completer;
  char *next_url;     /* of \open; NULL: none */
  const char *file;   /* of the script that runs; NULL: the terminal */
  struct text source; /* that runs */
  FILE *terminal;     /* where results go without \o */
  int status;         /* of the last failure */
  enum shell_flow flow;
  bool shows_time;
  unsigned files; /* \i of \i */
};

enum { FILES_MAX = 20 };

/* ---- output ---- */

static void show_in_pager(const struct shell *shell, const char *shown, size_t length)
{
  struct winsize size = {0};
  const char *pager = getenv("PAGER");
  size_t lines = 0;
  bool is_wide = false;
  (void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
  for (size_t at = 0, column = 0; at < length; at++) {
    column = shown[at] == '\n' ? 0 : column + 1;
    lines += shown[at] == '\n';
    is_wide |= size.ws_col > 0 && column > size.ws_col;
  }
  if (shell->editor == NULL || size.ws_row == 0 || (lines + 1 < size.ws_row && !is_wide)) {
    fwrite(shown, 1, length, shell->command->out);
    return;
  }
  FILE *out = popen(pager == NULL || *pager == '\0' ? "less -RFXS 2>/dev/null || cat" : pager, "we");
  if (out == NULL) {
    fwrite(shown, 1, length, shell->command->out);
    return;
  }
  fwrite(shown, 1, length, out);
  (void)pclose(out);
  command_forget_interrupt(); /* Ctrl-C was the pager's */
}

static int fail_memory(void)
{
  fputs("jpeer shell: out of memory\n", stderr);
  return COMMAND_FAILED;
}

/* On a terminal what print prints goes through a pager if it does not fit. */
static void show_value(struct shell *shell, struct value *value)
{
  char *shown = NULL;
  size_t length = 0;
  FILE *out = shell->command->out;
  if (!shell->command->is_terminal) {
    shell->status = command_print_value(shell->command, value);
    if (shell->status == COMMAND_GOOD)
      shell->status = command_flush_output(shell->command);
    if (command_pipe_has_ended())
      command_forget_interrupt(); /* the statements after it run without a reader */
    return;
  }
  shell->command->out = open_memstream(&shown, &length);
  if (shell->command->out == NULL) {
    shell->command->out = out;
    shell->status = fail_memory();
    return;
  }
  shell->status = command_print_value(shell->command, value);
  fclose(shell->command->out);
  shell->command->out = out;
  show_in_pager(shell, shown, length);
  free(shown);
  fflush(shell->command->out);
}

/* ---- failures ---- */

/* After the connection has ended: which objects are gone. */
static void report_lost(struct shell *shell)
{
  const struct value *value;
  const char *name;
  struct jp_request ping = jp_build_ping();
  struct jp_answer *answer = NULL;
  struct jp_client_error error;
  struct buffer lost;
  buffer_init(&lost);
  bool is_back = jp_client_call(shell->command->client, &ping, 1000, &answer, &error) == JP_CLIENT_OK;
  jp_answer_free(answer);
  for (size_t i = 0; (name = evaluator_variable(shell->command->evaluator, i, &value)) != NULL; i++) {
    if (value->ref != NULL && strcmp(name, "_") != 0)
      buffer_printf(&lost, "%s%s", lost.len == 0 ? "" : ", ", name);
  }
  if (lost.len > 0)
    fprintf(stderr, "The objects of the variables %.*s are gone.\n", (int)lost.len, lost.data);
  fputs(is_back ? "Connected again.\n" : "The next line connects again, if there is a peer by then.\n",
        stderr);
  buffer_fini(&lost);
}

static void report_failure(struct shell *shell, const struct failure *failure)
{
  struct buffer out;
  buffer_init(&out);
  fflush(shell->command->out);
  bool has_place = failure->kind == FAILURE_PROGRAM && failure->has_place;
  if (has_place && (shell->editor == NULL || shell->file != NULL)) {
    language_write_fault(&out, shell->file, shell->source, failure->at, failure->error.text);
    fwrite(out.data, 1, out.len, stderr);
    shell->status = failure->is_syntax ? COMMAND_USAGE : COMMAND_FAILED;
  } else {
    const bool is_in_script =
        shell->editor == NULL && failure->has_place && failure->kind != FAILURE_INTERRUPTED;
    char place[PATH_MAX + 64];
    if (is_in_script) {
      size_t line;
      size_t column;
      language_locate(shell->source, failure->at, &line, &column);
      text_format(place, sizeof place, "%s:%zu:%zu", shell->file, line, column);
      language_write_place(&out, shell->source, failure->at);
    }
    shell->status = command_report_at(shell->command, failure, has_place ? shell->source : TEXT_ABSENT,
                                      is_in_script ? place : NULL);
    if (is_in_script)
      fwrite(out.data, 1, out.len, stderr);
  }
  buffer_fini(&out);
  if (failure->kind == FAILURE_CONNECTION && shell->editor != NULL)
    report_lost(shell);
  command_forget_interrupt();
}

/* ---- running ---- */

static bool take_value(struct statement_listener *listener, struct value *value, bool is_expression)
{
  struct shell *shell = (struct shell *)listener;
  if (shell->command->peer != NULL)
    jp_peer_await_output(shell->command->peer);
  if (is_expression)
    show_value(shell, value);
  if (!is_expression || shell->status == COMMAND_GOOD)
    return true;
  /* A Ctrl-C that reached the showing means the statements that follow on the line, too. */
  bool goes_on = shell->editor != NULL && !command_is_interrupted();
  command_forget_interrupt();
  return goes_on;
}

static bool run_source(struct shell *shell, const char *file, struct text source)
{
  const struct failure *failure;
  const char *outer_file = shell->file;
  struct text outer = shell->source;
  int64_t begin_ns = clock_now_ns();
  size_t trips = evaluator_round_trips(shell->command->evaluator);
  shell->file = file;
  shell->source = source;
  shell->status = COMMAND_GOOD;
  bool is_good = evaluator_run_statements(shell->command->evaluator, source, &shell->listener, &failure);
  if (!is_good)
    report_failure(shell, failure);
  if (shell->command->peer != NULL)
    jp_peer_await_output(shell->command->peer);
  if (shell->files == 0)
    evaluator_release_rest(shell->command->evaluator);
  if (shell->shows_time)
    fprintf(stderr, "%.1f ms, %zu round trips\n", (double)(clock_now_ns() - begin_ns) / 1e6,
            evaluator_round_trips(shell->command->evaluator) - trips);
  shell->file = outer_file;
  shell->source = outer;
  return is_good;
}

/* False: an error was printed. */
static bool read_whole(const char *path, struct buffer *out)
{
  int file = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
  ssize_t length = file < 0 ? -1 : 1;
  while (length > 0) {
    char *room = buffer_reserve(out, 65536);
    length = room == NULL ? -1 : read(file, room, 65536);
    out->len += length > 0 ? (size_t)length : 0;
  }
  if (length < 0)
    fprintf(stderr, "jpeer shell: cannot read %s: %s\n", path, strerror(errno));
  if (file > STDIN_FILENO)
    close(file);
  return length == 0;
}

static bool run_file(struct shell *shell, const char *path)
{
  struct buffer content;
  buffer_init(&content);
  bool is_good = read_whole(path, &content);
  if (!is_good)
    shell->status = COMMAND_USAGE;
  if (is_good && content.len > 1 && content.data[0] == '#' && content.data[1] == '!') {
    content.data[0] = '/';
    content.data[1] = '/';
  }
  if (is_good)
    is_good = run_source(shell, strcmp(path, "-") == 0 ? "stdin" : path,
                         content.len == 0 ? TEXT("") : buffer_text(&content));
  buffer_fini(&content);
  return is_good;
}

/* ---- commands ---- */

/* The end of \o: COMMAND_FAILED if not all results could be written. */
static int end_output(struct shell *shell)
{
  if (shell->command->out == shell->terminal)
    return COMMAND_GOOD;
  int code = command_flush_output(shell->command);
  fclose(shell->command->out);
  shell->command->out = shell->terminal;
  shell->command->is_terminal = isatty(STDOUT_FILENO) == 1;
  return code;
}

static void run_output(struct shell *shell, const char *words)
{
  shell->status = end_output(shell);
  if (*words == '\0')
    return;
  FILE *file = fopen(words, "we");
  if (file == NULL) {
    fprintf(stderr, "cannot write %s: %s\n", words, strerror(errno));
    shell->status = COMMAND_FAILED;
    return;
  }
  fflush(shell->command->out);
  shell->command->out = file;
  shell->command->is_terminal = false;
}

static void run_describe(struct shell *shell, const char *words)
{
  char *copy = strdup(words);
  if (copy == NULL) {
    shell->status = fail_memory();
    return;
  }
  shell->command->words = &copy;
  shell->command->word_count = *words == '\0' ? 0 : 1;
  if (*words == '\0') {
    struct command *command = shell->command;
    const char *package;
    for (size_t i = 0; (package = evaluator_imported_package(command->evaluator, i)) != NULL; i++)
      fprintf(shell->command->out, "%s\n", package);
  } else {
    shell->status = command_describe(shell->command);
  }
  fflush(shell->command->out);
  shell->command->word_count = 0;
  free(copy);
}

static void run_refs(struct shell *shell, const char *words)
{
  const struct value *value;
  const char *name;
  (void)words;
  for (size_t i = 0; (name = evaluator_variable(shell->command->evaluator, i, &value)) != NULL; i++) {
    char described[120];
    if (value->ref != NULL)
      fprintf(shell->command->out, "%-12s %s\n", name, value->type == NULL ? "" : value->type);
    else
      fprintf(shell->command->out, "%-12s %s\n", name, value_describe(value, described));
  }
  fflush(shell->command->out);
}

static void run_drop(struct shell *shell, const char *words)
{
  char *copy = strdup(words);
  char *rest;
  for (char *word = copy == NULL ? NULL : strtok_r(copy, " \t,", &rest); word != NULL;
       word = strtok_r(NULL, " \t,", &rest)) {
    if (!evaluator_drop(shell->command->evaluator, text_of(word))) {
      fprintf(stderr, "there is no variable %s\n", word);
      shell->status = COMMAND_FAILED;
    }
  }
  free(copy);
  jp_client_flush(shell->command->client);
}

static void run_time(struct shell *shell, const char *words)
{
  (void)words;
  shell->shows_time = !shell->shows_time;
  fprintf(stderr, "time is %s\n", shell->shows_time ? "shown" : "not shown");
}

static void run_wide(struct shell *shell, const char *words)
{
  (void)words;
  shell->command->options.wide = !shell->command->options.wide;
  fprintf(stderr, "rows are shown %s\n", shell->command->options.wide ? "a column a line" : "as lines");
}

static void run_set(struct shell *shell, const char *words)
{
  struct command_options *options = &shell->command->options;
  bool is_json = strcmp(words, "json") == 0;
  bool is_table = strcmp(words, "table") == 0;
  if (!is_json && !is_table && strcmp(words, "plain") != 0) {
    fputs("\\set takes json, table or plain\n", stderr);
    shell->status = COMMAND_USAGE;
    return;
  }
  options->json = is_json;
  options->table = is_table;
  options->plain = !is_json && !is_table;
}

/* Runs what the editor has saved in the file, and keeps it in the history. */
static void run_edited(struct shell *shell, const char *path)
{
  struct buffer content;
  buffer_init(&content);
  if (!read_whole(path, &content)) {
    shell->status = COMMAND_FAILED;
  } else if (content.len > 0) {
    fwrite(content.data, 1, content.len, shell->command->out);
    fflush(shell->command->out);
    (void)run_source(shell, NULL, buffer_text(&content));
    line_editor_keep(shell->editor, buffer_text(&content));
  }
  buffer_fini(&content);
}

/* Runs a command of the system, and prints its status if it failed. */
static bool run_system(const struct shell *shell, const char *line)
{
  fflush(shell->command->out);
  int status = system(line);
  if (status == -1)
    fprintf(stderr, "cannot run the command: %s\n", strerror(errno));
  else if (status != 0)
    fprintf(stderr, "exit status %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  command_forget_interrupt();
  return status == 0;
}

static void run_edit(struct shell *shell, const char *words)
{
  char path[] = "/tmp/jpeer-shell-XXXXXX";
  const char *program = getenv("VISUAL") != NULL ? getenv("VISUAL") : getenv("EDITOR");
  struct buffer line;
  (void)words;
  if (shell->editor == NULL || shell->file != NULL) {
    fputs("\\e is for lines of the terminal\n", stderr);
    shell->status = COMMAND_USAGE;
    return;
  }
  int file = mkostemp(path, O_CLOEXEC);
  if (file < 0) {
    fprintf(stderr, "cannot create %s: %s\n", path, strerror(errno));
    shell->status = COMMAND_FAILED;
    return;
  }
  close(file);
  buffer_init(&line);
  buffer_printf(&line, "%s %s", program == NULL || *program == '\0' ? "vi" : program, path);
  buffer_append_char(&line, '\0');
  if (line.failed)
    shell->status = fail_memory();
  else if (run_system(shell, line.data))
    run_edited(shell, path);
  else
    shell->status = COMMAND_FAILED;
  buffer_fini(&line);
  unlink(path);
}

static void run_include(struct shell *shell, const char *words)
{
  if (shell->files >= FILES_MAX) {
    fputs("files include each other\n", stderr);
    shell->status = COMMAND_FAILED;
    return;
  }
  shell->files++;
  (void)run_file(shell, words);
  shell->files--;
}

static void run_program(struct shell *shell, const char *words)
{
  if (!run_system(shell, words))
    shell->status = COMMAND_FAILED;
}

/* The evaluator that runs the line ends with the old peer: open_next opens the new one after the line. */
static void run_open(struct shell *shell, const char *words)
{
  if (shell->editor == NULL || shell->file != NULL) {
    fputs("\\open is for lines of the terminal\n", stderr);
    shell->status = COMMAND_USAGE;
    return;
  }
  free(shell->next_url);
  shell->next_url = strdup(words);
}

static void open_next(struct shell *shell)
{
  char *url = shell->next_url;
  shell->next_url = NULL;
  if (url != NULL)
    shell->status = command_open_peer(shell->command, url);
  if (url != NULL && shell->status == COMMAND_GOOD) {
    completer_destroy(shell->completer);
    shell->completer = completer_create(shell->command);
  }
  free(url);
}

static void run_quit(struct shell *shell, const char *words)
{
  (void)words;
  shell->flow = SHELL_ENDS;
}

static void run_help(struct shell *shell, const char *words);

static const struct shell_command {
  const char *name;
  const char *arguments;
  const char *help;
  bool needs_words;
  void (*run)(struct shell *shell, const char *words);
} shell_commands[] = {
    {"d", "[CLASS or EXPRESSION]", "members; without an argument, the imported packages", false,
     run_describe},
    {"refs", "", "the variables, and what they hold", false, run_refs},
    {"drop", "NAME ...", "ends variables: their objects are released", true, run_drop},
    {"time", "", "shows how long each line takes, or stops that", false, run_time},
    {"x", "", "shows the columns of a table below each other, or stops that", false, run_wide},
    {"set", "json|table|plain", "the form of results", true, run_set},
    {"e", "", "opens $EDITOR, and runs what it saves", false, run_edit},
    {"i", "FILE", "runs a file", true, run_include},
    {"o", "[FILE]", "writes results to a file; without an argument, to the terminal again", false,
     run_output},
    {"open", "URL", "connects to another peer; the variables end", true, run_open},
    {"!", "COMMAND", "runs a command of the system; EXPRESSION | COMMAND pipes a result into one", true,
     run_program},
    {"?", "", "shows this", false, run_help},
    {"q", "", "ends the shell, as Ctrl-D does", false, run_quit},
};
enum { SHELL_COMMANDS = sizeof shell_commands / sizeof shell_commands[0] };

static void run_help(struct shell *shell, const char *words)
{
  char left[80];
  (void)shell;
  (void)words;
  for (size_t i = 0; i < SHELL_COMMANDS; i++) {
    text_format(left, sizeof left, "\\%s %s", shell_commands[i].name, shell_commands[i].arguments);
    fprintf(shell->command->out, "  %-28s%s\n", left, shell_commands[i].help);
  }
  fputs("TAB completes; Ctrl-C ends a call in Java; Ctrl-R searches the history.\n", shell->command->out);
  fflush(shell->command->out);
}

/* line: after the backslash. */
static bool take_command(struct statement_listener *listener, struct text line)
{
  struct shell *shell = (struct shell *)listener;
  char *copy = strndup(line.data, line.len);
  bool is_known = false;
  if (copy == NULL)
    return false;
  size_t length = copy[0] == '!' ? 1 : strcspn(copy, " \t\r");
  char *words = copy + length + strspn(copy + length, " \t\r");
  char *end = words + strlen(words);
  while (end > words && strchr(" \t\r", end[-1]) != NULL)
    *--end = '\0';
  shell->status = COMMAND_GOOD;
  for (size_t i = 0; i < SHELL_COMMANDS; i++) {
    const struct shell_command *row = &shell_commands[i];
    if (!text_equal(text_of(row->name), (struct text){copy, length}))
      continue;
    is_known = true;
    if (row->needs_words && *words == '\0') {
      fprintf(stderr, "\\%s takes %s\n", row->name, row->arguments);
      shell->status = COMMAND_USAGE;
    } else {
      row->run(shell, words);
    }
  }
  if (!is_known) {
    fprintf(stderr, "there is no command \\%.*s (\\? lists them)\n", (int)length, copy);
    shell->status = COMMAND_USAGE;
  }
  free(copy);
  return shell->flow == SHELL_GOES_ON && (shell->editor != NULL || shell->status == COMMAND_GOOD);
}

/* ---- lines of a terminal ---- */

/* Where "| command" begins: a | that is no part of a token, so not one in a text or a comment. SIZE_MAX: nowhere. */
static size_t find_pipe(struct text line)
{
  struct arena arena;
  struct token token = {0};
  struct language_error error;
  enum jp_status status;
  arena_init(&arena);
  do
    status = token_read(line, token.end, &arena, &token, &error);
  while (status == JP_OK && token.kind != TOKEN_END);
  arena_fini(&arena);
  return status == JP_INVALID && token.at < line.len && line.data[token.at] == '|' ? token.at : SIZE_MAX;
}

static void run_piped(struct shell *shell, struct text source, struct text program)
{
  char *line = strndup(program.data, program.len);
  FILE *pipe = line == NULL ? NULL : popen(line, "we");
  FILE *out = shell->command->out;
  bool was_terminal = shell->command->is_terminal;
  free(line);
  if (pipe == NULL) {
    fprintf(stderr, "cannot run the command: %s\n", strerror(errno));
    return;
  }
  fflush(shell->command->out);
  shell->command->out = pipe;
  shell->command->is_terminal = false;
  (void)run_source(shell, NULL, source);
  shell->command->out = out;
  shell->command->is_terminal = was_terminal;
  (void)pclose(pipe);
  command_forget_interrupt();
}

static bool is_incomplete(struct text source)
{
  struct arena arena;
  struct node *program;
  struct language_error error = {0};
  arena_init(&arena);
  enum jp_status status = language_parse(source, NULL, &arena, &program, &error);
  arena_fini(&arena);
  return status == JP_INVALID && error.is_incomplete;
}

static void run_entry(struct shell *shell, struct text entry)
{
  size_t pipe = entry.data[0] == '\\' ? SIZE_MAX : find_pipe(entry);
  if (pipe != SIZE_MAX)
    run_piped(shell, text_slice(entry, 0, pipe), text_slice(entry, pipe + 1, entry.len));
  else
    (void)run_source(shell, NULL, entry);
  open_next(shell);
}

static bool is_blank(struct text entry)
{
  for (size_t i = 0; i < entry.len; i++) {
    if (strchr(" \t\n", entry.data[i]) == NULL)
      return false;
  }
  return true;
}

static int run_terminal(struct shell *shell)
{
  struct buffer entry;
  char first[160];
  char more[160];
  buffer_init(&entry);
  while (shell->flow == SHELL_GOES_ON) {
    size_t width = text_format(first, sizeof first, "%s> ", shell->command->peer_name);
    text_format(more, sizeof more, "%*s> ", width > 2 && width < sizeof first ? (int)width - 2 : 0, "..");
    enum line_result result = line_editor_read(shell->editor, entry.len == 0 ? first : more, &entry);
    if (result == LINE_ENDED) {
      fputc('\n', shell->command->out);
      break;
    }
    if (result == LINE_INTERRUPTED) {
      buffer_clear(&entry);
      command_forget_interrupt();
      continue;
    }
    if (entry.len == 0 || is_blank(buffer_text(&entry))) {
      buffer_clear(&entry);
      continue;
    }
    size_t pipe = entry.data[0] == '\\' ? SIZE_MAX : find_pipe(buffer_text(&entry));
    if (entry.data[0] != '\\' && pipe == SIZE_MAX && is_incomplete(buffer_text(&entry))) {
      buffer_append_char(&entry, '\n');
      continue;
    }
    line_editor_keep(shell->editor, buffer_text(&entry));
    run_entry(shell, buffer_text(&entry));
    buffer_clear(&entry);
  }
  buffer_fini(&entry);
  return COMMAND_GOOD;
}

/* ---- beginning ---- */

/* $XDG_STATE_HOME/jpeer/history, or ~/.local/state/jpeer/history. False: there is no such folder. */
static bool find_history(char *out, size_t size)
{
  const char *state = getenv("XDG_STATE_HOME");
  const char *home = getenv("HOME");
  if (state != NULL && *state == '/')
    text_format(out, size, "%s/jpeer", state);
  else if (home != NULL && *home == '/')
    text_format(out, size, "%s/.local/state/jpeer", home);
  else
    return false;
  for (char *at = strchr(out + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
    *at = '\0';
    (void)mkdir(out, 0700);
    *at = '/';
  }
  if (mkdir(out, 0700) != 0 && errno != EEXIST)
    return false;
  size_t length = strlen(out);
  text_format(out + length, size - length, "/history");
  return true;
}

/* \open begins with another completer. */
static void complete_line(void *context, struct text line, size_t cursor, struct completion *completion)
{
  completer_complete(((struct shell *)context)->completer, line, cursor, completion);
}

static int begin_terminal(struct shell *shell)
{
  char history[PATH_MAX];
  const struct line_editor_config config = {.history_path =
                                                find_history(history, sizeof history) ? history : NULL,
                                            .is_interrupted = command_is_interrupted,
                                            .complete = complete_line,
                                            .context = shell};
  shell->editor = line_editor_create(&config);
  if (shell->editor == NULL)
    return COMMAND_FAILED;
  if (!line_editor_can_edit(shell->editor))
    fputs(
        "jpeer shell: lines cannot be edited without libedit (libedit.so.2) and a terminal that TERM names\n",
        stderr);
  int code = run_terminal(shell);
  line_editor_destroy(shell->editor);
  return code;
}

int command_shell(struct command *command)
{
  const struct command_options *options = &command->options;
  struct shell shell = {.listener = {take_value, take_command}, .command = command, .terminal = command->out};
  int code = COMMAND_GOOD;
  shell.completer = completer_create(command);
  if (shell.completer == NULL ||
      !evaluator_define_texts(command->evaluator, "args", command->words, command->word_count))
    code = COMMAND_FAILED;
  else if (options->expression != NULL)
    (void)run_source(&shell, "-e", text_of(options->expression)), code = shell.status;
  else if (options->file != NULL)
    (void)run_file(&shell, options->file), code = shell.status;
  else if (isatty(STDIN_FILENO) != 1)
    (void)run_file(&shell, "-"), code = shell.status;
  else
    code = begin_terminal(&shell);
  int written = end_output(&shell);
  completer_destroy(shell.completer);
  return code == COMMAND_GOOD ? written : code;
}

#ifndef JPEER_COMMAND_COMMAND_H
#define JPEER_COMMAND_COMMAND_H
/*
 * The one-shot commands: `jpeer call` and others. Each finds a peer, or launches one, and is its client.
 *
 * Main's thread, once in a process: a command handles SIGINT.
 */
#include "base/options.h"
#include "command/evaluator.h"

#include <poll.h>

/* docs/command-line.md, "Output". */
enum command_exit {
  COMMAND_GOOD = 0,
  COMMAND_FAILED = 1, /* Java threw, or any other error */
  COMMAND_USAGE = 2,
  COMMAND_DENIED = 3,
  COMMAND_UNREACHED = 4, /* no peer, or no connection */
  COMMAND_TIMED_OUT = 5,
  COMMAND_INTERRUPTED = 130
};

/* Runs the command of that name; args: after the name. False: there is none. */
bool command_run(const char *name, char *const *args, size_t arg_count, int *exit_status);

/* The commands, for help; NULL after the last. */
const char *command_name(size_t index);
const char *command_summary(size_t index);

/* What the caller completes: its own subcommands. */
struct completion_of_others {
  const char *const *names; /* NULL after the last */
  const struct option *run_options;
  size_t run_option_count;
  const char *presets; /* of policies: "deny-unsafe, deny-files" */
};

/* Prints the command's man page. False: there is no such command. */
bool command_print_manual(const char *name);
/* Prints what the last of the words, which follow "jpeer", may become, one a line: subcommands, options and their values,
 * and names of the peer at hand. */
void command_complete(char *const *words, size_t count, const struct completion_of_others *others);
/* Prints the completion script for a shell. Returns an exit status. */
int command_print_completion(const char *shell);

/* ---- for the files of this folder ---- */

enum { COMMAND_WORDS_MAX = 1000 };

struct session_file;

/* How a directory is reached (jp_directory_config). */
struct command_directory {
  const char *endpoints;
  const char *name_space;
  const char *ca_file;
  const char *cert_file;
  const char *key_file;
  const char *user_file;
  int64_t timeout_ms;
};

struct command_options {
  const char *url;
  const char *class_path;
  const char *jar;
  struct option_list run;
  int64_t timeout_ms;
  size_t elements; /* the most that are shown of an object */
  int64_t watch_ms;
  const char *token_file;
  const char *ca_file;
  const char *session;    /* between commands; NULL: none */
  const char *file;       /* of jpeer shell: a script */
  const char *expression; /* of jpeer shell: instead of a script */
  struct command_directory directory;
  bool json;
  bool ndjson;
  bool table;
  bool plain; /* no tables, although stdout is a terminal */
  bool wide;  /* the columns of a table below each other */
  bool print_request;
  bool curl;
  bool raw;
  bool verbose;
  bool time;
  bool inherited;
  bool read_only;
  bool jvms;
  bool watch;
  bool help;
};

/* A command that runs. */
struct command {
  const char *name;
  struct command_options options;
  char *const *words; /* what follows the options */
  size_t word_count;
  char peer_name[64];
  struct jp_peer *peer; /* launched; NULL: not */
  bool
      is_ready; /* the launched peer has said that it is ready; only the thread that passes its output uses it */
  struct jp_client *client;
  struct evaluator *evaluator;
  struct arena peers;           /* of find_only_peer */
  struct buffer printed;        /* requests, if they are printed and not sent */
  struct session_file *session; /* NULL: none */
  const char *session_id;
  bool reconnects;
  FILE *
      out; /* where results go: stdout; while the shell shows or sends them, the pager's text, a pipe or a file */
  bool is_terminal; /* out */
  bool has_colour;
};

/* The options of a command by its name; 0: there is none. */
size_t command_select_options(const char *name, struct option *selected);
enum { COMMAND_OPTIONS_MAX = 64 };
/* A command that has parsed nothing, with an open client and an evaluator for completion. False: there is no peer. */
bool command_open_for_completion(struct command *command, const char *url);
void command_close_for_completion(struct command *command);

/* Each runs with an open client. They return an exit status, after they have printed what failed. */
int command_call(struct command *command);
int command_list(struct command *command);
int command_describe(struct command *command);
int command_ping(struct command *command);
int command_stats(struct command *command);
int command_gc(struct command *command);
int command_each(struct command *command);
int command_calls(struct command *command);
int command_cancel(struct command *command);
int command_shell(struct command *command);
/* Leaves the peer and its variables for another one. Returns an exit status; if it is not COMMAND_GOOD, nothing has
 * changed. */
int command_open_peer(struct command *command, const char *url);
/* These have no client. */
int command_rpc(struct command *command);
int command_ps(struct command *command);
int command_peers(struct command *command);
int command_sessions(struct command *command);
int command_end(struct command *command);
/* Before there is a client: COMMAND_GOOD, or prints what is wrong with the words. */
int command_check_call(const struct command *command);

/* Prints what failed, and returns the exit status for it. source: what places of the failure are in; data NULL: none. */
int command_report(const struct command *command, const struct failure *failure, struct text source);
/* Likewise; place: what the message begins with, instead of the program's name. NULL: none. */
int command_report_at(const struct command *command, const struct failure *failure, struct text source,
                      const char *place);
/* The same for what a function of the client library returned. answer: its answer, or NULL. */
int command_report_status(const struct command *command, enum jp_client_status status,
                          const struct jp_client_error *error, const struct jp_answer *answer);
/* Prints why the evaluator's last request failed, if the connection, the time or the user has ended it: what is shown would
 * be wrong. COMMAND_GOOD: it did not fail, or Java threw, or the policy denies it: what is shown is without its answer. */
int command_report_lost(const struct command *command);
/* A line on stderr that counts the elements of a long transfer, from a second on, if stderr is a terminal; all zero: not begun.
 * Its end removes the line. */
struct progress {
  int64_t begin_ms;
  int64_t shown_ms; /* 0: not yet */
};
void command_show_progress(struct progress *progress, size_t count);
void command_end_progress(struct progress *progress);
/* Writes what stdout has buffered. An error is printed, and COMMAND_FAILED returned, unless it is the end of the pipe, whose
 * reader has what it wanted: command_pipe_has_ended then. */
int command_flush_output(const struct command *command);
/* Prints a usage error, and returns COMMAND_USAGE. */
int command_fail_usage(const struct command *command, const char *format, ...) JP_PRINTF(2, 3);
/* The configuration of the command's clients. */
struct jp_client_config command_client_config(const struct command *command);
bool command_is_interrupted(void);
/* A Ctrl-C that was obeyed does not end what follows. */
void command_forget_interrupt(void);
enum { COMMAND_POLL_MAX = 4 };
/* As poll, of at most COMMAND_POLL_MAX descriptors; Ctrl-C ends the wait, also if it came before: -1 and EINTR. */
int command_poll(struct pollfd *fds, size_t count, int timeout_ms);
/* From now on the end of the pipe that stdout is interrupts, too. */
void command_watch_pipe(void);
bool command_pipe_has_ended(void);
/* Asks for the texts of the objects among the values, by their toString, in one round trip. False: it failed. */
bool command_learn_texts(struct command *command, struct value *const *values, size_t count);
/* Prints the elements of an object, a line each, as `jpeer each`. */
int command_print_elements(struct command *command, struct value *object);
/* Appends a value as Java's toString shows it. */
void command_append_plain(const struct value *value, struct buffer *out);
/* Prints a value as the options want it. */
int command_print_value(struct command *command, struct value *value);
/* Writes text that a terminal may show: if stdout is a terminal, control characters of it are escaped. */
void command_write_text(const struct command *command, struct text text);

#endif

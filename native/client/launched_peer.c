/*
 * A peer as a child process, from its command line to its end. The child watches a socket, the lifeline, and
 * ends with the parent. A thread passes on the child's output until both pipes have ended. Any thread may
 * call jp_peer_has_ended and jp_peer_await_output; the owner calls all other functions.
 */
#include "jpeer/client.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/transitions.h"
#include "client/client_open.h"
#include "client/messages/client_error.h"
#include "client/messages/json_config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define SOCKET_NAME "/socket"
#define LOCK_SUFFIX ".lock"

enum { START_TIMEOUT_MS = 30000, RETRY_MS = 3, PATH_SIZE = sizeof((struct sockaddr_un *)0)->sun_path };

/* The child's end of the lifeline has this descriptor in the child. */
enum { LIFELINE_OF_CHILD = 3 };

/* LAST_OUTPUT_MS: the time for passing on the output of a child that has ended. All its output is then in the
 * pipes; only a grandchild can write more. */
enum { CHUNK = 16 * 1024, LAST_OUTPUT_MS = 1000, OUTPUT_WAIT_MS = 200 };

/*
 * A child process. `state` and `status` are guarded by `lock`; the owner uses the other members.
 *
 * | state       | meaning                                                   | what ends it                    |
 * | CHILD_NONE  | no process was started: child->pid is 0                   | start_process: it runs          |
 * | CHILD_RUNS  | the process was started, and waitpid has not seen its end | await_end: it has ended, or     |
 * |             |                                                           | other code has waited for it    |
 * | CHILD_ENDED | the process has ended: child->pid may be reused           | nothing                         |
 */
enum child_state {
  CHILD_NONE, /* no process was started */
  CHILD_RUNS, /* the process was started, and its end was not seen */
  CHILD_ENDED /* the process has ended */
};

static const uint16_t child_transitions[] = {
    [CHILD_NONE] = TO(CHILD_RUNS),
    [CHILD_RUNS] = TO(CHILD_ENDED),
    [CHILD_ENDED] = 0,
};

struct child {
  pthread_mutex_t lock;
  enum child_state state;
  pid_t pid;     /* 0: none */
  int lifeline;  /* our end of a socket. The child watches its end, and writes there why it cannot start */
  int output[2]; /* the read ends of its stdout and stderr; -1: inherited */
  int status;    /* of waitpid; -1: other code has waited for the child */
};

static void set_child_state(struct child *child, enum child_state to)
{
  ASSERT_TRANSITION(child_transitions, child->state, to);
  child->state = to;
}

/* The child's output, and the function that receives it. */
struct output {
  pthread_t thread;
  bool runs;          /* the thread must be joined, even if the child has ended */
  int descriptors[2]; /* of the child's stdout and stderr; owned */
  bool has_ended[2];  /* whether stdout, and whether stderr, has ended. Only the thread uses these */
  int stop;           /* an eventfd: the child has ended */
  /* an epoll set of both descriptors: polling the set costs half as much as two calls of FIONREAD */
  int arrivals;
  /* True from before the thread reads until on_output has received the bytes. If it is false and the pipes
   * are empty, no output is in flight. */
  atomic_bool is_reading;
  pthread_mutex_t lock;       /* guards the two counts; held while the thread reads */
  pthread_cond_t passed_more; /* `passed` has grown */
  uint64_t read[2];           /* bytes read from each */
  uint64_t passed[2];
  void (*on_output)(void *context, int descriptor, struct jp_text bytes);
  void *context;
};

struct jp_peer {
  struct child child;
  struct output output;
  struct jp_client *client;
  char folder[PATH_SIZE - sizeof SOCKET_NAME]; /* "": no folder was created */
  char socket[PATH_SIZE];
  char url[PATH_SIZE + 16];     /* for other clients */
  char own_url[PATH_SIZE + 16]; /* for the own connection, over shared memory if possible */
};

/* ---- the command ---- */

/* The options that give a peer its policy (docs/flags.md, "Policy"), and their environment variables. */
static const struct {
  const char *option;
  const char *variable;
} policy_options[] = {
    {"--rpc-allow", "JPEER_RPC_ALLOW"},
    {"--rpc-policy", "JPEER_RPC_POLICY"},
    {"--rpc-policy-preset", "JPEER_RPC_POLICY_PRESET"},
    {"--rpc-default-action", "JPEER_RPC_DEFAULT_ACTION"},
};

enum { POLICY_OPTIONS = sizeof policy_options / sizeof policy_options[0] };

/* True for "--rpc-policy" and "--rpc-policy=FILE", but not for "--rpc-policy-watch-interval". */
static bool begins_with_name(const char *word, const char *name)
{
  size_t length = strlen(name);
  return strncmp(word, name, length) == 0 && (word[length] == '\0' || word[length] == '=');
}

/* True if a variable of the environment ("JPEER_RPC_POLICY=...") gives the peer a policy. */
static bool variable_names_policy(const char *variable)
{
  for (size_t i = 0; i < POLICY_OPTIONS; i++) {
    const char *equals = strchr(variable, '=');
    /* An empty variable counts as unset. */
    if (begins_with_name(variable, policy_options[i].variable) && equals != NULL && equals[1] != '\0')
      return true;
  }
  return false;
}

static bool option_names_policy(const char *word)
{
  for (size_t i = 0; i < POLICY_OPTIONS; i++) {
    if (begins_with_name(word, policy_options[i].option))
      return true;
  }
  return false;
}

struct words {
  const char **items;
  size_t count;
};

static void add_word(struct words *words, const char *word)
{
  words->items[words->count++] = word;
}

static void add_words(struct words *words, const char *option, const char *value)
{
  add_word(words, option);
  add_word(words, value);
}

static size_t count_words(const char *const *list)
{
  size_t count = 0;
  while (list != NULL && list[count] != NULL)
    count++;
  return count;
}

static void add_list(struct words *words, const char *const *list)
{
  for (size_t i = 0; list != NULL && list[i] != NULL; i++)
    add_word(words, list[i]);
}

static void add_policy(struct words *words, const struct jp_launch_config *config, bool has_policy)
{
  for (size_t i = 0; config->options != NULL && config->options[i] != NULL; i++)
    has_policy = has_policy || option_names_policy(config->options[i]);
  if (!has_policy)
    add_words(words, "--rpc-default-action", "ALLOW");
}

/*
 * Returns the words of the command, NULL-terminated, in the arena; their texts are borrowed from the
 * configuration. has_policy: the environment gives a policy. NULL: no memory.
 */
static const char *const *write_command(const struct jp_launch_config *config, const char *folder,
                                        const char *socket_path, bool has_policy, struct arena *arena)
{
  enum { OWN_WORDS = 16 };
  size_t most = OWN_WORDS + count_words(config->options) + 2 * count_words(config->jvm_options) +
                count_words(config->arguments);
  struct words words = {.items = arena_calloc(arena, most, sizeof(const char *))};
  struct text address = arena_printf(arena, "unix:%s", socket_path);
  struct text descriptor = arena_printf(arena, "%d", LIFELINE_OF_CHILD);
  if (words.items == NULL || address.data == NULL || descriptor.data == NULL)
    return NULL;
  add_words(&words, config->program != NULL ? config->program : "jpeer", "run");
  add_words(&words, "--json-rpc", address.data);
  add_words(&words, "--stop-on-eof", descriptor.data);
  add_words(&words, "--remove-on-eof", folder);
  add_policy(&words, config, has_policy);
  if (config->class_path != NULL)
    add_words(&words, "-cp", config->class_path);
  for (size_t i = 0; config->jvm_options != NULL && config->jvm_options[i] != NULL; i++)
    add_words(&words, "-J", config->jvm_options[i]);
  if (config->main_class ==
      NULL) /* before the options: one that lacks its value must not consume this word */
    add_word(&words, "--as-service");
  add_list(&words, config->options);
  if (config->main_class != NULL) {
    add_word(&words, config->main_class);
    add_list(&words, config->arguments);
  }
  return words.items;
}

/* The locale that decides the encoding of characters, in the precedence of setlocale(3). */
static const char *locale_of_characters(bool *is_by_lc_all)
{
  const char *all = getenv("LC_ALL");
  *is_by_lc_all = all != NULL && all[0] != '\0';
  if (*is_by_lc_all)
    return all;
  const char *characters = getenv("LC_CTYPE");
  if (characters != NULL && characters[0] != '\0')
    return characters;
  const char *language = getenv("LANG");
  return language == NULL ? "" : language;
}

/* The child's environment: a copy of this process's environment. If the locale has no encoding, UTF-8 is set,
 * because the JVM would otherwise read the names of files as ASCII. NULL: no memory. */
static const char *const *write_environment(struct arena *arena)
{
  bool is_by_lc_all;
  const char *locale = locale_of_characters(&is_by_lc_all);
  if (locale[0] != '\0' && strcmp(locale, "C") != 0 && strcmp(locale, "POSIX") != 0)
    return (const char *const *)environ;
  size_t count = count_words((const char *const *)environ);
  const char **variables = arena_calloc(arena, count + 2, sizeof *variables);
  size_t kept = 0;
  for (size_t i = 0; variables != NULL && i < count; i++) {
    if (!begins_with_name(environ[i], "LC_ALL") && !begins_with_name(environ[i], "LC_CTYPE"))
      variables[kept++] = environ[i];
  }
  if (variables != NULL)
    variables[kept] = is_by_lc_all ? "LC_ALL=C.UTF-8" : "LC_CTYPE=C.UTF-8";
  return variables;
}

static bool environment_has_policy(void)
{
  for (size_t i = 0; environ[i] != NULL; i++) {
    if (variable_names_policy(environ[i]))
      return true;
  }
  return false;
}

/* ---- the child ---- */

/* The child's ends of the pipes; -1: none. Their numbers are greater than the descriptors that the child will
 * have. */
struct ends {
  int lifeline;
  int output[2];
  int input; /* not owned; 0: /dev/null */
};

enum { LOWEST_END = 10 };

static void close_end(int *end)
{
  if (*end >= 0)
    close(*end);
  *end = -1;
}

/* Both ends are close-on-exec, so that other child processes do not inherit them. */
static bool make_pipe(int *read_end, int *write_end)
{
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return false;
  *read_end = fcntl(ends[0], F_DUPFD_CLOEXEC, LOWEST_END);
  *write_end = fcntl(ends[1], F_DUPFD_CLOEXEC, LOWEST_END);
  close(ends[0]);
  close(ends[1]);
  return *read_end >= 0 && *write_end >= 0;
}

/* The same as make_pipe. Writes to a socket can be made without SIGPIPE. */
static bool make_lifeline(int *theirs, int *ours)
{
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return false;
  *theirs = fcntl(ends[0], F_DUPFD_CLOEXEC, LOWEST_END);
  *ours = fcntl(ends[1], F_DUPFD_CLOEXEC, LOWEST_END);
  close(ends[0]);
  close(ends[1]);
  return *theirs >= 0 && *ours >= 0;
}

static int add_files(posix_spawn_file_actions_t *files, const struct ends *ends)
{
  int fault = ends->input == 0
                  ? posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
                  : posix_spawn_file_actions_adddup2(files, ends->input, STDIN_FILENO);
  for (int i = 0; fault == 0 && i < 2; i++) {
    if (ends->output[i] >= 0)
      fault = posix_spawn_file_actions_adddup2(files, ends->output[i], STDOUT_FILENO + i);
  }
  return fault != 0 ? fault : posix_spawn_file_actions_adddup2(files, ends->lifeline, LIFELINE_OF_CHILD);
}

static int set_attributes(posix_spawnattr_t *attributes)
{
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  int fault = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                       POSIX_SPAWN_SETPGROUP);
  if (fault == 0)
    fault = posix_spawnattr_setsigmask(attributes, &none);
  return fault != 0 ? fault : posix_spawnattr_setsigdefault(attributes, &all);
}

/* Returns an errno; 0: started. */
static int spawn_child(struct child *child, const struct ends *ends, const char *const *command,
                       const char *const *environment)
{
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  if (posix_spawn_file_actions_init(&files) != 0)
    return ENOMEM;
  if (posix_spawnattr_init(&attributes) != 0) {
    posix_spawn_file_actions_destroy(&files);
    return ENOMEM;
  }
  int fault = add_files(&files, ends);
  if (fault == 0)
    fault = set_attributes(&attributes);
  if (fault == 0)
    fault = posix_spawnp(&child->pid, command[0], &files, &attributes, (char *const *)command,
                         (char *const *)environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return fault;
}

/* The child gets its own process group, so that a Ctrl-C at the terminal reaches only the parent, an empty
 * signal mask, and no ignored signals. */
static enum jp_client_status start_process(struct child *child, const char *const *command,
                                           const char *const *environment,
                                           const struct jp_launch_config *config,
                                           struct jp_client_error *error)
{
  struct ends ends = {.lifeline = -1, .output = {-1, -1}, .input = config->input};
  *child =
      (struct child){.lock = PTHREAD_MUTEX_INITIALIZER, .lifeline = -1, .output = {-1, -1}, .status = -1};
  bool has_pipes = make_lifeline(&ends.lifeline, &child->lifeline) &&
                   (config->on_output == NULL || (make_pipe(&child->output[0], &ends.output[0]) &&
                                                  make_pipe(&child->output[1], &ends.output[1])));
  int fault = has_pipes ? spawn_child(child, &ends, command, environment) : errno;
  close_end(&ends.lifeline);
  close_end(&ends.output[0]);
  close_end(&ends.output[1]);
  if (fault == 0) {
    set_child_state(child, CHILD_RUNS);
    return JP_CLIENT_OK;
  }
  child->pid = 0;
  close_end(&child->lifeline);
  close_end(&child->output[0]);
  close_end(&child->output[1]);
  return client_fail(error, JP_CLIENT_REFUSED, "cannot start %s: %s", command[0], strerror(fault));
}

/* True: the process has ended. Waits at most timeout_ms. */
static bool await_end(struct child *child, int timeout_ms)
{
  enum { PAUSE_MS = 2 };
  int64_t deadline = clock_now_ms() + timeout_ms;
  for (;;) {
    pthread_mutex_lock(&child->lock);
    int status;
    pid_t ended = child->state == CHILD_RUNS ? waitpid(child->pid, &status, WNOHANG) : 0;
    if (ended > 0)
      child->status = status;
    if (ended > 0 || (ended < 0 && errno == ECHILD))
      set_child_state(child, CHILD_ENDED);
    bool runs = child->state == CHILD_RUNS;
    pthread_mutex_unlock(&child->lock);
    if (!runs || (timeout_ms >= 0 && clock_now_ms() >= deadline))
      return !runs;
    poll(NULL, 0, PAUSE_MS);
  }
}

/* Reads, without waiting, what the child wrote to the lifeline; "" if nothing. */
static void read_reason(const struct child *child, char *out, size_t size)
{
  ssize_t count = child->lifeline < 0 ? -1 : recv(child->lifeline, out, size - 1, MSG_DONTWAIT);
  out[count < 0 ? 0 : count] = '\0';
}

/* Asks the child to end: sends the word for a planned stop, and closes the lifeline. */
static void request_end(struct child *child)
{
  static const char planned[] = "stop"; /* docs/flags.md, --stop-on-eof */
  if (child->lifeline >= 0)
    (void)!send(child->lifeline, planned, sizeof planned - 1,
                MSG_DONTWAIT | MSG_NOSIGNAL); /* fails if the child has ended */
  close_end(&child->lifeline);
}

/* "exit status 1", "signal 9": for error texts. */
static void describe_end(const struct child *child, char *out, size_t size)
{
  if (child->status == -1)
    snprintf(out, size, "an unknown status");
  else if (WIFSIGNALED(child->status))
    snprintf(out, size, "signal %d", WTERMSIG(child->status));
  else
    snprintf(out, size, "exit status %d", WEXITSTATUS(child->status));
}

/* ---- the output of the child ---- */

static void pass_output(struct output *output, int which)
{
  char bytes[CHUNK];
  atomic_store(&output->is_reading, true);
  pthread_mutex_lock(&output->lock);
  ssize_t count = read(output->descriptors[which], bytes, sizeof bytes);
  if (count > 0)
    output->read[which] += (uint64_t)count;
  pthread_mutex_unlock(&output->lock);
  if (count > 0) {
    output->on_output(output->context, STDOUT_FILENO + which, (struct jp_text){bytes, (size_t)count});
    pthread_mutex_lock(&output->lock);
    output->passed[which] += (uint64_t)count;
    pthread_cond_broadcast(&output->passed_more);
    pthread_mutex_unlock(&output->lock);
  } else if (count == 0 || errno != EINTR) {
    output->has_ended[which] = true;
  }
  atomic_store(&output->is_reading, false);
}

/* Passes on the available output. False: timed out. */
static bool pass_available(struct output *output, int timeout_ms, bool *is_stopped)
{
  struct pollfd set[3] = {{.fd = output->has_ended[0] ? -1 : output->descriptors[0], .events = POLLIN},
                          {.fd = output->has_ended[1] ? -1 : output->descriptors[1], .events = POLLIN},
                          {.fd = *is_stopped ? -1 : output->stop, .events = POLLIN}};
  int ready = poll(set, 3, timeout_ms);
  for (int i = 0; ready > 0 && i < 2; i++) {
    if (set[i].revents != 0)
      pass_output(output, i);
  }
  *is_stopped = *is_stopped || (ready > 0 && set[2].revents != 0);
  return ready != 0;
}

static void *run_output_thread(void *argument)
{
  struct output *output = argument;
  bool is_stopped = false;
  while (!is_stopped && (!output->has_ended[0] || !output->has_ended[1]))
    (void)pass_available(output, -1, &is_stopped);
  int64_t deadline = clock_now_ms() + LAST_OUTPUT_MS;
  while (clock_now_ms() < deadline && pass_available(output, 0, &is_stopped))
    continue;
  return NULL;
}

static void close_output(struct output *output)
{
  close_end(&output->descriptors[0]);
  close_end(&output->descriptors[1]);
  close_end(&output->stop);
  close_end(&output->arrivals);
}

static bool watch_arrivals(struct output *output)
{
  struct epoll_event input = {.events = EPOLLIN};
  output->arrivals = epoll_create1(EPOLL_CLOEXEC);
  return output->arrivals >= 0 &&
         epoll_ctl(output->arrivals, EPOLL_CTL_ADD, output->descriptors[0], &input) == 0 &&
         epoll_ctl(output->arrivals, EPOLL_CTL_ADD, output->descriptors[1], &input) == 0;
}

/* Takes ownership of the descriptors, even on failure. */
static enum jp_client_status start_output(struct output *output, const int descriptors[2],
                                          void (*on_output)(void *context, int descriptor,
                                                            struct jp_text bytes),
                                          void *context, struct jp_client_error *error)
{
  *output = (struct output){.descriptors = {descriptors[0], descriptors[1]},
                            .stop = -1,
                            .arrivals = -1,
                            .lock = PTHREAD_MUTEX_INITIALIZER,
                            .on_output = on_output,
                            .context = context};
  clock_init_condition(&output->passed_more);
  if (on_output == NULL)
    return JP_CLIENT_OK;
  output->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  bool is_watched = output->stop >= 0 && watch_arrivals(output);
  int fault = errno;
  if (is_watched) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the program's signals come to its own threads */
    fault = pthread_create(&output->thread, NULL, run_output_thread, output);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
  }
  output->runs = fault == 0;
  if (fault == 0)
    return JP_CLIENT_OK;
  close_output(output);
  return client_fail(error, JP_CLIENT_LIMIT, "no thread for the peer's output: %s", strerror(fault));
}

static uint64_t count_waiting(const struct output *output, int which)
{
  int count = 0;
  return ioctl(output->descriptors[which], FIONREAD, &count) == 0 && count > 0 ? (uint64_t)count : 0;
}

static void await_output(struct output *output)
{
  struct epoll_event arrival;
  /* The pipes must be checked before is_reading, because the thread sets is_reading before it empties a
   * pipe. */
  if (epoll_wait(output->arrivals, &arrival, 1, 0) == 0 && !atomic_load(&output->is_reading))
    return;
  const struct timespec until = clock_timespec(clock_now_ns() + (int64_t)OUTPUT_WAIT_MS * 1000000);
  pthread_mutex_lock(&output->lock);
  uint64_t wanted[2];
  for (int i = 0; i < 2; i++)
    wanted[i] = output->read[i] + count_waiting(output, i);
  int failure = 0;
  while (failure == 0 && (output->passed[0] < wanted[0] || output->passed[1] < wanted[1]))
    failure = pthread_cond_timedwait(&output->passed_more, &output->lock, &until);
  pthread_mutex_unlock(&output->lock);
}

/* Call when the child has ended: waits until its last output was passed on. Does not wait for a grandchild
 * that holds the pipes. */
static void finish_output(struct output *output)
{
  if (!output->runs)
    return;
  (void)eventfd_write(output->stop, 1);
  pthread_join(output->thread, NULL);
  close_output(output);
  output->runs = false;
}

/* ---- a private folder ---- */

static bool make_folder_in(struct jp_peer *peer, const char *parent)
{
  if (parent == NULL || parent[0] != '/')
    return false;
  int length = snprintf(peer->folder, sizeof peer->folder, "%s/jpeer-XXXXXX", parent);
  if (length > 0 && (size_t)length < sizeof peer->folder && mkdtemp(peer->folder) != NULL)
    return true;
  peer->folder[0] = '\0';
  return false;
}

static enum jp_client_status make_folder(struct jp_peer *peer, struct jp_client_error *error)
{
  if (!make_folder_in(peer, getenv("XDG_RUNTIME_DIR")) && !make_folder_in(peer, getenv("TMPDIR")) &&
      !make_folder_in(peer, "/tmp"))
    return client_fail(error, JP_CLIENT_REFUSED, "cannot make a folder for the peer's socket in /tmp: %s",
                       strerror(errno));
  snprintf(peer->socket, sizeof peer->socket, "%s" SOCKET_NAME, peer->folder);
  snprintf(peer->url, sizeof peer->url, "ws+unix:%s", peer->socket);
  snprintf(peer->own_url, sizeof peer->own_url, "shm:%s", peer->socket);
  return JP_CLIENT_OK;
}

/* The child removes the folder too, if this process is killed. A peer that was killed leaves its socket, and
 * perhaps the lock of the socket (net/unix_socket.c). */
static void remove_folder(struct jp_peer *peer)
{
  char lock[PATH_SIZE + sizeof LOCK_SUFFIX];
  if (peer->folder[0] == '\0')
    return;
  unlink(peer->socket);
  snprintf(lock, sizeof lock, "%s" LOCK_SUFFIX, peer->socket);
  unlink(lock);
  rmdir(peer->folder);
  peer->folder[0] = '\0';
}

/* ---- start ---- */

static enum jp_client_status start_child(struct jp_peer *peer, const struct jp_launch_config *config,
                                         struct jp_client_error *error)
{
  struct arena arena;
  arena_init(&arena);
  const char *const *command =
      write_command(config, peer->folder, peer->socket, environment_has_policy(), &arena);
  const char *const *environment = write_environment(&arena);
  enum jp_client_status status = command == NULL || environment == NULL
                                     ? client_fail(error, JP_CLIENT_NO_MEMORY, "out of memory")
                                     : start_process(&peer->child, command, environment, config, error);
  arena_fini(&arena);
  if (status == JP_CLIENT_OK)
    status =
        start_output(&peer->output, peer->child.output, config->on_output, config->output_context, error);
  return status;
}

/* The child's socket exists before its JVM has started, so the connection may have to wait for its first
 * answer. */
static enum jp_client_status connect_to_child(struct jp_peer *peer, const struct jp_launch_config *config,
                                              struct jp_client_error *error)
{
  int timeout_ms = config->start_timeout_ms > 0 ? config->start_timeout_ms : START_TIMEOUT_MS;
  int64_t deadline = clock_now_ms() + timeout_ms;
  struct jp_client_config client = {.size = sizeof client};
  if (config->client != NULL) {
    enum jp_client_status status = client_copy_config(config->client, &client, error);
    if (status != JP_CLIENT_OK)
      return status;
  }
  for (;;) {
    int64_t left_ms = deadline - clock_now_ms();
    if (left_ms <= 0)
      return client_fail(error, JP_CLIENT_TIMEOUT, "the peer did not answer within %d ms", timeout_ms);
    client.connect_timeout_ms = (int)left_ms;
    enum jp_client_status status = client_open(peer->own_url, &client, true, &peer->client, error);
    if (status != JP_CLIENT_REFUSED && status != JP_CLIENT_CLOSED)
      return status;
    if (await_end(&peer->child, RETRY_MS)) {
      char end[40];
      char why[sizeof error->text];
      describe_end(&peer->child, end, sizeof end);
      read_reason(&peer->child, why, sizeof why);
      return client_fail(error, JP_CLIENT_REFUSED, "the peer has ended before it was ready, with %s%s%s", end,
                         why[0] == '\0' ? "" : ": ", why);
    }
  }
}

static void end_peer(struct jp_peer *peer, int timeout_ms)
{
  jp_client_close(peer->client);
  request_end(&peer->child);
  if (!await_end(&peer->child, timeout_ms)) {
    kill(peer->child.pid, SIGKILL);
    (void)await_end(&peer->child, -1);
  }
  finish_output(&peer->output);
  remove_folder(peer);
}

enum jp_client_status jp_launch(const struct jp_launch_config *given, struct jp_peer **peer,
                                struct jp_client_error *error)
{
  const struct jp_launch_config none = {.size = sizeof none};
  const struct jp_launch_config *config = given != NULL ? given : &none;
  *peer = NULL;
  if (config->size < sizeof *config)
    return client_fail(error, JP_CLIENT_INVALID, "a configuration's size is not sizeof its struct");
  struct jp_client_config client;
  enum jp_client_status status =
      config->client == NULL ? JP_CLIENT_OK : client_copy_config(config->client, &client, error);
  if (status != JP_CLIENT_OK)
    return status;
  struct jp_peer *made = calloc(1, sizeof *made);
  if (made == NULL)
    return client_fail(error, JP_CLIENT_NO_MEMORY, "out of memory");
  made->child = (struct child){.lock = PTHREAD_MUTEX_INITIALIZER, .lifeline = -1};
  status = make_folder(made, error);
  if (status == JP_CLIENT_OK)
    status = start_child(made, config, error);
  if (status == JP_CLIENT_OK)
    status = connect_to_child(made, config, error);
  if (status != JP_CLIENT_OK) {
    end_peer(made, 0);
    free(made);
    return status;
  }
  *peer = made;
  return JP_CLIENT_OK;
}

/* ---- a peer that runs ---- */

struct jp_client *jp_peer_client(const struct jp_peer *peer)
{
  return peer->client;
}

const char *jp_peer_url(const struct jp_peer *peer)
{
  return peer->url;
}

int jp_peer_process_id(const struct jp_peer *peer)
{
  return (int)peer->child.pid;
}

void jp_peer_await_output(struct jp_peer *peer)
{
  /* on_output itself may call this. */
  if (peer->output.runs && !pthread_equal(pthread_self(), peer->output.thread))
    await_output(&peer->output);
}

bool jp_peer_has_ended(struct jp_peer *peer, int timeout_ms, char *how, size_t size)
{
  if (!await_end(&peer->child, timeout_ms))
    return false;
  describe_end(&peer->child, how, size);
  return true;
}

int jp_peer_stop(struct jp_peer *peer, int timeout_ms)
{
  if (peer == NULL)
    return 0;
  end_peer(peer, timeout_ms);
  int status = peer->child.status;
  free(peer);
  return status;
}

/* ---- for programs that call the library by foreign functions ---- */

#define PLACE(member) offsetof(struct jp_launch_config, member)

static const struct json_config LAUNCH_JSON_CONFIG = {
    .size = sizeof(struct jp_launch_config),
    .members =
        (const struct json_config_member[]){
            {"program", JSON_CONFIG_TEXT, PLACE(program), NULL},
            {"class_path", JSON_CONFIG_TEXT, PLACE(class_path), NULL},
            {"jvm_options", JSON_CONFIG_TEXTS, PLACE(jvm_options), NULL},
            {"options", JSON_CONFIG_TEXTS, PLACE(options), NULL},
            {"main_class", JSON_CONFIG_TEXT, PLACE(main_class), NULL},
            {"arguments", JSON_CONFIG_TEXTS, PLACE(arguments), NULL},
            {"start_timeout_ms", JSON_CONFIG_INT, PLACE(start_timeout_ms), NULL},
            {"client", JSON_CONFIG_CONFIG, PLACE(client), &CLIENT_JSON_CONFIG},
            {"input", JSON_CONFIG_INT, PLACE(input), NULL},
        },
    .member_count = 9};

enum jp_client_status jp_launch_json(const char *config, struct jp_peer **peer, struct jp_client_error *error)
{
  struct jp_launch_config read;
  struct arena arena;
  *peer = NULL;
  arena_init(&arena);
  enum jp_client_status status = json_config_read(config, &LAUNCH_JSON_CONFIG, &arena, &read, error);
  if (status == JP_CLIENT_OK)
    status = jp_launch(&read, peer, error);
  arena_fini(&arena);
  return status;
}

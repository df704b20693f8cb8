#include "net/service_manager.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
  MESSAGE_MAX = 1024,
  SEND_S = 5,      /* how long a service manager that does not read may delay the peer */
  EXTRA_MS = 10000 /* for the last answers and the end of the JVM, after the grace time */
};

static struct {
  pthread_mutex_t lock;
  enum service_state state;
  int socket;
  struct sockaddr_un address;
  socklen_t address_length;
  char served[MESSAGE_MAX / 2]; /* the status while the peer serves */
  unsigned loads;               /* that have begun and not ended */

  /* the watchdog */
  int64_t period_us; /* 0: nobody waits for beats */
  bool (*is_healthy)(const void *context);
  const void *context;
  pthread_t thread;
  pthread_cond_t end;
  enum { NO_WATCH, WATCHING, WATCH_ENDS } watch;
} manager = {.lock = PTHREAD_MUTEX_INITIALIZER, .socket = -1};

static void set_state(enum service_state to)
{
  ASSERT_TRANSITION(service_transitions, manager.state, to);
  manager.state = to;
}

/* ---- messages ---- */

/* Under the lock, so that messages are sent in the order of the states. */
static void send_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void send_message(const char *format, ...)
{
  char message[MESSAGE_MAX];
  va_list args;
  va_start(args, format);
  int length = vsnprintf(message, sizeof message, format, args);
  va_end(args);
  if (length >= (int)sizeof message)
    length = (int)sizeof message - 1;
  ssize_t sent;
  do
    sent = sendto(manager.socket, message, (size_t)length, MSG_NOSIGNAL,
                  (const struct sockaddr *)&manager.address, manager.address_length);
  while (sent < 0 && errno == EINTR);
  if (sent < 0)
    log_warn_rarely("the service manager cannot be told \"%.*s\": NOTIFY_SOCKET: %s",
                    (int)strcspn(message, "\n"), message, strerror(errno));
}

/* A line feed would end the line STATUS=. */
static void write_line(char *out, size_t size, const char *text)
{
  text_format(out, size, "%s", text);
  for (char *at = out; *at != '\0'; at++) {
    if ((unsigned char)*at < ' ')
      *at = ' ';
  }
}

static void send_ready(void)
{
  send_message("READY=1\nSTATUS=%s", manager.served);
}

void service_manager_status(const char *format, ...)
{
  char text[MESSAGE_MAX / 2];
  char line[MESSAGE_MAX / 2];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  write_line(line, sizeof line, text);
  pthread_mutex_lock(&manager.lock);
  if (manager.state != SERVICE_ABSENT)
    send_message("STATUS=%s", line);
  pthread_mutex_unlock(&manager.lock);
}

void service_manager_ready(const char *const *addresses)
{
  size_t length = 0;
  pthread_mutex_lock(&manager.lock);
  if (manager.state == SERVICE_STARTING) {
    length =
        (size_t)snprintf(manager.served, sizeof manager.served, addresses[0] == NULL ? "runs" : "serves");
    for (size_t i = 0; addresses[i] != NULL; i++) {
      if (length + strlen(addresses[i]) + sizeof ", " < sizeof manager.served)
        length += (size_t)snprintf(manager.served + length, sizeof manager.served - length, "%s %s",
                                   i == 0 ? "" : ",", addresses[i]);
    }
    set_state(SERVICE_READY);
    send_ready();
  }
  pthread_mutex_unlock(&manager.lock);
}

void service_manager_reloading(unsigned loads)
{
  pthread_mutex_lock(&manager.lock);
  if (manager.state == SERVICE_READY) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    manager.loads += loads;
    send_message("RELOADING=1\nMONOTONIC_USEC=%lld\nSTATUS=loads its files again",
                 (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000);
    if (manager.loads == 0)
      send_ready();
  }
  pthread_mutex_unlock(&manager.lock);
}

void service_manager_reloaded(void)
{
  pthread_mutex_lock(&manager.lock);
  if (manager.loads > 0 && --manager.loads == 0 && manager.state == SERVICE_READY)
    send_ready();
  pthread_mutex_unlock(&manager.lock);
}

void service_manager_stopping(int64_t grace_ms)
{
  pthread_mutex_lock(&manager.lock);
  if (manager.state == SERVICE_STARTING || manager.state == SERVICE_READY) {
    set_state(SERVICE_STOPPING);
    send_message("STOPPING=1\nEXTEND_TIMEOUT_USEC=%lld\nSTATUS=stops: running requests have %lld ms",
                 (long long)(grace_ms + EXTRA_MS) * 1000, (long long)grace_ms);
  }
  pthread_mutex_unlock(&manager.lock);
}

/* ---- the watchdog ---- */

/* Under the lock. False: the thread has to end. */
static bool await_period(void)
{
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  const int64_t ns = until.tv_nsec + manager.period_us * 1000;
  until.tv_sec += ns / 1000000000;
  until.tv_nsec = ns % 1000000000;
  int waited = 0;
  while (manager.watch == WATCHING && waited == 0)
    waited = pthread_cond_timedwait(&manager.end, &manager.lock, &until);
  return manager.watch == WATCHING;
}

/* Before it serves, and while it stops, the service manager waits for no beat. */
static void *beat(void *unused)
{
  bool was_healthy = true;
  (void)unused;
  pthread_mutex_lock(&manager.lock);
  while (await_period()) {
    if (manager.state != SERVICE_READY)
      continue;
    const bool is_healthy = manager.is_healthy(manager.context);
    if (is_healthy)
      send_message(was_healthy ? "WATCHDOG=1" : "WATCHDOG=1\nSTATUS=%s", manager.served);
    else if (was_healthy)
      send_message("STATUS=does not serve: every thread has been inside Java for --busy-timeout");
    if (is_healthy && !was_healthy)
      log_info("the service manager's watchdog gets its beat again");
    else if (was_healthy && !is_healthy)
      log_warn("the service manager's watchdog gets no beat: every thread has been inside Java for "
               "--busy-timeout. "
               "Without a beat within %lld ms it ends the peer",
               (long long)(2 * manager.period_us / 1000));
    was_healthy = is_healthy;
  }
  pthread_mutex_unlock(&manager.lock);
  return NULL;
}

enum jp_status service_manager_watch(bool (*is_healthy)(const void *context), const void *context,
                                     struct jp_error *error)
{
  if (manager.state == SERVICE_ABSENT || manager.period_us == 0)
    return JP_OK;
  clock_init_condition(&manager.end);
  manager.is_healthy = is_healthy;
  manager.context = context;
  manager.watch = WATCHING;
  int fault = pthread_create(&manager.thread, NULL, beat, NULL);
  if (fault == 0)
    return JP_OK;
  manager.watch = NO_WATCH;
  return jp_fail(error, JP_LIMIT, "no thread for the service manager's watchdog: %s", strerror(fault));
}

/* ---- */

/* "/run/systemd/notify", or "@name" in the abstract namespace. */
static bool read_address(const char *name)
{
  const size_t length = strlen(name);
  if ((name[0] != '/' && name[0] != '@') || length < 2) {
    log_warn("NOTIFY_SOCKET is ignored: \"%s\" is neither a path nor an abstract name", name);
    return false;
  }
  if (length > sizeof manager.address.sun_path - 1) {
    log_warn("NOTIFY_SOCKET is ignored: it has %zu bytes, and the name of a socket has %zu at most", length,
             sizeof manager.address.sun_path - 1);
    return false;
  }
  manager.address = (struct sockaddr_un){.sun_family = AF_UNIX};
  memcpy(manager.address.sun_path, name, length);
  manager.address_length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (name[0] == '/'));
  if (name[0] == '@')
    manager.address.sun_path[0] = '\0';
  return true;
}

static int64_t read_positive(const char *text)
{
  char *end;
  errno = 0;
  const long long number = strtoll(text, &end, 10);
  return errno != 0 || end == text || *end != '\0' || number < 0 ? 0 : number;
}

/* WATCHDOG_PID names another process if a program between the service manager and this process passes its environment on. */
static void read_watchdog(const char *time_us, const char *process)
{
  enum { PERIOD_MIN_US = 1000 };
  if (time_us == NULL || (process != NULL && read_positive(process) != getpid()))
    return;
  manager.period_us = read_positive(time_us) / 2;
  if (manager.period_us >= PERIOD_MIN_US && manager.period_us < INT64_MAX / 4000)
    return;
  log_warn("WATCHDOG_USEC is ignored: \"%s\" is no time in microseconds", time_us);
  manager.period_us = 0;
}

void service_manager_open(bool notifies)
{
  const struct timeval wait = {.tv_sec = SEND_S};
  const char *name = getenv("NOTIFY_SOCKET");
  if (notifies && name != NULL && name[0] != '\0' && read_address(name)) {
    manager.socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (manager.socket < 0)
      log_warn("NOTIFY_SOCKET is ignored: %s", strerror(errno));
    else
      set_state(SERVICE_STARTING);
    setsockopt(manager.socket, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
    read_watchdog(getenv("WATCHDOG_USEC"), getenv("WATCHDOG_PID"));
  }
  unsetenv("NOTIFY_SOCKET");
  unsetenv("WATCHDOG_USEC");
  unsetenv("WATCHDOG_PID");
}

bool service_manager_is_present(void)
{
  pthread_mutex_lock(&manager.lock);
  const bool is_present = manager.state != SERVICE_ABSENT;
  pthread_mutex_unlock(&manager.lock);
  return is_present;
}

void service_manager_close(void)
{
  pthread_mutex_lock(&manager.lock);
  const bool has_thread = manager.watch == WATCHING;
  manager.watch = WATCH_ENDS;
  if (has_thread)
    pthread_cond_signal(&manager.end);
  if (manager.state != SERVICE_ABSENT) {
    set_state(SERVICE_ABSENT);
    close(manager.socket);
  }
  pthread_mutex_unlock(&manager.lock);
  if (has_thread)
    pthread_join(manager.thread, NULL);
}

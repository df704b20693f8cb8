#include "base/log.h"

#include "base/clock.h"
#include "base/followed_file.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
  TEXT_SIZE = 2048,
  LINE_SIZE = PIPE_BUF,   /* bytes that are written completely or not at all */
  KEPT_SIZE = 1024 * 1024 /* bytes of lines for which stderr had no room */
};

static _Atomic int current_level = LOG_LEVEL_INFO;
static _Atomic int current_format = LOG_TEXT;

static const char *const level_words[] = {"error", "warn", "info", "debug"};

void log_set_level(enum log_level level)
{
  atomic_store_explicit(&current_level, level, memory_order_relaxed);
}

void log_set_format(enum log_format format)
{
  atomic_store_explicit(&current_format, format, memory_order_relaxed);
}

bool log_enabled(enum log_level level)
{
  return (int)level <= atomic_load_explicit(&current_level, memory_order_relaxed);
}

/* --- lines --- */

struct line {
  char text[LINE_SIZE];
  size_t length;
};

static void format_line(struct line *line, enum log_level level, const char *text)
{
  const bool is_json = atomic_load_explicit(&current_format, memory_order_relaxed) == LOG_JSON;
  struct timespec now;
  struct tm utc;
  char second[32];
  char escaped[LINE_SIZE];
  clock_gettime(CLOCK_REALTIME, &now);
  gmtime_r(&now.tv_sec, &utc);
  strftime(second, sizeof second, "%Y-%m-%dT%H:%M:%S", &utc);
  size_t n = (size_t)snprintf(line->text, LINE_SIZE,
                              is_json ? "{\"time\":\"%s.%03ldZ\",\"level\":\"%s\",\"message\":\""
                                      : "%s.%03ldZ %-5s ",
                              second, now.tv_nsec / 1000000, level_words[level]);
  const char *const end = is_json ? "\"}\n" : "\n";
  /* Clients choose class and member names that are logged; they must not be able to forge a line. */
  text_escape(text_of(text), "", "", escaped, sizeof escaped);
  text_escape(text_of(escaped), "", is_json ? "\"\\" : "", line->text + n, LINE_SIZE - n - strlen(end));
  n += strlen(line->text + n);
  memcpy(line->text + n, end, strlen(end));
  line->length = n + strlen(end);
}

/* --- the file --- */

static struct {
  struct followed_file at; /* its path is never freed, because threads log until the process ends */
  bool is_torn;            /* its last line is not whole */
  uint64_t lost;           /* lines that could not be written since the last one that was */
} file = {.at = {.descriptor = STDERR_FILENO}};

enum jp_status log_open(const char *path, struct jp_error *error)
{
  enum { MODE = 0640 };
  struct followed_file opened;
  char *own_path = strdup(path);
  if (own_path == NULL)
    return jp_fail_memory(error, NULL);
  enum jp_status status = followed_file_open(&opened, own_path, MODE, error);
  if (status != JP_OK) {
    free(own_path);
    return status;
  }
  file.at = opened;
  file.at.path = own_path;
  return JP_OK;
}

/* Waits for a reader if necessary, even if another process has made stderr non-blocking. False: not all bytes
 * were written. */
static bool write_all(const char *bytes, size_t length, size_t *done)
{
  struct pollfd polled = {.fd = file.at.descriptor, .events = POLLOUT};
  while (*done < length) {
    ssize_t wrote = write(file.at.descriptor, bytes + *done, length - *done);
    if (wrote > 0)
      *done += (size_t)wrote;
    else if (wrote < 0 && errno == EAGAIN)
      (void)poll(&polled, 1, -1);
    else if (wrote < 0 && errno != EINTR)
      return false;
  }
  return true;
}

/* False: the line was not written completely. */
static bool write_bytes(const struct line *line)
{
  size_t done = 0;
  if (file.is_torn && !write_all("\n", 1, &done))
    return false;
  done = 0;
  const bool is_whole = write_all(line->text, line->length, &done);
  file.is_torn = !is_whole && done > 0;
  return is_whole;
}

/* Writes a line, or counts it if it cannot be written, for example because the disk is full. The next written
 * line says how many lines were lost. */
static void write_or_count(const struct line *line)
{
  struct line note;
  char text[96];
  if (followed_file_follow(&file.at))
    file.is_torn = false;
  if (file.lost > 0) {
    snprintf(text, sizeof text, "%" PRIu64 " lines are missing here, because they could not be written",
             file.lost);
    format_line(&note, LOG_LEVEL_WARN, text);
    if (write_bytes(&note))
      file.lost = 0;
  }
  if (file.lost > 0 || !write_bytes(line))
    file.lost++;
}

/* True if a write of a whole line would not block. A line is no longer than PIPE_BUF, so a writable pipe has
 * room for it. */
static bool has_room(void)
{
  struct pollfd polled = {.fd = file.at.descriptor, .events = POLLOUT};
  return poll(&polled, 1, 0) != 0;
}

/* --- lines that found no room --- */

static struct {
  pthread_mutex_t lock; /* guards all */
  pthread_cond_t changed;
  bool is_writing; /* a thread is inside write(2) */
  bool has_thread;
  uint64_t left_out;
  size_t begin;
  size_t end;
  char lines[KEPT_SIZE];
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void init_condition(void)
{
  clock_init_condition(&kept.changed);
}

static void lock_kept(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, init_condition);
  pthread_mutex_lock(&kept.lock);
}

static bool has_kept(void)
{
  return kept.begin < kept.end;
}

static bool make_room(size_t length)
{
  if (kept.begin >= KEPT_SIZE / 2 || !has_kept()) { /* so that each line is moved at most once */
    memmove(kept.lines, kept.lines + kept.begin, kept.end - kept.begin);
    kept.end -= kept.begin;
    kept.begin = 0;
  }
  return length <= KEPT_SIZE - kept.end;
}

static void append_line(const struct line *line)
{
  memcpy(kept.lines + kept.end, line->text, line->length);
  kept.end += line->length;
}

static void keep_line(const struct line *line)
{
  struct line note = {.length = 0};
  if (kept.left_out > 0) {
    char text[96];
    snprintf(text, sizeof text, "%" PRIu64 " lines were left out here, because nobody read them",
             kept.left_out);
    format_line(&note, LOG_LEVEL_WARN, text);
  }
  if (!make_room(note.length + line->length)) {
    kept.left_out++;
    return;
  }
  append_line(&note);
  append_line(line);
  kept.left_out = 0;
}

static void pop_line(struct line *line)
{
  const char *begin = kept.lines + kept.begin;
  const char *end = memchr(begin, '\n', kept.end - kept.begin);
  line->length = (size_t)(end + 1 - begin);
  memcpy(line->text, begin, line->length);
  kept.begin += line->length;
}

/* Called under the lock; releases the lock while the line is written. */
static void write_unlocked(const struct line *line)
{
  kept.is_writing = true;
  pthread_mutex_unlock(&kept.lock);
  write_or_count(line);
  pthread_mutex_lock(&kept.lock);
  kept.is_writing = false;
  pthread_cond_broadcast(&kept.changed);
}

static void *write_kept(void *argument)
{
  (void)argument;
  struct line line;
  pthread_mutex_lock(&kept.lock);
  for (;;) {
    while (kept.is_writing || !has_kept())
      pthread_cond_wait(&kept.changed, &kept.lock);
    pop_line(&line);
    write_unlocked(&line);
  }
  return NULL;
}

/* The thread blocks all signals. If the thread cannot be started, the next line tries to start it again. */
static void start_thread(void)
{
  pthread_t thread;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  kept.has_thread = pthread_create(&thread, NULL, write_kept, NULL) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (kept.has_thread)
    pthread_detach(thread);
}

void log_finish(int milliseconds)
{
  const struct timespec end = clock_timespec(clock_now_ns() + milliseconds * 1000000LL);
  lock_kept();
  while ((has_kept() || kept.is_writing) && pthread_cond_timedwait(&kept.changed, &kept.lock, &end) == 0)
    ;
  pthread_mutex_unlock(&kept.lock);
}

/* --- the log --- */

static void write_line(enum log_level level, const char *text)
{
  struct line line;
  format_line(&line, level, text);
  lock_kept();
  if (kept.is_writing || has_kept() || kept.left_out > 0 || !has_room())
    keep_line(&line);
  else
    write_unlocked(&line);
  while (!kept.has_thread && !kept.is_writing && has_kept() && has_room()) {
    pop_line(&line);
    write_unlocked(&line);
  }
  if (!kept.has_thread && !kept.is_writing && has_kept())
    start_thread();
  pthread_cond_broadcast(&kept.changed);
  pthread_mutex_unlock(&kept.lock);
}

void log_write(enum log_level level, const char *format, ...)
{
  if (!log_enabled(level))
    return;
  char text[TEXT_SIZE];
  va_list args;
  va_start(args, format);
  text_format_va(text, sizeof text, format, args);
  va_end(args);
  write_line(level, text);
}

bool log_gate_pass(struct log_gate *gate, int64_t now_ms, uint64_t *left_out)
{
  int64_t opens_ms = atomic_load(&gate->opens_ms);
  if (now_ms < opens_ms ||
      !atomic_compare_exchange_strong(&gate->opens_ms, &opens_ms, now_ms + LOG_GATE_MS)) {
    atomic_fetch_add(&gate->left_out, 1);
    return false;
  }
  *left_out = atomic_exchange(&gate->left_out, 0);
  return true;
}

void log_write_rarely(struct log_gate *gate, enum log_level level, const char *format, ...)
{
  uint64_t left_out;
  if (!log_enabled(level) || !log_gate_pass(gate, clock_now_ms(), &left_out))
    return;
  enum { COUNT_SIZE = 80 };
  char text[TEXT_SIZE];
  va_list args;
  va_start(args, format);
  size_t length = text_format_va(text, sizeof text - COUNT_SIZE, format, args);
  va_end(args);
  if (left_out > 0)
    snprintf(text + length, sizeof text - length, " (%" PRIu64 " such lines were left out before this one)",
             left_out);
  write_line(level, text);
}

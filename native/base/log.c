#include "base/log.h"

#include "base/clock.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TEXT_SIZE = 2048 };

static _Atomic int current_level = LOG_LEVEL_INFO;

static const char *const level_words[] = {"error", "warn", "info", "debug"};

void log_set_level(enum log_level level)
{
  atomic_store_explicit(&current_level, level, memory_order_relaxed);
}

bool log_enabled(enum log_level level)
{
  return (int)level <= atomic_load_explicit(&current_level, memory_order_relaxed);
}

static void write_line(enum log_level level, const char *text)
{
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  struct tm utc;
  gmtime_r(&now.tv_sec, &utc);
  char line[4096];
  size_t n = strftime(line, sizeof line, "%Y-%m-%dT%H:%M:%S", &utc);
  n +=
      (size_t)snprintf(line + n, sizeof line - n, ".%03ldZ %-5s ", now.tv_nsec / 1000000, level_words[level]);
  /* Clients choose class and member names that are logged; they must not be able to forge a line. */
  text_escape(text_of(text), "", "", line + n, sizeof line - n - 1);
  n += strlen(line + n);
  line[n++] = '\n';
  for (size_t done = 0; done < n;) {
    ssize_t wrote = write(STDERR_FILENO, line + done, n - done);
    if (wrote < 0 && errno != EINTR)
      return; /* stderr failed: it cannot be reported */
    if (wrote > 0)
      done += (size_t)wrote;
  }
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

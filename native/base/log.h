#ifndef JPEER_BASE_LOG_H
#define JPEER_BASE_LOG_H
/*
 * The peer's log: one line for each event, on stderr or in a file, written by one write(2) so that lines
 * never mix. Any thread. Level, format and file are set once, at the start. No caller waits for a reader of
 * the log: up to a MiB of lines is kept while the pipe is full, and a thread of the log writes these lines
 * later. Further lines are left out and counted. Lines that cannot be written, for example because the disk
 * is full, are counted, too.
 */
#include "base/status.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* LOG_TEXT: "2026-01-31T12:00:00.123Z LEVEL text\n". LOG_JSON: {"time":"2026-01-31T12:00:00.123Z","level":"LEVEL",
 * "message":"text"}, in one line. */
enum log_format { LOG_TEXT, LOG_JSON };

void log_set_level(enum log_level level);
void log_set_format(enum log_format format);
/* Appends further lines to this file, and creates the file (mode 0640) if it does not exist. The log opens
 * the path anew when it no longer names this file. Call it once, at the start. JP_IO, JP_NO_MEMORY. */
enum jp_status log_open(const char *path, struct jp_error *error) JP_MUST_CHECK;
bool log_enabled(enum log_level level);
/* Waits until the kept lines are written, for at most this time. */
void log_finish(int milliseconds);

/* Writes a line. Control characters in the text are escaped. */
void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Bounds lines that a client can cause as often as it likes: each place in the code that logs such a line has
 * a gate, and the gate lets one line pass in a second. The next written line says how many lines were left
 * out.
 */
struct log_gate {
  _Atomic int64_t opens_ms;
  _Atomic uint64_t left_out;
};

enum { LOG_GATE_MS = 1000 };

/* True if a line may be written at now_ms (clock_now_ms); *left_out is then the number of lines that were
 * left out since the last written line. False: the caller must leave out this line, which the gate has
 * counted. */
bool log_gate_pass(struct log_gate *gate, int64_t now_ms, uint64_t *left_out);
void log_write_rarely(struct log_gate *gate, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define LOG_RARELY(level, ...)                                                                               \
  do {                                                                                                       \
    static struct log_gate log_gate_here;                                                                    \
    log_write_rarely(&log_gate_here, (level), __VA_ARGS__);                                                  \
  } while (0)
#define log_error_rarely(...) LOG_RARELY(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn_rarely(...)  LOG_RARELY(LOG_LEVEL_WARN, __VA_ARGS__)

#define log_error(...) log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...)  log_write(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...)  log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif

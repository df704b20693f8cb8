#ifndef JPEER_BASE_LOG_H
#define JPEER_BASE_LOG_H
/*
 * The peer's log: one line an event on stderr, written with one write(2) so that lines never mix.
 * Any thread. The level is set once at start.
 */
#include <stdbool.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

void log_set_level(enum log_level level);
/* False for a word that is none of error, warn, info, debug. */
bool log_parse_level(const char *word, enum log_level *level);
bool log_enabled(enum log_level level);

/* "2026-01-31T12:00:00.123Z LEVEL text\n"; control characters in the text are escaped. */
void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...)  log_write(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...)  log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif

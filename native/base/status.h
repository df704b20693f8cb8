#ifndef JPEER_BASE_STATUS_H
#define JPEER_BASE_STATUS_H
/*
 * What a function that can fail returns, and where it puts the details.
 *
 * Every fallible function returns an enum jp_status and is marked JP_MUST_CHECK. Details go to the
 * struct jp_error that the caller gives (it may be NULL where the caller does not care). A lower error is
 * passed on, not overwritten. No globals, any thread.
 */
#include <stdarg.h>

#define JP_MUST_CHECK        __attribute__((warn_unused_result))
#define JP_PRINTF(at, first) __attribute__((format(printf, at, first)))

enum jp_status {
  JP_OK = 0,
  JP_NO_MEMORY, /* an allocation failed */
  JP_INVALID,   /* the caller's input is wrong: what and where stands in the error's text */
  JP_LIMIT,     /* a configured limit was reached; the text names it */
  JP_NOT_FOUND, /* a thing that was named does not exist */
  JP_DENIED,    /* the policy says no */
  JP_IO,        /* the operating system said no; the text carries its words */
  JP_JAVA,      /* Java threw; the outcome or the text carries the throwable */
  JP_CLOSED,    /* the other side is gone, or this side is shutting down */
  JP_INTERNAL   /* a mistake of ours */
};

struct jp_error {
  enum jp_status status;
  char text[1024]; /* UTF-8, NUL-terminated, cut with "..." when longer */
};

/* Sets *error (when not NULL) and returns status, so that a caller can write `return jp_fail(...)`. */
enum jp_status jp_fail(struct jp_error *error, enum jp_status status, const char *format, ...)
    JP_PRINTF(3, 4);
enum jp_status jp_fail_va(struct jp_error *error, enum jp_status status, const char *format, va_list args);

/* Puts "prefix: " before the text that is there already: for adding the place to a lower error. */
void jp_error_prefix(struct jp_error *error, const char *format, ...) JP_PRINTF(2, 3);

#endif

#ifndef JPEER_BASE_STATUS_H
#define JPEER_BASE_STATUS_H
/*
 * The results of functions that can fail.
 *
 * Every such function returns an enum jp_status and is marked JP_MUST_CHECK. Details go to the struct
 * jp_error that the caller gives, or NULL if the caller does not need them. A lower error is passed on,
 * not overwritten. No globals, any thread.
 */
#include <stdarg.h>
#include <stddef.h>

#define JP_MUST_CHECK        __attribute__((warn_unused_result))
#define JP_PRINTF(at, first) __attribute__((format(printf, at, first)))

enum jp_status {
  JP_OK = 0,
  JP_NO_MEMORY, /* an allocation failed */
  JP_INVALID,   /* the caller's input is wrong; the text says what, and where */
  JP_LIMIT,     /* a limit was reached; the error's text names it */
  JP_NOT_FOUND, /* something that was named does not exist */
  JP_DENIED,    /* the policy denies it */
  JP_IO,        /* the operating system refused; the text has its message */
  JP_JAVA,      /* Java threw; the outcome or the text has the throwable */
  JP_CLOSED,    /* the other side is gone, or this side is shutting down */
  JP_INTERNAL   /* the peer's own mistake */
};

struct jp_error {
  enum jp_status status;
  char text[1024]; /* UTF-8, NUL-terminated; a longer text is cut and ends with "..." */
};

/* Sets *error (when not NULL) and returns status, so that a caller can write `return jp_fail(...)`. */
enum jp_status jp_fail(struct jp_error *error, enum jp_status status, const char *format, ...)
    JP_PRINTF(3, 4);
enum jp_status jp_fail_va(struct jp_error *error, enum jp_status status, const char *format, va_list args);

/* Like jp_fail, for JP_NO_MEMORY. The text is "out of memory while reading READ", or "out of memory" if read
 * is NULL. */
static inline enum jp_status jp_fail_memory(struct jp_error *error, const char *read)
{
  jp_fail(error, JP_NO_MEMORY, "out of memory%s%s", read == NULL ? "" : " while reading ",
          read == NULL ? "" : read);
  return JP_NO_MEMORY;
}

/* Puts "PREFIX: " before the text, for example the name of the file that a lower function has read. */
void jp_error_prefix(struct jp_error *error, const char *format, ...) JP_PRINTF(2, 3);

#endif

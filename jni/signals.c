#include "jni/internal/signals.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
enum { SIGNALS = sizeof numbers / sizeof numbers[0] };

static struct sigaction before[SIGNALS];
static volatile sig_atomic_t descriptor_to_wake; /* a handler has no other way to know it */

void jvm_signals_ignore(void)
{
  struct sigaction ignore = {.sa_handler = SIG_IGN};
  for (size_t i = 0; i < SIGNALS; i++)
    sigaction(numbers[i], &ignore, &before[i]);
}

void jvm_signals_restore(void)
{
  for (size_t i = 0; i < SIGNALS; i++)
    sigaction(numbers[i], &before[i], NULL);
}

static void wake(int number)
{
  (void)number;
  int saved = errno;
  uint64_t one = 1;
  /* Only a full counter can refuse it, and that is readable. */
  ssize_t wrote = write(descriptor_to_wake, &one, sizeof one);
  (void)wrote;
  errno = saved;
}

enum jp_status jvm_signals_catch(int *descriptor, struct jp_error *error)
{
  *descriptor = eventfd(0, EFD_CLOEXEC);
  if (*descriptor < 0)
    return jp_fail(error, JP_IO, "eventfd: %s", strerror(errno));
  descriptor_to_wake = *descriptor;
  struct sigaction action = {.sa_handler = wake, .sa_flags = SA_RESTART | SA_ONSTACK};
  for (size_t i = 0; i < SIGNALS; i++) {
    if (before[i].sa_handler != SIG_IGN)
      sigaction(numbers[i], &action, NULL);
  }
  return JP_OK;
}

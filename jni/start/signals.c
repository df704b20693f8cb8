#include "jni/start/signals.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
enum { SIGNALS = sizeof numbers / sizeof numbers[0] };

static struct sigaction before[SIGNALS];
/* For the handler, which has no argument of ours. */
static volatile sig_atomic_t descriptor_to_wake;
static volatile sig_atomic_t hangup_is_own;
static atomic_uint asked_for; /* set of JVM_SIGNALS_*; lock-free, so that a handler may write it */

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

static void wake_reader(int number)
{
  int saved = errno;
  atomic_fetch_or(&asked_for, number == SIGHUP && hangup_is_own ? JVM_SIGNALS_HANGUP : JVM_SIGNALS_STOP);
  uint64_t one = 1;
  /* Only a full counter refuses it, and a full counter is readable. */
  ssize_t wrote = write(descriptor_to_wake, &one, sizeof one);
  (void)wrote;
  errno = saved;
}

unsigned jvm_signals_take(void)
{
  return atomic_exchange(&asked_for, 0);
}

enum jp_status jvm_signals_catch(bool own_hangup, int *descriptor, struct jp_error *error)
{
  *descriptor = eventfd(0, EFD_CLOEXEC);
  if (*descriptor < 0)
    return jp_fail(error, JP_IO, "eventfd: %s", strerror(errno));
  descriptor_to_wake = *descriptor;
  hangup_is_own = own_hangup;
  struct sigaction action = {.sa_handler = wake_reader, .sa_flags = SA_RESTART | SA_ONSTACK};
  for (size_t i = 0; i < SIGNALS; i++) {
    if (before[i].sa_handler != SIG_IGN || (numbers[i] == SIGHUP && own_hangup))
      sigaction(numbers[i], &action, NULL);
  }
  return JP_OK;
}

#include "jni/start/signals.h"

#include <dlfcn.h>
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
static bool is_caught[SIGNALS];
/* For the handler, which has no argument of ours. */
static volatile sig_atomic_t descriptor_to_wake;
static volatile sig_atomic_t hangup_is_own;
static atomic_uint asked_for;  /* set of JVM_SIGNALS_*; lock-free, so that a handler may write it */
static atomic_bool are_hidden; /* the JVM is being created: our handlers read as SIG_IGN */

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

/*
 * Takes the place of libc's function for the whole process, libjvm included, because the symbols of a program
 * are found before those of its libraries (jni/CMakeLists.txt exports this one). HotSpot reads the action of
 * TERM, INT and HUP while it starts, and sets no handler for a signal that is ignored. Ignoring the signals
 * would lose those that come in that time. So they are caught, and only what HotSpot reads says "ignored".
 * The function that this one hides may be libc's, a sanitizer's or that of libjsig (LD_PRELOAD).
 */
__attribute__((visibility("default"))) int sigaction(int number, const struct sigaction *restrict action,
                                                     struct sigaction *restrict old)
{
  typedef int (*sigaction_function)(int, const struct sigaction *restrict, struct sigaction *restrict);
  static _Atomic sigaction_function hidden;
  sigaction_function function = atomic_load(&hidden);
  if (function == NULL) {
    /* POSIX's way from an object pointer to a function pointer. */
    *(void **)&function = dlsym(RTLD_NEXT, "sigaction");
    atomic_store(&hidden, function);
  }
  int result = function(number, action, old);
  if (result == 0 && action == NULL && old != NULL && old->sa_handler == wake_reader &&
      atomic_load(&are_hidden))
    old->sa_handler = SIG_IGN;
  return result;
}

static void set_handlers(void)
{
  struct sigaction action = {.sa_handler = wake_reader, .sa_flags = SA_RESTART | SA_ONSTACK};
  for (size_t i = 0; i < SIGNALS; i++) {
    if (is_caught[i])
      sigaction(numbers[i], &action, NULL);
  }
}

enum jp_status jvm_signals_catch(bool own_hangup, int *descriptor, struct jp_error *error)
{
  *descriptor = eventfd(0, EFD_CLOEXEC);
  if (*descriptor < 0)
    return jp_fail(error, JP_IO, "eventfd: %s", strerror(errno));
  descriptor_to_wake = *descriptor;
  hangup_is_own = own_hangup;
  for (size_t i = 0; i < SIGNALS; i++) {
    sigaction(numbers[i], NULL, &before[i]);
    is_caught[i] = before[i].sa_handler != SIG_IGN || (numbers[i] == SIGHUP && own_hangup);
  }
  atomic_store(&are_hidden, true);
  set_handlers();
  return JP_OK;
}

void jvm_signals_keep(void)
{
  atomic_store(&are_hidden, false);
  set_handlers();
}

void jvm_signals_restore(void)
{
  atomic_store(&are_hidden, false);
  for (size_t i = 0; i < SIGNALS; i++) {
    if (is_caught[i])
      sigaction(numbers[i], &before[i], NULL);
  }
}

unsigned jvm_signals_take(void)
{
  return atomic_exchange(&asked_for, 0);
}

/* Members that wait, inside the service, for messages of their client. */
#include "base/clock.h"
#include "net/workers/crew_state.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { WITHOUT_EVENTFD_MS = 5 }; /* how long a member sleeps that nobody can wake */

struct wait {
  struct crew_member *member;
  struct crew_source *source; /* of the member's turn */
  bool reads;                 /* its input, meanwhile */
  bool (*is_over)(void *state);
  void *state;
};

/* The descriptor is there before is_over is asked for the first time. A thread that changes the state of is_over and
 * finds no descriptor has changed it before that. */
static void open_eventfd(struct crew_member *member)
{
  if (atomic_load(&member->wait_fd) < 0)
    atomic_store(&member->wait_fd, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

static bool is_wait_over(const struct wait *wait)
{
  wake_word_take(&wait->member->waking);
  return wait->is_over(wait->state);
}

/* Takes a part of the input. */
static bool take_part(const struct wait *wait)
{
  return wait->reads && wait->source->meanwhile->take(wait->source, wait->member);
}

static bool look(void *context)
{
  const struct wait *wait = context;
  return wake_word_is_woken(&wait->member->waking) ||
         (wait->reads && wait->source->meanwhile->look(wait->source, wait->member));
}

static void drain_eventfd(int fd)
{
  uint64_t count;
  ssize_t taken = read(fd, &count, sizeof count);
  (void)taken;
}

static void sleep_until_woken(const struct wait *wait, int64_t left_ms)
{
  int wake_fd = atomic_load(&wait->member->wait_fd);
  struct pollfd polled[] = {{.fd = wake_fd, .events = POLLIN}, {.fd = -1}};
  if (wait->reads && !wait->source->meanwhile->sleep(wait->source, &polled[1].fd, &polled[1].events))
    return;
  if (!wake_word_sleep(&wait->member->waking))
    return;
  if (wake_fd < 0 && left_ms > WITHOUT_EVENTFD_MS)
    left_ms = WITHOUT_EVENTFD_MS;
  int timeout_ms = left_ms > INT32_MAX ? -1 : (int)left_ms;
  if (poll(polled, 2, timeout_ms) > 0 && polled[0].revents != 0)
    drain_eventfd(wake_fd);
}

static void wait_until_over(struct wait *wait, int64_t deadline_ms)
{
  while (!is_wait_over(wait)) {
    if (take_part(wait))
      continue;
    int64_t left_ms = deadline_ms == INT64_MAX ? INT64_MAX : deadline_ms - clock_now_ms();
    if (left_ms <= 0)
      return;
    if (!crew_look_awake(wait->member, wait->source, look, wait))
      sleep_until_woken(wait, left_ms);
  }
}

void crew_wait(void *thread, bool (*is_over)(void *state), void *state, int64_t deadline_ms)
{
  struct crew_member *member = thread;
  struct crew *crew = member->crew;
  struct crew_source *source = atomic_load_explicit(&member->current, memory_order_relaxed);
  struct wait wait = {.member = member,
                      .source = source,
                      .reads = source->meanwhile != NULL,
                      .is_over = is_over,
                      .state = state};
  open_eventfd(member);
  crew_stop_looking(member);
  member->has_found = false; /* an event may bring it what comes from here on */
  atomic_store_explicit(&member->is_waiting, true, memory_order_relaxed);
  atomic_fetch_add_explicit(&crew->waiting, 1, memory_order_relaxed);
  if (wait.reads)
    source->meanwhile->begin(source, member);
  wait_until_over(&wait, deadline_ms);
  if (wait.reads)
    source->meanwhile->end(source, member);
  atomic_fetch_sub_explicit(&crew->waiting, 1, memory_order_relaxed);
  atomic_store_explicit(&member->is_waiting, false, memory_order_relaxed);
  crew_rouse_watcher(crew);
}

void crew_wake(void *thread)
{
  struct crew_member *member = thread;
  bool is_asleep = wake_word_wake(&member->waking);
  int fd = atomic_load(&member->wait_fd);
  uint64_t one = 1;
  if (!is_asleep || fd < 0)
    return;
  ssize_t written = write(fd, &one, sizeof one); /* if the counter is full, the descriptor is readable */
  (void)written;
}

/* Members that busy-poll for the next message of a client, instead of sleeping until an event (docs/internals/crew.md,
 * docs/internals/shared-memory.md). */
#include "base/clock.h"
#include "net/workers/crew_state.h"

#include <sched.h>

/* For loops that only yield, because polling a socket costs a system call. */
static const struct spin_limits SOCKET_LIMITS = {.usual_ns = 100000, .rare_ns = 400000, .pause_ns = 100000};

enum {
  PAUSE_NS = 2000,     /* a pollable source is polled with pauses for this time before the first yield */
  POLLS_PER_CLOCK = 4, /* polls with pauses between two reads of the clock */
  /* If POLLS_PER_CLOCK polls take longer than this, the thread has lost its processor during the polls. */
  LOST_NS = 50000,
  LOST_MAX = 4,     /* if the thread loses its processor more often than this in one loop, the lost time
                     * counts as polling time */
  QUICK_NS = 20000, /* a member whose work takes longer, twice in a row, closes the set of polled sources */
  POLLED_NS = 2000000, /* a source without work for this time leaves the set, or is not added to it */
  /* A member does not poll for a client whose calls arrive later than this after the previous answer. Waking
   * both sides takes half of this time. */
  FAST_NS = 400000,
  /* Pinned members that poll at the same time as others yield to each other. A longer pause between two polls means that
   * a thread which does not yield wants the processor. */
  TURN_PAUSE_NS = 500000,
  TURN_NS = 5000, /* more than PAUSE_NS */
  TURN_YIELDS = 8
};

static bool has_no_work(struct crew *crew)
{
  return atomic_load_explicit(&crew->ready, memory_order_relaxed) == 0 &&
         atomic_load_explicit(&crew->phase, memory_order_relaxed) == CREW_SERVING;
}

/* True if another member is idle and receives the events, and no work waits. */
static bool can_be_spared(struct crew_member *member)
{
  struct crew *crew = member->crew;
  return atomic_load_explicit(&crew->idle, memory_order_relaxed) > 0 && has_no_work(crew);
}

/* True if no work waits, and no deferred answers. If no other member is idle, this member checks for events itself, and
 * serves the event that it finds next. */
static bool can_go_on(struct crew_member *member)
{
  struct crew *crew = member->crew;
  if (member->deferred_count > 0)
    return false;
  if (member->held == NULL && has_no_work(crew) &&
      atomic_load_explicit(&crew->idle, memory_order_relaxed) == 0)
    crew_hold_event(member);
  return member->held == NULL && has_no_work(crew);
}

static bool is_poller(const struct crew_member *member)
{
  return atomic_load_explicit(&member->crew->poller, memory_order_relaxed) == member;
}

static bool become_poller(struct crew_member *member)
{
  struct crew_member *nobody = NULL;
  return is_poller(member) || atomic_compare_exchange_strong(&member->crew->poller, &nobody, member);
}

static void resign_as_poller(struct crew_member *member)
{
  struct crew_member *expected = member;
  atomic_compare_exchange_strong(&member->crew->poller, &expected, NULL);
}

/* --- the set of polled sources --- */

/* The caller holds poll_lock. */
static void remove_polled(struct crew *crew, size_t index)
{
  struct crew_source *source = crew->polled[index].source;
  size_t count = atomic_load_explicit(&crew->polled_count, memory_order_relaxed) - 1;
  crew->polled[index] = crew->polled[count];
  crew->polled[index].source->polled_at = index;
  atomic_store_explicit(&crew->polled_count, count, memory_order_relaxed);
  if (source->pace == CREW_PACE_FAST)
    atomic_fetch_sub_explicit(&crew->fast_count, 1, memory_order_relaxed);
  atomic_store_explicit(&source->is_polled, false, memory_order_release);
}

/* Removes the source from the set. True: its client has to notify the peer from now on. False: the source has
 * work. The caller holds poll_lock. */
static bool put_to_sleep(struct crew *crew, size_t index)
{
  struct crew_source *source = crew->polled[index].source;
  bool sleeps = crew_poll_ops_of(source)->sleep(source);
  remove_polled(crew, index);
  return sleeps;
}

/* Polls one source. True: the source has work, and was removed from the set. The caller holds poll_lock. */
static bool poll_one(struct crew *crew, size_t index, int64_t now_ns)
{
  struct crew_source *source = crew->polled[index].source;
  int64_t *until_ns = &crew->polled[index].until_ns;
  if (crew_poll_ops_of(source)->poll(source)) {
    remove_polled(crew, index);
    return true;
  }
  if (*until_ns == 0)
    *until_ns = now_ns + POLLED_NS;
  return now_ns >= *until_ns && !put_to_sleep(crew, index);
}

/* Polls each source once, beginning with the source after the one that last had work. Returns a source that
 * has work; NULL: none. now_ns may be a little old. */
static struct crew_source *poll_set(struct crew *crew, int64_t now_ns)
{
  struct crew_source *found = NULL;
  pthread_mutex_lock(&crew->poll_lock);
  size_t count = atomic_load_explicit(&crew->polled_count, memory_order_relaxed);
  for (size_t polls_left = count; found == NULL && polls_left > 0 && count > 0; polls_left--) {
    size_t index = crew->next_polled < count ? crew->next_polled : 0;
    struct crew_source *source = crew->polled[index].source;
    found = poll_one(crew, index, now_ns) ? source : NULL;
    crew->next_polled = index + 1;
    count = atomic_load_explicit(&crew->polled_count, memory_order_relaxed);
  }
  pthread_mutex_unlock(&crew->poll_lock);
  return found;
}

bool crew_add_polled(struct crew *crew, struct crew_source *source)
{
  if (source->pace == CREW_PACE_SLOW || !atomic_load_explicit(&crew->accepts_polled, memory_order_relaxed))
    return false;
  pthread_mutex_lock(&crew->poll_lock);
  size_t count = atomic_load_explicit(&crew->polled_count, memory_order_relaxed);
  bool is_kept = atomic_load_explicit(&crew->accepts_polled, memory_order_relaxed) && count < CREW_POLLED_MAX;
  if (is_kept) {
    crew->polled[count].source = source;
    crew->polled[count].until_ns = 0;
    source->polled_at = count;
    atomic_store_explicit(&source->is_polled, true, memory_order_relaxed);
    atomic_store_explicit(&crew->polled_count, count + 1, memory_order_relaxed);
    if (source->pace == CREW_PACE_FAST) {
      atomic_fetch_add_explicit(&crew->fast_count, 1, memory_order_relaxed);
      atomic_fetch_add_explicit(&crew->fast_arrivals, 1, memory_order_relaxed);
    }
  }
  pthread_mutex_unlock(&crew->poll_lock);
  return is_kept;
}

void crew_remove_polled(struct crew *crew, struct crew_source *source)
{
  if (!atomic_load_explicit(&source->is_polled, memory_order_acquire))
    return;
  pthread_mutex_lock(&crew->poll_lock);
  if (atomic_load_explicit(&source->is_polled, memory_order_relaxed))
    remove_polled(crew, source->polled_at);
  pthread_mutex_unlock(&crew->poll_lock);
}

/* Closes the set. The caller holds poll_lock. */
static void put_all_to_sleep(struct crew *crew)
{
  atomic_store_explicit(&crew->accepts_polled, false, memory_order_relaxed);
  size_t count;
  while ((count = atomic_load_explicit(&crew->polled_count, memory_order_relaxed)) > 0) {
    struct crew_source *source = crew->polled[count - 1].source;
    if (!put_to_sleep(crew, count - 1))
      crew_submit(crew, source);
  }
}

/* Closes the set and ends the member's role as poller, both under one lock. Otherwise a poller that the
 * watcher relieves in between could leave its set open. */
static void close_set_and_resign(struct crew_member *poller)
{
  struct crew *crew = poller->crew;
  pthread_mutex_lock(&crew->poll_lock);
  if (is_poller(poller)) {
    put_all_to_sleep(crew);
    resign_as_poller(poller);
  }
  pthread_mutex_unlock(&crew->poll_lock);
}

void crew_stop_polling(struct crew_member *member)
{
  if (!is_poller(member))
    return;
  if (atomic_load_explicit(&member->crew->accepts_polled, memory_order_relaxed))
    close_set_and_resign(member);
  else
    resign_as_poller(member);
}

void crew_relieve_poller(struct crew *crew, struct crew_poller_watch *watch)
{
  struct crew_member *poller = atomic_load(&crew->poller);
  uint64_t steps = poller != NULL ? atomic_load_explicit(&poller->steps, memory_order_relaxed) : 0;
  bool is_stuck = poller != NULL && poller == watch->poller && steps == watch->steps;
  *watch = (struct crew_poller_watch){poller, steps};
  if (is_stuck && atomic_load_explicit(&crew->accepts_polled, memory_order_relaxed))
    close_set_and_resign(poller);
}

static bool may_find_polled(const struct crew_member *member)
{
  return atomic_load_explicit(&member->crew->polled_count, memory_order_relaxed) > 0 && is_poller(member);
}

/* Finds a polled source with work, for a member that polls and whose clock_ns is recent. */
static bool find_polled(struct crew_member *member)
{
  if (member->found == NULL && may_find_polled(member))
    member->found = poll_set(member->crew, member->clock_ns);
  return member->found != NULL;
}

bool crew_find_polled(struct crew_member *member)
{
  if (!may_find_polled(member))
    return false;
  member->clock_ns = clock_now_ns();
  return find_polled(member);
}

/* --- the poll loop --- */

/* A hint to the processor that this is a busy-waiting loop. */
static inline void pause_processor(void)
{
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

struct poll_loop {
  bool (*has_work)(void *context);
  void *context;
  bool (*may_continue)(struct crew_member *member); /* false: the member has other work */
  int64_t pause_ns;                                 /* how long the loop polls without a yield */
  const struct spin_limits *limits;
  struct spin_policy *spin;
};

static bool poll_with_pauses(const struct poll_loop *loop)
{
  for (int i = 0; i < POLLS_PER_CLOCK; i++) {
    pause_processor();
    if (loop->has_work(loop->context))
      return true;
  }
  return false;
}

/* The duration of a poll loop so far. */
struct poll_time {
  /* The time of polling. It excludes free yields, and the time in which the thread had lost its processor by
   * anything except a yield. */
  int64_t took_ns;
  int64_t longest_pause_ns;
  unsigned lost; /* how often the thread has lost its processor */
  unsigned yields;
  unsigned arrived; /* crew->fast_arrivals */
};

/* A thread that has lost its processor did not poll during that time, so the time must not count as polling in vain. */
static void measure_poll(struct crew_member *member, const struct spin_limits *limits, bool has_yielded,
                         struct poll_time *spent)
{
  int64_t now_ns = clock_now_ns();
  int64_t pause_ns = now_ns - member->clock_ns;
  member->clock_ns = now_ns;
  if (!has_yielded && pause_ns >= LOST_NS && spent->lost++ < LOST_MAX)
    return;
  if (!has_yielded || spent->yields++ >= limits->free_yields)
    spent->took_ns += pause_ns;
  if (pause_ns > spent->longest_pause_ns)
    spent->longest_pause_ns = pause_ns;
}

/* Uses member->clock_ns as the time at which the loop begins. Does not read the clock if the first polls with
 * pauses find work, because these polls take less time than a yield. */
static bool run_poll_loop(struct crew_member *member, const struct poll_loop *loop)
{
  const int64_t limit_ns = spin_policy_limit_ns(loop->spin, loop->limits);
  struct poll_time spent = {.arrived =
                                atomic_load_explicit(&member->crew->fast_arrivals, memory_order_relaxed)};
  bool found;
  do {
    bool yields = spent.took_ns >= loop->pause_ns;
    if (yields)
      sched_yield();
    found = yields ? loop->has_work(loop->context) : poll_with_pauses(loop);
    if (found && !yields)
      break;
    measure_poll(member, loop->limits, yields, &spent);
    /* Another member has just answered a client and added its source to the set. The poller polls for the
     * next message of that client as long as for the messages of other clients. */
    unsigned arrived = atomic_load_explicit(&member->crew->fast_arrivals, memory_order_relaxed);
    if (arrived != spent.arrived && !crew_is_pinned(member))
      spent.took_ns = 0;
    spent.arrived = arrived;
  } while (!found && spent.took_ns < limit_ns && loop->may_continue(member));
  /* If the next turn is for a pollable source, the member may remain the poller. */
  bool stays_poller =
      member->found != NULL || (member->held != NULL && crew_poll_ops_of(member->held) != NULL);
  spin_policy_learn(loop->spin, loop->limits, found || stays_poller, spent.took_ns, spent.longest_pause_ns);
  return found;
}

/* --- crew_stay: members that poll after an answer --- */

struct stay {
  struct crew_member *member;
  struct crew_source *source;
  bool (*has_work)(struct crew_source *source);
  /* how long the client has paused: from the previous answer to the message that was just answered */
  int64_t pause_ns;
  bool is_quick; /* the member's last work, or the work before, took no longer than QUICK_NS */
  bool has_more; /* the source itself has work */
};

static bool poll_source(void *context)
{
  struct stay *stay = context;
  stay->has_more = stay->has_work(stay->source);
  return stay->has_more;
}

/* Polls the set first. Otherwise a client that always sends its next message at once would keep the member for a whole
 * turn, and the other clients would time out and notify the peer. */
static bool poll_set_and_source(void *context)
{
  struct stay *stay = context;
  return find_polled(stay->member) || poll_source(stay);
}

/* Opens the set if the work is quick, and closes the set if the work is slow, because polled sources must not
 * wait for slow work. */
static void set_accepts_polled(struct crew_member *member, bool is_quick)
{
  struct crew *crew = member->crew;
  if (is_quick == atomic_load_explicit(&crew->accepts_polled, memory_order_relaxed))
    return;
  pthread_mutex_lock(&crew->poll_lock);
  if (!is_quick)
    put_all_to_sleep(crew);
  else if (is_poller(member)) /* the watcher may have relieved the member */
    atomic_store_explicit(&crew->accepts_polled, true, memory_order_relaxed);
  pthread_mutex_unlock(&crew->poll_lock);
}

/* True if the client runs on another processor. If the client runs on this processor, the member must yield
 * at once. If the client has published no processor, the configuration decides. */
static bool is_client_elsewhere(const struct crew *crew, struct crew_source *source)
{
  int own = sched_getcpu();
  int clients = crew_poll_ops_of(source)->exchange_processors(source, own);
  return clients < 0 ? crew->config.may_pause : clients != own;
}

static bool stay_with_socket(struct crew_member *member, struct stay *stay)
{
  if (member->last != stay->source || !can_be_spared(member) || !spin_policy_takes_chance(&member->spin) ||
      !become_poller(member))
    return false;
  struct poll_loop loop = {.has_work = poll_source,
                           .context = stay,
                           .may_continue = can_be_spared,
                           .limits = &SOCKET_LIMITS,
                           .spin = &member->spin};
  member->clock_ns = clock_now_ns();
  run_poll_loop(member, &loop);
  crew_stop_polling(member);
  return stay->has_more;
}

/* True if the member may poll, but has to serve ready work or an event first. The set may remain open during
 * that time, because the member polls it after this work. If the set were closed, all clients would have to
 * notify the peer. Each notification is an event to be served first, so the set might remain closed, and each
 * call would need a notification. The event must be served first, because no other member can receive it, and
 * a call that polling finds may be a long one. A member whose work is slow does not become the poller, and
 * closes the set if it is the poller already. */
static bool may_poll_later(struct crew_member *member, bool is_quick)
{
  struct crew *crew = member->crew;
  bool has_ready = atomic_load_explicit(&crew->ready, memory_order_relaxed) > 0;
  bool has_notification =
      !has_ready && !can_go_on(member) && member->held != NULL && crew_poll_ops_of(member->held) != NULL;
  if (((has_ready && member->held == NULL) || has_notification) &&
      atomic_load_explicit(&crew->phase, memory_order_relaxed) == CREW_SERVING &&
      (is_quick ? become_poller(member) : is_poller(member)))
    set_accepts_polled(member, is_quick);
  return has_ready || has_notification;
}

/* The member has worked for the source since clock_ns. One slow piece of work alone does not count, because the thread
 * may have been interrupted for another member on the same processor. Otherwise all sources would be put to sleep, and
 * all their clients would have to notify the peer. */
static void measure_work(struct crew_member *member, struct stay *stay)
{
  struct crew_source *source = stay->source;
  int64_t began_ns = member->clock_ns;
  member->clock_ns = clock_now_ns();
  bool is_slow = member->clock_ns - began_ns >= QUICK_NS;
  stay->is_quick = !is_slow || !member->was_slow;
  stay->pause_ns = began_ns - source->answered_ns;
  member->was_slow = is_slow;
  source->pace = stay->pause_ns < FAST_NS ? CREW_PACE_FAST : CREW_PACE_SLOW;
  source->answered_ns = member->clock_ns;
}

/* A source with CREW_PACE_STEADY may be polled while the poller has other work. While the source is polled,
 * its calls need no notification. */
static bool stay_with_pollable(struct crew_member *member, struct stay *stay)
{
  struct crew *crew = member->crew;
  const int64_t poll_ns = crew->config.poll_ns;
  if (poll_ns == 0)
    return false;
  measure_work(member, stay);
  /* The poller also polls for the fast sources of the set. */
  bool may_poll = stay->source->pace == CREW_PACE_FAST ||
                  (atomic_load_explicit(&crew->fast_count, memory_order_relaxed) > 0 && is_poller(member));
  if (!may_poll && stay->pause_ns >= POLLED_NS)
    return false;
  if (may_poll_later(member, stay->is_quick)) {
    if (stay->source->pace == CREW_PACE_SLOW && stay->pause_ns < POLLED_NS)
      stay->source->pace = CREW_PACE_STEADY;
    return false;
  }
  if (!may_poll || !can_go_on(member) || !spin_policy_takes_chance(&member->poll_spin) ||
      !become_poller(member))
    return false;
  const struct spin_limits limits = {.usual_ns = poll_ns, .rare_ns = poll_ns, .pause_ns = poll_ns};
  struct poll_loop loop = {.has_work = poll_set_and_source,
                           .context = stay,
                           .may_continue = can_go_on,
                           .pause_ns = is_client_elsewhere(crew, stay->source) ? PAUSE_NS : 0,
                           .limits = &limits,
                           .spin = &member->poll_spin};
  set_accepts_polled(member, stay->is_quick);
  run_poll_loop(member, &loop);
  return stay->has_more;
}

/* --- pinned members --- */

static bool may_keep_polling(struct crew_member *member)
{
  return !wake_word_is_woken(&member->waking) &&
         atomic_load_explicit(&member->crew->phase, memory_order_relaxed) == CREW_SERVING;
}

/* False: pinned_polling members poll at length already. */
static bool begin_polling(struct crew *crew)
{
  unsigned polling = atomic_load_explicit(&crew->polling, memory_order_relaxed);
  do {
    if (polling >= crew->config.pinned_polling)
      return false;
  } while (!atomic_compare_exchange_weak_explicit(&crew->polling, &polling, polling + 1, memory_order_relaxed,
                                                  memory_order_relaxed));
  return true;
}

static void end_polling(struct crew *crew)
{
  atomic_fetch_sub_explicit(&crew->polling, 1, memory_order_relaxed);
}

/* The limits of a pinned member. If it may poll at length, they are those of any member. Otherwise it polls
 * for PAUSE_NS and then for TURN_YIELDS yields, which costs less than sleeping and waking. */
static struct spin_limits own_limits(const struct crew *crew, bool is_pollable, bool is_long)
{
  const int64_t usual_ns = is_pollable ? crew->config.poll_ns : SOCKET_LIMITS.usual_ns;
  if (!is_long)
    return (struct spin_limits){.usual_ns = usual_ns < TURN_NS ? usual_ns : TURN_NS,
                                .rare_ns = usual_ns < TURN_NS ? usual_ns : TURN_NS,
                                .pause_ns = TURN_PAUSE_NS,
                                .free_yields = TURN_YIELDS};
  return is_pollable ? (struct spin_limits){.usual_ns = usual_ns, .rare_ns = usual_ns, .pause_ns = usual_ns}
                     : SOCKET_LIMITS;
}

/* A pinned member has no other work, so it may poll even if no other member is idle. */
static bool stay_with_own(struct crew_member *member, struct stay *stay)
{
  struct crew *crew = member->crew;
  bool is_pollable = crew_poll_ops_of(stay->source) != NULL;
  struct spin_policy *spin = is_pollable ? &member->poll_spin : &member->spin;
  if (is_pollable)
    measure_work(member, stay);
  if (crew->config.pinned_polling == 0 ||
      (is_pollable && (crew->config.poll_ns == 0 || stay->source->pace != CREW_PACE_FAST)))
    return false;
  bool is_long = spin_policy_takes_chance(spin) && begin_polling(crew);
  if (!is_long)
    spin = &member->turn_spin;
  if (!is_long && !spin_policy_takes_chance(spin))
    return false;
  const struct spin_limits limits = own_limits(crew, is_pollable, is_long);
  const struct poll_loop loop = {.has_work = poll_source,
                                 .context = stay,
                                 .may_continue = may_keep_polling,
                                 .pause_ns =
                                     is_pollable && is_client_elsewhere(crew, stay->source) ? PAUSE_NS : 0,
                                 .limits = &limits,
                                 .spin = spin};
  if (!is_pollable)
    member->clock_ns = clock_now_ns();
  run_poll_loop(member, &loop);
  if (is_long)
    end_polling(crew);
  return stay->has_more;
}

bool crew_stay(struct crew_member *member, struct crew_source *source,
               bool (*has_work)(struct crew_source *source))
{
  struct stay stay = {.member = member, .source = source, .has_work = has_work};
  if (member->worker == NULL || member->lane != RPC_LANE_ALL)
    return false;
  if (crew_is_pinned(member))
    return stay_with_own(member, &stay);
  return crew_poll_ops_of(source) != NULL ? stay_with_pollable(member, &stay)
                                          : stay_with_socket(member, &stay);
}

/* --- crew_wait: members that wait inside the service --- */

bool crew_poll_while_waiting(struct crew_member *member, struct crew_source *source,
                             bool (*has_work)(void *context), void *context)
{
  const int64_t poll_ns = member->crew->config.poll_ns;
  const struct spin_limits pollable_limits = {.usual_ns = poll_ns, .rare_ns = poll_ns, .pause_ns = poll_ns};
  bool is_pollable = crew_poll_ops_of(source) != NULL;
  if ((is_pollable && poll_ns == 0) || !can_be_spared(member) ||
      !spin_policy_takes_chance(&member->wait_spin) || !become_poller(member))
    return false;
  const struct poll_loop loop = {.has_work = has_work,
                                 .context = context,
                                 .may_continue = can_be_spared,
                                 .pause_ns =
                                     is_pollable && is_client_elsewhere(member->crew, source) ? PAUSE_NS : 0,
                                 .limits = is_pollable ? &pollable_limits : &SOCKET_LIMITS,
                                 .spin = &member->wait_spin};
  member->clock_ns = clock_now_ns();
  bool found = run_poll_loop(member, &loop);
  resign_as_poller(member);
  return found;
}

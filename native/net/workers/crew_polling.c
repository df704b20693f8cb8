/* Members that stay awake and look for the next message of a client, in place of sleeping until it comes. */
#include "base/clock.h"
#include "net/workers/crew_state.h"

#include <sched.h>

/* Yields only: a socket costs a system call to look at. */
static const struct spin_limits SOCKET_LIMITS = {.usual_ns = 100000, .rare_ns = 400000};

enum {
  PAUSE_NS = 2000,    /* a source with a lookout is looked at for so long before the first yield */
  LOOKS_A_CLOCK = 4,  /* in that time, between two looks at the clock */
  LOST_NS = 50000,    /* a few looks that take longer were interrupted */
  LOST_MAX = 4,       /* in one look: so often it goes on */
  QUICK_NS = 20000,   /* a member whose work takes longer, twice in a row, looks at no others */
  AWAKE_NS = 2000000, /* a source without work for so long is put to sleep, or is not kept awake at all */
  BRISK_NS = 400000   /* nobody waits for a call that comes later: to wake both sides takes half of it */
};

static bool has_no_work(struct crew *crew)
{
  return atomic_load_explicit(&crew->ready, memory_order_relaxed) == 0 &&
         atomic_load_explicit(&crew->phase, memory_order_relaxed) == CREW_SERVING;
}

/* Another member is idle and takes the events, and no work waits. */
static bool can_be_spared(struct crew_member *member)
{
  struct crew *crew = member->crew;
  return atomic_load_explicit(&crew->idle, memory_order_relaxed) > 0 && has_no_work(crew);
}

/* No work waits. Where no other member is idle, this one looks for events itself, and serves the one that it finds
 * next. */
static bool can_go_on(struct crew_member *member)
{
  struct crew *crew = member->crew;
  if (member->held == NULL && has_no_work(crew) &&
      atomic_load_explicit(&crew->idle, memory_order_relaxed) == 0)
    member->held = crew_take_event(crew, 0);
  return member->held == NULL && has_no_work(crew);
}

static bool is_looker(const struct crew_member *member)
{
  return atomic_load_explicit(&member->crew->looker, memory_order_relaxed) == member;
}

static bool become_looker(struct crew_member *member)
{
  struct crew_member *nobody = NULL;
  return is_looker(member) || atomic_compare_exchange_strong(&member->crew->looker, &nobody, member);
}

static void resign_as_looker(struct crew_member *member)
{
  struct crew_member *expected = member;
  atomic_compare_exchange_strong(&member->crew->looker, &expected, NULL);
}

/* --- the sources that are awake; under look_lock where it says so --- */

/* Under look_lock. */
static void remove_awake(struct crew *crew, size_t index)
{
  struct crew_source *source = crew->awake[index].source;
  size_t count = atomic_load_explicit(&crew->awake_count, memory_order_relaxed) - 1;
  crew->awake[index] = crew->awake[count];
  crew->awake[index].source->awake_at = index;
  atomic_store_explicit(&crew->awake_count, count, memory_order_relaxed);
  if (source->pace == CREW_PACE_FAST)
    atomic_fetch_sub_explicit(&crew->awake_brisk, 1, memory_order_relaxed);
  atomic_store_explicit(&source->is_awake, false, memory_order_release);
}

/* True if it sleeps now; else it has work. Under look_lock. */
static bool put_to_sleep(struct crew *crew, size_t index)
{
  struct crew_source *source = crew->awake[index].source;
  bool sleeps = crew_lookout_of(source)->sleep(source);
  remove_awake(crew, index);
  return sleeps;
}

/* Looks at one; true if it has work, and is no longer among them. Under look_lock. */
static bool look_at_one(struct crew *crew, size_t index, int64_t now_ns)
{
  struct crew_source *source = crew->awake[index].source;
  int64_t *until_ns = &crew->awake[index].until_ns;
  if (crew_lookout_of(source)->look(source)) {
    remove_awake(crew, index);
    return true;
  }
  if (*until_ns == 0)
    *until_ns = now_ns + AWAKE_NS;
  return now_ns >= *until_ns && !put_to_sleep(crew, index);
}

/* Looks at each once, from the last one that was found on. Returns one that has work; NULL: none has. now_ns may be
 * late. */
static struct crew_source *look_around(struct crew *crew, int64_t now_ns)
{
  struct crew_source *found = NULL;
  pthread_mutex_lock(&crew->look_lock);
  size_t count = atomic_load_explicit(&crew->awake_count, memory_order_relaxed);
  for (size_t looks = count; found == NULL && looks > 0 && count > 0; looks--) {
    size_t index = crew->awake_next < count ? crew->awake_next : 0;
    struct crew_source *source = crew->awake[index].source;
    found = look_at_one(crew, index, now_ns) ? source : NULL;
    crew->awake_next = index + 1;
    count = atomic_load_explicit(&crew->awake_count, memory_order_relaxed);
  }
  pthread_mutex_unlock(&crew->look_lock);
  return found;
}

bool crew_keep_awake(struct crew *crew, struct crew_source *source)
{
  if (source->pace == CREW_PACE_SLOW || !atomic_load_explicit(&crew->takes_awake, memory_order_relaxed))
    return false;
  pthread_mutex_lock(&crew->look_lock);
  size_t count = atomic_load_explicit(&crew->awake_count, memory_order_relaxed);
  bool is_kept = atomic_load_explicit(&crew->takes_awake, memory_order_relaxed) && count < CREW_AWAKE_MAX;
  if (is_kept) {
    crew->awake[count].source = source;
    crew->awake[count].until_ns = 0;
    source->awake_at = count;
    atomic_store_explicit(&source->is_awake, true, memory_order_relaxed);
    atomic_store_explicit(&crew->awake_count, count + 1, memory_order_relaxed);
    if (source->pace == CREW_PACE_FAST) {
      atomic_fetch_add_explicit(&crew->awake_brisk, 1, memory_order_relaxed);
      atomic_fetch_add_explicit(&crew->awake_arrivals, 1, memory_order_relaxed);
    }
  }
  pthread_mutex_unlock(&crew->look_lock);
  return is_kept;
}

void crew_take_awake(struct crew *crew, struct crew_source *source)
{
  if (!atomic_load_explicit(&source->is_awake, memory_order_acquire))
    return;
  pthread_mutex_lock(&crew->look_lock);
  if (atomic_load_explicit(&source->is_awake, memory_order_relaxed))
    remove_awake(crew, source->awake_at);
  pthread_mutex_unlock(&crew->look_lock);
}

/* Nobody will look from now on. Under look_lock. */
static void put_all_to_sleep(struct crew *crew)
{
  atomic_store_explicit(&crew->takes_awake, false, memory_order_relaxed);
  size_t count;
  while ((count = atomic_load_explicit(&crew->awake_count, memory_order_relaxed)) > 0) {
    struct crew_source *source = crew->awake[count - 1].source;
    if (!put_to_sleep(crew, count - 1))
      crew_submit(crew, source);
  }
}

/* Both in one, so that a looker that goes on just then does not find itself relieved with sources that are awake. */
static void close_and_resign(struct crew_member *looker)
{
  struct crew *crew = looker->crew;
  pthread_mutex_lock(&crew->look_lock);
  if (is_looker(looker)) {
    put_all_to_sleep(crew);
    resign_as_looker(looker);
  }
  pthread_mutex_unlock(&crew->look_lock);
}

void crew_stop_looking(struct crew_member *member)
{
  if (!is_looker(member))
    return;
  if (atomic_load_explicit(&member->crew->takes_awake, memory_order_relaxed))
    close_and_resign(member);
  else
    resign_as_looker(member);
}

void crew_relieve_looker(struct crew *crew, struct crew_looker_watch *watch)
{
  struct crew_member *looker = atomic_load(&crew->looker);
  uint64_t steps = looker != NULL ? atomic_load_explicit(&looker->steps, memory_order_relaxed) : 0;
  bool is_stuck = looker != NULL && looker == watch->looker && steps == watch->steps;
  *watch = (struct crew_looker_watch){looker, steps};
  if (is_stuck && atomic_load_explicit(&crew->takes_awake, memory_order_relaxed))
    close_and_resign(looker);
}

static bool may_find_awake(const struct crew_member *member)
{
  return atomic_load_explicit(&member->crew->awake_count, memory_order_relaxed) > 0 && is_looker(member);
}

/* Of a member that looks: by its last look at the clock. */
static bool find_awake(struct crew_member *member)
{
  if (member->found == NULL && may_find_awake(member))
    member->found = look_around(member->crew, member->looked_ns);
  return member->found != NULL;
}

bool crew_find_awake(struct crew_member *member)
{
  if (!may_find_awake(member))
    return false;
  member->looked_ns = clock_now_ns();
  return find_awake(member);
}

/* --- looking --- */

/* Tells the processor that this is a loop that waits. */
static inline void pause_processor(void)
{
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

struct outlook {
  bool (*look)(void *context);
  void *context;
  bool (*goes_on)(struct crew_member *member); /* false: the member has other things to do */
  int64_t pause_ns;                            /* looks without a yield for so long */
  const struct spin_limits *limits;
  struct spin_policy *spin;
};

static bool look_with_pauses(const struct outlook *outlook)
{
  for (int i = 0; i < LOOKS_A_CLOCK; i++) {
    pause_processor();
    if (outlook->look(outlook->context))
      return true;
  }
  return false;
}

/* How long a look has taken so far. */
struct look_time {
  int64_t took_ns; /* while the thread had the processor, or gave it away itself */
  int64_t longest_pause_ns;
  unsigned lost;    /* how often the thread has lost the processor */
  unsigned arrived; /* crew->awake_arrivals */
};

/* A thread that loses the processor without a yield was not looking meanwhile, and learns nothing from that. */
static void look_at_clock(struct crew_member *member, bool has_yielded, struct look_time *looking)
{
  int64_t now_ns = clock_now_ns();
  int64_t pause_ns = now_ns - member->looked_ns;
  member->looked_ns = now_ns;
  if (!has_yielded && pause_ns >= LOST_NS && looking->lost++ < LOST_MAX)
    return;
  looking->took_ns += pause_ns;
  if (pause_ns > looking->longest_pause_ns)
    looking->longest_pause_ns = pause_ns;
}

/* member->looked_ns is the time when it begins. The clock is not asked again where the first looks after it find
 * something: they take less than a yield does. */
static bool look_for_a_while(struct crew_member *member, const struct outlook *outlook)
{
  const int64_t limit_ns = spin_policy_limit_ns(outlook->spin, outlook->limits);
  struct look_time looking = {.arrived =
                                  atomic_load_explicit(&member->crew->awake_arrivals, memory_order_relaxed)};
  bool found;
  do {
    bool yields = looking.took_ns >= outlook->pause_ns;
    if (yields)
      sched_yield();
    found = yields ? outlook->look(outlook->context) : look_with_pauses(outlook);
    if (found && !yields)
      break;
    look_at_clock(member, yields, &looking);
    /* A source that became awake during that time has just been answered by another member: its client is waited for
     * as long as others'. */
    unsigned arrived = atomic_load_explicit(&member->crew->awake_arrivals, memory_order_relaxed);
    if (arrived != looking.arrived && !crew_is_pinned(member))
      looking.took_ns = 0;
    looking.arrived = arrived;
  } while (!found && looking.took_ns < limit_ns && outlook->goes_on(member));
  /* Where the next turn of the member is one of a source with a lookout, it may stay the looker. */
  bool goes_on = member->found != NULL || (member->held != NULL && crew_lookout_of(member->held) != NULL);
  spin_policy_learn(outlook->spin, outlook->limits, found || goes_on, looking.took_ns,
                    looking.longest_pause_ns);
  return found;
}

/* --- members that stay with a source --- */

struct stay {
  struct crew_member *member;
  struct crew_source *source;
  bool (*look)(struct crew_source *source);
  int64_t pause_ns; /* of the client, between the last answer and this call */
  bool is_quick;    /* the member's last piece of work, or the one before, took no longer than QUICK_NS */
  bool has_more;    /* the source itself has */
};

static bool look_at_source(void *context)
{
  struct stay *stay = context;
  stay->has_more = stay->look(stay->source);
  return stay->has_more;
}

/* The others first: a client that answers at once would have the member for a whole turn, while theirs give up looking. */
static bool look_at_all(void *context)
{
  struct stay *stay = context;
  return find_awake(stay->member) || look_at_source(stay);
}

/* Others may be looked at, too, if none of them has to wait for long because of that. */
static void set_awake(struct crew_member *member, bool is_quick)
{
  struct crew *crew = member->crew;
  if (is_quick == atomic_load_explicit(&crew->takes_awake, memory_order_relaxed))
    return;
  pthread_mutex_lock(&crew->look_lock);
  if (!is_quick)
    put_all_to_sleep(crew);
  else if (is_looker(member)) /* the watcher may have relieved the member */
    atomic_store_explicit(&crew->takes_awake, true, memory_order_relaxed);
  pthread_mutex_unlock(&crew->look_lock);
}

/* A client that needs this processor gets it at once, by yields. Where none is named, one that is bound to a
 * processor assumes that. */
static bool is_elsewhere(const struct crew *crew, struct crew_source *source)
{
  int own = sched_getcpu();
  int clients = crew_lookout_of(source)->meet(source, own);
  return clients < 0 ? crew->config.may_pause : clients != own;
}

static bool stay_with_socket(struct crew_member *member, struct stay *stay)
{
  if (member->last != stay->source || !can_be_spared(member) || !spin_policy_takes_chance(&member->spin) ||
      !become_looker(member))
    return false;
  struct outlook outlook = {.look = look_at_source,
                            .context = stay,
                            .goes_on = can_be_spared,
                            .limits = &SOCKET_LIMITS,
                            .spin = &member->spin};
  member->looked_ns = clock_now_ns();
  look_for_a_while(member, &outlook);
  crew_stop_looking(member);
  return stay->has_more;
}

/* True if the member can look, but not yet: ready work waits, or it has just taken an event. The source may stay awake
 * meanwhile: the member goes on to such sources, and looks at all that are awake when it has served them. Without
 * that, clients that were all sent to sleep would each ring for each call as long as there is always another bell. The
 * event comes first, because no other member can take it: a call that is found by a look may be a long one. A member whose
 * work is slow does not begin to look, and closes the set where it looked already. */
static bool may_look_later(struct crew_member *member, bool is_quick)
{
  struct crew *crew = member->crew;
  bool has_ready = atomic_load_explicit(&crew->ready, memory_order_relaxed) > 0;
  bool has_bell =
      !has_ready && !can_go_on(member) && member->held != NULL && crew_lookout_of(member->held) != NULL;
  if (((has_ready && member->held == NULL) || has_bell) &&
      atomic_load_explicit(&crew->phase, memory_order_relaxed) == CREW_SERVING &&
      (is_quick ? become_looker(member) : is_looker(member)))
    set_awake(member, is_quick);
  return has_ready || has_bell;
}

/* Since its last look the member has worked for the source. One slow piece of work alone changes nothing: where members
 * share a processor, one that was interrupted for another would otherwise send all sources to sleep, and each of their
 * clients would have to ring. */
static void look_at_clock_after_work(struct crew_member *member, struct stay *stay)
{
  struct crew_source *source = stay->source;
  int64_t began_ns = member->looked_ns;
  member->looked_ns = clock_now_ns();
  bool is_slow = member->looked_ns - began_ns >= QUICK_NS;
  stay->is_quick = !is_slow || !member->was_slow;
  stay->pause_ns = began_ns - source->answered_ns;
  member->was_slow = is_slow;
  source->pace = stay->pause_ns < BRISK_NS ? CREW_PACE_FAST : CREW_PACE_SLOW;
  source->answered_ns = member->looked_ns;
}

/* A client that is not brisk may be awake as long as the looker has other work; then its calls need no bell. */
static bool stay_with_lookout(struct crew_member *member, struct stay *stay)
{
  struct crew *crew = member->crew;
  const int64_t look_ns = crew->config.look_ns;
  if (look_ns == 0)
    return false;
  look_at_clock_after_work(member, stay);
  /* Also for other clients that are awake and worth looking for. */
  bool looks = stay->source->pace == CREW_PACE_FAST ||
               (atomic_load_explicit(&crew->awake_brisk, memory_order_relaxed) > 0 && is_looker(member));
  if (!looks && stay->pause_ns >= AWAKE_NS)
    return false;
  if (may_look_later(member, stay->is_quick)) {
    if (stay->source->pace == CREW_PACE_SLOW && stay->pause_ns < AWAKE_NS)
      stay->source->pace = CREW_PACE_STEADY;
    return false;
  }
  if (!looks || !can_go_on(member) || !spin_policy_takes_chance(&member->look_spin) || !become_looker(member))
    return false;
  const struct spin_limits limits = {.usual_ns = look_ns, .rare_ns = look_ns};
  struct outlook outlook = {.look = look_at_all,
                            .context = stay,
                            .goes_on = can_go_on,
                            .pause_ns = is_elsewhere(crew, stay->source) ? PAUSE_NS : 0,
                            .limits = &limits,
                            .spin = &member->look_spin};
  set_awake(member, stay->is_quick);
  look_for_a_while(member, &outlook);
  return stay->has_more;
}

/* --- pinned members --- */

static bool is_left_alone(struct crew_member *member)
{
  return !wake_word_is_woken(&member->waking) &&
         atomic_load_explicit(&member->crew->phase, memory_order_relaxed) == CREW_SERVING;
}

/* False: as many poll as may. */
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

/* A pinned member has nothing else to do, so that it need not be spared. */
static bool stay_with_own(struct crew_member *member, struct stay *stay)
{
  struct crew *crew = member->crew;
  const struct spin_limits ring_limits = {.usual_ns = crew->config.look_ns, .rare_ns = crew->config.look_ns};
  bool has_lookout = crew_lookout_of(stay->source) != NULL;
  struct spin_policy *spin = has_lookout ? &member->look_spin : &member->spin;
  if (has_lookout)
    look_at_clock_after_work(member, stay);
  if ((has_lookout && (crew->config.look_ns == 0 || stay->source->pace != CREW_PACE_FAST)) ||
      !spin_policy_takes_chance(spin) || !begin_polling(crew))
    return false;
  const struct outlook outlook = {.look = look_at_source,
                                  .context = stay,
                                  .goes_on = is_left_alone,
                                  .pause_ns = has_lookout && is_elsewhere(crew, stay->source) ? PAUSE_NS : 0,
                                  .limits = has_lookout ? &ring_limits : &SOCKET_LIMITS,
                                  .spin = spin};
  if (!has_lookout)
    member->looked_ns = clock_now_ns();
  look_for_a_while(member, &outlook);
  end_polling(crew);
  return stay->has_more;
}

bool crew_stay(struct crew_member *member, struct crew_source *source,
               bool (*look)(struct crew_source *source))
{
  struct stay stay = {.member = member, .source = source, .look = look};
  if (member->worker == NULL || member->lane != RPC_LANE_ALL)
    return false;
  if (crew_is_pinned(member))
    return stay_with_own(member, &stay);
  return crew_lookout_of(source) != NULL ? stay_with_lookout(member, &stay) : stay_with_socket(member, &stay);
}

/* --- members that wait for their clients --- */

bool crew_look_awake(struct crew_member *member, struct crew_source *source, bool (*look)(void *context),
                     void *context)
{
  const int64_t look_ns = member->crew->config.look_ns;
  const struct spin_limits ring_limits = {.usual_ns = look_ns, .rare_ns = look_ns};
  bool has_lookout = crew_lookout_of(source) != NULL;
  if ((has_lookout && look_ns == 0) || !can_be_spared(member) ||
      !spin_policy_takes_chance(&member->wait_spin) || !become_looker(member))
    return false;
  const struct outlook outlook = {.look = look,
                                  .context = context,
                                  .goes_on = can_be_spared,
                                  .pause_ns =
                                      has_lookout && is_elsewhere(member->crew, source) ? PAUSE_NS : 0,
                                  .limits = has_lookout ? &ring_limits : &SOCKET_LIMITS,
                                  .spin = &member->wait_spin};
  member->looked_ns = clock_now_ns();
  bool found = look_for_a_while(member, &outlook);
  resign_as_looker(member);
  return found;
}

#include "net/workers/crew.h"

#include "audit/audit.h"
#include "base/clock.h"
#include "base/log.h"
#include "net/workers/crew_state.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
  LONG_CALL_MS = 1000,
  REPORT_MS = 60000,
  GROWTH_PAUSE_MS = 100, /* pause after the creation of a thread has failed */
  WITHOUT_EVENTFD_MS = 5 /* a member without an eventfd sleeps only this long, because nobody can wake it */
};

static unsigned count_places_max(const struct crew *crew)
{
  return crew->config.threads_max + CREW_WAITING_MAX + crew->config.lost_max + crew->config.pinned_max;
}

static void ignore_turn(struct crew_source *source, struct crew_member *member)
{
  (void)source;
  (void)member;
}

static enum jp_status control_epoll(struct crew *crew, int operation, struct crew_source *source, int fd,
                                    uint32_t events, struct jp_error *error)
{
  struct epoll_event event = {.events = events, .data.ptr = source};
  if (epoll_ctl(crew->epoll_fd, operation, fd, &event) != 0)
    return jp_fail(error, JP_IO, "epoll_ctl: %s", strerror(errno));
  return JP_OK;
}

static enum jp_status open_descriptors(struct crew *crew, struct jp_error *error)
{
  crew->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  crew->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  crew->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (crew->epoll_fd < 0 || crew->wake_fd < 0 || crew->stop_fd < 0)
    return jp_fail(error, JP_IO, "no descriptor for the crew: %s", strerror(errno));
  crew->wake.turn = ignore_turn;
  atomic_init(&crew->wake.is_quick, true);
  crew->stop.turn = ignore_turn;
  enum jp_status status =
      control_epoll(crew, EPOLL_CTL_ADD, &crew->wake, crew->wake_fd, EPOLLIN | EPOLLET, error);
  if (status == JP_OK)
    status = control_epoll(crew, EPOLL_CTL_ADD, &crew->stop, crew->stop_fd, EPOLLIN, error);
  return status;
}

static void init_member(struct crew *crew, struct crew_member *member)
{
  member->crew = crew;
  member->waits =
      (struct rpc_waits){.thread = member, .wait = crew_wait, .wake = crew_wake, .end = crew_end_call};
  atomic_init(&member->wait_fd, -1);
  scratch_init(&member->scratch);
}

enum jp_status crew_create(const struct crew_config *config, struct crew **crew, struct jp_error *error)
{
  struct crew *made = calloc(1, sizeof *made);
  if (made == NULL)
    return jp_fail(error, JP_NO_MEMORY, "no memory for the crew");
  made->config = *config;
  if (made->config.long_call_ms == 0)
    made->config.long_call_ms = LONG_CALL_MS;
  if (made->config.report_ms == 0)
    made->config.report_ms = REPORT_MS;
  atomic_init(&made->poller, NULL);
  atomic_init(&made->read_ahead_ms, INT64_MAX);
  pthread_mutex_init(&made->poll_lock, NULL);
  made->epoll_fd = made->wake_fd = made->stop_fd = -1;
  pthread_mutex_init(&made->lock, NULL);
  clock_init_condition(&made->changed);
  pthread_cond_init(&made->lane_wanted, NULL);
  pthread_cond_init(&made->end_wanted, NULL);
  pthread_cond_init(&made->retained, NULL);
  pthread_cond_init(&made->start_wanted, NULL);
  made->last_unstarted = &made->first_unstarted;
  pthread_mutex_init(&made->sleep_lock, NULL);
  clock_init_condition(&made->sleep_ended);

  enum jp_status status = JP_OK;
  made->members = calloc(count_places_max(made), sizeof(struct crew_member *));
  if (made->members == NULL)
    status = jp_fail(error, JP_NO_MEMORY, "no memory for the crew");
  else
    status = open_descriptors(made, error);
  if (status != JP_OK) {
    crew_destroy(made);
    return status;
  }
  init_member(made, &made->watcher);
  for (int lane = RPC_LANE_ALL + 1; lane < RPC_LANES; lane++) {
    init_member(made, &made->reserved[lane]);
    made->reserved[lane].lane = (enum rpc_lane)lane;
  }
  *crew = made;
  return JP_OK;
}

static enum crew_member_state get_member_state(const struct crew_member *member)
{
  return atomic_load_explicit(&member->state, memory_order_relaxed);
}

/* The caller holds the lock, except for a change to or from WAITING. */
static void set_member_state(struct crew_member *member, enum crew_member_state to)
{
  ASSERT_TRANSITION(crew_member_transitions, get_member_state(member), to);
  assert(get_member_state(member) == CREW_MEMBER_WAITING || to == CREW_MEMBER_WAITING ||
         mutex_is_locked(&member->crew->lock));
  atomic_store_explicit(&member->state, to, memory_order_relaxed);
}

static bool is_occupied(const struct crew_member *member)
{
  return get_member_state(member) != CREW_MEMBER_FREE;
}

static bool has_occupied_place(struct crew *crew)
{
  for (int lane = RPC_LANE_ALL + 1; lane < RPC_LANES; lane++) {
    if (is_occupied(&crew->reserved[lane]))
      return true;
  }
  for (unsigned i = 0; i < atomic_load(&crew->place_count); i++) {
    if (is_occupied(crew->members[i]))
      return true;
  }
  return false;
}

static void close_eventfd(struct crew_member *member)
{
  int fd = atomic_exchange(&member->wait_fd, -1);
  if (fd >= 0)
    close(fd);
}

void crew_destroy(struct crew *crew)
{
  if (crew == NULL)
    return;
  pthread_mutex_lock(&crew->lock);
  bool in_use = has_occupied_place(crew) || crew->interrupters != NULL;
  pthread_mutex_unlock(&crew->lock);
  if (in_use)
    return;
  for (unsigned i = 0; i < atomic_load(&crew->place_count); i++) {
    close_eventfd(crew->members[i]);
    scratch_fini(&crew->members[i]->scratch);
    free(crew->members[i]);
  }
  scratch_fini(&crew->watcher.scratch);
  for (int lane = RPC_LANE_ALL + 1; lane < RPC_LANES; lane++)
    scratch_fini(&crew->reserved[lane].scratch);
  free(crew->members);
  int descriptors[] = {crew->epoll_fd, crew->wake_fd, crew->stop_fd};
  for (size_t i = 0; i < sizeof descriptors / sizeof descriptors[0]; i++) {
    if (descriptors[i] >= 0)
      close(descriptors[i]);
  }
  pthread_cond_destroy(&crew->sleep_ended);
  pthread_mutex_destroy(&crew->sleep_lock);
  pthread_mutex_destroy(&crew->poll_lock);
  pthread_cond_destroy(&crew->start_wanted);
  pthread_cond_destroy(&crew->retained);
  pthread_cond_destroy(&crew->end_wanted);
  pthread_cond_destroy(&crew->lane_wanted);
  pthread_cond_destroy(&crew->changed);
  pthread_mutex_destroy(&crew->lock);
  free(crew);
}

const struct rpc_service *crew_service(const struct crew *crew)
{
  return crew->service;
}

/* --- sources --- */

enum jp_status crew_watch(struct crew *crew, struct crew_source *source, int fd, uint32_t events,
                          struct jp_error *error)
{
  return control_epoll(crew, EPOLL_CTL_ADD, source, fd, events | EPOLLONESHOT, error);
}

enum jp_status crew_watch_again(struct crew *crew, struct crew_source *source, int fd, uint32_t events,
                                struct jp_error *error)
{
  return control_epoll(crew, EPOLL_CTL_MOD, source, fd, events | EPOLLONESHOT, error);
}

void crew_wake_one(struct crew *crew)
{
  /* If the counter is full, the write fails, but the descriptor is readable and has woken a member. */
  uint64_t one = 1;
  ssize_t written = write(crew->wake_fd, &one, sizeof one);
  (void)written;
}

static void wake_watcher(struct crew *crew)
{
  if (!atomic_exchange(&crew->watcher_sleeps, false))
    return;
  pthread_mutex_lock(&crew->sleep_lock);
  pthread_cond_signal(&crew->sleep_ended);
  pthread_mutex_unlock(&crew->sleep_lock);
}

/* Called before or after each step that may concern the watcher. */
static inline void wake_sleeping_watcher(struct crew *crew)
{
  if (atomic_load_explicit(&crew->watcher_sleeps, memory_order_relaxed))
    wake_watcher(crew);
}

void crew_submit(struct crew *crew, struct crew_source *source)
{
  pthread_mutex_lock(&crew->lock);
  bool is_first = false;
  if (!source->is_ready) {
    source->is_ready = true;
    source->next_ready = NULL;
    if (crew->last_ready == NULL)
      crew->first_ready = source;
    else
      crew->last_ready->next_ready = source;
    crew->last_ready = source;
    is_first = atomic_fetch_add(&crew->ready, 1) == 0;
  }
  /* The reserved threads are woken even if the source was in the queue already, because its previous owner
   * may have submitted it without a lane. */
  if (atomic_load_explicit(&source->lane, memory_order_relaxed) != RPC_LANE_ALL)
    pthread_cond_broadcast(&crew->lane_wanted);
  pthread_mutex_unlock(&crew->lock);
  /* The member that removes the first source wakes another member for the next source (crew_pop_ready). */
  if (is_first && atomic_load(&crew->idle) > 0)
    crew_wake_one(crew);
  if (is_first)
    wake_sleeping_watcher(crew);
}

void crew_read_ahead_at(struct crew *crew, int64_t at_ms)
{
  int64_t before_ms = atomic_load(&crew->read_ahead_ms);
  while (at_ms < before_ms && !atomic_compare_exchange_weak(&crew->read_ahead_ms, &before_ms, at_ms)) {
  }
  wake_sleeping_watcher(crew);
}

void crew_wake_watcher(struct crew *crew)
{
  wake_sleeping_watcher(crew);
}

struct crew_source *crew_pop_ready(struct crew *crew)
{
  if (atomic_load(&crew->ready) == 0)
    return NULL;
  pthread_mutex_lock(&crew->lock);
  struct crew_source *source = crew->first_ready;
  unsigned left = 0;
  if (source != NULL) {
    crew->first_ready = source->next_ready;
    if (crew->first_ready == NULL)
      crew->last_ready = NULL;
    source->is_ready = false;
    atomic_store_explicit(&source->lane, RPC_LANE_ALL, memory_order_relaxed);
    left = atomic_fetch_sub(&crew->ready, 1) - 1;
  }
  pthread_mutex_unlock(&crew->lock);
  /* Two writes to wake_fd may have woken only one member. */
  if (left > 0 && atomic_load(&crew->idle) > 0)
    crew_wake_one(crew);
  return source;
}

struct crew_source *crew_receive_event(struct crew *crew, int timeout_ms)
{
  struct epoll_event event;
  int count = epoll_wait(crew->epoll_fd, &event, 1, timeout_ms);
  return count == 1 ? event.data.ptr : NULL;
}

/* --- members --- */

static bool is_stopping(struct crew *crew)
{
  return atomic_load(&crew->phase) == CREW_STOPPING;
}

/* True if the crew is larger than `threads`: the member, which was idle for linger_ms, must leave. */
static bool leave_when_surplus(struct crew_member *member)
{
  struct crew *crew = member->crew;
  pthread_mutex_lock(&crew->lock);
  bool leaves = crew_busy_size(crew) > crew->config.threads;
  if (leaves) {
    crew->size--;
    atomic_fetch_sub(&crew->idle, 1);
    wake_sleeping_watcher(crew);
  }
  pthread_mutex_unlock(&crew->lock);
  return leaves;
}

/* A surplus thread is kept for linger_ms, but connections may need its descriptor now. The worker's pointer
 * to the member is cleared first, so that no thread wakes the member while the descriptor is closed. */
static void drop_eventfd(struct crew_member *member)
{
  const struct rpc_service *service = member->crew->service;
  if (atomic_load(&member->wait_fd) < 0 || service->set_waits == NULL)
    return;
  service->set_waits(service->context, member->worker, NULL);
  close_eventfd(member);
  service->set_waits(service->context, member->worker, &member->waits);
}

/*
 * Waits for an event while the member is counted as idle. The member increments `idle` before it reads the length of
 * the ready queue, and crew_submit appends to the queue before it reads `idle`: so at least one of the two
 * notices the other's change.
 */
static struct crew_source *wait_idle(struct crew_member *member, bool *left)
{
  struct crew *crew = member->crew;
  struct crew_source *source = NULL;
  if (atomic_fetch_add(&crew->idle, 1) >= crew->config.threads)
    drop_eventfd(member);
  wake_sleeping_watcher(crew); /* a long call has ended: there may be a new deadline */
  while (source == NULL && !is_stopping(crew) && atomic_load(&crew->ready) == 0) {
    source = crew_receive_event(crew, (int)crew->config.linger_ms);
    if (source == NULL && leave_when_surplus(member)) {
      *left = true;
      return NULL;
    }
  }
  atomic_fetch_sub(&crew->idle, 1);
  wake_sleeping_watcher(crew);
  return source;
}

/* Returns a source with an event. A polled source with work counts as one. Polled sources and epoll have
 * priority in turn, so that neither starves. */
static struct crew_source *find_event(struct crew_member *member)
{
  struct crew_source *source = NULL;
  if (member->choice == CREW_CHOICE_EPOLL_FIRST)
    source = crew_receive_event(member->crew, 0);
  member->has_found = source == NULL && crew_find_polled(member);
  if (member->has_found) {
    source = member->found;
    member->found = NULL;
  }
  if (source == NULL && member->choice == CREW_CHOICE_POLLED_FIRST)
    source = crew_receive_event(member->crew, 0);
  return source;
}

/* Chooses between ready work and events. They have priority in turn, so that neither starves. */
static struct crew_source *choose_waiting(struct crew_member *member)
{
  struct crew *crew = member->crew;
  struct crew_source *source = NULL;
  member->choice = (enum crew_choice)((member->choice + 1) % CREW_CHOICES);
  if (member->choice == CREW_CHOICE_EPOLL_FIRST || member->choice == CREW_CHOICE_POLLED_FIRST)
    source = find_event(member);
  /* This member was woken for ready work and serves an event instead, so another member must serve the ready work. */
  if (source != NULL && source != &crew->wake && !member->has_found && atomic_load(&crew->idle) > 0)
    crew_wake_one(crew);
  return source != NULL ? source : crew_pop_ready(crew);
}

/* Before the poller becomes idle, or begins a turn of another source, it must close the set of polled sources. */
static struct crew_source *next_source(struct crew_member *member, bool *left)
{
  struct crew *crew = member->crew;
  struct crew_source *source = member->found;
  member->found = NULL;
  member->has_found = source != NULL;
  if (source != NULL)
    return source;
  source = member->held;
  member->held = NULL;
  if (source == NULL && atomic_load(&crew->ready) > 0)
    source = choose_waiting(member);
  if (source == NULL || crew_poll_ops_of(source) == NULL)
    crew_stop_polling(member);
  return source != NULL ? source : wait_idle(member, left);
}

/* The worker no longer knows the member, so no thread wakes the member, and the member's descriptor can be
 * closed. There is one exception: if the crew stops, a source may still wake its pinned member, so that
 * member keeps its descriptor. */
static void release_member(struct crew_member *member, bool left)
{
  struct crew *crew = member->crew;
  bool is_pinned = crew_is_pinned(member);
  if (!is_pinned || !is_stopping(crew))
    close_eventfd(member);
  pthread_mutex_lock(&crew->lock);
  if (is_pinned)
    crew->pinned--;
  else if (!left)
    crew->size--;
  atomic_store(&member->pinned, NULL);
  member->worker = NULL;
  set_member_state(member, CREW_MEMBER_FREE);
  pthread_cond_broadcast(&crew->changed);
  pthread_mutex_unlock(&crew->lock);
}

/* The counter is written only by this thread, so a plain addition is enough. It is cheaper than an atomic
 * addition. */
static void count_steps(struct crew_member *member, unsigned count)
{
  uint64_t steps = atomic_load_explicit(&member->steps, memory_order_relaxed);
  atomic_store_explicit(&member->steps, steps + count, memory_order_relaxed);
}

/* --- what an operator sees --- */

/* The counters are written only by this thread. */
static void count_latency(struct crew_latency *latency, int64_t ns)
{
  _Atomic uint64_t *count = &latency->counts[metrics_bucket_of((uint64_t)ns)];
  atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + 1, memory_order_relaxed);
  const uint64_t sum_ns = atomic_load_explicit(&latency->sum_ns, memory_order_relaxed);
  atomic_store_explicit(&latency->sum_ns, sum_ns + (uint64_t)ns, memory_order_relaxed);
}

void crew_record_latency(struct crew_member *member, int64_t now_ns)
{
  struct crew_latency *latency = &member->latency;
  for (unsigned i = 0; i < latency->unrecorded; i++) {
    const int64_t ns = now_ns - latency->arrived_ns[i];
    count_latency(latency, ns > 0 ? ns : 0);
  }
  latency->unrecorded = 0;
}

static inline void settle_latency(struct crew_member *member)
{
  if (crew_has_unrecorded(member))
    crew_record_latency(member, clock_now_ns());
}

/* arrived_ns 0: unknown, so that the message counts from now. */
static inline void note_served(struct crew_member *member, int64_t arrived_ns)
{
  struct crew_latency *latency = &member->latency;
  if (latency->unrecorded == CREW_UNRECORDED_MAX)
    settle_latency(member);
  latency->arrived_ns[latency->unrecorded++] = arrived_ns != 0 ? arrived_ns : clock_now_ns();
}

bool crew_is_starting(const struct crew *crew)
{
  return atomic_load_explicit(&crew->phase, memory_order_relaxed) == CREW_STARTING;
}

bool crew_is_ending(const struct crew *crew)
{
  return atomic_load_explicit(&crew->phase, memory_order_relaxed) > CREW_SERVING;
}

bool crew_is_healthy(struct crew *crew)
{
  const int64_t since_ms = atomic_load_explicit(&crew->stuck_since_ms, memory_order_relaxed);
  return atomic_load(&crew->phase) == CREW_SERVING &&
         (since_ms == 0 || clock_now_ms() - since_ms < crew->config.busy_timeout_ms);
}

static void add_latency(const struct crew_member *member, uint64_t counts[METRICS_BUCKETS], uint64_t *sum_ns)
{
  for (size_t i = 0; i < METRICS_BUCKETS; i++)
    counts[i] += atomic_load_explicit(&member->latency.counts[i], memory_order_relaxed);
  *sum_ns += atomic_load_explicit(&member->latency.sum_ns, memory_order_relaxed);
}

void crew_collect(struct crew *crew, struct metrics_figures *figures)
{
  memset(figures->latency, 0, sizeof figures->latency);
  figures->latency_ns = 0;
  pthread_mutex_lock(&crew->lock);
  for (unsigned i = 0; i < atomic_load(&crew->place_count); i++)
    add_latency(crew->members[i], figures->latency, &figures->latency_ns);
  for (int lane = RPC_LANE_ALL + 1; lane < RPC_LANES; lane++)
    add_latency(&crew->reserved[lane], figures->latency, &figures->latency_ns);
  const unsigned size = crew->size;
  const unsigned starting = atomic_load(&crew->starting);
  const unsigned idle = atomic_load(&crew->idle); /* with those that start */
  const unsigned waiting = atomic_load(&crew->waiting);
  figures->threads[METRICS_THREAD_PINNED] = crew->pinned;
  pthread_mutex_unlock(&crew->lock);
  figures->threads[METRICS_THREAD_STARTING] = starting;
  figures->threads[METRICS_THREAD_IDLE] = idle > starting ? idle - starting : 0;
  figures->threads[METRICS_THREAD_WAITING] = waiting;
  figures->threads[METRICS_THREAD_BUSY] = size > idle + waiting ? size - idle - waiting : 0;
  for (size_t i = 0; i < METRICS_REFUSALS; i++)
    figures->refusals[i] += atomic_load_explicit(&crew->refusals[i], memory_order_relaxed);
  figures->threads_max = crew->config.threads_max;
  figures->lost_threads = atomic_load(&crew->lost);
}

/* --- deferred answers --- */

bool crew_may_defer(struct crew_member *member)
{
  enum { LONE_TURNS = 16 }; /* so many turns without a backlog are between two that look for one */
  struct crew *crew = member->crew;
  if (!audit_is_on() || member->worker == NULL || member->lane != RPC_LANE_ALL || crew_is_pinned(member) ||
      member->deferred_count == CREW_DEFERRED_MAX || atomic_load(&crew->idle) > 0)
    return false;
  return member->has_backlog || member->held != NULL || member->lone_turns++ % LONE_TURNS == 0;
}

void crew_defer(struct crew_member *member, struct crew_source *source)
{
  assert(member->deferred_count < CREW_DEFERRED_MAX);
  member->deferred[member->deferred_count++] = source;
}

void crew_release_event(struct crew_member *member)
{
  if (member->held != NULL)
    crew_submit(member->crew, member->held);
  member->held = NULL;
}

static void send_deferred(struct crew_member *member)
{
  for (unsigned i = 0; i < member->deferred_count; i++)
    member->deferred[i]->call_ops->send_deferred(member->deferred[i], member);
  member->deferred_count = 0;
}

/* Called between two turns. Sends, unless a quick source is served next. Others serve a source that is not quick, because a
 * write to the audit's file may hang. */
static void settle_deferred(struct crew_member *member)
{
  struct crew *crew = member->crew;
  /* A source that polling has found is served next, so that no event may be held. */
  const bool must_send = member->deferred_count == CREW_DEFERRED_MAX || member->found != NULL;
  if (member->held == NULL && !must_send && !is_stopping(crew))
    member->held = crew_receive_event(crew, 0);
  member->has_backlog = must_send || member->held != NULL;
  if (member->held != NULL && !must_send &&
      atomic_load_explicit(&member->held->is_quick, memory_order_relaxed))
    return;
  crew_release_event(member);
  send_deferred(member);
}

static void begin_serving(struct crew_member *member, struct rpc_worker *worker)
{
  struct crew *crew = member->crew;
  pthread_mutex_lock(&crew->lock);
  member->worker = worker;
  set_member_state(member, CREW_MEMBER_SERVING);
  pthread_mutex_unlock(&crew->lock);
  if (crew->service->set_waits != NULL)
    crew->service->set_waits(crew->service->context, worker, &member->waits);
}

static void end_serving(struct crew_member *member, bool left)
{
  const struct rpc_service *service = member->crew->service;
  scratch_fini(&member->scratch);
  if (service->set_waits != NULL)
    service->set_waits(service->context, member->worker, NULL);
  release_member(member, left);
}

static void run_loop(void *argument, struct rpc_worker *worker)
{
  struct crew_member *member = argument;
  struct crew *crew = member->crew;
  begin_serving(member, worker);
  atomic_fetch_sub(&crew->idle, 1);
  atomic_fetch_sub(&crew->starting, 1);

  bool left = false;
  while (!left && !is_stopping(crew)) {
    struct crew_source *source = next_source(member, &left);
    if (source == NULL)
      continue;
    atomic_store_explicit(&member->current, source, memory_order_release);
    count_steps(member, 2);
    if (crew_poll_ops_of(source) != NULL && !member->has_found)
      member->clock_ns = clock_now_ns();
    source->turn(source, member);
    settle_latency(member);
    member->last = source;
    if (member->deferred_count > 0)
      settle_deferred(member);
  }
  send_deferred(member);
  crew_stop_polling(member);
  end_serving(member, left);
}

/* Finds or makes a free place. NULL: memory is short, or there are as many places as possible. The caller
 * holds the lock. */
static struct crew_member *find_place(struct crew *crew)
{
  unsigned count = atomic_load(&crew->place_count);
  for (unsigned i = 0; i < count; i++) {
    if (!is_occupied(crew->members[i]))
      return crew->members[i];
  }
  struct crew_member *made = count < count_places_max(crew) ? calloc(1, sizeof *made) : NULL;
  if (made == NULL)
    return NULL;
  init_member(crew, made);
  made->number = count;
  crew->members[count] = made;
  atomic_store(&crew->place_count, count + 1);
  return made;
}

/* The member counts as idle from now on. NULL: all places are used. The caller holds the lock. */
static struct crew_member *reserve_place(struct crew *crew)
{
  struct crew_member *place = crew_busy_size(crew) < crew->config.threads_max ? find_place(crew) : NULL;
  if (place == NULL)
    return NULL;
  set_member_state(place, CREW_MEMBER_STARTING);
  crew->size++;
  atomic_fetch_add(&crew->starting, 1);
  atomic_fetch_add(&crew->idle, 1);
  return place;
}

static void give_place_back(struct crew_member *member)
{
  atomic_fetch_sub(&member->crew->idle, 1);
  atomic_fetch_sub(&member->crew->starting, 1);
  release_member(member, false);
}

/* Makes the thread of a member that has a place. */
static bool start_member(struct crew_member *member)
{
  struct crew *crew = member->crew;
  char name[32];
  snprintf(name, sizeof name, "rpc-%u", member->number);
  struct jp_error error = {0};
  bool started = crew->service->spawn(crew->service->context, name, run_loop, member, &error) == JP_OK;
  if (!started)
    give_place_back(member);
  /* The failure is logged once. It is logged again only after a thread has been started in between. */
  if (atomic_exchange(&crew->growth_failed_ms, started ? 0 : clock_now_ms()) == 0 && !started)
    log_warn_rarely("no thread for the crew: %s", error.text);
  return started;
}

bool crew_add_member(struct crew *crew)
{
  const int64_t failed_ms = atomic_load(&crew->growth_failed_ms);
  if (failed_ms != 0 && clock_now_ms() < failed_ms + GROWTH_PAUSE_MS)
    return false;
  pthread_mutex_lock(&crew->lock);
  struct crew_member *member = reserve_place(crew);
  if (member != NULL) {
    member->next_unstarted = NULL;
    *crew->last_unstarted = member;
    crew->last_unstarted = &member->next_unstarted;
    pthread_cond_signal(&crew->start_wanted);
  }
  pthread_mutex_unlock(&crew->lock);
  return member != NULL;
}

/* --- the starter --- */

/* NULL: no member waits for its thread. The caller holds the lock. */
static struct crew_member *pop_unstarted(struct crew *crew)
{
  struct crew_member *member = crew->first_unstarted;
  if (member == NULL)
    return NULL;
  crew->first_unstarted = member->next_unstarted;
  if (crew->first_unstarted == NULL)
    crew->last_unstarted = &crew->first_unstarted;
  return member;
}

/* After a failure the remaining threads are not tried, because the watcher requests them again. */
static void start_threads(struct crew *crew, struct crew_member *member, bool wants_interrupter)
{
  struct jp_error error = {0};
  bool starts = !is_stopping(crew);
  if (starts && wants_interrupter && crew_add_interrupter(crew, &error) != JP_OK)
    log_warn_rarely("no thread that interrupts calls: %s", error.text);
  while (member != NULL) {
    if (starts)
      starts = start_member(member) && !is_stopping(crew);
    else
      give_place_back(member);
    pthread_mutex_lock(&crew->lock);
    member = pop_unstarted(crew);
    pthread_mutex_unlock(&crew->lock);
  }
}

static void *run_starter(void *argument)
{
  struct crew *crew = argument;
  pthread_setname_np(pthread_self(), "rpc-starter");
  pthread_mutex_lock(&crew->lock);
  for (;;) {
    const bool wants_interrupter = crew->wants_interrupter;
    struct crew_member *member = pop_unstarted(crew);
    crew->wants_interrupter = false;
    if (member == NULL && !wants_interrupter) {
      if (is_stopping(crew))
        break;
      pthread_cond_wait(&crew->start_wanted, &crew->lock);
      continue;
    }
    pthread_mutex_unlock(&crew->lock);
    start_threads(crew, member, wants_interrupter);
    pthread_mutex_lock(&crew->lock);
  }
  pthread_mutex_unlock(&crew->lock);
  return NULL;
}

/* --- pinned members --- */

static void drain_eventfd(int fd)
{
  uint64_t count;
  ssize_t drained = read(fd, &count, sizeof count);
  (void)drained;
}

/* False: the crew stops, or the source is no longer pinned to the member. */
static bool wait_for_own_turn(struct crew_member *member, struct crew_source *source)
{
  struct pollfd polled[] = {{.fd = atomic_load(&member->wait_fd), .events = POLLIN},
                            {.fd = member->crew->stop_fd, .events = POLLIN},
                            {.fd = -1}};
  while (!is_stopping(member->crew)) {
    enum crew_pinned_next next = CREW_PINNED_WAITS;
    polled[2].fd = -1;
    wake_word_reset(&member->waking);
    if (atomic_load(&member->is_admitted))
      next = source->call_ops->await(source, member, &polled[2].fd, &polled[2].events);
    if (next != CREW_PINNED_WAITS)
      return next == CREW_PINNED_TURN;
    if (!wake_word_sleep(&member->waking))
      continue;
    if (poll(polled, sizeof polled / sizeof polled[0], -1) <= 0)
      continue;
    if (polled[0].revents != 0)
      drain_eventfd(polled[0].fd);
    if (polled[2].fd >= 0 && polled[2].revents != 0) {
      wake_word_reset(
          /* without the reset the word would still be WOKEN, and would end the next busy-polling at once */
          &member->waking);
      return true;
    }
  }
  return false;
}

static void run_pinned(void *argument, struct rpc_worker *worker)
{
  struct crew_member *member = argument;
  struct crew *crew = member->crew;
  struct crew_source *source = atomic_load(&member->pinned);
  begin_serving(member, worker);
  if (crew->service->keep_changes != NULL)
    crew->service->keep_changes(crew->service->context, worker);
  atomic_store_explicit(&member->current, source, memory_order_release);
  while (wait_for_own_turn(member, source)) {
    count_steps(member, 2);
    if (crew_poll_ops_of(source) != NULL)
      member->clock_ns = clock_now_ns();
    source->turn(source, member);
    settle_latency(member);
  }
  end_serving(member, false);
}

/* NULL: pinned_max is reached, or memory is short. */
static struct crew_member *reserve_pinned_place(struct crew *crew, struct crew_source *source)
{
  pthread_mutex_lock(&crew->lock);
  struct crew_member *place = crew->pinned < crew->config.pinned_max ? find_place(crew) : NULL;
  if (place != NULL) {
    set_member_state(place, CREW_MEMBER_STARTING);
    atomic_store(&place->pinned, source);
    atomic_store(&place->is_admitted, false);
    place->spin = place->poll_spin = place->turn_spin = place->wait_spin = (struct spin_policy){0};
    crew->pinned++;
  }
  pthread_mutex_unlock(&crew->lock);
  return place;
}

enum jp_status crew_pin(struct crew *crew, struct crew_source *source, const char *name,
                        struct crew_member **member, struct jp_error *error)
{
  struct crew_member *place = reserve_pinned_place(crew, source);
  if (place == NULL)
    return jp_fail(error, JP_LIMIT,
                   "too many connections have a thread of their own (pinned-threads-max is %u)",
                   crew->config.pinned_max);
  enum jp_status status = JP_OK;
  if (atomic_load(&place->wait_fd) < 0)
    atomic_store(&place->wait_fd, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (atomic_load(&place->wait_fd) < 0)
    status = jp_fail(error, JP_LIMIT, "no descriptor for a thread: %s", strerror(errno));
  else
    status = crew->service->spawn(crew->service->context, name, run_pinned, place, error);
  if (status != JP_OK) {
    release_member(place, false);
    return status;
  }
  *member = place;
  return JP_OK;
}

void crew_admit(struct crew_member *member)
{
  atomic_store(&member->is_admitted, true);
  crew_wake(member);
}

/* --- reserved threads --- */

/* Removes the first source of the ready queue that waits for this lane. NULL: no source waits for it. The
 * caller holds the lock. */
static struct crew_source *pop_ready_of_lane(struct crew *crew, enum rpc_lane lane)
{
  struct crew_source *before = NULL;
  struct crew_source *source = crew->first_ready;
  while (source != NULL && atomic_load_explicit(&source->lane, memory_order_relaxed) != lane) {
    before = source;
    source = source->next_ready;
  }
  if (source == NULL)
    return NULL;
  if (before == NULL)
    crew->first_ready = source->next_ready;
  else
    before->next_ready = source->next_ready;
  if (crew->last_ready == source)
    crew->last_ready = before;
  source->is_ready = false;
  atomic_store_explicit(&source->lane, RPC_LANE_ALL, memory_order_relaxed);
  atomic_fetch_sub(&crew->ready, 1);
  return source;
}

/* Gives the thread of one member with wants_name its name. False: no member needs a name. The caller holds
 * the lock, and this function releases the lock while it calls the JVM. The worker remains valid during that
 * time, because its call is held. */
static bool name_thread(struct crew *crew, struct rpc_worker *own)
{
  const struct rpc_service *service = crew->service;
  struct rpc_worker *held = NULL;
  for (unsigned i = 0; held == NULL && i < atomic_load(&crew->place_count); i++) {
    struct crew_member *member = crew->members[i];
    if (!member->wants_name)
      continue;
    if (member->worker != NULL && service->hold_call(service->context, member->worker))
      held = member->worker;
    if (member->worker == NULL || held != NULL)
      member->wants_name = false;
  }
  if (held == NULL)
    return false;
  pthread_mutex_unlock(&crew->lock);
  service->name_call(service->context, own, held);
  pthread_mutex_lock(&crew->lock);
  return true;
}

static void run_reserved(void *argument, struct rpc_worker *worker)
{
  struct crew_member *member = argument;
  struct crew *crew = member->crew;
  pthread_mutex_lock(&crew->lock);
  member->worker = worker;
  set_member_state(member, CREW_MEMBER_SERVING);
  while (!is_stopping(crew)) {
    struct crew_source *source = pop_ready_of_lane(crew, member->lane);
    if (source == NULL) {
      if (member->lane != RPC_LANE_CONTROL || !name_thread(crew, worker))
        pthread_cond_wait(&crew->lane_wanted, &crew->lock);
      continue;
    }
    pthread_mutex_unlock(&crew->lock);
    atomic_store_explicit(&member->current, source, memory_order_release);
    member->clock_ns = clock_now_ns();
    source->turn(source, member);
    settle_latency(member);
    pthread_mutex_lock(&crew->lock);
  }
  member->worker = NULL;
  set_member_state(member, CREW_MEMBER_FREE);
  pthread_cond_broadcast(&crew->changed);
  pthread_mutex_unlock(&crew->lock);
}

static enum jp_status start_reserved(struct crew *crew, struct jp_error *error)
{
  static const char *const names[RPC_LANES] = {
      [RPC_LANE_CONTROL] = "rpc-control", [RPC_LANE_META] = "rpc-meta"};
  enum jp_status status = JP_OK;
  for (int lane = RPC_LANE_ALL + 1; status == JP_OK && lane < RPC_LANES; lane++) {
    struct crew_member *member = &crew->reserved[lane];
    pthread_mutex_lock(&crew->lock);
    set_member_state(member, CREW_MEMBER_STARTING);
    pthread_mutex_unlock(&crew->lock);
    status = crew->service->spawn(crew->service->context, names[lane], run_reserved, member, error);
    if (status == JP_OK)
      continue;
    pthread_mutex_lock(&crew->lock);
    set_member_state(member, CREW_MEMBER_FREE);
    pthread_mutex_unlock(&crew->lock);
  }
  return status;
}

static enum rpc_lane find_lane(const struct crew *crew, const struct crew_message *message)
{
  return message->codec->lane == NULL ? RPC_LANE_ALL
                                      : message->codec->lane(crew->service->context, message->text);
}

bool crew_leaves_to_others(const struct crew_member *member, const struct crew_message *message)
{
  return member->lane != RPC_LANE_ALL && find_lane(member->crew, message) != member->lane;
}

static bool change_phase(struct crew *crew, int from, enum crew_phase to);

static enum jp_status start_watcher(struct crew *crew, struct jp_error *error)
{
  int failure = pthread_create(&crew->starter_thread, NULL, run_starter, crew);
  crew->starter_runs = failure == 0;
  if (failure == 0)
    failure = pthread_create(&crew->watcher_thread, NULL, crew_watcher_main, crew);
  if (failure != 0)
    return jp_fail(error, JP_IO, "no thread for the crew's watcher: %s", strerror(failure));
  crew->watcher_runs = true;
  return JP_OK;
}

enum jp_status crew_begin(struct crew *crew, const struct rpc_service *service, struct jp_error *error)
{
  crew->service = service;
  return start_watcher(crew, error);
}

enum jp_status crew_start(struct crew *crew, const struct rpc_service *service, struct jp_error *error)
{
  if (!crew->watcher_runs)
    crew->service = service;
  for (unsigned i = 0; i < crew->config.threads; i++) {
    pthread_mutex_lock(&crew->lock);
    struct crew_member *member = reserve_place(crew);
    pthread_mutex_unlock(&crew->lock);
    if (member == NULL || !start_member(member))
      return jp_fail(error, JP_IO, "no thread for the crew");
  }
  enum jp_status status = start_reserved(crew, error);
  if (status == JP_OK && service->interrupt_call != NULL)
    status = crew_add_interrupter(crew, error);
  if (status == JP_OK)
    (void)change_phase(crew, CREW_STARTING, CREW_SERVING);
  return status == JP_OK && !crew->watcher_runs ? start_watcher(crew, error) : status;
}

/* --- crew_wait: members that wait, inside the service, for messages of their clients --- */

struct wait {
  struct crew_member *member;
  struct crew_source *source; /* of the member's turn */
  bool reads;                 /* the member reads the source's input during the wait */
  bool (*is_over)(void *state);
  void *state;
};

static bool poll_for_end_of_wait(void *context)
{
  const struct wait *wait = context;
  return wake_word_is_woken(&wait->member->waking) ||
         (wait->reads && wait->source->call_ops->poll(wait->source, wait->member));
}

static void sleep_until_woken(const struct wait *wait, int64_t left_ms)
{
  int wake_fd = atomic_load(&wait->member->wait_fd);
  struct pollfd polled[] = {{.fd = wake_fd, .events = POLLIN}, {.fd = -1}};
  if (wait->reads && !wait->source->call_ops->prepare_sleep(wait->source, &polled[1].fd, &polled[1].events))
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
  for (;;) {
    wake_word_reset(&wait->member->waking);
    if (wait->is_over(wait->state))
      return;
    if (wait->reads && wait->source->call_ops->receive(wait->source, wait->member))
      continue;
    int64_t left_ms = deadline_ms == INT64_MAX ? INT64_MAX : deadline_ms - clock_now_ms();
    if (left_ms <= 0)
      return;
    if (!crew_poll_while_waiting(wait->member, wait->source, poll_for_end_of_wait, wait))
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
                      .reads = source->call_ops != NULL && source->call_ops->begin_wait != NULL,
                      .is_over = is_over,
                      .state = state};
  /* The descriptor must exist before the first call of is_over: if a thread finds no descriptor, it has
   * changed the state before that call, and need not wake the member. */
  if (atomic_load(&member->wait_fd) < 0)
    atomic_store(&member->wait_fd, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  crew_stop_polling(member);
  member->has_found = false; /* from now on the member may receive input because of an event */
  set_member_state(member, CREW_MEMBER_WAITING);
  const unsigned counts = crew_is_pinned(member) ? 0 : 1;
  atomic_fetch_add_explicit(&crew->waiting, counts, memory_order_relaxed);
  if (wait.reads)
    wait.reads = source->call_ops->begin_wait(source, member);
  wait_until_over(&wait, deadline_ms);
  if (wait.reads)
    source->call_ops->end_wait(source, member);
  atomic_fetch_sub_explicit(&crew->waiting, counts, memory_order_relaxed);
  set_member_state(member, CREW_MEMBER_SERVING);
  atomic_store_explicit(&member->waits_ended,
                        atomic_load_explicit(&member->waits_ended, memory_order_relaxed) + 1,
                        memory_order_relaxed);
  wake_sleeping_watcher(crew);
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

/* --- stopping --- */

/* False: the phase is not `from`, because another thread has changed it. */
static bool change_phase(struct crew *crew, int from, enum crew_phase to)
{
  ASSERT_TRANSITION(crew_phase_transitions, from, to);
  return atomic_compare_exchange_strong(&crew->phase, &from, (int)to);
}

void crew_refuse_all(struct crew *crew)
{
  if (!change_phase(crew, CREW_SERVING, CREW_REFUSING))
    (void)change_phase(crew, CREW_STARTING, CREW_REFUSING);
  wake_watcher(crew);
}

/* True while a member's thread may still return from Java. The caller holds the lock. */
static bool has_returning_member(struct crew *crew)
{
  const struct rpc_service *service = crew->service;
  for (int lane = RPC_LANE_ALL + 1; lane < RPC_LANES; lane++) {
    if (is_occupied(&crew->reserved[lane]))
      return true;
  }
  if (crew_has_returning_interrupter(crew))
    return true;
  for (unsigned i = 0; i < atomic_load(&crew->place_count); i++) {
    struct crew_member *member = crew->members[i];
    if (is_occupied(member) &&
        !(member->worker != NULL && service->is_exiting(service->context, member->worker)))
      return true;
  }
  return false;
}

bool crew_stop(struct crew *crew, int64_t deadline_ms)
{
  enum { CHECK_MS = 50 }; /* a thread may begin to exit the JVM during the wait, without a signal */
  while (!change_phase(crew, atomic_load(&crew->phase), CREW_STOPPING)) {
  }
  uint64_t one = 1;
  ssize_t written = write(crew->stop_fd, &one, sizeof one);
  (void)written;
  wake_watcher(crew);
  if (crew->watcher_runs)
    pthread_join(crew->watcher_thread, NULL);
  crew->watcher_runs = false;

  pthread_mutex_lock(&crew->lock);
  pthread_cond_broadcast(&crew->start_wanted);
  pthread_mutex_unlock(&crew->lock);
  if (crew->starter_runs)
    pthread_join(crew->starter_thread, NULL);
  crew->starter_runs = false;

  pthread_mutex_lock(&crew->lock);
  pthread_cond_broadcast(&crew->lane_wanted);
  pthread_cond_broadcast(&crew->end_wanted);
  for (;;) {
    int64_t now = clock_now_ms();
    if (!has_returning_member(crew) || now >= deadline_ms)
      break;
    int64_t until = now + CHECK_MS < deadline_ms ? now + CHECK_MS : deadline_ms;
    struct timespec at = {.tv_sec = until / 1000, .tv_nsec = until % 1000 * 1000000};
    pthread_cond_timedwait(&crew->changed, &crew->lock, &at);
  }
  bool all_left = !has_occupied_place(crew) && crew->interrupters == NULL;
  pthread_mutex_unlock(&crew->lock);
  return all_left;
}

/* --- turns --- */

void crew_pass_turn(struct crew_member *member, struct crew_source *source)
{
  atomic_store_explicit(&member->current, source, memory_order_release);
}

void crew_turn_begin(struct crew_turn *turn, struct crew_member *member)
{
  int64_t now_ns = clock_now_ns();
  *turn = (struct crew_turn){
      .member = member, .next_clock_read = 1, .clock_ns = now_ns, .ends_ns = now_ns + CREW_TURN_NS};
}

/* Messages are quick if the time since the last read of the clock is below QUICK_NS. QUICK_MESSAGES of them share the
 * next read, because a read takes a fifth of the time of a small message. */
enum { QUICK_NS = 20000, QUICK_MESSAGES = 8 };
bool crew_turn_is_over(struct crew_turn *turn)
{
  if (++turn->messages >= CREW_TURN_MESSAGES)
    return true;
  if (turn->messages < turn->next_clock_read)
    return false;
  int64_t now_ns = clock_now_ns();
  turn->next_clock_read = turn->messages + (now_ns - turn->clock_ns < QUICK_NS ? QUICK_MESSAGES : 1);
  turn->clock_ns = now_ns;
  crew_record_latency(turn->member, now_ns);
  return now_ns >= turn->ends_ns;
}

bool crew_turn_renew(struct crew_turn *turn)
{
  int64_t now_ns = clock_now_ns();
  bool is_late = now_ns >= turn->ends_ns;
  crew_record_latency(turn->member, now_ns);
  turn->messages = 0;
  turn->next_clock_read = 1;
  turn->clock_ns = now_ns;
  if (is_late)
    turn->ends_ns = now_ns + CREW_TURN_NS;
  return is_late;
}

enum { CHECK_EVENTS_NS = 20000 };

/* If the crew has one processor only, a member that was woken for an event may wait for that processor, which
 * the poller keeps as long as its clients send messages. For this reason the poller yields if there is an
 * event. The check takes as long as two quick messages, so it is made at most once in CHECK_EVENTS_NS. */
static void yield_to_others(struct crew_member *member, int64_t now_ns)
{
  struct crew *crew = member->crew;
  struct pollfd events = {.fd = crew->epoll_fd, .events = POLLIN};
  bool may_ask = !crew->config.may_pause && now_ns - member->events_checked_ns >= CHECK_EVENTS_NS &&
                 atomic_load_explicit(&crew->poller, memory_order_relaxed) == member;
  if (!may_ask)
    return;
  member->events_checked_ns = now_ns;
  if (poll(&events, 1, 0) > 0)
    sched_yield();
}

/* The lines of the turn are written before, because a write may hang, and nobody else would serve the event. */
void crew_hold_event(struct crew_member *member)
{
  audit_settle();
  member->held = crew_receive_event(member->crew, 0);
}

/* An idle member receives the next event. If no member is idle, this member checks for an event and keeps it. */
bool crew_is_wanted(struct crew_member *member, const struct crew_turn *turn)
{
  struct crew *crew = member->crew;
  if (crew_is_pinned(member))
    return atomic_load(&crew->phase) != CREW_SERVING;
  if (member->worker == NULL || member->lane != RPC_LANE_ALL || atomic_load(&crew->phase) != CREW_SERVING ||
      atomic_load(&crew->ready) > 0)
    return true;
  if (crew_find_polled(member))
    return true;
  if (atomic_load(&crew->idle) == 0 && turn->may_defer)
    member->held = crew_receive_event(crew, 0);
  else if (atomic_load(&crew->idle) == 0)
    crew_hold_event(member);
  else
    yield_to_others(member, turn->clock_ns);
  return member->held != NULL || member->deferred_count > 0; /* the clients wait for what was deferred */
}

enum crew_served crew_served_as(enum rpc_served served)
{
  static const enum crew_served served_as[] = {
      [RPC_REPLY] = CREW_REPLY,   [RPC_NO_REPLY] = CREW_NO_REPLY, [RPC_STREAM] = CREW_STREAM,
      [RPC_FAILED] = CREW_FAILED, [RPC_NOT_SAFE] = CREW_NOT_SAFE,
  };
  return served_as[served];
}

static enum crew_served refuse_message(struct crew *crew, const struct crew_message *message,
                                       enum metrics_refusal why, const char *reason, struct buffer *out)
{
  atomic_fetch_add_explicit(&crew->refusals[why], 1, memory_order_relaxed);
  return crew_served_as(
      message->codec->refuse(crew->service->context, message->client, message->text, reason, out));
}

/* Called by the watcher. */
static enum crew_served serve_without_worker(struct crew *crew, const struct crew_message *message,
                                             struct buffer *out)
{
  const struct rpc_service *service = crew->service;
  enum rpc_served served;
  if (message->codec->serve_without_worker(service->context, message->client, message->text, out, &served))
    return crew_served_as(served);
  /* A message of a lane is never refused as busy, because the lane's thread always becomes free. */
  const enum rpc_lane lane = find_lane(crew, message);
  atomic_store_explicit(&message->source->lane, lane, memory_order_relaxed);
  if (lane != RPC_LANE_ALL)
    return CREW_WAIT;
  if (crew->outlook != CREW_OUTLOOK_STUCK || crew_is_starting(crew)) /* a start of the JVM does not count */
    return CREW_WAIT;
  int64_t now = clock_now_ms();
  if (*message->since_ms == 0)
    *message->since_ms = now;
  if (now - *message->since_ms < crew->config.busy_timeout_ms)
    return CREW_WAIT;
  char reason[160];
  crew->refused_busy++;
  crew->refused_ms = now;
  snprintf(reason, sizeof reason,
           "busy: every thread is inside Java (rpc-threads-max is %u) and the request has waited %lld ms",
           crew->config.threads_max, (long long)crew->config.busy_timeout_ms);
  return refuse_message(crew, message, METRICS_REFUSAL_BUSY, reason, out);
}

/* ---- lost threads ---- */

/* Called when the lost thread of the member has returned from its call. */
static enum crew_served end_lost(struct crew_member *member, enum crew_served served)
{
  struct crew *crew = member->crew;
  const struct rpc_service *service = crew->service;
  service->note_lost(service->context, member->worker, false);
  pthread_mutex_lock(&crew->lock);
  const bool is_reclaimed = atomic_load(&member->lost) == CREW_LOST_RECLAIMED;
  const int64_t lost_ms = clock_now_ms() - member->ended.at_ms;
  atomic_store(&member->lost, CREW_NOT_LOST);
  atomic_fetch_sub(&crew->lost, 1);
  crew->lost_serving -= !crew_is_pinned(member);
  pthread_mutex_unlock(&crew->lock);
  log_info("a lost thread has returned, %" PRId64 " ms after its interrupt", lost_ms);
  if (!is_reclaimed)
    return served;
  if (member->retained.client != NULL) {
    crew_drop_answer(member, member->retained.client);
    service->client_close(service->context, member->worker, member->retained.client, NULL);
  }
  buffer_fini(&member->retained.message);
  member->retained = (struct crew_retained){0};
  return CREW_LOST;
}

/* The number of lost threads that one client may have. */
static unsigned find_share(const struct crew *crew)
{
  return crew->config.lost_max >= 4 ? crew->config.lost_max / 4 : 1;
}

/* True: the message was refused, because too many threads are lost. */
static bool refuse_for_lost(struct crew *crew, const struct crew_message *message, struct buffer *out,
                            enum crew_served *served)
{
  const struct rpc_service *service = crew->service;
  const unsigned lost = atomic_load_explicit(&crew->lost, memory_order_relaxed);
  const bool is_over = lost > crew->config.lost_max;
  char reason[200];
  if (!is_over &&
      (lost < find_share(crew) || service->count_lost(service->context, message->client) < find_share(crew)))
    return false;
  if (find_lane(crew, message) != RPC_LANE_ALL)
    return false;
  snprintf(reason, sizeof reason,
           "busy: too many threads of %s do not return from calls that were ended (lost-threads-max is %u%s)",
           is_over ? "the peer" : "this client", crew->config.lost_max,
           is_over ? "" : ", of which one client may hold a quarter");
  *served = refuse_message(crew, message, METRICS_REFUSAL_LOST_THREADS, reason, out);
  return true;
}

enum crew_served crew_serve(struct crew_member *member, const struct crew_message *message,
                            struct buffer *out, struct rpc_stream *stream)
{
  enum crew_served refused;
  struct crew *crew = member->crew;
  const struct rpc_service *service = crew->service;
  member->has_served = false;
  const int phase = atomic_load_explicit(&crew->phase, memory_order_relaxed);
  if (phase == CREW_STARTING)
    return CREW_WAIT;
  if (phase != CREW_SERVING)
    return refuse_message(crew, message, METRICS_REFUSAL_STOPPING, CREW_SHUTTING_DOWN, out);
  if (member->worker == NULL)
    return serve_without_worker(crew, message, out);
  if (crew_leaves_to_others(member, message))
    return CREW_WAIT;
  if (atomic_load_explicit(&crew->lost, memory_order_relaxed) > 0 &&
      refuse_for_lost(crew, message, out, &refused))
    return refused;
  wake_sleeping_watcher(crew);
  atomic_store_explicit(&member->waits.arrived_ns, message->arrived_ns, memory_order_relaxed);
  count_steps(member, 1);
  member->has_served = true;
  enum rpc_served served = message->codec->serve(service->context, member->worker, message->client,
                                                 message->text, out, message->reply_max, stream);
  count_steps(member, 1);
  note_served(member, message->arrived_ns);
  if (atomic_load_explicit(&member->lost, memory_order_relaxed) != CREW_NOT_LOST)
    return end_lost(member, crew_served_as(served));
  return crew_served_as(served);
}

void crew_drop_answer(struct crew_member *member, struct rpc_client *client)
{
  const struct rpc_service *service = member->crew->service;
  if (member->has_served && service->release_unsent != NULL)
    service->release_unsent(service->context, member->worker, client);
}

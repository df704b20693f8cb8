#include "net/workers/crew.h"
#include "tests/unit/await.h"

#include "base/clock.h"
#include "stub_service.h"
#include "tests/unit/unit.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* Longer than any thread is kept from its processor: a member that was given work is not taken for one that is inside. */
enum { BUSY_MS = 2000 };

/* A source that serves one message and tells the test. */
struct job {
  struct crew_source source;
  struct stub *stub;
  const char *message;
  int64_t since_ms;
  bool loses_answer;
  bool done;
  enum crew_served served;
  char answer[200];
};

static void job_turn(struct crew_source *source, struct crew_member *member)
{
  struct job *job = (struct job *)(void *)source;
  struct buffer out;
  buffer_init(&out);
  struct crew_message message = {.codec = stub_codecs[RPC_CODEC_JSONRPC],
                                 .source = source,
                                 .text = text_of(job->message),
                                 .since_ms = &job->since_ms};
  enum crew_served served = crew_serve(member, &message, &out, NULL);
  if (served == CREW_WAIT) {
    crew_submit(member->crew, source);
  } else {
    if (job->loses_answer)
      crew_take_back(member, NULL);
    pthread_mutex_lock(&job->stub->lock);
    job->served = served;
    job->done = true;
    memcpy(job->answer, out.data, out.len);
    pthread_cond_broadcast(&job->stub->changed);
    pthread_mutex_unlock(&job->stub->lock);
  }
  buffer_fini(&out);
}

struct fixture {
  struct stub stub;
  struct rpc_service service;
  struct crew *crew;
  int64_t (*tick)(void *context, struct crew_member *watcher, int64_t now_ms); /* NULL: none */
  _Atomic int ticks;
  _Atomic int64_t sleep_ms;
};

static void open_ticking(struct fixture *f, unsigned threads, unsigned threads_max, int64_t busy_timeout_ms,
                         int thread_limit)
{
  enum { RESERVED = RPC_LANES - 1 };
  stub_open(&f->stub, thread_limit + RESERVED, &f->service);
  struct crew_config config = {.threads = threads,
                               .threads_max = threads_max,
                               .linger_ms = 100,
                               .busy_timeout_ms = busy_timeout_ms,
                               .tick = f->tick,
                               .context = f,
                               .tick_ms = 10};
  struct jp_error error;
  assert_int_equal(crew_create(&config, &f->crew, &error), JP_OK);
  assert_int_equal(crew_start(f->crew, &f->service, &error), JP_OK);
}

static void open_fixture(struct fixture *f, unsigned threads, unsigned threads_max, int64_t busy_timeout_ms,
                         int thread_limit)
{
  f->tick = NULL;
  open_ticking(f, threads, threads_max, busy_timeout_ms, thread_limit);
}

static void close_fixture(struct fixture *f)
{
  stub_let_go(&f->stub);
  assert_true(crew_stop(f->crew, clock_now_ms() + 60000));
  crew_destroy(f->crew);
  stub_close(&f->stub);
}

static void submit(struct fixture *f, struct job *job, const char *message)
{
  *job = (struct job){.source.turn = job_turn, .stub = &f->stub, .message = message};
  crew_submit(f->crew, &job->source);
}

static void wait_done(struct fixture *f, struct job *job)
{
  pthread_mutex_lock(&f->stub.lock);
  for (int64_t since_ms = clock_now_ms(); !job->done;)
    await_signal(&f->stub.changed, &f->stub.lock, since_ms, job->message);
  pthread_mutex_unlock(&f->stub.lock);
}

UNIT_TEST(no_thread_to_be_had_is_no_end)
{
  struct fixture f;
  open_fixture(&f, 1, 8, BUSY_MS, 1);
  struct job blocked;
  struct job late;
  submit(&f, &blocked, "block");
  stub_wait_inside(&f.stub, 1);
  submit(&f, &late, "echo");
  wait_done(&f, &late);
  assert_non_null(strstr(late.answer, "busy"));
  close_fixture(&f);
}

/* Only of what the service was given, and not of the message before it. */
UNIT_TEST(the_service_hears_of_lost_answers)
{
  struct fixture f;
  open_fixture(&f, 1, 1, 60000, 1);
  struct job jobs[3];
  for (int i = 0; i < 3; i++) {
    if (i == 2)
      crew_refuse_all(f.crew);
    jobs[i] = (struct job){
        .source.turn = job_turn, .stub = &f.stub, .message = "echo", .loses_answer = i == 0 || i == 2};
    crew_submit(f.crew, &jobs[i].source);
    wait_done(&f, &jobs[i]);
    assert_int_equal(atomic_load(&f.stub.taken_back), 1);
  }
  assert_string_equal(jobs[2].answer, "the peer is shutting down");
  close_fixture(&f);
}

UNIT_TEST(stop_does_not_wait_longer_than_told)
{
  struct fixture f;
  open_fixture(&f, 1, 1, 60000, 1);
  struct job blocked;
  submit(&f, &blocked, "block");
  stub_wait_inside(&f.stub, 1);
  assert_false(crew_stop(f.crew, clock_now_ms() + 30));
  stub_let_go(&f.stub);
  wait_done(&f, &blocked);
  AWAIT(atomic_load(&f.stub.threads) == 0);
  crew_destroy(f.crew);
}

/* One event of a watched descriptor is one turn, until it is watched again. */
struct reader {
  struct crew_source source;
  int fd;
  _Atomic int turns;
};

static void reader_turn(struct crew_source *source, struct crew_member *member)
{
  (void)member;
  atomic_fetch_add(&((struct reader *)(void *)source)->turns, 1);
}

static void wait_turns(struct reader *reader, int count)
{
  AWAIT(atomic_load(&reader->turns) >= count);
}

UNIT_TEST(an_event_is_given_once)
{
  struct fixture f;
  open_fixture(&f, 4, 4, 60000, 100);
  int fds[2];
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
  struct reader reader = {.source.turn = reader_turn, .fd = fds[0]};
  assert_int_equal(crew_watch(f.crew, &reader.source, fds[0], EPOLLIN, NULL), JP_OK);
  for (int i = 1; i <= 20; i++) {
    assert_int_equal(write(fds[1], "x", 1), 1);
    wait_turns(&reader, i);
    assert_int_equal(atomic_load(&reader.turns), i);
    assert_int_equal(crew_watch_again(f.crew, &reader.source, fds[0], i % 2 ? EPOLLOUT : EPOLLIN, NULL),
                     JP_OK);
    wait_turns(&reader, i + 1);
    reader.turns = i;
    char byte;
    assert_int_equal(read(fds[0], &byte, 1), 1);
    assert_int_equal(crew_watch_again(f.crew, &reader.source, fds[0], EPOLLIN, NULL), JP_OK);
  }
  close_fixture(&f);
  close(fds[0]);
  close(fds[1]);
}

/* A source that goes on for ever, unless others wait. */
struct greedy {
  struct crew_source source;
  _Atomic int turns;
  _Atomic bool ended;
};

static void greedy_turn(struct crew_source *source, struct crew_member *member)
{
  struct greedy *greedy = (struct greedy *)(void *)source;
  struct crew_turn turn;
  struct buffer out;
  crew_turn_begin(&turn);
  buffer_init(&out);
  do {
    int64_t since_ms = 0;
    struct crew_message message = {.codec = stub_codecs[RPC_CODEC_JSONRPC],
                                   .source = source,
                                   .text = TEXT("echo"),
                                   .since_ms = &since_ms};
    buffer_clear(&out);
    (void)crew_serve(member, &message, &out, NULL);
    atomic_fetch_add(&greedy->turns, 1);
  } while (!crew_is_wanted(member, &turn));
  buffer_fini(&out);
  atomic_store(&greedy->ended, true);
}

/* Until a turn goes on by itself: one may be the watcher's, which ends at once, or end for a wake-up that was
 * its own. */
static void start_greedy(struct fixture *f, struct greedy *greedy)
{
  const int64_t since_ms = clock_now_ms();
  do {
    AWAIT_CHECK(since_ms, "a turn that goes on by itself");
    *greedy = (struct greedy){.source.turn = greedy_turn};
    crew_submit(f->crew, &greedy->source);
    AWAIT(atomic_load(&greedy->turns) >= 3 || atomic_load(&greedy->ended));
  } while (atomic_load(&greedy->ended));
}

static void wait_ended(struct greedy *greedy)
{
  AWAIT(atomic_load(&greedy->ended));
}

UNIT_TEST(a_lone_source_goes_on_until_others_wait)
{
  struct fixture f;
  struct greedy greedy;
  open_fixture(&f, 1, 1, 60000, 1);
  start_greedy(&f, &greedy);
  struct job job;
  submit(&f, &job, "echo");
  wait_done(&f, &job);
  wait_ended(&greedy);

  start_greedy(&f, &greedy);
  crew_refuse_all(f.crew);
  wait_ended(&greedy);
  close_fixture(&f);
}

/* The event that ends a turn is served. The watcher may come upon it first, where the member is kept from
 * running: then the turn goes on, and the next event ends it. */
UNIT_TEST(an_event_that_ends_a_turn_is_not_lost)
{
  struct fixture f;
  struct greedy greedy;
  open_fixture(&f, 1, 1, 60000, 1);
  int fds[2];
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
  struct reader reader = {.source.turn = reader_turn, .fd = fds[0]};
  start_greedy(&f, &greedy);
  assert_int_equal(write(fds[1], "x", 1), 1);
  assert_int_equal(crew_watch(f.crew, &reader.source, fds[0], EPOLLIN, NULL), JP_OK);
  for (int events = 1; !atomic_load(&greedy.ended); events++) {
    wait_turns(&reader, events);
    assert_int_equal(crew_watch_again(f.crew, &reader.source, fds[0], EPOLLIN, NULL), JP_OK);
  }
  close_fixture(&f);
  close(fds[0]);
  close(fds[1]);
}

/* A source that stays once it was answered, and submits itself again: the member that it leaves mostly takes
 * it before another has woken. */
struct stayer {
  struct crew_source source;
  int finds_at; /* the look that finds something; 0: none does */
  int turns_left;
  int looks;  /* of this turn */
  int tried;  /* turns with looks */
  bool found; /* in this turn */
  bool wrong; /* stayed where the member had not served it before, or did not say what it found */
  _Atomic bool ended;
};

static bool stayer_look(struct crew_source *source)
{
  struct stayer *stayer = (struct stayer *)(void *)source;
  return ++stayer->looks == stayer->finds_at;
}

static void stayer_turn(struct crew_source *source, struct crew_member *member)
{
  struct stayer *stayer = (struct stayer *)(void *)source;
  stayer->looks = 0;
  stayer->found = crew_stay(member, source, stayer_look);
  stayer->tried += stayer->looks > 0;
  stayer->wrong |= stayer->looks > 0 && member->last != source;
  stayer->wrong |= stayer->found != (stayer->finds_at > 0 && stayer->looks == stayer->finds_at);
  if (!stayer->found && --stayer->turns_left > 0)
    crew_submit(member->crew, source);
  else
    atomic_store(&stayer->ended, true);
}

/* Turns until it has found something, or has had them all. */
static void give_turns(struct fixture *f, struct stayer *stayer, int turns)
{
  stayer->turns_left = turns;
  atomic_store(&stayer->ended, false);
  crew_submit(f->crew, &stayer->source);
  AWAIT(atomic_load(&stayer->ended));
  assert_false(stayer->wrong);
}

UNIT_TEST(a_member_stays_with_the_source_that_it_served_before)
{
  enum { ENOUGH = 1000000 }; /* nearly always two */
  struct fixture f;
  open_fixture(&f, 2, 2, 60000, 100);
  struct stayer stayer = {.source.turn = stayer_turn, .finds_at = 1};
  give_turns(&f, &stayer, ENOUGH);
  assert_true(stayer.found);
  close_fixture(&f);
}

UNIT_TEST(nobody_stays_where_no_other_is_idle)
{
  struct fixture f;
  open_fixture(&f, 1, 1, 60000, 1);
  struct stayer stayer = {.source.turn = stayer_turn, .finds_at = 1};
  give_turns(&f, &stayer, 20);
  assert_int_equal(stayer.tried, 0);
  close_fixture(&f);
}

/* Two members, so at most twice what one of them tries: of its chances the first, and one each time that as
 * many as before have gone by, until it is one of 128. */
UNIT_TEST(staying_in_vain_becomes_rare)
{
  enum { TURNS = 1000, AT_MOST = 2 * 8 + TURNS / 128 };
  struct fixture f;
  open_fixture(&f, 2, 2, 60000, 100);
  struct stayer stayer = {.source.turn = stayer_turn};
  give_turns(&f, &stayer, TURNS);
  assert_true(stayer.tried <= AT_MOST);
  close_fixture(&f);
}

static int64_t count_tick(void *context, struct crew_member *watcher, int64_t now_ms)
{
  (void)watcher;
  struct fixture *f = context;
  atomic_fetch_add(&f->ticks, 1);
  int64_t sleep_ms = atomic_load(&f->sleep_ms);
  return sleep_ms == INT64_MAX ? INT64_MAX : now_ms + sleep_ms;
}

/* Its tick has nothing to come for, so that nothing but a wake-up ends its sleep. */
static void open_sleepy(struct fixture *f, unsigned threads, unsigned threads_max)
{
  f->tick = count_tick;
  atomic_init(&f->ticks, 0);
  atomic_init(&f->sleep_ms, INT64_MAX);
  open_ticking(f, threads, threads_max, 60000, 100);
}

/* Until ticks that come every 10 ms while the watcher is awake have not come for much longer. */
static void wait_asleep(struct fixture *f)
{
  enum { QUIET_US = 200000 };
  int before;
  const int64_t since_ms = clock_now_ms();
  do {
    AWAIT_CHECK(since_ms, "the watcher to sleep");
    before = atomic_load(&f->ticks);
    usleep(QUIET_US);
  } while (atomic_load(&f->ticks) != before);
}

/* The one member is inside: another has to be started for the second job. */
UNIT_TEST(what_is_submitted_wakes_the_watcher)
{
  for (int i = 0; i < 5; i++) {
    struct fixture f;
    struct job first;
    struct job second;
    open_sleepy(&f, 1, 2);
    wait_asleep(&f);
    submit(&f, &first, "block");
    stub_wait_inside(&f.stub, 1);
    submit(&f, &second, "block");
    stub_wait_inside(&f.stub, 2);
    stub_let_go(&f.stub);
    wait_done(&f, &first);
    wait_done(&f, &second);
    close_fixture(&f);
  }
}

UNIT_TEST(an_event_wakes_the_watcher)
{
  struct fixture f;
  open_sleepy(&f, 1, 2);
  int fds[2];
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
  struct reader reader = {.source.turn = reader_turn, .fd = fds[0]};
  assert_int_equal(crew_watch(f.crew, &reader.source, fds[0], EPOLLIN, NULL), JP_OK);
  wait_asleep(&f);
  int before = atomic_load(&f.ticks);
  assert_int_equal(write(fds[1], "x", 1), 1);
  AWAIT(atomic_load(&f.ticks) != before);
  close_fixture(&f);
  close(fds[0]);
  close(fds[1]);
}

/* One of two is inside and nothing else happens: the watcher sleeps, and wakes for the end of the call. */
UNIT_TEST(the_end_of_a_long_call_wakes_the_watcher)
{
  struct fixture f;
  struct job job;
  open_sleepy(&f, 2, 2);
  submit(&f, &job, "block");
  stub_wait_inside(&f.stub, 1);
  wait_asleep(&f);
  int before = atomic_load(&f.ticks);
  stub_let_go(&f.stub);
  AWAIT(atomic_load(&f.ticks) != before);
  close_fixture(&f);
}

UNIT_TEST(the_watcher_sleeps_no_longer_than_its_tick_says)
{
  enum { SLEEP_MS = 50 };
  struct fixture f;
  open_sleepy(&f, 1, 1);
  atomic_store(&f.sleep_ms, SLEEP_MS);
  int before = atomic_load(&f.ticks);
  AWAIT(atomic_load(&f.ticks) >= before + 20);
  close_fixture(&f);
}

UNIT_TEST(refusing_all_wakes_the_watcher)
{
  struct fixture f;
  open_sleepy(&f, 1, 1);
  wait_asleep(&f);
  int before = atomic_load(&f.ticks);
  crew_refuse_all(f.crew);
  AWAIT(atomic_load(&f.ticks) >= before + 5);
  close_fixture(&f);
}

UNIT_TEST(a_turn_ends_after_its_messages)
{
  struct crew_turn turn;
  crew_turn_begin(&turn);
  turn.ends_ns += 60 * (int64_t)1000000000;
  for (int i = 1; i < CREW_TURN_MESSAGES; i++)
    assert_false(crew_turn_is_over(&turn));
  assert_true(crew_turn_is_over(&turn));
}

/* Quick messages share a look at the clock; after a slow one each has its own. */
UNIT_TEST(a_turn_is_over_soon_after_its_time)
{
  struct crew_turn turn;
  crew_turn_begin(&turn);
  turn.next_look = 4; /* as after quick messages */
  usleep(CREW_TURN_NS / 1000 + 1);
  int served = 1;
  while (!crew_turn_is_over(&turn) && served < 1000)
    served++;
  assert_int_equal(served, 4);
  assert_true(crew_turn_is_over(&turn));
}

/* --- members that wait --- */

UNIT_TEST(waiting_members_are_none_of_threads_max)
{
  struct fixture f;
  open_fixture(&f, 1, 2, 60000, 100);
  struct job waiting[20];
  for (int i = 0; i < 20; i++)
    submit(&f, &waiting[i], "wait");
  stub_wait_inside(&f.stub, 20);
  struct job blocked[2];
  for (int i = 0; i < 2; i++)
    submit(&f, &blocked[i], "block");
  stub_wait_inside(&f.stub, 22);
  struct job ping;
  submit(&f, &ping, "ping"); /* of the watcher: no member is left, and none may be added */
  wait_done(&f, &ping);
  assert_string_equal(ping.answer, "pong");
  stub_let_go(&f.stub);
  for (int i = 0; i < 20; i++)
    wait_done(&f, &waiting[i]);
  for (int i = 0; i < 2; i++)
    wait_done(&f, &blocked[i]);
  AWAIT(crew_size(f.crew) <= 1);
  close_fixture(&f);
}

/* A source of bytes, which its member reads while it waits. */
struct meanwhile_job {
  struct job job; /* first: a source is its job */
  int fd;
  bool is_at_end;
  int begun;
  int ended;
  int taken;
};

static void meanwhile_begin(struct crew_source *source, struct crew_member *member)
{
  (void)member;
  ((struct meanwhile_job *)(void *)source)->begun++;
}

static void meanwhile_end(struct crew_source *source, struct crew_member *member)
{
  (void)member;
  ((struct meanwhile_job *)(void *)source)->ended++;
}

static bool meanwhile_take(struct crew_source *source, struct crew_member *member)
{
  (void)member;
  struct meanwhile_job *job = (struct meanwhile_job *)(void *)source;
  char byte;
  ssize_t got = job->is_at_end ? 0 : recv(job->fd, &byte, 1, MSG_DONTWAIT);
  job->is_at_end = job->is_at_end || got == 0;
  job->taken += got == 1;
  if (got == 1 && byte == '!')
    stub_let_go(job->job.stub);
  return got == 1;
}

static bool meanwhile_sleep(struct crew_source *source, int *fd, short *events)
{
  const struct meanwhile_job *job = (struct meanwhile_job *)(void *)source;
  *fd = job->is_at_end ? -1 : job->fd;
  *events = POLLIN;
  return true;
}

static const struct crew_meanwhile MEANWHILE = {.begin = meanwhile_begin,
                                                .end = meanwhile_end,
                                                .take = meanwhile_take,
                                                .look = meanwhile_take,
                                                .sleep = meanwhile_sleep};

static void submit_meanwhile(struct fixture *f, struct meanwhile_job *job, int fd)
{
  *job = (struct meanwhile_job){
      .job = {.source = {.turn = job_turn, .meanwhile = &MEANWHILE}, .stub = &f->stub, .message = "wait"},
      .fd = fd};
  crew_submit(f->crew, &job->job.source);
}

/* The end of what it reads is not the end of its wait. */
UNIT_TEST(a_member_whose_source_has_ended_is_woken_by_others)
{
  struct fixture f;
  open_fixture(&f, 1, 1, 60000, 1);
  int fds[2];
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
  struct meanwhile_job job;
  submit_meanwhile(&f, &job, fds[0]);
  stub_wait_inside(&f.stub, 1);
  close(fds[1]);
  usleep(10000);
  assert_false(job.job.done);
  stub_let_go(&f.stub);
  wait_done(&f, &job.job);
  close_fixture(&f);
  close(fds[0]);
}

/* The wake may come before, in or after each step of the wait. */
UNIT_TEST(no_wake_is_lost)
{
  struct fixture f;
  open_fixture(&f, 2, 2, 60000, 100);
  for (int i = 0; i < 300; i++) {
    struct job job;
    pthread_mutex_lock(&f.stub.lock);
    f.stub.open = false;
    pthread_mutex_unlock(&f.stub.lock);
    submit(&f, &job, "wait");
    stub_wait_inside(&f.stub, 1);
    usleep((useconds_t)(i % 30) * 10);
    stub_let_go(&f.stub);
    wait_done(&f, &job);
  }
  close_fixture(&f);
}

UNIT_MAIN

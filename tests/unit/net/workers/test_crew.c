#include "audit/audit.h"
#include "crew_fixture.h"

#include <ctype.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>

/* Longer than any thread waits for a processor, so that the watcher does not refuse a message that a member is about to
 * serve. */
enum { BUSY_MS = 2000 };

UNIT_TEST(a_crew_that_cannot_start_threads_goes_on)
{
  struct fixture f;
  fixture_init(&f, 1);
  fixture_start(&f, (struct crew_config){.threads = 1, .threads_max = 8, .busy_timeout_ms = BUSY_MS});
  struct job blocked;
  struct job late;
  submit(&f, &blocked, "block");
  stub_wait_inside(&f.stub, 1);
  submit(&f, &late, "echo");
  wait_done(&f, &late);
  assert_non_null(strstr(late.answer, "busy"));
  fixture_close(&f);
}

static enum jp_status (*spawn_at_once)(void *context, const char *name,
                                       void (*run)(void *argument, struct rpc_worker *worker), void *argument,
                                       struct jp_error *error);
static _Atomic bool spawn_blocks;
static _Atomic int spawning;

static enum jp_status spawn(void *context, const char *name,
                            void (*run)(void *argument, struct rpc_worker *worker), void *argument,
                            struct jp_error *error)
{
  atomic_fetch_add(&spawning, 1);
  AWAIT(!atomic_load(&spawn_blocks));
  return spawn_at_once(context, name, run, argument, error);
}

/* The JVM may take long to make a thread. */
UNIT_TEST(no_message_waits_for_the_making_of_a_thread)
{
  struct fixture f;
  fixture_init(&f, 8);
  spawn_at_once = f.service.spawn;
  f.service.spawn = spawn;
  fixture_start(&f, (struct crew_config){.threads = 1, .threads_max = 8, .busy_timeout_ms = 1});
  atomic_store(&spawn_blocks, true);
  const int made = atomic_load(&spawning);
  struct job blocked;
  struct job ping;
  struct job echo;
  submit(&f, &blocked, "block");
  AWAIT(atomic_load(&spawning) > made);
  submit(&f, &echo, "echo");
  submit(&f, &ping, "ping");
  wait_done(&f, &ping);
  assert_string_equal(ping.answer, "pong");
  atomic_store(&spawn_blocks, false);
  wait_done(&f, &echo);
  assert_string_equal(echo.answer, "echo"); /* the message was served, not refused as busy */
  fixture_close(&f);
}

/* Reports only answers to messages that the service has served. The first message is not reported again. */
CREW_TEST(lost_answers_are_reported_to_the_service, .threads = 1, .threads_max = 1)
{
  struct job jobs[3];
  for (int i = 0; i < 3; i++) {
    if (i == 2)
      crew_refuse_all(f->crew);
    jobs[i] = (struct job){
        .source.turn = job_turn, .stub = &f->stub, .message = "echo", .loses_answer = i == 0 || i == 2};
    crew_submit(f->crew, &jobs[i].source);
    wait_done(f, &jobs[i]);
    assert_int_equal(atomic_load(&f->stub.taken_back), 1);
  }
  assert_string_equal(jobs[2].answer, "the peer is shutting down");
  fixture_close(f);
}

UNIT_TEST(stop_waits_until_its_deadline_at_most)
{
  struct fixture f;
  fixture_open(&f, (struct crew_config){.threads = 1, .threads_max = 1});
  struct job blocked;
  submit(&f, &blocked, "block");
  stub_wait_inside(&f.stub, 1);
  assert_false(crew_stop(f.crew, clock_now_ms() + 30));
  stub_release(&f.stub);
  wait_done(&f, &blocked);
  AWAIT(atomic_load(&f.stub.threads) == 0);
  crew_destroy(f.crew);
}

/* One event of a watched descriptor is one turn, until it is watched again. */
struct reader {
  struct crew_source source;
  _Atomic int turns;
};

static void reader_turn(struct crew_source *source, struct crew_member *member)
{
  (void)member;
  atomic_fetch_add(&((struct reader *)(void *)source)->turns, 1);
}

CREW_TEST(an_event_is_given_once, .threads = 4, .threads_max = 4)
{
  struct reader reader = {.source.turn = reader_turn};
  assert_int_equal(crew_watch(f->crew, &reader.source, f->pair[0], EPOLLIN, NULL), JP_OK);
  for (int i = 1; i <= 20; i++) {
    assert_int_equal(write(f->pair[1], "x", 1), 1);
    AWAIT(atomic_load(&reader.turns) >= i);
    assert_int_equal(atomic_load(&reader.turns), i);
    assert_int_equal(crew_watch_again(f->crew, &reader.source, f->pair[0], i % 2 ? EPOLLOUT : EPOLLIN, NULL),
                     JP_OK);
    AWAIT(atomic_load(&reader.turns) >= i + 1);
    reader.turns = i;
    char byte;
    assert_int_equal(read(f->pair[0], &byte, 1), 1);
    assert_int_equal(crew_watch_again(f->crew, &reader.source, f->pair[0], EPOLLIN, NULL), JP_OK);
  }
  fixture_close(f);
}

/* Sources that note their turns, as small letters, and what they send afterwards, as capital ones. */
struct letters {
  char text[16];
  _Atomic unsigned count;
};

struct deferrer {
  struct crew_source source;
  int from;
  char letter;
  struct letters *log;
};

static void note(struct deferrer *deferrer, char letter)
{
  const unsigned count = atomic_load(&deferrer->log->count);
  deferrer->log->text[count] = letter;
  atomic_store(&deferrer->log->count, count + 1);
}

static void send_letter(struct crew_source *source, struct crew_member *member)
{
  struct deferrer *deferrer = (struct deferrer *)(void *)source;
  (void)member;
  note(deferrer, (char)(deferrer->letter - 'a' + 'A'));
}

static const struct crew_call_ops deferrer_ops = {.send_deferred = send_letter};

static void deferrer_turn(struct crew_source *source, struct crew_member *member)
{
  struct deferrer *deferrer = (struct deferrer *)(void *)source;
  if (member->worker == NULL) {
    assert_int_equal(crew_watch_again(member->crew, source, deferrer->from, EPOLLIN, NULL), JP_OK);
    return;
  }
  note(deferrer, deferrer->letter);
  if (crew_may_defer(member))
    crew_defer(member, source);
  else
    send_letter(source, member);
}

struct opener {
  struct crew_source source;
  const int *to; /* descriptors, up to -1 */
};

/* Not on the watcher's thread: the member that sleeps would wake for the first event, and find no second one. */
static void opener_turn(struct crew_source *source, struct crew_member *member)
{
  const struct opener *opener = (const struct opener *)(const void *)source;
  if (member->worker == NULL) {
    crew_submit(member->crew, source);
    return;
  }
  for (const int *to = opener->to; *to >= 0; to++)
    assert_int_equal(write(*to, "x", 1), 1);
}

/* a, b and d are quick, c is not. */
CREW_TEST(deferred_answers_wait_for_quick_sources_alone, .threads = 1, .threads_max = 1)
{
  enum { COUNT = 4 };
  struct letters log = {0};
  int from[COUNT];
  int to[COUNT + 1];
  struct deferrer deferrers[COUNT];
  audit_switches.is_on = true;
  for (int i = 0; i < COUNT; i++) {
    int pair[2];
    assert_int_equal(pipe(pair), 0);
    from[i] = pair[0];
    to[i] = pair[1];
    deferrers[i] = (struct deferrer){.source.turn = deferrer_turn,
                                     .source.call_ops = &deferrer_ops,
                                     .source.is_quick = i != 2,
                                     .from = from[i],
                                     .letter = (char)('a' + i),
                                     .log = &log};
    assert_int_equal(crew_watch(f->crew, &deferrers[i].source, from[i], EPOLLIN, NULL), JP_OK);
  }
  to[COUNT] = -1;
  struct opener opener = {.source.turn = opener_turn, .to = to};
  crew_submit(f->crew, &opener.source);
  AWAIT(atomic_load(&log.count) == 2 * COUNT);
  bool waits = false; /* the answer of one for the turn of another */
  for (const char *letter = log.text; *letter != '\0'; letter++)
    waits |= islower((unsigned char)letter[0]) && islower((unsigned char)letter[1]);
  assert_true(waits);
  const char *slow = memchr(log.text, 'c', sizeof log.text);
  for (const char *letter = log.text; letter < slow; letter++) /* those before it are sent before it */
    assert_true(isupper((unsigned char)*letter) ||
                memchr(letter, toupper(*letter), (size_t)(slow - letter)) != NULL);
  audit_switches.is_on = false;
  fixture_close(f);
  for (int i = 0; i < COUNT; i++) {
    close(from[i]);
    close(to[i]);
  }
}

/* A source that begins turn after turn until other sources wait. */
struct greedy {
  struct crew_source source;
  _Atomic int turns;
  _Atomic bool ended;
};

static void greedy_turn(struct crew_source *source, struct crew_member *member)
{
  struct greedy *greedy = (struct greedy *)(void *)source;
  struct crew_turn turn;
  struct buffer out = {0};
  crew_turn_begin(&turn, member);
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

/* Submits the source until a turn continues. A turn of the watcher ends at once, and the wake-up for the submission may
 * end a turn, too. */
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

CREW_TEST(a_lone_source_goes_on_until_others_wait, .threads = 1, .threads_max = 1)
{
  struct greedy greedy;
  start_greedy(f, &greedy);
  struct job job;
  submit(f, &job, "echo");
  wait_done(f, &job);
  AWAIT(atomic_load(&greedy.ended));

  start_greedy(f, &greedy);
  crew_refuse_all(f->crew);
  AWAIT(atomic_load(&greedy.ended));
  fixture_close(f);
}

/* The event that ends a turn is served. If the member does not get a processor, the watcher may serve the
 * event. In that case the turn continues, and the next event ends the turn. */
CREW_TEST(an_event_that_ends_a_turn_is_not_lost, .threads = 1, .threads_max = 1)
{
  struct greedy greedy;
  struct reader reader = {.source.turn = reader_turn};
  start_greedy(f, &greedy);
  assert_int_equal(write(f->pair[1], "x", 1), 1);
  assert_int_equal(crew_watch(f->crew, &reader.source, f->pair[0], EPOLLIN, NULL), JP_OK);
  for (int events = 1; !atomic_load(&greedy.ended); events++) {
    AWAIT(atomic_load(&reader.turns) >= events);
    assert_int_equal(crew_watch_again(f->crew, &reader.source, f->pair[0], EPOLLIN, NULL), JP_OK);
  }
  fixture_close(f);
}

/* A source that calls crew_stay in each turn, and submits itself again. In most turns the same member serves
 * the source again, before another member has woken. */
struct stayer {
  struct crew_source source;
  int finds_at; /* the number of the poll that finds work; 0: no poll finds work */
  int turns_left;
  int polls;  /* polls in this turn */
  int tried;  /* the number of turns with polls */
  bool found; /* a poll has found work in this turn */
  bool wrong; /* a member polled that had not served the source before, or a result was wrong */
  _Atomic bool ended;
};

static bool count_poll(struct crew_source *source)
{
  struct stayer *stayer = (struct stayer *)(void *)source;
  return ++stayer->polls == stayer->finds_at;
}

static void stayer_turn(struct crew_source *source, struct crew_member *member)
{
  struct stayer *stayer = (struct stayer *)(void *)source;
  stayer->polls = 0;
  stayer->found = crew_stay(member, source, count_poll);
  stayer->tried += stayer->polls > 0;
  stayer->wrong |= stayer->polls > 0 && member->last != source;
  stayer->wrong |= stayer->found != (stayer->finds_at > 0 && stayer->polls == stayer->finds_at);
  if (!stayer->found && --stayer->turns_left > 0)
    crew_submit(member->crew, source);
  else
    atomic_store(&stayer->ended, true);
}

/* Gives the source at most `turns` turns, until a poll has found work. */
static void give_turns(struct fixture *f, struct stayer *stayer, int turns)
{
  stayer->turns_left = turns;
  atomic_store(&stayer->ended, false);
  crew_submit(f->crew, &stayer->source);
  AWAIT(atomic_load(&stayer->ended));
  assert_false(stayer->wrong);
}

CREW_TEST(a_member_stays_with_the_source_that_it_served_before, .threads = 2, .threads_max = 2)
{
  enum { ENOUGH = 1000000 }; /* two turns are nearly always enough */
  struct stayer stayer = {.source.turn = stayer_turn, .finds_at = 1};
  give_turns(f, &stayer, ENOUGH);
  assert_true(stayer.found);
  fixture_close(f);
}

CREW_TEST(a_member_does_not_stay_if_no_other_is_idle, .threads = 1, .threads_max = 1)
{
  struct stayer stayer = {.source.turn = stayer_turn, .finds_at = 1};
  give_turns(f, &stayer, 20);
  assert_int_equal(stayer.tried, 0);
  fixture_close(f);
}

/* Each of the two members polls at its first chance. After further polls in vain it polls at one of 2, 4, 8,
 * ... chances, until it polls at one of 128 chances. */
CREW_TEST(staying_in_vain_becomes_rare, .threads = 2, .threads_max = 2)
{
  enum { TURNS = 1000, AT_MOST = 2 * 8 + TURNS / 128 };
  struct stayer stayer = {.source.turn = stayer_turn};
  give_turns(f, &stayer, TURNS);
  assert_true(stayer.tried <= AT_MOST);
  fixture_close(f);
}

static int64_t count_tick(void *context, struct crew_member *watcher, int64_t now_ms)
{
  (void)watcher;
  struct fixture *f = context;
  atomic_fetch_add(&f->ticks, 1);
  int64_t sleep_ms = atomic_load(&f->sleep_ms);
  return sleep_ms == INT64_MAX ? INT64_MAX : now_ms + sleep_ms;
}

/* The tick is never due, so only a wake-up ends the watcher's sleep. */
#define SLEEPY(threads_, max) .threads = (threads_), .threads_max = (max), .tick = count_tick

/* Waits until there was no tick for much longer than 10 ms, the time between two ticks of a watcher that does not
 * sleep. */
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

/* The only member is inside the service, so a member has to be added for the second job. */
UNIT_TEST(a_submission_wakes_the_watcher)
{
  for (int i = 0; i < 5; i++) {
    struct fixture f;
    struct job jobs[2];
    fixture_open(&f, (struct crew_config){SLEEPY(1, 2)});
    wait_asleep(&f);
    for (int j = 0; j < 2; j++) {
      submit(&f, &jobs[j], "block");
      stub_wait_inside(&f.stub, j + 1);
    }
    fixture_close(&f);
    assert_true(jobs[0].done && jobs[1].done);
  }
}

CREW_TEST(an_event_wakes_the_watcher, SLEEPY(1, 2))
{
  struct reader reader = {.source.turn = reader_turn};
  assert_int_equal(crew_watch(f->crew, &reader.source, f->pair[0], EPOLLIN, NULL), JP_OK);
  wait_asleep(f);
  int before = atomic_load(&f->ticks);
  assert_int_equal(write(f->pair[1], "x", 1), 1);
  AWAIT(atomic_load(&f->ticks) != before);
  fixture_close(f);
}

/* One of two members is inside the service, and nothing else happens: the watcher sleeps, and the end of the call wakes
 * it. */
CREW_TEST(the_end_of_a_long_call_wakes_the_watcher, SLEEPY(2, 2))
{
  struct job job;
  submit(f, &job, "block");
  stub_wait_inside(&f->stub, 1);
  wait_asleep(f);
  int before = atomic_load(&f->ticks);
  stub_release(&f->stub);
  AWAIT(atomic_load(&f->ticks) != before);
  wait_done(f, &job);
  fixture_close(f);
}

CREW_TEST(the_watcher_sleeps_no_longer_than_its_tick_says, SLEEPY(1, 1))
{
  enum { SLEEP_MS = 50 };
  atomic_store(&f->sleep_ms, SLEEP_MS);
  int before = atomic_load(&f->ticks);
  AWAIT(atomic_load(&f->ticks) >= before + 20);
  fixture_close(f);
}

CREW_TEST(refusing_all_wakes_the_watcher, SLEEPY(1, 1))
{
  wait_asleep(f);
  int before = atomic_load(&f->ticks);
  crew_refuse_all(f->crew);
  AWAIT(atomic_load(&f->ticks) >= before + 5);
  fixture_close(f);
}

UNIT_TEST(a_turn_ends_after_its_messages)
{
  struct crew_turn turn;
  struct crew_member member = {0};
  crew_turn_begin(&turn, &member);
  turn.ends_ns += 60 * (int64_t)1000000000;
  for (int i = 1; i < CREW_TURN_MESSAGES; i++)
    assert_false(crew_turn_is_over(&turn));
  assert_true(crew_turn_is_over(&turn));
}

/* Several quick messages share one read of the clock. After a slow message the clock is read for each
 * message. */
UNIT_TEST(a_turn_is_over_soon_after_its_time)
{
  struct crew_turn turn;
  struct crew_member member = {0};
  crew_turn_begin(&turn, &member);
  turn.next_clock_read = 4; /* as after quick messages */
  usleep(CREW_TURN_NS / 1000 + 1);
  int served = 1;
  while (!crew_turn_is_over(&turn) && served < 1000)
    served++;
  assert_int_equal(served, 4);
  assert_true(crew_turn_is_over(&turn));
}

/* --- members that wait --- */

CREW_TEST(waiting_members_do_not_count_in_threads_max, .threads = 1, .threads_max = 2)
{
  struct job waiting[20];
  for (int i = 0; i < 20; i++)
    submit(f, &waiting[i], "wait");
  stub_wait_inside(&f->stub, 20);
  struct job blocked[2];
  for (int i = 0; i < 2; i++)
    submit(f, &blocked[i], "block");
  stub_wait_inside(&f->stub, 22);
  struct job ping;
  submit(f, &ping, "ping"); /* answered by the watcher: no member is free, and none may be added */
  wait_done(f, &ping);
  assert_string_equal(ping.answer, "pong");
  stub_release(&f->stub);
  for (int i = 0; i < 20; i++)
    wait_done(f, &waiting[i]);
  for (int i = 0; i < 2; i++)
    wait_done(f, &blocked[i]);
  AWAIT(atomic_load(&f->stub.threads) <= 1 + RPC_LANES - 1);
  fixture_close(f);
}

/* A source whose member reads bytes while it waits. */
struct reading_job {
  struct job job; /* the first member, so that a source can be cast to its job */
  int fd;
  bool is_at_end;
};

static bool begin_reading(struct crew_source *source, struct crew_member *member)
{
  (void)source, (void)member;
  return true;
}

static void end_reading(struct crew_source *source, struct crew_member *member)
{
  (void)source, (void)member;
}

static bool read_byte(struct crew_source *source, struct crew_member *member)
{
  (void)member;
  struct reading_job *job = (struct reading_job *)(void *)source;
  char byte;
  ssize_t got = job->is_at_end ? 0 : recv(job->fd, &byte, 1, MSG_DONTWAIT);
  job->is_at_end = job->is_at_end || got == 0;
  return got == 1;
}

static bool prepare_sleep(struct crew_source *source, int *fd, short *events)
{
  const struct reading_job *job = (struct reading_job *)(void *)source;
  *fd = job->is_at_end ? -1 : job->fd;
  *events = POLLIN;
  return true;
}

static const struct crew_call_ops READING_OPS = {.begin_wait = begin_reading,
                                                 .end_wait = end_reading,
                                                 .receive = read_byte,
                                                 .poll = read_byte,
                                                 .prepare_sleep = prepare_sleep};

/* The end of the input does not end the wait. */
CREW_TEST(a_member_whose_source_has_ended_is_woken_by_others, .threads = 1, .threads_max = 1)
{
  struct reading_job job = {
      .job = {.source = {.turn = job_turn, .call_ops = &READING_OPS}, .stub = &f->stub, .message = "wait"},
      .fd = f->pair[0]};
  crew_submit(f->crew, &job.job.source);
  stub_wait_inside(&f->stub, 1);
  shutdown(f->pair[1], SHUT_WR);
  usleep(10000);
  assert_false(job.job.done);
  stub_release(&f->stub);
  wait_done(f, &job.job);
  fixture_close(f);
}

/* The wake may happen before, during or after each step of the wait. */
CREW_TEST(no_wake_is_lost, .threads = 2, .threads_max = 2)
{
  for (int i = 0; i < 300; i++) {
    struct job job;
    pthread_mutex_lock(&f->stub.lock);
    f->stub.open = false;
    pthread_mutex_unlock(&f->stub.lock);
    submit(f, &job, "wait");
    stub_wait_inside(&f->stub, 1);
    usleep((useconds_t)(i % 30) * 10);
    stub_release(&f->stub);
    wait_done(f, &job);
  }
  fixture_close(f);
}

/* --- pinned members --- */

static pthread_mutex_t pin_lock = PTHREAD_MUTEX_INITIALIZER; /* takes the place of a connection's lock */
static _Atomic int due;
static struct crew_member *_Atomic served_by;

static enum crew_pinned_next await_due(struct crew_source *source, struct crew_member *member, int *fd,
                                       short *events)
{
  enum crew_pinned_next next = CREW_PINNED_WAITS;
  (void)fd, (void)events;
  pthread_mutex_lock(&pin_lock);
  if (atomic_load(&source->pinned) != member)
    next = CREW_PINNED_ENDS;
  else if (atomic_load(&due) > 0)
    next = CREW_PINNED_TURN;
  pthread_mutex_unlock(&pin_lock);
  return next;
}

static void serve_due_turn(struct crew_source *source, struct crew_member *member)
{
  (void)source;
  atomic_store(&served_by, member);
  atomic_fetch_sub(&due, 1);
}

static const struct crew_call_ops PINNED_OPS = {.await = await_due};

/* member NULL: the previous member leaves, and no member takes its place. */
static void pin_to(struct crew_source *source, struct crew_member *member)
{
  pthread_mutex_lock(&pin_lock);
  struct crew_member *before = atomic_exchange(&source->pinned, member);
  if (before != NULL)
    crew_wake(before);
  if (member != NULL)
    crew_admit(member);
  pthread_mutex_unlock(&pin_lock);
}

static void serve_due(struct crew_member *member)
{
  atomic_store(&due, 1);
  crew_wake(member);
  AWAIT(atomic_load(&due) == 0);
  assert_ptr_equal(member, atomic_load(&served_by));
}

CREW_TEST(a_pinned_member_serves_its_source_until_that_is_pinned_to_another, .threads = 1, .threads_max = 1,
          .pinned_max = 2)
{
  struct crew_source source = {.turn = serve_due_turn, .call_ops = &PINNED_OPS};
  struct crew_member *members[2];
  struct crew_member *none = NULL;
  struct jp_error error;
  for (int i = 0; i < 2; i++) {
    assert_int_equal(crew_pin(f->crew, &source, "pinned", &members[i], &error), JP_OK);
    pin_to(&source, members[i]);
    serve_due(members[i]);
  }
  /* The first member leaves, and its place becomes free. */
  AWAIT(crew_pin(f->crew, &source, "pinned", &none, &error) == JP_OK);
  pin_to(&source, none);
  serve_due(none);
  pin_to(&source, NULL);
  fixture_close(f);
}

CREW_TEST(pinned_members_are_limited, .threads = 1, .threads_max = 1, .pinned_max = 1)
{
  struct crew_source source = {.turn = serve_due_turn, .call_ops = &PINNED_OPS};
  struct crew_member *member;
  struct crew_member *another;
  struct jp_error error;
  assert_int_equal(crew_pin(f->crew, &source, "pinned", &member, &error), JP_OK);
  pin_to(&source, member);
  serve_due(member);
  assert_int_equal(crew_pin(f->crew, &source, "pinned", &another, &error), JP_LIMIT);
  assert_non_null(strstr(error.text, "pinned-threads-max is 1"));
  fixture_close(f); /* while a pinned member waits */
}

UNIT_MAIN

/* The watcher: long calls (names of their threads, the log line, reading ahead), and adding members. */
#include "crew_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MEMBERS = 20, REPORT_MS = 500 };

static struct fixture f;
static struct job jobs[MEMBERS];
static _Atomic bool names_calls;
static const struct rpc_worker *workers[MEMBERS];
static bool was_asked[MEMBERS];
static _Atomic int held;
static _Atomic int named;

/* Called by the watcher's thread alone. */
static size_t index_of(const struct rpc_worker *worker)
{
  size_t i = 0;
  while (workers[i] != NULL && workers[i] != worker)
    i++;
  workers[i] = worker;
  return i;
}

/* There are 20 calls: eleven run the same Java member, eight run other members, and one runs no member. */
static bool write_call_name(void *context, struct rpc_worker *worker, char *name, size_t size)
{
  (void)context;
  size_t i = index_of(worker);
  if (i == 0)
    return false;
  snprintf(name, size, "some.Type%zu.member", i < 12 ? 1 : i);
  return true;
}

/* True once for each call. */
static bool wants_name(void *context, struct rpc_worker *worker, int64_t now_ms)
{
  (void)context, (void)now_ms;
  bool *asked = &was_asked[index_of(worker)];
  bool wants = atomic_load(&names_calls) && !*asked;
  *asked = *asked || wants;
  return wants;
}

static bool hold_call(void *context, struct rpc_worker *worker)
{
  (void)context, (void)worker;
  return atomic_fetch_add(&held, 1) % 2 == 0; /* another visitor is in every other call */
}

static void name_call(void *context, struct rpc_worker *own, struct rpc_worker *worker)
{
  (void)context;
  assert_ptr_not_equal(own, worker);
  atomic_fetch_add(&named, 1);
}

static int set_up(void **state)
{
  (void)state;
  memset(workers, 0, sizeof workers);
  fixture_init(&f, MEMBERS);
  f.service.write_call_name = write_call_name;
  f.service.wants_name = wants_name;
  f.service.hold_call = hold_call;
  f.service.name_call = name_call;
  fixture_start(
      &f, (struct crew_config){
              .threads = MEMBERS, .threads_max = MEMBERS, .busy_timeout_ms = 10, .report_ms = REPORT_MS});
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  fixture_close(&f);
  return 0;
}

static void block(int count)
{
  for (int i = 0; i < count; i++)
    submit(&f, &jobs[i], "block");
  stub_wait_inside(&f.stub, count);
}

/* Redirects the log to a file, which is returned. */
static int open_log(int *saved)
{
  char path[] = "/tmp/jpeer-crew-calls-XXXXXX";
  int log = mkstemp(path);
  assert_true(log >= 0);
  unlink(path);
  *saved = dup(STDERR_FILENO);
  assert_true(dup2(log, STDERR_FILENO) >= 0);
  return log;
}

static size_t read_log(int log, char *text, size_t size)
{
  ssize_t count = pread(log, text, size - 1, 0);
  assert_true(count >= 0);
  text[count] = '\0';
  return (size_t)count;
}

static void close_log(int log, int saved)
{
  dup2(saved, STDERR_FILENO);
  close(saved);
  close(log);
}

/* The sum of the calls of all Java members in the line, those that it does not name included. */
static long sum_counts(const char *text, unsigned *groups)
{
  static const char end[] = ", oldest ";
  static const char others[] = "; of other members ";
  long sum = 0;
  *groups = 0;
  for (const char *at = text; (at = strstr(at, end)) != NULL; at += sizeof end - 1) {
    const char *count = at;
    while (count[-1] != ' ')
      count--;
    sum += strtol(count, NULL, 10);
    (*groups)++;
  }
  const char *rest = strstr(text, others);
  return rest == NULL ? sum : sum + strtol(rest + sizeof others - 1, NULL, 10);
}

UNIT_TEST_WITH(the_log_groups_calls_that_keep_every_thread, set_up, tear_down)
{
  char text[4096];
  int saved;
  int log = open_log(&saved);
  block(MEMBERS);
  AWAIT(read_log(log, text, sizeof text) > 0);
  close_log(log, saved);
  assert_non_null(strstr(text, "20 calls are in Java, as many as rpc-threads-max allows: "));
  assert_non_null(strstr(text, "; clients gone: 0\n"));
  unsigned groups;
  assert_int_equal(MEMBERS, sum_counts(text, &groups));
  assert_int_equal(8, groups);
}

UNIT_TEST_WITH(threads_are_named_by_the_one_that_is_reserved_for_control, set_up, tear_down)
{
  atomic_store(&names_calls, true);
  block(MEMBERS);
  AWAIT(atomic_load(&named) == MEMBERS); /* those that could not be held are tried again */
  assert_true(atomic_load(&held) > MEMBERS);
}

/* --- reading ahead --- */

static _Atomic int asked; /* how often a source was asked to read ahead */
static _Atomic int64_t first_asked_ms;

static void note_asked(struct crew_source *source, struct crew_member *watcher)
{
  (void)watcher;
  assert_ptr_equal(&jobs[0].source, source);
  if (atomic_fetch_add(&asked, 1) == 0)
    atomic_store(&first_asked_ms, clock_now_ms());
}

/* The source is asked soon after 5 ms, and again later, also while the watcher sleeps between two checks. */
UNIT_TEST_WITH(a_call_that_lasts_has_its_input_read_ahead, set_up, tear_down)
{
  static const struct crew_call_ops call_ops = {.read_ahead = note_asked};
  atomic_store(&asked, 0);
  jobs[0] =
      (struct job){.source = {.turn = job_turn, .call_ops = &call_ops}, .stub = &f.stub, .message = "block"};
  int64_t began_ms = clock_now_ms();
  crew_submit(f.crew, &jobs[0].source);
  stub_wait_inside(&f.stub, 1);
  AWAIT(atomic_load(&asked) >= 3);
  assert_true(atomic_load(&first_asked_ms) >= began_ms + 5);
  stub_release(&f.stub);
  wait_done(&f, &jobs[0]);
}

UNIT_TEST_WITH(a_call_that_is_short_has_nothing_read_ahead, set_up, tear_down)
{
  static const struct crew_call_ops call_ops = {.read_ahead = note_asked};
  atomic_store(&asked, 0);
  for (int i = 0; i < 100; i++) {
    jobs[0] =
        (struct job){.source = {.turn = job_turn, .call_ops = &call_ops}, .stub = &f.stub, .message = "echo"};
    crew_submit(f.crew, &jobs[0].source);
    wait_done(&f, &jobs[0]);
  }
  usleep(100000);
  assert_int_equal(0, atomic_load(&asked));
}

/* --- how many members are added --- */

/* The members of the crew, without the reserved threads. */
static int count_members(struct fixture *grown)
{
  return atomic_load(&grown->stub.threads) - (RPC_LANES - 1);
}

enum { MANY = 400, CHECK_MS = 5, ATTEMPTS = 20 };

/* True if MANY calls get members sooner than with one new member for each check. */
static bool grows_quickly(const char *message)
{
  static struct job many[MANY];
  struct fixture grown;
  fixture_init(&grown, MANY);
  int64_t began_ms = clock_now_ms();
  fixture_start(&grown, (struct crew_config){.threads = 1, .threads_max = MANY});
  for (int i = 0; i < MANY; i++)
    submit(&grown, &many[i], message);
  stub_wait_inside(&grown.stub, MANY);
  int64_t took_ms = clock_now_ms() - began_ms;
  (void)took_ms;
  fixture_close(&grown);
#ifdef __SANITIZE_THREAD__
  return true; /* with TSan a thread may take longer to start than the time between two checks */
#else
  return took_ms < (int64_t)(MANY - 1) * CHECK_MS;
#endif
}

/* Each check adds a quarter of the members. On a busy machine this may take longer, so the test tries again. One member
 * for each check would never be quick enough. */
static void expect_quick_growth(const char *message)
{
  bool is_quick = false;
  for (int i = 0; i < ATTEMPTS && !is_quick; i++)
    is_quick = grows_quickly(message);
  assert_true(is_quick);
}

UNIT_TEST(many_members_are_added_if_all_are_busy)
{
  expect_quick_growth("block");
}

/* The members count as having moved when they began to wait, but they do not move again before their clients
 * answer. */
UNIT_TEST(many_members_are_added_if_all_wait)
{
  expect_quick_growth("wait");
}

UNIT_TEST(no_member_is_added_beside_an_idle_one)
{
  struct fixture grown;
  struct job job;
  fixture_init(&grown, 8);
  fixture_start(&grown, (struct crew_config){.threads = 2, .threads_max = 8});
  submit(&grown, &job, "block");
  stub_wait_inside(&grown.stub, 1);
  usleep(100000);
  int members = count_members(&grown);
  fixture_close(&grown);
  assert_int_equal(members, 2);
}

/* A source with quick messages for 50 ms. */
struct mover {
  struct crew_source source;
  struct fixture *grown;
  bool was_alone; /* a member has served the source, and no other member was added */
  _Atomic bool has_ended;
};

static void mover_turn(struct crew_source *source, struct crew_member *member)
{
  struct mover *mover = (struct mover *)(void *)source;
  struct job echo = {.source.turn = job_turn, .stub = &mover->grown->stub, .message = "echo"};
  const int64_t end_ms = clock_now_ms() + 50;
  while (clock_now_ms() < end_ms)
    job_turn(&echo.source, member);
  mover->was_alone = member->worker != NULL && count_members(mover->grown) == 1;
  atomic_store(&mover->has_ended, true);
}

/* A member that gets no processor between two checks counts as not having moved. In that case the test tries
 * again. */
UNIT_TEST(no_member_is_added_while_a_busy_one_moves)
{
  struct mover mover = {.was_alone = false};
  for (int i = 0; i < ATTEMPTS && !mover.was_alone; i++) {
    struct fixture grown;
    mover = (struct mover){.source.turn = mover_turn, .grown = &grown};
    fixture_init(&grown, 8);
    fixture_start(&grown, (struct crew_config){.threads = 1, .threads_max = 8});
    crew_submit(grown.crew, &mover.source);
    AWAIT(atomic_load(&mover.has_ended));
    fixture_close(&grown);
  }
  assert_true(mover.was_alone);
}

/* ---- what an operator sees ---- */

static uint64_t count_messages(struct crew *crew)
{
  struct metrics_figures figures;
  uint64_t sum = 0;
  metrics_figures_init(&figures);
  memset(figures.refusals, 0, sizeof figures.refusals);
  crew_collect(crew, &figures);
  for (size_t i = 0; i < METRICS_BUCKETS; i++)
    sum += figures.latency[i];
  return sum;
}

UNIT_TEST(messages_wait_while_the_crew_starts)
{
  struct crew_config config = {
      .threads = 1, .threads_max = 1, .linger_ms = 100, .busy_timeout_ms = 300, .tick_ms = 10};
  struct jp_error error;
  struct job job;
  fixture_init(&f, 100);
  assert_int_equal(crew_create(&config, &f.crew, &error), JP_OK);
  assert_int_equal(crew_begin(f.crew, &f.service, &error), JP_OK);
  submit(&f, &job, "echo");
  usleep(500000); /* longer than the timeout of busy threads */
  assert_false(job.done || crew_is_healthy(f.crew));
  assert_true(crew_is_starting(f.crew));
  assert_int_equal(crew_start(f.crew, &f.service, &error), JP_OK);
  wait_done(&f, &job);
  AWAIT(crew_is_healthy(f.crew));
  AWAIT(count_messages(f.crew) == 1);
  fixture_close(&f);
}

UNIT_TEST(a_crew_that_has_only_begun_can_be_stopped)
{
  struct crew_config config = {.threads = 1, .threads_max = 1, .busy_timeout_ms = 1, .tick_ms = 10};
  struct jp_error error;
  fixture_init(&f, 100);
  assert_int_equal(crew_create(&config, &f.crew, &error), JP_OK);
  assert_int_equal(crew_begin(f.crew, &f.service, &error), JP_OK);
  fixture_close(&f);
}

UNIT_TEST(a_crew_is_unhealthy_while_all_its_threads_are_inside)
{
  struct job inside;
  fixture_init(&f, 100);
  fixture_start(&f, (struct crew_config){.threads = 1, .threads_max = 1, .busy_timeout_ms = 50});
  AWAIT(crew_is_healthy(f.crew));
  submit(&f, &inside, "block");
  stub_wait_inside(&f.stub, 1);
  AWAIT(!crew_is_healthy(f.crew));
  stub_release(&f.stub);
  wait_done(&f, &inside);
  AWAIT(crew_is_healthy(f.crew));
  AWAIT(count_messages(f.crew) == 1);
  fixture_close(&f);
}

UNIT_MAIN

#ifndef JPEER_TESTS_UNIT_NET_WORKERS_CREW_FIXTURE_H
#define JPEER_TESTS_UNIT_NET_WORKERS_CREW_FIXTURE_H
/* A crew with the stub service, and sources that serve one message. */
#include "net/workers/crew.h"
#include "tests/unit/await.h"

#include "base/clock.h"
#include "stub_service.h"
#include "tests/unit/unit.h"

#include <sys/socket.h>
#include <unistd.h>

struct fixture {
  struct stub stub;
  struct rpc_service service;
  struct crew *crew;
  int pair[2]; /* sockets that are connected */
  _Atomic int ticks;
  _Atomic int64_t sleep_ms;
};

static inline void fixture_init(struct fixture *f, int thread_limit)
{
  stub_open(&f->stub, thread_limit + RPC_LANES - 1, &f->service);
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, f->pair), 0);
  atomic_init(&f->ticks, 0);
  atomic_init(&f->sleep_ms, INT64_MAX);
}

/* Completes config with the values that all tests share; the context is the fixture. */
static inline void fixture_start(struct fixture *f, struct crew_config config)
{
  struct jp_error error;
  config.linger_ms = 100;
  config.tick_ms = 10;
  config.context = f;
  if (config.busy_timeout_ms == 0)
    config.busy_timeout_ms = 60000;
  assert_int_equal(crew_create(&config, &f->crew, &error), JP_OK);
  assert_int_equal(crew_start(f->crew, &f->service, &error), JP_OK);
}

static inline void fixture_open(struct fixture *f, struct crew_config config)
{
  fixture_init(f, 100);
  fixture_start(f, config);
}

static inline void fixture_close(struct fixture *f)
{
  stub_release(&f->stub);
  assert_true(crew_stop(f->crew, clock_now_ms() + 60000));
  crew_destroy(f->crew);
  close(f->pair[0]);
  close(f->pair[1]);
  stub_close(&f->stub);
}

/* f: a fixture with this config. The test closes it itself, because its sources have to outlive the crew. */
#define CREW_TEST(name, ...)                                                                                 \
  static void name##_with(struct fixture *f);                                                                \
  UNIT_TEST(name)                                                                                            \
  {                                                                                                          \
    struct fixture f;                                                                                        \
    fixture_open(&f, (struct crew_config){__VA_ARGS__});                                                     \
    name##_with(&f);                                                                                         \
  }                                                                                                          \
  static void name##_with(struct fixture *f)

/* A source that serves one message, and stores the answer for the test. */
struct job {
  struct crew_source source;
  struct stub *stub;
  const char *message;
  int64_t since_ms;
  bool loses_answer;
  bool done;
  char answer[200];
};

static inline void job_turn(struct crew_source *source, struct crew_member *member)
{
  struct job *job = (struct job *)(void *)source;
  struct buffer out = {0};
  struct crew_message message = {.codec = stub_codecs[RPC_CODEC_JSONRPC],
                                 .source = source,
                                 .text = text_of(job->message),
                                 .since_ms = &job->since_ms};
  if (crew_serve(member, &message, &out, NULL) == CREW_WAIT) {
    crew_submit(member->crew, source);
  } else {
    if (job->loses_answer)
      crew_drop_answer(member, NULL);
    pthread_mutex_lock(&job->stub->lock);
    job->done = true;
    memcpy(job->answer, out.data, out.len);
    pthread_cond_broadcast(&job->stub->changed);
    pthread_mutex_unlock(&job->stub->lock);
  }
  buffer_fini(&out);
}

static inline void submit(struct fixture *f, struct job *job, const char *message)
{
  *job = (struct job){.source.turn = job_turn, .stub = &f->stub, .message = message};
  crew_submit(f->crew, &job->source);
}

static inline void wait_done(struct fixture *f, struct job *job)
{
  pthread_mutex_lock(&f->stub.lock);
  for (int64_t since_ms = clock_now_ms(); !job->done;)
    await_signal(&f->stub.changed, &f->stub.lock, since_ms, job->message);
  pthread_mutex_unlock(&f->stub.lock);
}

#endif

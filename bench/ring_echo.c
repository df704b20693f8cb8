/*
 * jpeer-bench-ring-echo: two processes that answer one another through rings in shared pages, and nothing
 * else: no socket, no sleep, no parsing of messages. This is the floor of the peer's shared memory; it uses
 * no code of the peer.
 *
 * usage: jpeer-bench-ring-echo CONNECTIONS IN_FLIGHT BURN_NS WARM_UP SECONDS SERVER_CORE CLIENT_CORE
 * The server burns BURN_NS before each answer. A core of -1 means any core. Prints a JSON object with the names of
 * jpeer-bench's figures.
 */
#include "histogram.h"
#include "processor_time.h"

#include "base/clock.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* A request and an answer have the same length as the messages of `add`. */
enum { REQUEST_BYTES = 168, ANSWER_BYTES = 96, RING_BYTES = 1 << 17, LINE_BYTES = 128 };
enum { CONNECTIONS_MAX = 64, IN_FLIGHT_MAX = 512, PAUSES = 64 };

/* One direction: a writer, a reader, and their positions on separate cache lines. */
struct ring {
  _Alignas(LINE_BYTES) _Atomic uint64_t written;
  _Alignas(LINE_BYTES) _Atomic uint64_t taken;
  _Alignas(LINE_BYTES) char bytes[RING_BYTES];
};

struct shared {
  _Atomic bool is_over;
  struct {
    struct ring requests;
    struct ring answers;
  } connections[CONNECTIONS_MAX];
};

/* One side of a ring: this side's position `at`, and the other side's position `seen` at the last poll. */
struct end {
  struct ring *ring;
  uint64_t at;
  uint64_t seen;
};

struct echo {
  struct shared *shared;
  unsigned connections;
  unsigned in_flight;
  int64_t burn_ns;
  uint64_t warm_up;
  int64_t measured_ns;
  int server_core;
  int client_core;
  unsigned pauses; /* polls before a side yields its core; 0 if both sides share a core */
};

struct load {
  const struct echo *echo;
  struct end requests[CONNECTIONS_MAX];
  struct end answers[CONNECTIONS_MAX];
  int64_t since_ns[CONNECTIONS_MAX][IN_FLIGHT_MAX]; /* when each call began, by the call's number */
  uint64_t begun[CONNECTIONS_MAX];
  uint64_t answered[CONNECTIONS_MAX];
  uint64_t done;
  int64_t now_ns;
  int64_t begins_ns;
  int64_t ends_ns;
  bool has_failed;
  struct histogram latencies;
};

/* ---- rings ---- */

static void copy_in(struct ring *ring, uint64_t at, const char *bytes, size_t count)
{
  size_t offset = at % RING_BYTES;
  size_t first = count < RING_BYTES - offset ? count : RING_BYTES - offset;
  memcpy(ring->bytes + offset, bytes, first);
  memcpy(ring->bytes, bytes + first, count - first);
}

static void copy_out(const struct ring *ring, uint64_t at, char *bytes, size_t count)
{
  size_t offset = at % RING_BYTES;
  size_t first = count < RING_BYTES - offset ? count : RING_BYTES - offset;
  memcpy(bytes, ring->bytes + offset, first);
  memcpy(bytes + first, ring->bytes, count - first);
}

static bool put(struct end *end, const char *bytes, size_t count)
{
  if (end->at + count - end->seen > RING_BYTES) {
    end->seen = atomic_load_explicit(&end->ring->taken, memory_order_acquire);
    if (end->at + count - end->seen > RING_BYTES)
      return false;
  }
  copy_in(end->ring, end->at, bytes, count);
  end->at += count;
  atomic_store_explicit(&end->ring->written, end->at, memory_order_release);
  return true;
}

/* False: no message. The other side's position is polled once for all messages that it covers. */
static bool receive(struct end *end, char *bytes, size_t count)
{
  if (end->seen - end->at < count) {
    end->seen = atomic_load_explicit(&end->ring->written, memory_order_acquire);
    if (end->seen - end->at < count)
      return false;
  }
  copy_out(end->ring, end->at, bytes, count);
  end->at += count;
  atomic_store_explicit(&end->ring->taken, end->at, memory_order_release);
  return true;
}

/* ---- waiting ---- */

static void pause_core(void)
{
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

/* Call after each poll that finds nothing. *polls counts the consecutive polls that have found nothing. */
static void pause_polling(const struct echo *echo, unsigned *polls)
{
  if ((*polls)++ < echo->pauses)
    pause_core();
  else
    sched_yield();
}

static void run_on(int core)
{
  cpu_set_t cores;
  if (core < 0)
    return;
  CPU_ZERO(&cores);
  CPU_SET((unsigned)core, &cores);
  if (sched_setaffinity(0, sizeof cores, &cores) != 0)
    perror("jpeer-bench-ring-echo: sched_setaffinity");
}

/* ---- the server ---- */

static void burn(int64_t burn_ns)
{
  if (burn_ns == 0)
    return;
  int64_t since_ns = clock_now_ns();
  while (clock_now_ns() - since_ns < burn_ns)
    ;
}

/* Answers all available requests. A request begins with its number, and its answer begins with the same number. */
static bool serve(const struct echo *echo, struct end *requests, struct end *answers)
{
  char request[REQUEST_BYTES];
  bool has_served = false;
  while (receive(requests, request, sizeof request)) {
    burn(echo->burn_ns);
    while (!put(answers, request, ANSWER_BYTES))
      pause_core();
    has_served = true;
  }
  return has_served;
}

static void run_server(const struct echo *echo)
{
  struct end requests[CONNECTIONS_MAX];
  struct end answers[CONNECTIONS_MAX];
  unsigned polls = 0;
  run_on(echo->server_core);
  for (unsigned i = 0; i < echo->connections; i++) {
    requests[i] = (struct end){.ring = &echo->shared->connections[i].requests};
    answers[i] = (struct end){.ring = &echo->shared->connections[i].answers};
  }
  while (!atomic_load_explicit(&echo->shared->is_over, memory_order_relaxed)) {
    bool has_served = false;
    for (unsigned i = 0; i < echo->connections; i++)
      has_served |= serve(echo, &requests[i], &answers[i]);
    if (has_served)
      polls = 0;
    else
      pause_polling(echo, &polls);
  }
}

/* ---- the client ---- */

static void send_call(struct load *load, unsigned connection)
{
  static char request[REQUEST_BYTES];
  uint64_t number = load->begun[connection]++;
  memcpy(request, &number, sizeof number);
  load->since_ns[connection][number % IN_FLIGHT_MAX] = load->now_ns;
  if (!put(&load->requests[connection], request, sizeof request))
    load->has_failed = true; /* a ring has room for all requests in flight */
}

static void handle_answer(struct load *load, unsigned connection, const char *answer)
{
  uint64_t number;
  memcpy(&number, answer, sizeof number);
  if (number != load->answered[connection]++)
    load->has_failed = true;
  int64_t took_ns = load->now_ns - load->since_ns[connection][number % IN_FLIGHT_MAX];
  if (load->done >= load->echo->warm_up)
    histogram_record(&load->latencies, (uint64_t)took_ns);
  if (++load->done == load->echo->warm_up) {
    load->begins_ns = load->now_ns;
    load->ends_ns = load->now_ns + load->echo->measured_ns;
  }
}

/* Handles the answers of one connection. Each answer makes room for the next call. The clock is read once for a window
 * of answers. */
static bool handle_answers(struct load *load, unsigned connection)
{
  char answer[ANSWER_BYTES];
  unsigned taken = 0;
  while (receive(&load->answers[connection], answer, sizeof answer)) {
    if (taken++ % load->echo->in_flight == 0)
      load->now_ns = clock_now_ns();
    handle_answer(load, connection, answer);
    if (load->now_ns < load->ends_ns)
      send_call(load, connection);
  }
  return taken > 0;
}

static bool is_open(const struct load *load)
{
  for (unsigned i = 0; i < load->echo->connections; i++)
    if (load->answered[i] < load->begun[i])
      return true;
  return false;
}

static void run_client(struct load *load)
{
  unsigned polls = 0;
  load->now_ns = clock_now_ns();
  for (unsigned i = 0; i < load->echo->connections; i++)
    for (unsigned call = 0; call < load->echo->in_flight; call++)
      send_call(load, i);
  while (is_open(load) && !load->has_failed) {
    bool has_taken = false;
    for (unsigned i = 0; i < load->echo->connections; i++)
      has_taken |= handle_answers(load, i);
    if (has_taken)
      polls = 0;
    else
      pause_polling(load->echo, &polls);
  }
}

/* ---- the program ---- */

static void print_json(const struct load *load)
{
  const struct histogram *latencies = &load->latencies;
  double calls = (double)(load->done - load->echo->warm_up);
  double seconds = (double)(load->now_ns - load->begins_ns) / 1e9;
  printf("{\"connections\":%u,\"in_flight\":%u,\"calls\":%.0f,\"seconds\":%.6f,\"calls_per_second\":%.1f,"
         "\"p50_us\":%.3f,\"p99_us\":%.3f,\"p999_us\":%.3f,\"max_us\":%.3f}\n",
         load->echo->connections, load->echo->in_flight, calls, seconds, calls / seconds,
         (double)histogram_quantile(latencies, 0.5) / 1e3, (double)histogram_quantile(latencies, 0.99) / 1e3,
         (double)histogram_quantile(latencies, 0.999) / 1e3, (double)latencies->max / 1e3);
}

static bool run_load(const struct echo *echo)
{
  static struct load load;
  load.echo = echo;
  load.ends_ns = INT64_MAX;
  for (unsigned i = 0; i < echo->connections; i++) {
    load.requests[i] = (struct end){.ring = &echo->shared->connections[i].requests};
    load.answers[i] = (struct end){.ring = &echo->shared->connections[i].answers};
  }
  run_on(echo->client_core);
  run_client(&load);
  if (load.has_failed)
    fputs("jpeer-bench-ring-echo: an answer is not that of its request\n", stderr);
  else
    print_json(&load);
  return !load.has_failed;
}

static bool read_arguments(struct echo *echo, char **words)
{
  double seconds = strtod(words[5], NULL);
  echo->connections = (unsigned)strtoul(words[1], NULL, 10);
  echo->in_flight = (unsigned)strtoul(words[2], NULL, 10);
  echo->burn_ns = strtoll(words[3], NULL, 10);
  echo->warm_up = strtoull(words[4], NULL, 10);
  echo->measured_ns = (int64_t)(seconds * 1e9);
  echo->server_core = (int)strtol(words[6], NULL, 10);
  echo->client_core = (int)strtol(words[7], NULL, 10);
  echo->pauses = echo->server_core >= 0 && echo->server_core == echo->client_core ? 0 : PAUSES;
  return echo->connections > 0 && echo->connections <= CONNECTIONS_MAX && echo->in_flight > 0 &&
         echo->in_flight <= IN_FLIGHT_MAX && echo->burn_ns >= 0 && echo->warm_up > 0 && seconds > 0 &&
         seconds <= 86400;
}

/* Starts the server process, which the kernel ends when this process ends. */
static pid_t start_server(const struct echo *echo)
{
  pid_t client = getpid();
  pid_t server = fork();
  if (server != 0)
    return server;
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == client)
    run_server(echo);
  _exit(0);
}

int main(int argc, char **argv)
{
  struct echo echo;
  if (argc != 8 || !read_arguments(&echo, argv)) {
    fputs("usage: jpeer-bench-ring-echo CONNECTIONS IN_FLIGHT BURN_NS WARM_UP SECONDS SERVER_CORE "
          "CLIENT_CORE\n",
          stderr);
    return 2;
  }
  void *pages = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) {
    perror("jpeer-bench-ring-echo: mmap");
    return 1;
  }
  echo.shared = pages;
  pid_t server = start_server(&echo);
  if (server < 0) {
    perror("jpeer-bench-ring-echo: fork");
    return 1;
  }
  bool good = run_load(&echo);
  atomic_store(&echo.shared->is_over, true);
  waitpid(server, NULL, 0);
  return good ? 0 : 1;
}

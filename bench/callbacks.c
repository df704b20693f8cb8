/*
 * jpeer-bench-callbacks ADDRESS MEASURE COUNT [CORE]: calls from Java to C by libjpeer-client. MEASURE is one
 * of the following:
 *
 *   calls   COUNT pairs of calls: one without a callback, and one in which the method calls back once
 *   sort    ArrayList.sort of COUNT numbers with a comparator in C, and with a comparator of Java
 *   events  COUNT events of a oneway callback, and as many messages of the same length that a thread on CORE
 *           writes directly to a socket
 *   hold    COUNT Java threads that wait in callbacks, until standard input ends
 *
 * Prints a line of JSON; `hold` prints an empty line when all threads wait.
 */
#include "histogram.h"

#include "base/clock.h"
#include "jpeer/client.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
  TIMEOUT_MS = 120000,
  WARM_CALLS = 2000,
  NS_IN_US = 1000,
  EVENT_BYTES = 196 /* a notification with one int */,
  READ_BYTES = 65536
};

static struct jp_client *the_client;
static struct jp_client_error the_error;

static void fail(const char *what)
{
  fprintf(stderr, "jpeer-bench-callbacks: %s: %s\n", what, the_error.text);
  exit(1);
}

static struct jp_callback *create(jp_callback_function *function, void *context, bool borrows, bool is_oneway)
{
  const struct jp_callback_config config = {.size = sizeof config,
                                            .borrow = borrows,
                                            .oneway = is_oneway,
                                            .function = function,
                                            .context = context};
  struct jp_callback *made;
  if (jp_callback_create(the_client, &config, &made, &the_error) != JP_CLIENT_OK)
    fail("a callback");
  return made;
}

static struct jp_answer *call(const struct jp_request *request)
{
  struct jp_answer *answer;
  if (jp_client_call(the_client, request, TIMEOUT_MS, &answer, &the_error) != JP_CLIENT_OK)
    fail("a call");
  return answer;
}

/* ---- calls ---- */

static void return_text(void *context, struct jp_callback_call *of_java)
{
  const struct jp_argument value = jp_string("other");
  (void)context;
  if (jp_callback_return(of_java, &value, &the_error) != JP_CLIENT_OK)
    fail("an answer to Java");
}

static void time_call(const struct jp_request *request, struct histogram *histogram)
{
  int64_t since = clock_now_ns();
  struct jp_answer *answer = call(request);
  if (histogram != NULL)
    histogram_record(histogram, (uint64_t)(clock_now_ns() - since));
  struct jp_text text = jp_answer_text(answer);
  if (text.len != 5 || memcmp(text.data, "other", 5) != 0)
    fail("a wrong answer");
  jp_answer_free(answer);
}

/* The two kinds of calls alternate, so that other work of the machine affects both. */
static void measure_calls(long count)
{
  static struct histogram plain, calling;
  struct jp_callback *supplier = create(return_text, NULL, true, false);
  struct jp_request without =
      jp_build_class_method_call("java.util.Objects", "requireNonNullElse",
                                 JP_ARGUMENTS(jp_null("java.lang.Object"), jp_string("other")));
  struct jp_request with =
      jp_build_class_method_call("java.util.Objects", "requireNonNullElseGet",
                                 JP_ARGUMENTS(jp_null("java.lang.Object"), jp_callback_argument(supplier)));
  for (long i = 0; i < count + WARM_CALLS; i++) {
    time_call(&without, i < WARM_CALLS ? NULL : &plain);
    time_call(&with, i < WARM_CALLS ? NULL : &calling);
  }
  jp_callback_release(supplier);
  printf("{\"plain_us\": %.3f, \"callback_us\": %.3f}\n", (double)histogram_quantile(&plain, 0.5) / NS_IN_US,
         (double)histogram_quantile(&calling, 0.5) / NS_IN_US);
}

/* ---- sorting ---- */

static void compare_numbers(void *context, struct jp_callback_call *of_java)
{
  long *comparisons = context;
  int64_t left = 0;
  int64_t right = 0;
  if (!jp_answer_integer(jp_callback_argument_at(of_java, 0), &left) ||
      !jp_answer_integer(jp_callback_argument_at(of_java, 1), &right))
    fail("the numbers of a comparison");
  const struct jp_argument order = jp_int((left > right) - (left < right));
  if (jp_callback_return(of_java, &order, &the_error) != JP_CLIENT_OK)
    fail("an answer to Java");
  ++*comparisons;
}

/* The same numbers in the same order each time. */
static struct jp_answer *create_list(long count)
{
  struct jp_argument *numbers = calloc((size_t)count, sizeof *numbers);
  uint64_t state = 88172645463325252;
  for (long i = 0; numbers != NULL && i < count; i++) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    numbers[i] = jp_int((int32_t)(state % 1000000000));
  }
  struct jp_request request =
      jp_build_constructor_call("java.util.ArrayList", JP_ARGUMENTS(jp_list(NULL, numbers, (size_t)count)));
  struct jp_answer *list = call(&request);
  free(numbers);
  return list;
}

static double time_sort(long count, struct jp_argument comparator)
{
  enum { NS_IN_MS = 1000000 };
  struct jp_answer *list = create_list(count);
  struct jp_request sort = jp_build_instance_method_call(
      "java.util.ArrayList", "sort", jp_object(jp_answer_ref(list)), JP_ARGUMENTS(comparator));
  int64_t since = clock_now_ns();
  jp_answer_free(call(&sort));
  double elapsed = (double)(clock_now_ns() - since) / NS_IN_MS;
  struct jp_request first = jp_build_class_method_call("java.util.Collections", "min",
                                                       JP_ARGUMENTS(jp_object(jp_answer_ref(list))));
  struct jp_request at_front = jp_build_instance_method_call(
      "java.util.ArrayList", "get", jp_object(jp_answer_ref(list)), JP_ARGUMENTS(jp_int(0)));
  struct jp_answer *least = call(&first);
  struct jp_answer *front = call(&at_front);
  int64_t expected = 0;
  int64_t found = 0;
  if (!jp_answer_integer(least, &expected) || !jp_answer_integer(front, &found) || expected != found)
    fail("a list that is not sorted");
  jp_answer_free(least);
  jp_answer_free(front);
  jp_answer_free(list);
  return elapsed;
}

static void measure_sort(long count)
{
  long comparisons = 0;
  struct jp_callback *comparator = create(compare_numbers, &comparisons, true, false);
  struct jp_request natural =
      jp_build_class_method_call("java.util.Comparator", "naturalOrder", JP_NO_ARGUMENTS);
  struct jp_answer *of_java = call(&natural);
  (void)time_sort(count, jp_object(jp_answer_ref(of_java)));
  double java_ms = time_sort(count, jp_object(jp_answer_ref(of_java)));
  (void)time_sort(count < 10000 ? count : 10000, jp_callback_argument(comparator));
  comparisons = 0;
  double ms = time_sort(count, jp_callback_argument(comparator));
  jp_answer_free(of_java);
  jp_callback_release(comparator);
  printf("{\"ms\": %.3f, \"java_ms\": %.3f, \"comparisons\": %ld}\n", ms, java_ms, comparisons);
}

/* ---- events ---- */

static void count_event(void *context, struct jp_callback_call *of_java)
{
  long *events = context;
  (void)of_java;
  ++*events;
}

/* The call's answer comes after its events. */
static double time_events(struct jp_callback *consumer, long count)
{
  struct jp_request range = jp_build_class_method_call("java.util.stream.IntStream", "range",
                                                       JP_ARGUMENTS(jp_int(0), jp_int((int32_t)count)));
  struct jp_answer *stream = call(&range);
  struct jp_request each =
      jp_build_instance_method_call("java.util.stream.IntStream", "forEach", jp_object(jp_answer_ref(stream)),
                                    JP_ARGUMENTS(jp_callback_argument(consumer)));
  int64_t since = clock_now_ns();
  jp_answer_free(call(&each));
  double elapsed = (double)(clock_now_ns() - since);
  jp_answer_free(stream);
  return elapsed;
}

struct bare {
  int fd;
  long count;
};

static int writer_core = -1; /* the core of the thread that writes; below 0: any core */

static void *write_bare(void *context)
{
  const struct bare *bare = context;
  char message[EVENT_BYTES];
  memset(message, 'x', sizeof message);
  if (writer_core >= 0) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(writer_core, &cores);
    if (pthread_setaffinity_np(pthread_self(), sizeof cores, &cores) != 0)
      fail("the core of the bare writer");
  }
  for (long i = 0; i < bare->count; i++) {
    if (send(bare->fd, message, sizeof message, MSG_NOSIGNAL) != (ssize_t)sizeof message)
      fail("a bare message");
  }
  return NULL;
}

/* A thread that writes each message separately, and a thread that reads all available bytes. */
static double time_bare(long count)
{
  int fds[2];
  char bytes[READ_BYTES];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0)
    fail("a socket pair");
  struct bare bare = {.fd = fds[0], .count = count};
  pthread_t writer;
  int64_t since = clock_now_ns();
  if (pthread_create(&writer, NULL, write_bare, &bare) != 0)
    fail("a thread");
  for (long left = count * EVENT_BYTES; left > 0;) {
    ssize_t got = recv(fds[1], bytes, sizeof bytes, 0);
    if (got <= 0)
      fail("bare messages");
    left -= got;
  }
  double elapsed = (double)(clock_now_ns() - since);
  pthread_join(writer, NULL);
  close(fds[0]);
  close(fds[1]);
  return elapsed;
}

/* The warm-up has as many events as the measurement. A peer sends only half as many events a second until
 * HotSpot's second compiler has compiled the code, which happens after hundreds of thousands of events. */
static void measure_events(long count)
{
  enum { NS_IN_S = 1000000000 };
  long events = 0;
  struct jp_callback *consumer = create(count_event, &events, false, true);
  (void)time_events(consumer, count);
  events = 0;
  double elapsed = time_events(consumer, count);
  if (events != count)
    fail("events that have not arrived");
  double bare = time_bare(count);
  jp_callback_release(consumer);
  printf("{\"events\": %.0f, \"bare\": %.0f}\n", (double)count * NS_IN_S / elapsed,
         (double)count * NS_IN_S / bare);
}

/* ---- threads that wait ---- */

static void answer_never(void *context, struct jp_callback_call *of_java)
{
  long *waiting = context;
  jp_callback_answer_later(of_java);
  ++*waiting;
}

static void start_thread(struct jp_callback *runnable)
{
  struct jp_chain *chain = jp_chain_create(the_client);
  jp_chain_create_object(chain, "thread", "java.lang.Thread",
                         JP_ARGUMENTS(jp_as_type("java.lang.Runnable", jp_callback_argument(runnable))));
  jp_chain_call(chain, NULL, "setDaemon", JP_ARGUMENTS(jp_boolean(true)));
  jp_chain_call(chain, NULL, "start", JP_NO_ARGUMENTS);
  if (jp_chain_send(chain, TIMEOUT_MS, &the_error) != JP_CLIENT_OK)
    fail("a Java thread");
  jp_chain_destroy(chain);
}

static void hold(long count)
{
  long waiting = 0;
  struct jp_callback *runnable = create(answer_never, &waiting, false, false);
  struct pollfd loop = {.fd = jp_client_descriptor(the_client), .events = POLLIN};
  for (long i = 0; i < count; i++)
    start_thread(runnable);
  while (waiting < count) {
    if (poll(&loop, 1, TIMEOUT_MS) <= 0 || jp_client_process(the_client, &the_error) != JP_CLIENT_OK)
      fail("Java threads that call");
  }
  puts("");
  fflush(stdout);
  while (getchar() != EOF)
    continue;
}

int main(int count, char **words)
{
  static const struct {
    const char *name;
    void (*run)(long count);
  } measures[] = {
      {"calls", measure_calls}, {"sort", measure_sort}, {"events", measure_events}, {"hold", hold}};
  long number = count >= 4 ? strtol(words[3], NULL, 10) : 0;
  if (count == 5)
    writer_core = atoi(words[4]);
  if (number <= 0 || number > INT32_MAX) {
    fprintf(stderr, "usage: jpeer-bench-callbacks ADDRESS calls|sort|events|hold COUNT\n");
    return 2;
  }
  if (jp_client_open(words[1], NULL, &the_client, &the_error) != JP_CLIENT_OK)
    fail(words[1]);
  for (size_t i = 0; i < sizeof measures / sizeof measures[0]; i++) {
    if (strcmp(words[2], measures[i].name) == 0)
      measures[i].run(number);
  }
  jp_client_close(the_client);
  return 0;
}

/* client_callbacks URL SCENARIO: what test_client_callbacks.py has Java call in a program. */
#include "scenario.h"

#include <jpeer/client.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *url;

enum { TIMEOUT_MS = 30000 };

static struct jp_client *open_client(const char *peer_id)
{
  const struct jp_client_config config = {.size = sizeof config, .peer_id = peer_id};
  struct jp_client *client;
  struct jp_client_error error;
  enum jp_client_status status = jp_client_open(url, &config, &client, &error);
  CHECK(status == JP_CLIENT_OK, "%s", error.text);
  return client;
}

static struct jp_answer *ask(struct jp_client *client, struct jp_request request)
{
  struct jp_answer *answer;
  struct jp_client_error error;
  enum jp_client_status status = jp_client_call(client, &request, TIMEOUT_MS, &answer, &error);
  CHECK(status == JP_CLIENT_OK, "%s", error.text);
  return answer;
}

static void run(struct jp_client *client, struct jp_request request)
{
  jp_answer_free(ask(client, request));
}

/* The object is the caller's. */
static struct jp_ref *make(struct jp_client *client, struct jp_request request)
{
  struct jp_answer *answer = ask(client, request);
  struct jp_ref *ref = jp_ref_keep(jp_answer_ref(answer));
  CHECK(ref != NULL, "the answer has no ref");
  jp_answer_free(answer);
  return ref;
}

static int64_t number_of(struct jp_client *client, struct jp_request request)
{
  struct jp_answer *answer = ask(client, request);
  int64_t value = 0;
  CHECK(jp_answer_integer(answer, &value), "the answer is no integer");
  jp_answer_free(answer);
  return value;
}

/* The class of the throwable that the request ends with, and its cause's; "" where there is none. */
static void check_throws(struct jp_client *client, struct jp_request request, const char *type,
                         const char *message, const char *cause)
{
  struct jp_answer *answer;
  struct jp_client_error error;
  enum jp_client_status status = jp_client_call(client, &request, TIMEOUT_MS, &answer, &error);
  CHECK(status == JP_CLIENT_REMOTE, "%d instead of %s", (int)status, type);
  const struct jp_throwable *throwable = jp_answer_throwable(answer);
  CHECK(throwable->type != NULL && strcmp(throwable->type, type) == 0, "%s", error.text);
  CHECK(message == NULL || (throwable->message != NULL && strstr(throwable->message, message) != NULL), "%s",
        error.text);
  const char *found = throwable->cause == NULL ? "" : throwable->cause->type;
  CHECK(cause == NULL || strcmp(found, cause) == 0, "%s instead of %s", found, cause);
  jp_answer_free(answer);
}

/* ---- objects that Java calls ---- */

struct object {
  struct jp_client *client;
  struct jp_callback *callback;
  int calls;
  int released;
  int64_t last;
  struct jp_ref *optional; /* of go_deeper */
};

static void count_release(void *context)
{
  ((struct object *)context)->released++;
}

static struct jp_argument give(struct object *object, struct jp_client *client,
                               jp_callback_function *function, struct jp_callback_config config)
{
  struct jp_client_error error;
  *object = (struct object){.client = client};
  config.size = sizeof config;
  config.function = function;
  config.released = count_release;
  config.context = object;
  enum jp_client_status status = jp_callback_create(client, &config, &object->callback, &error);
  CHECK(status == JP_CLIENT_OK, "%s", error.text);
  return jp_callback_argument(object->callback);
}

static const struct jp_callback_config plain;

static int64_t argument_of(const struct jp_callback_call *call, size_t index)
{
  int64_t value = 0;
  CHECK(jp_answer_integer(jp_callback_argument_at(call, index), &value), "argument %zu is no integer", index);
  return value;
}

static void give_back(struct jp_callback_call *call, struct jp_argument value)
{
  struct jp_client_error error;
  CHECK(jp_callback_return(call, &value, &error) == JP_CLIENT_OK, "%s", error.text);
}

/* As an Integer, which every Object is converted from. */
static struct jp_argument integer(int64_t value)
{
  return jp_as_type("java.lang.Integer", jp_int((int32_t)value));
}

static struct jp_ref *make_list(struct jp_client *client, int count)
{
  struct jp_argument items[1000];
  for (int i = 0; i < count; i++)
    items[i] = integer((int64_t)i * 7919 % count);
  return make(client, jp_build_constructor_call("java.util.ArrayList",
                                                JP_ARGUMENTS(jp_list(NULL, items, (size_t)count))));
}

static int64_t element_of(struct jp_client *client, const struct jp_ref *list, int index)
{
  return number_of(client, jp_build_instance_method_call("java.util.List", "get", jp_object(list),
                                                         JP_ARGUMENTS(jp_int(index))));
}

/* ---- a comparator ---- */

static void compare(void *context, struct jp_callback_call *call)
{
  struct object *object = context;
  int64_t left = argument_of(call, 0);
  int64_t right = argument_of(call, 1);
  object->calls++;
  CHECK(strcmp(jp_callback_interface(call), "java.util.Comparator") == 0, "%s", jp_callback_interface(call));
  CHECK(strcmp(jp_callback_method(call), "compare") == 0, "%s", jp_callback_method(call));
  CHECK(strcmp(jp_callback_parameter_type(call, 1), "java.lang.Object") == 0, "%s",
        jp_callback_parameter_type(call, 1));
  give_back(call, jp_int((left > right) - (left < right)));
}

static void sort(struct jp_client *client, const struct jp_ref *list, struct jp_argument comparator)
{
  run(client, jp_build_instance_method_call("java.util.List", "sort", jp_object(list), &comparator, 1));
}

static void run_sort(void)
{
  enum { COUNT = 500 };
  struct jp_client *client = open_client(NULL);
  struct object object;
  struct jp_ref *list = make_list(client, COUNT);
  sort(client, list, give(&object, client, compare, (struct jp_callback_config){.borrow = true}));
  CHECK(object.calls >= COUNT - 1, "%d", object.calls);
  for (int i = 0; i < COUNT; i += 99)
    CHECK(element_of(client, list, i) == i, "%d", i);
  CHECK(jp_client_ref_count(client) == 1, "%zu", jp_client_ref_count(client));
  jp_ref_release(list);
  jp_callback_release(object.callback);
  jp_client_close(client);
  CHECK(object.released == 1, "%d", object.released);
}

/* Java lets go of it when its garbage collector has found that nobody has it. */
static void run_released(void)
{
  struct jp_client *client = open_client(NULL);
  struct object object;
  struct jp_ref *list = make_list(client, 10);
  sort(client, list, give(&object, client, compare, plain));
  sort(client, list, jp_callback_argument(object.callback));
  jp_callback_release(object.callback);
  for (int i = 0; object.released == 0; i++) {
    CHECK(i < POLLS_MAX, "Java keeps it");
    run(client, jp_build_class_method_call("java.lang.System", "gc", JP_NO_ARGUMENTS));
  }
  jp_ref_release(list);
  jp_client_close(client);
}

/* ---- default methods ---- */

static void run_in_reverse(void *context, struct jp_callback_call *call)
{
  struct object *object = context;
  object->last = strcmp(jp_callback_method(call), "reversed") == 0;
  if (object->last == 0)
    compare(context, call);
  else
    give_back(call, jp_callback_argument(object->callback)); /* the object itself: nothing is reversed */
}

static void check_reversed(struct jp_client *client, const char *const *overrides, int64_t first)
{
  struct object object;
  struct jp_ref *list = make_list(client, 20);
  struct jp_argument given =
      give(&object, client, run_in_reverse, (struct jp_callback_config){.overrides = overrides});
  struct jp_ref *comparator =
      make(client, jp_build_class_method_call("java.util.Objects", "requireNonNull",
                                              JP_ARGUMENTS(jp_as_type("java.util.Comparator", given))));
  struct jp_ref *reversed =
      make(client, jp_build_instance_method_call("java.util.Comparator", "reversed", jp_object(comparator),
                                                 JP_NO_ARGUMENTS));
  CHECK(object.calls == 0 && (object.last == 1) == (overrides != NULL), "%d calls", object.calls);
  sort(client, list, jp_object(reversed));
  CHECK(element_of(client, list, 0) == first, "%lld", (long long)first);
  jp_ref_release(list);
  jp_ref_release(comparator);
  jp_ref_release(reversed);
  jp_callback_release(object.callback);
}

static void run_default_methods(void)
{
  const char *const overrides[] = {"reversed", NULL};
  struct jp_client *client = open_client(NULL);
  check_reversed(client, NULL, 19);
  check_reversed(client, overrides, 0);
  jp_client_close(client);
}

/* ---- listeners ---- */

static void listen(void *context, struct jp_callback_call *call)
{
  struct object *object = context;
  int64_t number = argument_of(call, 0);
  CHECK(number == object->last + 1, "%lld after %lld", (long long)number, (long long)object->last);
  object->last = number;
  object->calls++;
  CHECK(jp_callback_return(call, NULL, NULL) == JP_CLIENT_OK, "the answer");
}

static void check_listener(struct jp_client *client, bool oneway)
{
  enum { COUNT = 300 };
  struct object object;
  struct jp_ref *list = make_list(client, COUNT);
  run(client, jp_build_class_method_call("java.util.Collections", "sort", JP_ARGUMENTS(jp_object(list))));
  struct jp_argument listener = give(&object, client, listen, (struct jp_callback_config){.oneway = oneway});
  object.last = -1;
  run(client, jp_build_instance_method_call("java.util.List", "forEach", jp_object(list), &listener, 1));
  CHECK(object.calls == COUNT, "%d", object.calls); /* also events are ahead of the answer */
  jp_ref_release(list);
  jp_callback_release(object.callback);
}

static void run_listeners(void)
{
  struct jp_client *client = open_client(NULL);
  check_listener(client, true);
  check_listener(client, false);
  jp_client_close(client);
}

/* ---- recursion ---- */

static struct jp_request map_number(struct jp_ref *optional, const struct jp_argument *function)
{
  return jp_build_instance_method_call("java.util.Optional", "map", jp_object(optional), function, 1);
}

static struct jp_ref *make_optional(struct jp_client *client, int64_t number)
{
  return make(client, jp_build_class_method_call("java.util.Optional", "of", JP_ARGUMENTS(integer(number))));
}

/* The sum of the numbers up to its argument. */
static void sum_up(void *context, struct jp_callback_call *call)
{
  struct object *object = context;
  int64_t number = argument_of(call, 0);
  object->calls++;
  if (number == 0) {
    give_back(call, integer(0));
    return;
  }
  const struct jp_argument self = jp_callback_argument(object->callback);
  struct jp_ref *optional = make_optional(object->client, number - 1);
  struct jp_ref *mapped = make(object->client, map_number(optional, &self));
  int64_t below =
      number_of(object->client, jp_build_instance_method_call("java.util.Optional", "get", jp_object(mapped),
                                                              JP_NO_ARGUMENTS));
  jp_ref_release(optional);
  jp_ref_release(mapped);
  give_back(call, integer(number + below));
}

static void run_recursion(void)
{
  enum { DEPTH = 40 };
  struct jp_client *client = open_client(NULL);
  struct object object;
  const struct jp_argument function = give(&object, client, sum_up, plain);
  struct jp_ref *optional = make_optional(client, DEPTH);
  struct jp_ref *mapped = make(client, map_number(optional, &function));
  CHECK(number_of(client, jp_build_instance_method_call("java.util.Optional", "get", jp_object(mapped),
                                                        JP_NO_ARGUMENTS)) == DEPTH * (DEPTH + 1) / 2,
        "the sum");
  CHECK(object.calls == DEPTH + 1, "%d", object.calls);
  jp_ref_release(optional);
  jp_ref_release(mapped);
  jp_callback_release(object.callback);
  jp_client_close(client);
}

/* ---- threads of Java ---- */

static void ask_and_answer(void *context, struct jp_callback_call *call)
{
  struct object *object = context;
  object->calls++;
  give_back(call, integer(number_of(object->client,
                                    jp_build_class_method_call("java.lang.Math", "addExact",
                                                               JP_ARGUMENTS(jp_int(1), jp_int(2))))));
}

static void run_pool(void)
{
  enum { THREADS = 8, TASKS = 40 };
  struct jp_client *client = open_client(NULL);
  struct object object;
  struct jp_argument tasks[TASKS];
  const struct jp_argument task =
      jp_as_type("java.util.concurrent.Callable", give(&object, client, ask_and_answer, plain));
  for (int i = 0; i < TASKS; i++)
    tasks[i] = task;
  struct jp_ref *pool =
      make(client, jp_build_class_method_call("java.util.concurrent.Executors", "newFixedThreadPool",
                                              JP_ARGUMENTS(jp_int(THREADS))));
  struct jp_ref *futures =
      make(client, jp_build_instance_method_call("java.util.concurrent.ExecutorService", "invokeAll",
                                                 jp_object(pool), JP_ARGUMENTS(jp_list(NULL, tasks, TASKS))));
  CHECK(object.calls == TASKS, "%d", object.calls);
  run(client, jp_build_instance_method_call("java.util.concurrent.ExecutorService", "shutdown",
                                            jp_object(pool), JP_NO_ARGUMENTS));
  jp_ref_release(pool);
  jp_ref_release(futures);
  jp_callback_release(object.callback);
  jp_client_close(client);
}

/* ---- exceptions ---- */

static const char *thrown; /* NULL: no answer; "": an object */

static void throw(void *context, struct jp_callback_call *call)
{
  struct object *object = context;
  if (thrown == NULL)
    return;
  if (thrown[0] != '\0') {
    CHECK(jp_callback_throw(call, thrown, "the text", NULL) == JP_CLIENT_OK, "the answer");
    return;
  }
  struct jp_ref *ref = make(object->client, jp_build_constructor_call("java.lang.IllegalArgumentException",
                                                                      JP_ARGUMENTS(jp_string("the text"))));
  CHECK(jp_callback_throw_object(call, ref, NULL) == JP_CLIENT_OK, "the answer");
  jp_ref_release(ref);
}

static void run_throws(void)
{
  struct jp_client *client = open_client(NULL);
  struct object object;
  const char *const interfaces[] = {"java.util.function.Function", "java.util.concurrent.Callable", NULL};
  const struct jp_argument function =
      give(&object, client, throw, (struct jp_callback_config){.interfaces = interfaces});
  struct jp_ref *optional = make_optional(client, 1);
  struct jp_request map = map_number(optional, &function);
  thrown = "java.lang.IllegalStateException";
  check_throws(client, map, "java.lang.IllegalStateException", "the text", "");
  thrown = "";
  check_throws(client, map, "java.lang.IllegalArgumentException", "the text", "");
  thrown = "java.io.IOException"; /* apply declares none */
  check_throws(client, map, "java.lang.reflect.UndeclaredThrowableException", NULL, "java.io.IOException");
  thrown = "com.example.Unknown";
  check_throws(client, map, "jpeer.peer.CallbackException", "the text", "");
  thrown = "java.lang.String";
  check_throws(client, map, "jpeer.peer.CallbackException", "the text", "");
  thrown = NULL;
  check_throws(client, map, "jpeer.peer.CallbackException", "the client's function has not answered", "");
  thrown = "java.io.IOException"; /* call declares Exception */
  struct jp_ref *task =
      make(client, jp_build_constructor_call("java.util.concurrent.FutureTask", JP_ARGUMENTS(function)));
  run(client, jp_build_instance_method_call("java.util.concurrent.FutureTask", "run", jp_object(task),
                                            JP_NO_ARGUMENTS));
  check_throws(client,
               jp_build_instance_method_call("java.util.concurrent.FutureTask", "get", jp_object(task),
                                             JP_NO_ARGUMENTS),
               "java.util.concurrent.ExecutionException", NULL, "java.io.IOException");
  jp_ref_release(task);
  jp_ref_release(optional);
  jp_callback_release(object.callback);
  jp_client_close(client);
}

/* ---- ends ---- */

static struct jp_callback_call *kept;

static void keep_call(void *context, struct jp_callback_call *call)
{
  struct object *object = context;
  object->calls++;
  jp_callback_answer_later(call);
  kept = call;
}

/* Java waits for the answer of a client that goes; another one of the same session sees what becomes of it. */
static void run_vanish(void)
{
  static const char session[] = "3fa2c1de-5a0b-4c7e-9d21-0f6a1b2c3d4e";
  struct jp_client *client = open_client(session);
  struct jp_client *other = open_client(session);
  struct object object;
  struct jp_argument task = jp_as_type("java.lang.Runnable", give(&object, client, keep_call, plain));
  struct jp_ref *future = make(client, jp_build_class_method_call("java.util.concurrent.CompletableFuture",
                                                                  "runAsync", JP_ARGUMENTS(task)));
  struct jp_ref *shared =
      make(other, jp_build_class_method_call("java.util.Objects", "requireNonNull",
                                             JP_ARGUMENTS(jp_object_number(jp_ref_number(future)))));
  struct pollfd loop = {.fd = jp_client_descriptor(client), .events = POLLIN};
  while (object.calls == 0) {
    CHECK(poll(&loop, 1, TIMEOUT_MS) == 1, "nothing came");
    CHECK(jp_client_process(client, NULL) == JP_CLIENT_OK, "the connection has ended");
  }
  jp_ref_release(future);
  jp_client_close(client);
  check_throws(other,
               jp_build_instance_method_call("java.util.concurrent.CompletableFuture", "get",
                                             jp_object(shared), JP_NO_ARGUMENTS),
               "java.util.concurrent.ExecutionException", NULL, "jpeer.peer.CallbackException");
  jp_ref_release(shared);
  jp_client_close(other);
  CHECK(jp_callback_return(kept, NULL, NULL) == JP_CLIENT_CLOSED, "the answer");
  jp_callback_release(object.callback);
}

static void check_refused(struct jp_client *client, struct jp_argument argument, const char *words)
{
  struct jp_request request = jp_build_class_method_call("java.util.Objects", "requireNonNull", &argument, 1);
  struct jp_answer *answer;
  struct jp_client_error error;
  enum jp_client_status status = jp_client_call(client, &request, TIMEOUT_MS, &answer, &error);
  CHECK(status == JP_CLIENT_REMOTE && strstr(error.text, words) != NULL, "%d %s", (int)status, error.text);
  jp_answer_free(answer);
}

/* What the peer does not take it has read all the same. */
static void run_refused(void)
{
  struct jp_client *client = open_client(NULL);
  struct object object;
  struct jp_argument given = give(&object, client, compare, plain);
  check_refused(client, given, "requireNonNull(callback)");
  check_refused(client, jp_as_type("java.lang.String", given), "interface");
  check_refused(client, jp_as_type("com.example.Unknown", given), "com.example.Unknown");
  jp_callback_release(object.callback);
  for (int i = 0; object.released == 0; i++) {
    CHECK(i < POLLS_MAX, "the peer keeps it");
    usleep(1000);
    run(client, jp_build_ping());
  }
  jp_client_close(client);
}

int main(int argc, char **argv)
{
  static const struct {
    const char *name;
    void (*run)(void);
  } scenarios[] = {
      {"sort", run_sort},           {"released", run_released},   {"default-methods", run_default_methods},
      {"listeners", run_listeners}, {"recursion", run_recursion}, {"pool", run_pool},
      {"throws", run_throws},       {"vanish", run_vanish},       {"refused", run_refused},
  };
  CHECK(argc == 3, "URL SCENARIO");
  url = argv[1];
  size_t i = 0;
  while (i < sizeof scenarios / sizeof scenarios[0] && strcmp(argv[2], scenarios[i].name) != 0)
    i++;
  CHECK(i < sizeof scenarios / sizeof scenarios[0], "no scenario %s", argv[2]);
  scenarios[i].run();
  return 0;
}

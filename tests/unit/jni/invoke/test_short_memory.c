/* Each allocation of an operation fails once. In each case the result of the operation is right, or its error
 * says that memory is short. */
#include "tests/unit/jni/members_cases.h"
#include "tests/unit/jni/with_jvm.h"

#include <stdlib.h>

/* Counts down to the allocation of an operation that fails. 0: that allocation has failed, or no allocation
 * fails. */
static size_t until_failure;
static bool is_running;

static void note_running(bool runs)
{
  is_running = runs;
}

static bool fails_now(void)
{
  return is_running && until_failure > 0 && --until_failure == 0;
}

/* NOLINTBEGIN(bugprone-reserved-identifier): the names that ld --wrap requires. */
void *__real_arena_alloc(struct arena *arena, size_t size);
void *__real_arena_calloc(struct arena *arena, size_t count, size_t size);
struct text __real_arena_text(struct arena *arena, struct text t);
struct text __real_arena_shorten(struct arena *arena, struct text t, size_t max);
struct text __real_arena_vprintf(struct arena *arena, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_reallocarray(void *memory, size_t count, size_t size);

void *__wrap_arena_alloc(struct arena *arena, size_t size);
void *__wrap_arena_calloc(struct arena *arena, size_t count, size_t size);
struct text __wrap_arena_text(struct arena *arena, struct text t);
struct text __wrap_arena_shorten(struct arena *arena, struct text t, size_t max);
struct text __wrap_arena_vprintf(struct arena *arena, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
struct text __wrap_arena_printf(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_reallocarray(void *memory, size_t count, size_t size);

void *__wrap_arena_alloc(struct arena *arena, size_t size)
{
  return fails_now() ? NULL : __real_arena_alloc(arena, size);
}

void *__wrap_arena_calloc(struct arena *arena, size_t count, size_t size)
{
  return fails_now() ? NULL : __real_arena_calloc(arena, count, size);
}

struct text __wrap_arena_text(struct arena *arena, struct text t)
{
  return fails_now() ? TEXT_ABSENT : __real_arena_text(arena, t);
}

struct text __wrap_arena_shorten(struct arena *arena, struct text t, size_t max)
{
  return t.len > max && fails_now() ? TEXT_ABSENT : __real_arena_shorten(arena, t, max);
}

struct text __wrap_arena_vprintf(struct arena *arena, const char *format, va_list args)
{
  return fails_now() ? TEXT_ABSENT : __real_arena_vprintf(arena, format, args);
}

struct text __wrap_arena_printf(struct arena *arena, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  struct text t = fails_now() ? TEXT_ABSENT : __real_arena_vprintf(arena, format, args);
  va_end(args);
  return t;
}

void *__wrap_malloc(size_t size)
{
  return fails_now() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
  return fails_now() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
  return fails_now() ? NULL : __real_realloc(memory, size);
}

void *__wrap_reallocarray(void *memory, size_t count, size_t size)
{
  return fails_now() ? NULL : __real_reallocarray(memory, count, size);
}

/* NOLINTEND(bugprone-reserved-identifier) */

static bool mentions_memory(struct text got)
{
  return memmem(got.data, got.len, "memory", strlen("memory")) != NULL;
}

/* Runs an operation repeatedly, until no allocation fails any more. Returns the number of errors about
 * memory. */
static size_t check(const char *method, const char *params, const char *wanted)
{
  size_t errors_seen = 0;
  session.notify_run = note_running;
  for (size_t allocation = 1;; allocation++) {
    uint32_t ref;
    until_failure = allocation;
    struct text got = members_run(&session, method, params, &ref);
    if (until_failure > 0)
      break;
    bool is_told = mentions_memory(got);
    errors_seen += is_told;
    if (is_told && !text_starts_with(got, TEXT("-32603 ")))
      fail_msg("%s %s, allocation %zu: %.*s", method, params, allocation, TEXT_ARGS(got));
  }
  until_failure = 0;
  session.notify_run = NULL;
  members_check(method, params, wanted, NULL);
  return errors_seen;
}

UNIT_TEST(arguments_and_results)
{
  assert_true(check("call", "{'type':'fixtures.Arguments','method':'echoString','args':['abc']}",
                    "java.lang.String abc") > 0);
  assert_true(check("new", "{'type':'java.util.ArrayList','args':[[1,'a',{'type':'int[]','value':[1,2]}]]}",
                    "java.util.ArrayList ref") > 0);
  assert_true(
      check("new", "{'type':'java.util.TreeMap','args':[{'a':[1],'b':null}]}", "java.util.TreeMap ref") > 0);
  assert_true(check("new", "{'type':'int[][]','args':[[1,2],[3]]}", "[[I ref") > 0);
  assert_true(
      check("call",
            "{'type':'fixtures.Declared','method':'optionalLong','args':[{'type':'Optional','value':[1]}]}",
            "java.lang.String Long:2") > 0);
  assert_true(check("call",
                    "{'type':'fixtures.Keyed','method':'any','args':[{'value':{'5':1},'keys':'int'}]}",
                    "java.lang.String [Integer:5=Integer:1]") > 0);
}

UNIT_TEST(results_by_value)
{
  session.by_value = true;
  assert_true(check("call", "{'type':'fixtures.Iterables','method':'pairs','args':[2]}",
                    "{\"a\":\"xx\",\"b\":\"xx\",\"c\":\"xx\"}") > 0);
  assert_true(
      check("call", "{'type':'fixtures.Iterables','method':'strings','args':[2]}", "[\"s0\",\"s1\"]") > 0);
  session.by_value = false;
}

UNIT_TEST(fetches)
{
  members_check("call", "{'type':'fixtures.Iterables','method':'pairs','args':[2]}",
                "java.util.LinkedHashMap ref", "map");
  members_check("call", "{'type':'fixtures.Iterables','method':'strings','args':[2]}",
                "java.util.ArrayList ref", "list");
  session.element_types = true;
  assert_true(check("jpeer.fetch", "{'instance':$map}",
                    "{\"elements\":[[\"a\",\"xx\"],[\"b\",\"xx\"],[\"c\",\"xx\"]],\"done\":true}") > 0);
  session.element_types = false;
  assert_true(check("jpeer.fetch", "{'instance':$list}", "{\"elements\":[\"s0\",\"s1\"],\"done\":true}") > 0);
}

/* An error without memory for its text only says that memory is short. */
UNIT_TEST(errors)
{
  assert_true(check("call", "{'type':'fixtures.Arguments','method':'echoString','args':[[1]]}", "-3260") > 0);
  assert_true(check("call", "{'type':'no.such.Class','method':'a','args':[]}", "-32601 ") > 0);
  assert_true(check("get", "{'type':'fixtures.Arguments','field':'none'}", "-32601 ") > 0);
}

static int run_in_jvm(__attribute__((unused)) struct jvm *jvm,
                      __attribute__((unused)) struct jvm_thread *thread)
{
  return UNIT_RUN(members_open, members_close);
}

/* JVM_MAIN is not used, because the ledger of references also allocates, and ends the process if an
 * allocation fails. */
int main(void)
{
  return with_jvm_uncounted(run_in_jvm);
}

#include "stub_jni.h"
#include "judge/judge.h"

#include "jni/figures.h"
#include "jni/loading.h"
#include "stub_callbacks.h"
#if JPEER_FASTPATH
#include "jni/fastpath/whole_number_call.h"
#endif

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* These stubs do not use all of their parameters. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

enum { OBJECTS_MAX = 256, THREADS_MAX = 64 };

struct jvm_objects {
  const struct jvm_objects_owner *owner;
  void *owner_context;
  size_t max;
  _Atomic size_t count;
  uint32_t last_ref;
  bool was_cleared;
  bool held[OBJECTS_MAX];
};

struct stub_jni stub;

static pthread_t threads[THREADS_MAX];
static size_t thread_count;
static char own_thread;
static char spawned_thread;
static char machine;

struct jvm_thread *stub_thread(void)
{
  return (struct jvm_thread *)(void *)&own_thread;
}

struct jvm *stub_jvm(void)
{
  return (struct jvm *)(void *)&machine;
}

void stub_reset(struct stub_member *members, size_t count)
{
  int tables = atomic_load(&stub.tables);
  memset(&stub, 0, sizeof stub);
  atomic_store(&stub.tables, tables);
  stub.members = members;
  stub.member_count = count;
  for (size_t i = 0; i < count; i++) {
    members[i].was_resolved = false;
    memset(members[i].verdicts, 0, sizeof members[i].verdicts);
  }
}

/* ---- threads ---- */

struct start {
  void (*run)(void *argument, struct jvm_thread *thread);
  void *argument;
};

static void *run_thread(void *argument)
{
  struct start start = *(struct start *)argument;
  free(argument);
  start.run(start.argument, (struct jvm_thread *)(void *)&spawned_thread);
  return NULL;
}

enum jp_status jvm_spawn(struct jvm *jvm, const char *name,
                         void (*run)(void *argument, struct jvm_thread *thread), void *argument,
                         struct jp_error *error)
{
  struct start *start = malloc(sizeof *start);
  if (start == NULL || thread_count == THREADS_MAX) {
    free(start);
    return jp_fail(error, JP_LIMIT, "no more threads");
  }
  *start = (struct start){run, argument};
  if (pthread_create(&threads[thread_count], NULL, run_thread, start) != 0) {
    free(start);
    return jp_fail(error, JP_LIMIT, "no more threads");
  }
  thread_count++;
  return JP_OK;
}

void stub_join_threads(void)
{
  while (thread_count > 0)
    pthread_join(threads[--thread_count], NULL);
}

void jvm_thread_keep_changes(struct jvm_thread *thread)
{
  (void)thread;
}

bool jvm_thread_is_exiting(struct jvm *jvm, const struct jvm_thread *thread)
{
  return atomic_load(&stub.are_exiting);
}

void jvm_gc(struct jvm_thread *thread)
{
  atomic_fetch_add(&stub.collected, 1);
  if (stub.while_collecting != NULL)
    stub.while_collecting();
}

struct jvm_figure_reader *jvm_figure_reader_create(void)
{
  return (struct jvm_figure_reader *)(void *)&stub; /* only passed on */
}

void jvm_figure_reader_destroy(struct jvm_thread *thread, struct jvm_figure_reader *reader)
{
  (void)thread, (void)reader;
}

void jvm_figures_read_heap(struct jvm_thread *thread, struct jvm_figures *figures)
{
  (void)thread;
  *figures = (struct jvm_figures){.heap_used = 1, .heap_committed = 2, .heap_max = 3};
}

void jvm_figures_read_beans(struct jvm_thread *thread, struct jvm_figure_reader *reader,
                            struct jvm_figures *figures)
{
  (void)thread, (void)reader;
  figures->threads = 4;
}

void jvm_thread_give_name(struct jvm_thread *by, const struct jvm_thread *thread, const char *own,
                          const char *name, struct jvm_given_name *given)
{
  snprintf(stub.given_name, sizeof stub.given_name, "%s", name);
  atomic_fetch_add(&stub.names_given, 1);
  *given = (struct jvm_given_name){stub.given_name, stub.given_name};
}

void jvm_thread_restore_name(struct jvm_thread *thread, struct jvm_given_name *given)
{
  atomic_fetch_sub(&stub.names_given, 1);
  *given = (struct jvm_given_name){0};
}

void jvm_thread_interrupt(struct jvm_thread *by, const struct jvm_thread *thread)
{
  (void)by;
  (void)thread;
  atomic_fetch_add(&stub.interrupts, 1);
  atomic_store(&stub.is_interrupted, true);
}

size_t jvm_thread_trace(struct jvm_thread *by, const struct jvm_thread *thread, struct arena *arena,
                        struct text *frames, size_t max)
{
  (void)by, (void)thread, (void)arena, (void)max;
  frames[0] = TEXT("java.base/java.lang.Thread.sleep(Native Method)");
  return 1;
}

bool jvm_thread_clear_interrupt(struct jvm_thread *thread)
{
  (void)thread;
  return atomic_exchange(&stub.is_interrupted, false);
}

/* ---- objects ---- */

enum jp_status jvm_objects_create(size_t max_objects, struct jvm_objects **objects)
{
  *objects = calloc(1, sizeof **objects);
  if (*objects == NULL)
    return JP_NO_MEMORY;
  (*objects)->max = max_objects;
  atomic_fetch_add(&stub.tables, 1);
  return JP_OK;
}

void jvm_objects_destroy(struct jvm_thread *thread, struct jvm_objects *objects)
{
  if (thread == NULL)
    abort(); /* the rule under test: this is never called without a thread that may use Java */
  if (thread != stub_thread())
    atomic_fetch_add(&stub.foreign_ends, 1);
  atomic_fetch_sub(&stub.tables, 1);
  free(objects);
}

/* The stub's tables count in no tally and in no quota. */
void jvm_objects_set_tally(struct jvm_objects *objects, struct jvm_objects_tally *tally)
{
  (void)objects, (void)tally;
}

void jvm_objects_set_quota(struct jvm_objects *objects, struct quota *quota, const char *name)
{
  (void)objects, (void)quota, (void)name;
}

void jvm_objects_set_owner(struct jvm_objects *objects, const struct jvm_objects_owner *owner, void *context)
{
  objects->owner = owner;
  objects->owner_context = context;
}

void jvm_objects_begin_after(struct jvm_objects *objects, uint32_t ref)
{
  objects->last_ref = ref;
}

uint32_t jvm_objects_last_ref(const struct jvm_objects *objects)
{
  return objects->last_ref;
}

void jvm_stored_fini(struct jvm_stored *stored)
{
  free(stored->refs);
  *stored = (struct jvm_stored){0};
}

static void leave_owner(const struct jvm_objects *objects)
{
  if (objects->count == 0 && objects->owner != NULL)
    objects->owner->leave(objects->owner_context);
}

enum jp_status stub_put(struct jvm_objects *objects, struct jvm_stored *stored, struct jp_error *error)
{
  if (objects->count >= objects->max || objects->last_ref + 1 >= OBJECTS_MAX)
    return jp_fail(error, JP_LIMIT, "session-max-objects");
  if (objects->count == 0 && objects->owner != NULL) {
    enum jp_status status = objects->owner->enter(objects->owner_context, stub_thread(), error);
    if (status != JP_OK)
      return status;
  }
  objects->held[++objects->last_ref] = true;
  objects->count++;
  if (stored != NULL) {
    stored->refs = reallocarray(stored->refs, stored->count + 1, sizeof *stored->refs);
    if (stored->refs == NULL)
      abort();
    stored->refs[stored->count++] = objects->last_ref;
    stored->capacity = stored->count;
  }
  return JP_OK;
}

void jvm_objects_roll_back(struct jvm_thread *thread, struct jvm_objects *objects, struct jvm_stored *stored,
                           size_t kept)
{
  while (stored->count > kept) {
    if (jvm_objects_delete(thread, objects, stored->refs[--stored->count]) != JP_OK)
      stub.missed++;
  }
}

/* The ref of each object of the stub is sent once. */
void jvm_objects_release_sent(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref,
                              uint32_t count)
{
  if (count == 0)
    abort();
  enum jp_status status = jvm_objects_delete(thread, objects, ref);
  (void)status; /* an unknown ref is not an error */
}

size_t jvm_objects_count(const struct jvm_objects *objects)
{
  if (stub.while_counting != NULL)
    stub.while_counting();
  return objects->count;
}

bool jvm_objects_is_unused(const struct jvm_objects *objects)
{
  return objects->last_ref == 0 && !objects->was_cleared;
}

enum jp_status jvm_objects_delete(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref)
{
  if (ref >= OBJECTS_MAX || !objects->held[ref])
    return JP_NOT_FOUND;
  objects->held[ref] = false;
  objects->count--;
  leave_owner(objects);
  return JP_OK;
}

void jvm_objects_clear(struct jvm_thread *thread, struct jvm_objects *objects)
{
  bool was_empty = objects->count == 0;
  memset(objects->held, 0, sizeof objects->held);
  objects->count = 0;
  if (!was_empty)
    leave_owner(objects);
  objects->was_cleared = true;
}

/* ---- members ---- */

enum jp_status jvm_request_begin(struct jvm_thread *thread)
{
  stub.frames++;
  return JP_OK;
}

void jvm_request_end(struct jvm_thread *thread)
{
  stub.frames--;
}

static struct stub_member *member_of(const struct operation *operation)
{
  for (size_t i = 0; i < stub.member_count; i++) {
    struct stub_member *member = &stub.members[i];
    if (text_equal(operation->type, text_of(member->type)) &&
        text_equal(operation->member, text_of(member->member)))
      return member;
  }
  return NULL;
}

static void fill_target(struct stub_member *member, const struct operation *operation,
                        struct jvm_target *target)
{
  *target = (struct jvm_target){.resolved = (struct resolved_member *)(void *)member,
                                .facts = {.kind = member->kind,
                                          .modifiers = member->modifiers,
                                          .named_class = operation->type,
                                          .declaring_class = operation->type,
                                          .runtime_class = TEXT_ABSENT,
                                          .member = operation->member,
                                          .verdicts = member->verdicts}};
}

struct text jvm_instance_class(const struct jvm_request *request, struct outcome *outcome)
{
  return TEXT("java.lang.Object");
}

enum jp_status jvm_resolve(const struct jvm_request *request, struct jvm_target *target,
                           struct outcome *outcome)
{
  struct judge *judge = request->judge;
  struct stub_member *member = member_of(request->operation);
  if (member != NULL)
    fill_target(member, request->operation, target);
  if (member != NULL && member->was_resolved &&
      judge_has_allowed(judge, request->operation->kind, target->facts.verdicts))
    return JP_OK;
  enum jp_status status = judge_operation(judge, request->operation, NULL, request->arena, outcome);
  if (status != JP_OK)
    return status;
  stub.resolved++;
  if (member == NULL) {
    outcome_fail(outcome, request->arena, FAILURE_NOT_FOUND, "java.lang.ClassNotFoundException", "%.*s",
                 TEXT_ARGS(request->operation->type));
    return JP_NOT_FOUND;
  }
  member->was_resolved = true;
  /* The stub's objects have no supertypes. */
  return judge_member(judge, request->operation->kind, &target->facts, request->arena, outcome);
}

static void give_callbacks(const struct jvm_request *request)
{
  const struct operation *operation = request->operation;
  for (size_t i = 0; request->callbacks != NULL && i < operation->arg_count; i++) {
    if (operation->args[i].kind == OP_CALLBACK)
      stub_proxy_give(request->callbacks, operation->args[i].callback->id);
  }
}

static bool has_receiver(const struct jvm_request *request)
{
  const struct operation *operation = request->operation;
  return request->objects != NULL && operation->has_instance && operation->instance < OBJECTS_MAX &&
         request->objects->held[operation->instance];
}

/* Computes the result of the member. False if the operation's values do not fit. */
static bool use_values(const struct stub_member *member, const struct jvm_request *request, int64_t *integer)
{
  const struct operation *operation = request->operation;
  int64_t sum = 0;
  if (member->has_receiver && !has_receiver(request))
    return false;
  if (!member->adds)
    return true;
  for (size_t i = 0; i < operation->arg_count; i++) {
    const struct op_value *arg = &operation->args[i];
    if (arg->kind != OP_INTEGER || arg->integer != (int32_t)arg->integer)
      return false;
    sum += arg->integer;
  }
  *integer = sum;
  return true;
}

static bool is_object(const struct outcome *outcome)
{
  return outcome->kind == OUTCOME_VALUE &&
         (outcome->ref != 0 || (outcome->has_value && outcome->value.kind == OP_TEXT));
}

bool jvm_result_become_ref(const struct jvm_request *request, bool by_value, struct outcome *outcome)
{
  struct jp_error error;
  if (request->result->object == NULL)
    return false;
  jvm_objects_roll_back(request->thread, request->objects, request->stored, request->result->stored_before);
  *outcome = (struct outcome){.kind = OUTCOME_VALUE, .type = outcome->type};
  if (stub_put(request->objects, request->stored, &error) != JP_OK) {
    outcome_fail(outcome, request->arena, FAILURE_SERVER, NULL, "%s", error.text);
    return true;
  }
  outcome->ref = request->objects->last_ref;
  outcome->has_value = by_value;
  outcome->value = (struct op_value){.kind = OP_REF, .type = outcome->type, .ref = outcome->ref};
  return true;
}

void jvm_result_hold(struct jvm_thread *thread, struct jvm_result *result)
{
  result->is_global = result->object != NULL;
}

/* The stub does not convert a text to a String. */
void jvm_release_text(struct jvm_thread *thread, struct op_shared_text *text)
{
}

void jvm_result_end(const struct jvm_request *request)
{
  *request->result = (struct jvm_result){.object = NULL};
}

void jvm_invoke(const struct jvm_request *request, const struct jvm_target *target, struct outcome *outcome)
{
  const struct stub_member *member = (const struct stub_member *)(void *)target->resolved;
  struct jvm_objects *objects = request->objects;
  stub.invoked++;
  *outcome = member->outcome;
  give_callbacks(request);
  if (!use_values(member, request, &outcome->value.integer))
    outcome_fail(outcome, request->arena, FAILURE_INVALID_PARAMS, NULL, "the values do not fit");
  if (request->result != NULL && is_object(outcome))
    *request->result = (struct jvm_result){
        .object = &machine, .stored_before = request->stored == NULL ? 0 : request->stored->count};
  if (outcome->ref == 0 || request->drops_result)
    return;
  struct jp_error error;
  if (stub_put(objects, request->stored, &error) != JP_OK)
    outcome_fail(outcome, request->arena, FAILURE_SERVER, NULL, "%s", error.text);
  else if (outcome->kind == OUTCOME_VALUE)
    outcome->ref = objects->last_ref;
}

void jvm_fetch(const struct jvm_request *request, struct outcome *outcome)
{
  *outcome = (struct outcome){.kind = OUTCOME_VOID};
  stub.invoked++;
  if (!has_receiver(request))
    outcome_fail(outcome, request->arena, FAILURE_SERVER, NULL, "No object found with objRef: %u",
                 request->operation->instance);
}

void jvm_columns(const struct jvm_request *request, struct outcome *outcome)
{
  jvm_fetch(request, outcome);
}

void jvm_rows(const struct jvm_request *request, struct outcome *outcome)
{
  jvm_fetch(request, outcome);
}

void jvm_assemble(const struct jvm_request *request, struct outcome *outcome)
{
  jvm_fetch(request, outcome);
}

void jvm_throwable_keep(struct jvm_thread *thread)
{
}

void jvm_throwable_store(const struct jvm_request *request, struct outcome *outcome)
{
}

bool jvm_describe(const struct jvm_request *request, struct op_description *look, struct outcome *outcome)
{
  stub.invoked++;
  look->class_name = TEXT("a.Looked");
  if (has_receiver(request))
    return true;
  outcome_fail(outcome, request->arena, FAILURE_SERVER, NULL, "No object found with objRef: %u",
               request->operation->instance);
  return false;
}

bool jvm_describe_class(const struct jvm_request *request, struct op_description *look,
                        struct outcome *outcome)
{
  look->class_name = request->operation->type;
  outcome_fail(outcome, request->arena, FAILURE_NOT_FOUND, "java.lang.ClassNotFoundException", "%.*s",
               TEXT_ARGS(request->operation->type));
  return false;
}

/* ---- executors ---- */

enum jp_status jvm_executor_run(struct jvm_thread *thread, const struct jvm_executor_call *call,
                                struct outcome *outcome)
{
  call->run(call->argument, thread);
  return JP_OK;
}

/* ---- whole numbers ---- */

#if JPEER_FASTPATH

bool jvm_whole_number_call_keep(const struct jvm_thread *thread, struct resolved_member *resolved,
                                const struct operation *operation, struct jvm_whole_number_call *call)
{
  const struct stub_member *member = (const struct stub_member *)(void *)resolved;
  if (member->whole_number == 0)
    return false;
  *call = (struct jvm_whole_number_call){
      .member = resolved, .serial = stub.serial, .result = member->whole_number};
  return true;
}

const uint64_t *jvm_whole_number_call_verdicts(const struct jvm_thread *thread,
                                               const struct jvm_whole_number_call *call)
{
  return call->serial == stub.serial ? ((const struct stub_member *)(void *)call->member)->verdicts : NULL;
}

enum jvm_whole_number jvm_whole_number_call_run(const struct jvm_request *request,
                                                const struct jvm_whole_number_call *call, int64_t *result)
{
  const struct stub_member *member = (const struct stub_member *)(void *)call->member;
  *result = member->outcome.value.integer;
  if (member->is_unfit || !use_values(member, request, result))
    return JVM_WHOLE_NUMBER_UNFIT;
  stub.whole_numbers++;
  stub.thrown = &member->outcome;
  if (member->outcome.kind == OUTCOME_ERROR)
    return JVM_WHOLE_NUMBER_THREW;
  return call->result == 'V' ? JVM_WHOLE_NUMBER_VOID : JVM_WHOLE_NUMBER_RESULT;
}

void jvm_whole_number_call_fail(const struct jvm_request *request, struct outcome *outcome)
{
  *outcome = *stub.thrown;
}

#endif

/* ---- metadata ---- */

struct rpc_meta {
  char unused;
};

static struct rpc_meta the_meta;
static size_t meta_at;

enum jp_status rpc_meta_create(struct catalog *catalog, struct rpc_meta **meta, struct jp_error *error)
{
  *meta = &the_meta;
  return JP_OK;
}

void rpc_meta_destroy(struct rpc_meta *meta)
{
}

static enum jp_status read_meta(void *state, struct buffer *out, size_t max)
{
  size_t left = strlen(stub.meta) - meta_at;
  size_t step = stub.meta_step == 0 ? max : stub.meta_step;
  if (stub.meta_breaks && meta_at > 0)
    return JP_IO;
  if (left == 0)
    return JP_CLOSED;
  step = step < left ? step : left;
  buffer_append(out, stub.meta + meta_at, step);
  meta_at += step;
  return JP_OK;
}

static void close_meta(void *state)
{
  stub.bodies--;
}

enum jp_status rpc_meta_describe(struct rpc_meta *meta, const struct policy *policy,
                                 enum policy_channel channel, const struct op_description *look,
                                 struct arena *arena, struct text *text)
{
  *text = arena_printf(arena, "{\"class\":\"%.*s\"}", TEXT_ARGS(look->class_name));
  return JP_OK;
}

bool jvm_main_loader_finds(struct jvm_thread *thread, struct text class_name)
{
  return false;
}

bool jvm_class_is_loaded_once(struct jvm_thread *thread, struct text class_name)
{
  return false;
}

enum jp_status rpc_meta_open(struct rpc_meta *meta, struct policy *policy, enum policy_channel channel,
                             const struct meta_loaders *loaders, const struct operation *operation,
                             struct outcome_body *body, struct jp_error *error)
{
  if (stub.meta == NULL)
    return jp_fail(error, JP_IO, "the image cannot be read");
  meta_at = 0;
  stub.bodies++;
  *body = (struct outcome_body){.state = &the_meta, .read = read_meta, .close = close_meta};
  return JP_OK;
}

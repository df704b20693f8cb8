#include "jni/convert/judge.h"

#include "jni/runtime/throwables.h"
#include "jni/types/selection.h"
#include "op/piece.h"

#include <stdlib.h>

static struct jvm_method *find_method(struct jvm_thread *thread, jclass declaring,
                                      struct judged_member member)
{
  struct jvm_class *owner = jvm_class_of(thread, declaring);
  const struct member_table *table = owner == NULL ? NULL : member_table_of(thread, owner);
  for (size_t i = 0; table != NULL && i < table->method_count; i++) {
    struct jvm_method *method = &table->methods[i];
    if (strcmp(method->raw_name, member.name) == 0 && strcmp(method->raw_descriptor, member.descriptor) == 0)
      return method;
  }
  return NULL;
}

static bool ask_about(const struct jvm_request *request, enum op_kind kind, const struct jvm_target *target,
                      struct outcome *denied)
{
  const struct operation operation = {.kind = kind, .type = target->named_class, .member = target->member};
  return request->guard->check_target(request->guard->context, &operation, target, request->arena, denied) ==
         JP_OK;
}

/* What the guard is asked about a call. */
struct judged_call {
  struct jvm_lineage lineage;
  struct jvm_target target;
};

/* False: an exception is pending, or memory is short. */
static bool fill_call(const struct jvm_request *request, struct jvm_class *class, jclass declaring,
                      struct judged_member member, struct judged_call *call)
{
  struct jvm_method *method = find_method(request->thread, declaring, member);
  struct jvm_holder *holders;
  size_t holder_count;
  if (method == NULL ||
      !selection_find(request->thread, request->arena, method, class, &holders, &holder_count))
    return false;
  call->lineage = (struct jvm_lineage){request->thread, request->arena, method, class, class};
  call->target = (struct jvm_target){.kind = OP_METHOD,
                                     .lineage = &call->lineage,
                                     .modifiers = method->modifiers,
                                     .named_class = class->element_name,
                                     .declaring_class = method->owner->name,
                                     .runtime_class = class->element_name,
                                     .holders = holders,
                                     .holder_count = holder_count,
                                     .member = method->name};
  return true;
}

static struct jvm_target describe_elements(const struct jvm_class *class)
{
  return (struct jvm_target){.kind = OP_FIELD,
                             .modifiers = OP_ACC_PUBLIC,
                             .named_class = class->element_name,
                             .declaring_class = class->element_name,
                             .runtime_class = class->element_name,
                             .member = OP_PIECE_NAME};
}

bool judge_call(const struct jvm_request *request, struct jvm_class *class, jclass declaring,
                struct judged_member member, struct outcome *denied)
{
  if (request->guard == NULL || request->guard->check_target == NULL)
    return true;
  struct judged_call call;
  if (!fill_call(request, class, declaring, member, &call)) {
    if (!throwable_take_outcome(request->thread, request->arena, request->limits->stack_frames_max, denied))
      outcome_fail(denied, request->arena, FAILURE_SERVER, NULL, "out of memory");
    return false;
  }
  uint64_t verdicts[OP_CHANNELS] = {0};
  call.target.verdicts = verdicts;
  return ask_about(request, OP_CALL, &call.target, denied);
}

bool judge_elements(const struct jvm_request *request, const struct jvm_class *class, struct outcome *denied)
{
  if (request->guard == NULL || request->guard->check_target == NULL)
    return true;
  uint64_t verdicts[OP_CHANNELS] = {0};
  struct jvm_target target = describe_elements(class);
  target.verdicts = verdicts;
  return ask_about(request, OP_GET, &target, denied);
}

/* ---- results by value ---- */

/* A thread's answers, by class and reading; the ids of classes are never given again. */
enum { READINGS_KEPT = 256 };

struct kept_reading {
  uint64_t stamp; /* 0: nothing is kept here */
  uint32_t class_id;
  uint8_t reading;
  bool allowed;
};

struct reading_cache {
  struct kept_reading kept[READINGS_KEPT];
};

static void destroy_cache(struct jvm_thread *thread)
{
  free(thread->reading_cache);
  thread->reading_cache = NULL;
}

/* Made on first use. NULL: memory is short. */
static struct reading_cache *make_reading_cache(struct jvm_thread *thread)
{
  if (thread->reading_cache != NULL)
    return thread->reading_cache;
  thread->reading_cache = calloc(1, sizeof *thread->reading_cache);
  if (thread->reading_cache != NULL)
    thread->reading_cache_destroy = destroy_cache;
  return thread->reading_cache;
}

/* A member that a reading runs. */
struct read_member {
  jclass declaring;
  struct judged_member member;
};

enum { READ_MEMBERS_MAX = 3 };

/* The number of them. */
static size_t list_members(const struct jvm_known *known, enum judged_reading reading,
                           struct read_member members[READ_MEMBERS_MAX])
{
  const struct read_member rows[READINGS][READ_MEMBERS_MAX] = {
      [READING_COLLECTION] = {{known->class_iterable, {"iterator", "()Ljava/util/Iterator;"}},
                              {known->class_collection, {"size", "()I"}},
                              {known->class_collection, {"toArray", "()[Ljava/lang/Object;"}}},
      [READING_ITERATOR] = {{known->class_iterator, {"hasNext", "()Z"}},
                            {known->class_iterator, {"next", "()Ljava/lang/Object;"}}},
      [READING_MAP] = {{known->class_map, {"entrySet", "()Ljava/util/Set;"}}},
      [READING_ENTRY] = {{known->class_map_entry, {"getKey", "()Ljava/lang/Object;"}},
                         {known->class_map_entry, {"getValue", "()Ljava/lang/Object;"}}},
      [READING_COLLECTION_SIZE] = {{known->class_collection, {"size", "()I"}}},
      [READING_MAP_SIZE] = {{known->class_map, {"size", "()I"}}},
  };
  size_t count = 0;
  while (count < READ_MEMBERS_MAX && rows[reading][count].declaring != NULL) {
    members[count] = rows[reading][count];
    count++;
  }
  return count;
}

static bool allows(const struct jvm_request *request, enum op_kind kind, const struct jvm_target *target)
{
  return request->guard->allows(request->guard->context, kind, target);
}

/* False also where memory is short, or a class of the object cannot be linked: *failed becomes true. */
static bool allows_call(const struct jvm_request *request, struct jvm_class *class,
                        const struct read_member *read, bool *failed)
{
  struct judged_call call;
  if (!fill_call(request, class, read->declaring, read->member, &call)) {
    (void)throwable_take(request->thread, NULL);
    *failed = true;
    return false;
  }
  call.target.is_value = class->is_of_jdk;
  return allows(request, OP_CALL, &call.target);
}

/* Whether no rule denies iterators as such: which class the iterators of a collection of the JDK's have is its own
 * matter. */
static bool allows_iterators(const struct jvm_request *request)
{
  struct jvm_class *iterator = jvm_class_of(request->thread, request->thread->jvm->known.class_iterator);
  return iterator != NULL && judge_reading(request, iterator, READING_ITERATOR);
}

static bool allows_reading(const struct jvm_request *request, struct jvm_class *class,
                           enum judged_reading reading, bool *failed)
{
  struct read_member members[READ_MEMBERS_MAX];
  if (reading == READING_ARRAY) {
    struct jvm_target target = describe_elements(class);
    target.is_value = class->is_of_jdk;
    return allows(request, OP_GET, &target);
  }
  size_t count = list_members(&request->thread->jvm->known, reading, members);
  bool allowed = true;
  for (size_t i = 0; allowed && i < count; i++)
    allowed = allows_call(request, class, &members[i], failed);
  return allowed && (reading != READING_COLLECTION || !class->is_of_jdk || allows_iterators(request));
}

bool judge_reading(const struct jvm_request *request, struct jvm_class *class, enum judged_reading reading)
{
  const struct jvm_guard *guard = request->guard;
  if (guard == NULL || guard->allows == NULL)
    return true;
  struct reading_cache *cache = make_reading_cache(request->thread);
  struct kept_reading none = {.stamp = 0};
  struct kept_reading *kept =
      cache == NULL ? &none : &cache->kept[(class->id * READINGS + (unsigned)reading) % READINGS_KEPT];
  if (kept->stamp == guard->stamp && kept->class_id == class->id && kept->reading == reading)
    return kept->allowed;
  bool failed = false;
  bool allowed = allows_reading(request, class, reading, &failed);
  if (!failed)
    *kept = (struct kept_reading){guard->stamp, class->id, (uint8_t)reading, allowed};
  return allowed;
}

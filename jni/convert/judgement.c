#include "jni/convert/judgement.h"

#include "jni/runtime/throwables.h"
#include "op/piece.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/*
 * Evaluates the method by its named class. If the verdict is a denial, a supertype of the object may allow the
 * method, because a caller that named the supertype would run the same code. Supertypes are asked only if the
 * denial comes from the default action, a rule for every class, or deny-jdk-internals. *by: the supertype that
 * allows the method; absent if the verdict is the named class's.
 */
static struct policy_verdict evaluate_member(const struct judge *judge, enum op_kind operation,
                                             const struct judged_member *member,
                                             const struct jvm_lineage *lineage, struct text *by)
{
  struct policy_verdict verdict = judge_evaluate(judge, operation, member);
  struct judged_member found;
  *by = TEXT_ABSENT;
  if ((verdict.allow && !verdict.observed) || lineage == NULL ||
      !judge_may_ask_supertype(judge, operation, member) ||
      !selection_find_supertype(lineage, judge, member, &found))
    return verdict;
  *by = found.named_class;
  return judge_evaluate(judge, operation, &found);
}

enum jp_status jvm_judge_member(const struct jvm_request *request, enum op_kind operation,
                                const struct judged_member *member, const struct jvm_lineage *lineage,
                                struct outcome *denied)
{
  const struct judge *judge = request->judge;
  bool allowed;
  assert(!member->is_value);
  if (judge_recall(judge, operation, member, &allowed))
    return allowed ? JP_OK : judge_deny(judge, member->named_class, member->member, request->arena, denied);
  struct text by;
  struct policy_verdict verdict = evaluate_member(judge, operation, member, lineage, &by);
  return judge_conclude(judge, operation, member, verdict, by, request->arena, denied);
}

bool jvm_judge_allows(const struct judge *judge, enum op_kind operation, const struct judged_member *member,
                      const struct jvm_lineage *lineage)
{
  struct text by;
  return evaluate_member(judge, operation, member, lineage, &by).allow;
}

enum jp_status jvm_judge_idempotent(const struct jvm_request *request, const struct judged_member *member,
                                    const struct jvm_lineage *lineage, struct outcome *denied)
{
  const struct judge *judge = request->judge;
  bool is_instance_method = member->kind == OP_MEMBER_METHOD;
  if (judge_is_idempotent(judge, member->named_class, member->member) ||
      (!is_instance_method && judge_is_idempotent(judge, member->declaring_class, member->member)) ||
      (lineage != NULL && selection_is_idempotent(lineage, judge, member)))
    return JP_OK;
  return judge_deny_changing(member->named_class, member->member, request->arena, denied);
}

enum jp_status jvm_judge_idempotent_write(const struct jvm_request *request,
                                          const struct judged_member *member, struct outcome *denied)
{
  if (judge_is_idempotent_write(request->judge, member->named_class, member->member) ||
      judge_is_idempotent_write(request->judge, member->declaring_class, member->member))
    return JP_OK;
  return judge_deny_changing(member->named_class, member->member, request->arena, denied);
}

/* ---- members that are not named by an operation ---- */

static struct jvm_method *find_method(struct jvm_thread *thread, jclass declaring, struct named_method named)
{
  struct jvm_class *owner = jvm_class_of(thread, declaring);
  const struct member_table *table = owner == NULL ? NULL : member_table_of(thread, owner);
  for (size_t i = 0; table != NULL && i < table->method_count; i++) {
    struct jvm_method *method = &table->methods[i];
    if (strcmp(method->raw_name, named.name) == 0 && strcmp(method->raw_descriptor, named.descriptor) == 0)
      return method;
  }
  return NULL;
}

/* The judge's input for a call. */
struct judged_call {
  struct jvm_lineage lineage;
  struct judged_member member;
};

/* False: an exception is pending, or memory is short. */
static bool fill_call(const struct jvm_request *request, struct jvm_class *class, jclass declaring,
                      struct named_method named, struct judged_call *call)
{
  struct jvm_method *method = find_method(request->thread, declaring, named);
  struct judged_holder *holders;
  size_t holder_count;
  if (method == NULL ||
      !selection_find(request->thread, request->arena, method, class, &holders, &holder_count))
    return false;
  call->lineage = (struct jvm_lineage){request->thread, request->arena, method, class, class};
  call->member = (struct judged_member){.kind = OP_MEMBER_METHOD,
                                        .modifiers = method->modifiers,
                                        .named_class = class->element_name,
                                        .declaring_class = method->owner->name,
                                        .runtime_class = class->element_name,
                                        .holders = holders,
                                        .holder_count = holder_count,
                                        .member = method->name};
  return true;
}

static struct judged_member describe_elements(const struct jvm_class *class)
{
  return (struct judged_member){.kind = OP_MEMBER_FIELD,
                                .modifiers = OP_ACC_PUBLIC,
                                .named_class = class->element_name,
                                .declaring_class = class->element_name,
                                .runtime_class = class->element_name,
                                .member = OP_PIECE_NAME};
}

/* Makes the pending exception the outcome. If no exception is pending, the outcome says that memory is
 * short. */
static bool fail_judging(const struct jvm_request *request, struct outcome *outcome)
{
  if (!throwable_take_outcome(request->thread, request->arena, request->limits->stack_frames_max, outcome))
    outcome_fail_memory(outcome);
  return false;
}

bool jvm_judge_call(const struct jvm_request *request, struct jvm_class *class, jclass declaring,
                    struct named_method named, struct outcome *denied)
{
  struct judged_call call;
  if (!fill_call(request, class, declaring, named, &call))
    return fail_judging(request, denied);
  uint64_t verdicts[JUDGE_WORDS] = {0};
  call.member.verdicts = verdicts;
  if (jvm_judge_member(request, OP_CALL, &call.member, &call.lineage, denied) != JP_OK)
    return false;
  return !request->operation->only_idempotent ||
         jvm_judge_idempotent(request, &call.member, &call.lineage, denied) == JP_OK;
}

bool jvm_judge_field(const struct jvm_request *request, struct jvm_class *class, jclass declaring,
                     struct named_method named, struct outcome *denied)
{
  struct jvm_class *owner = jvm_class_of(request->thread, declaring);
  const struct member_table *table = owner == NULL ? NULL : member_table_of(request->thread, owner);
  for (size_t i = 0; table != NULL && i < table->field_count; i++) {
    const struct jvm_field *field = &table->fields[i];
    if (strcmp(field->raw_name, named.name) != 0 || strcmp(field->raw_descriptor, named.descriptor) != 0)
      continue;
    uint64_t verdicts[JUDGE_WORDS] = {0};
    const struct judged_member member = {.kind = OP_MEMBER_FIELD,
                                         .modifiers = field->modifiers,
                                         .named_class = class->element_name,
                                         .declaring_class = owner->name,
                                         .runtime_class = class->element_name,
                                         .member = field->name,
                                         .verdicts = verdicts};
    return judge_member(request->judge, OP_GET, &member, request->arena, denied) == JP_OK;
  }
  return fail_judging(request, denied);
}

bool jvm_judge_elements(const struct jvm_request *request, const struct jvm_class *class,
                        struct outcome *denied)
{
  uint64_t verdicts[JUDGE_WORDS] = {0};
  struct judged_member member = describe_elements(class);
  member.verdicts = verdicts;
  return judge_member(request->judge, OP_GET, &member, request->arena, denied) == JP_OK;
}

/* ---- filling an object ---- */

enum { FILLS_KEPT = 64 };

/* The add or put method of one class, as the judge's input, and the judge's verdicts on it. */
struct fill {
  const struct jvm_class *named;
  const struct jvm_class *runtime;
  const struct jvm_method *method;
  struct judged_holder *holders;
  size_t holder_count;
  uint64_t verdicts[JUDGE_WORDS];
};

/* A thread's cache, by class ids. */
struct fill_cache {
  struct fill *kept[FILLS_KEPT];
};

static void destroy_fills(struct jvm_thread *thread)
{
  struct fill_cache *cache = thread->fill_cache;
  thread->fill_cache = NULL;
  for (size_t i = 0; i < FILLS_KEPT; i++)
    free(cache->kept[i]);
  free(cache);
}

/* Stores a copy of the fill in the slot and returns it. If memory is short, returns the fill itself. */
static struct fill *keep_fill(struct fill **slot, struct fill *fill)
{
  size_t holders_size = fill->holder_count * sizeof *fill->holders;
  struct fill *kept = malloc(sizeof *kept + holders_size);
  if (kept == NULL)
    return fill;
  *kept = *fill;
  kept->holders = (struct judged_holder *)(void *)(kept + 1);
  if (holders_size > 0)
    memcpy(kept->holders, fill->holders, holders_size);
  free(*slot);
  *slot = kept;
  return kept;
}

/* The interface's add or put, which the peer calls. NULL: an exception is pending, or memory is short. */
static struct jvm_method *find_fill_method(struct jvm_thread *thread, bool is_list)
{
  const struct jvm_known *known = &thread->jvm->known;
  struct jvm_class *class = jvm_class_of(thread, is_list ? known->class_collection : known->class_map);
  const struct member_table *members = class == NULL ? NULL : member_table_of(thread, class);
  for (size_t i = 0; members != NULL && i < members->method_count; i++)
    if (text_equal(members->methods[i].name, is_list ? TEXT("add") : TEXT("put")))
      return &members->methods[i];
  return NULL;
}

/* Valid until the next call. NULL: an exception is pending, or memory is short. */
static struct fill *find_fill(const struct jvm_request *request, struct jvm_class *named,
                              struct jvm_class *runtime, bool is_list)
{
  struct jvm_thread *thread = request->thread;
  if (thread->fill_cache == NULL && (thread->fill_cache = calloc(1, sizeof *thread->fill_cache)) != NULL)
    thread->fill_cache_destroy = destroy_fills;
  struct fill **slot = thread->fill_cache == NULL
                           ? NULL
                           : &thread->fill_cache->kept[(named->id * 31 + runtime->id) % FILLS_KEPT];
  if (slot != NULL && *slot != NULL && (*slot)->named == named && (*slot)->runtime == runtime)
    return *slot;
  struct fill *fill = arena_alloc(request->arena, sizeof *fill);
  if (slot == NULL || fill == NULL)
    return NULL;
  struct jvm_method *method = find_fill_method(thread, is_list);
  if (method == NULL)
    return NULL;
  *fill = (struct fill){.named = named, .runtime = runtime, .method = method};
  if (!selection_find(thread, request->arena, method, runtime, &fill->holders, &fill->holder_count))
    return NULL;
  return keep_fill(slot, fill);
}

bool jvm_judge_filling(const struct jvm_request *request, struct jvm_class *named, struct jvm_class *runtime,
                       bool is_list, struct outcome *denied)
{
  struct fill *fill = find_fill(request, named, runtime, is_list);
  if (fill == NULL)
    return fail_judging(request, denied);
  const struct judged_member member = {.kind = OP_MEMBER_METHOD,
                                       .modifiers = fill->method->modifiers,
                                       .named_class = named->element_name,
                                       .declaring_class = fill->method->owner->element_name,
                                       .runtime_class = runtime->element_name,
                                       .holders = fill->holders,
                                       .holder_count = fill->holder_count,
                                       .member = fill->method->name,
                                       .verdicts = fill->verdicts};
  return judge_filling(request->judge, &member, request->arena, denied) == JP_OK;
}

/* ---- results by value ---- */

/* A thread keeps its verdicts on readings: each for the id of a class and an enum judged_reading. A kept verdict
 * never becomes another class's, because the id of an unloaded class is not used again. */
enum { READINGS_KEPT = 256 };

struct kept_reading {
  uint64_t stamp; /* 0: empty */
  uint32_t class_id;
  uint8_t reading;
  bool allowed;
};

struct reading_cache {
  struct kept_reading kept[READINGS_KEPT];
};

static void destroy_readings(struct jvm_thread *thread)
{
  free(thread->reading_cache);
  thread->reading_cache = NULL;
}

/* Creates the cache on first use. NULL: memory is short. */
static struct reading_cache *make_reading_cache(struct jvm_thread *thread)
{
  if (thread->reading_cache != NULL)
    return thread->reading_cache;
  thread->reading_cache = calloc(1, sizeof *thread->reading_cache);
  if (thread->reading_cache != NULL)
    thread->reading_cache_destroy = destroy_readings;
  return thread->reading_cache;
}

/* A member that a reading runs. */
struct read_member {
  jclass declaring;
  struct named_method named;
};

enum { READ_MEMBERS_MAX = 3 };

/* Returns the number of members. */
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

/* If memory is short or a class of the object cannot be linked, *failed becomes true and the result is
 * false. */
static bool allows_call(const struct jvm_request *request, struct jvm_class *class,
                        const struct read_member *read, bool *failed)
{
  struct judged_call call;
  if (!fill_call(request, class, read->declaring, read->named, &call)) {
    (void)throwable_take(request->thread, NULL);
    *failed = true;
    return false;
  }
  call.member.is_value = class->is_of_jdk;
  const bool allows = jvm_judge_allows(request->judge, OP_CALL, &call.member, &call.lineage);
  if (allows)
    judge_note_reading(request->judge, OP_CALL, &call.member);
  return allows;
}

/* True if no rule denies iterators in general. The private iterator classes of the JDK's collections are not
 * judged. */
static bool allows_iterators(const struct jvm_request *request)
{
  struct jvm_class *iterator = jvm_class_of(request->thread, request->thread->jvm->known.class_iterator);
  return iterator != NULL && jvm_judge_reading(request, iterator, READING_ITERATOR);
}

static bool allows_reading(const struct jvm_request *request, struct jvm_class *class,
                           enum judged_reading reading, bool *failed)
{
  struct read_member members[READ_MEMBERS_MAX];
  if (reading == READING_ARRAY) {
    struct judged_member member = describe_elements(class);
    member.is_value = class->is_of_jdk;
    const bool allows = judge_allows(request->judge, OP_GET, &member);
    if (allows)
      judge_note_reading(request->judge, OP_GET, &member);
    return allows;
  }
  size_t count = list_members(&request->thread->jvm->known, reading, members);
  bool allowed = true;
  for (size_t i = 0; allowed && i < count; i++)
    allowed = allows_call(request, class, &members[i], failed);
  return allowed && (reading != READING_COLLECTION || !class->is_of_jdk || allows_iterators(request));
}

bool jvm_judge_reading(const struct jvm_request *request, struct jvm_class *class,
                       enum judged_reading reading)
{
  uint64_t stamp = judge_stamp(request->judge);
  struct reading_cache *cache = make_reading_cache(request->thread);
  struct kept_reading none = {.stamp = 0};
  struct kept_reading *kept =
      cache == NULL ? &none : &cache->kept[(class->id * READINGS + (unsigned)reading) % READINGS_KEPT];
  if (kept->stamp == stamp && kept->class_id == class->id && kept->reading == reading)
    return kept->allowed;
  bool failed = false;
  bool allowed = allows_reading(request, class, reading, &failed);
  if (!failed)
    *kept = (struct kept_reading){stamp, class->id, (uint8_t)reading, allowed};
  return allowed;
}

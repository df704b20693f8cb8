#include "jni/convert/arguments.h"
#include "jni/types/selection.h"

#include <stdlib.h>

enum { FILLS_KEPT = 64 };

/* The add or put of a class of objects: what the guard is asked about, and its verdicts. */
struct fill {
  const struct jvm_class *named;
  const struct jvm_class *runtime;
  const struct jvm_method *method;
  struct jvm_holder *holders;
  size_t holder_count;
  uint64_t verdicts[OP_CHANNELS];
};

/* A thread's cache, by class ids. */
struct fill_cache {
  struct fill *kept[FILLS_KEPT];
};

static void destroy_cache(struct jvm_thread *thread)
{
  struct fill_cache *cache = thread->fill_cache;
  thread->fill_cache = NULL;
  for (size_t i = 0; i < FILLS_KEPT; i++)
    free(cache->kept[i]);
  free(cache);
}

/* Made on first use. NULL: memory is short. */
static struct fill_cache *cache_of(struct jvm_thread *thread)
{
  if (thread->fill_cache != NULL)
    return thread->fill_cache;
  struct fill_cache *cache = calloc(1, sizeof *cache);
  thread->fill_cache = cache;
  if (cache != NULL)
    thread->fill_cache_destroy = destroy_cache;
  return cache;
}

static struct fill **slot_of(struct fill_cache *cache, const struct jvm_class *named,
                             const struct jvm_class *runtime)
{
  return &cache->kept[(named->id * 31 + runtime->id) % FILLS_KEPT];
}

/* Replaces what the slot holds by a copy, and returns that. Where memory is short, returns the fill
 * itself. */
static struct fill *keep_fill(struct fill **slot, struct fill *fill)
{
  size_t holders_size = fill->holder_count * sizeof *fill->holders;
  struct fill *kept = malloc(sizeof *kept + holders_size);
  if (kept == NULL)
    return fill;
  *kept = *fill;
  kept->holders = (struct jvm_holder *)(void *)(kept + 1);
  if (holders_size > 0)
    memcpy(kept->holders, fill->holders, holders_size);
  free(*slot);
  *slot = kept;
  return kept;
}

/* The interface's add or put, which is what the peer calls. */
static struct jvm_method *find_method(struct conversion *conversion, bool is_list)
{
  struct jvm_thread *thread = conversion->thread;
  const struct jvm_known *known = &thread->jvm->known;
  struct jvm_class *class = jvm_class_of(thread, is_list ? known->class_collection : known->class_map);
  const struct member_table *members = class == NULL ? NULL : member_table_of(thread, class);
  for (size_t i = 0; members != NULL && i < members->method_count; i++)
    if (text_equal(members->methods[i].name, is_list ? TEXT("add") : TEXT("put")))
      return &members->methods[i];
  if (!argument_take(conversion))
    argument_fail_memory(conversion);
  return NULL;
}

/* Valid until the next call. NULL: the outcome tells why. */
static struct fill *find_fill(struct conversion *conversion, struct jvm_class *named,
                              struct jvm_class *runtime, bool is_list)
{
  struct fill_cache *cache = cache_of(conversion->thread);
  struct fill **slot = cache == NULL ? NULL : slot_of(cache, named, runtime);
  if (slot != NULL && *slot != NULL && (*slot)->named == named && (*slot)->runtime == runtime)
    return *slot;
  struct fill *fill = arena_alloc(conversion->request->arena, sizeof *fill);
  if (slot == NULL || fill == NULL) {
    argument_fail_memory(conversion);
    return NULL;
  }
  struct jvm_method *method = find_method(conversion, is_list);
  if (method == NULL)
    return NULL;
  *fill = (struct fill){.named = named, .runtime = runtime, .method = method};
  if (selection_find(conversion->thread, conversion->request->arena, method, runtime, &fill->holders,
                     &fill->holder_count))
    return keep_fill(slot, fill);
  if (!argument_take(conversion))
    argument_fail_memory(conversion);
  return NULL;
}

bool argument_ask_to_fill(struct conversion *conversion, struct jvm_class *named, jclass made)
{
  JNIEnv *env = conversion->thread->env;
  const struct jvm_guard *guard = conversion->request->guard;
  if (guard == NULL || guard->check_filling == NULL)
    return true;
  struct jvm_class *runtime = jvm_class_of(conversion->thread, made);
  if (runtime == NULL)
    return argument_fail_memory(conversion);
  bool is_list = (*env)->IsAssignableFrom(env, made, conversion->thread->jvm->known.class_collection);
  struct fill *fill = find_fill(conversion, named, runtime, is_list);
  if (fill == NULL)
    return false;
  const struct jvm_target target = {.kind = JVM_METHOD,
                                    .modifiers = fill->method->modifiers,
                                    .named_class = named->element_name,
                                    .declaring_class = fill->method->owner->element_name,
                                    .runtime_class = runtime->element_name,
                                    .holders = fill->holders,
                                    .holder_count = fill->holder_count,
                                    .member = fill->method->name,
                                    .verdicts = fill->verdicts};
  return guard->check_filling(guard->context, &target, conversion->request->arena, conversion->outcome) ==
         JP_OK;
}

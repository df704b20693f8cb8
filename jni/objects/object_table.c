/*
 * The table of objects of a session.
 *
 * A slot's number is its chunk's number times CHUNK_SPAN plus its place. The first chunk is tiny, because
 * nearly all sessions have few objects, and each further chunk makes the table four times as large. A large
 * table has large chunks, because every collection of the young generation visits each chunk as a root.
 * Chunks with free slots are in a list. An empty chunk is freed only if another chunk has room, so that a
 * session that stores and releases one object does not allocate and free a chunk each time.
 */
#include "jni/objects/object_table.h"

#include "base/array.h"
#include "base/hash_index.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { FIRST_CHUNK_SLOTS = 4, SMALL_CHUNK_SLOTS = 1024, CHUNK_SPAN = 8192 };
enum { FIRST_CHUNKS = 1 };
enum { NO_CHUNK = UINT32_MAX };
#define REF_MAX ((uint32_t)INT32_MAX)

struct slot {
  uint32_t ref; /* 0: free */
  int32_t hash;
  uint32_t class_id;
  union {
    uint32_t next_free;  /* of a free slot: its place in the chunk; slot_count ends the list */
    uint32_t sent_count; /* of a used slot: sent_count_add */
  };
};

struct chunk {
  jobjectArray array;      /* global: Object[slot_count] */
  jobjectArray companions; /* global: as array, for the companions; NULL: none yet */
  uint32_t slot_count;
  uint32_t used;
  uint32_t first_free;
  uint32_t number;
  struct chunk *previous; /* in the list of chunks with room */
  struct chunk *next;
  struct slot slots[];
};

enum assembly_state {
  ASSEMBLY_BUILDING,
  ASSEMBLY_WHOLE, /* takes no more pieces; no request has used the object yet */
  ASSEMBLY_IN_USE /* from jvm_objects_use to jvm_objects_end_use */
};

/* An object that is built from pieces, until its first use. */
struct assembly {
  struct assembly *next;
  uint32_t ref;
  size_t bytes; /* included in *assembled of the table */
  struct jvm_assembly facts;
  enum assembly_state state;
  jobject named; /* global: the objects that its pieces named by ref, as keys of a Map; NULL: none */
};

struct jvm_objects {
  pthread_mutex_t lock;
  struct assembly *assemblies;           /* few; usually NULL */
  _Atomic size_t *assembled;             /* the JVM's counter; NULL before the first assembly */
  const struct jvm_objects_owner *owner; /* NULL: none */
  void *owner_context;
  size_t max;
  struct quota *quota; /* shared with other tables; NULL: none */
  const char *quota_name;
  _Atomic size_t *tally;  /* the place of the tally in which the table counts; NULL: none */
  _Atomic size_t count;   /* written with the lock */
  size_t reserved;        /* slots that are reserved for results */
  _Atomic uint64_t epoch; /* written with the lock */
  uint32_t last_ref;
  uint32_t begun_after;  /* last_ref before anything was stored */
  bool has_begun_again;  /* refs have wrapped around, so the next refs may be in use */
  struct chunk **chunks; /* by number; NULL for a freed chunk */
  size_t chunk_capacity;
  size_t chunk_count;
  size_t slots; /* of all chunks */
  struct chunk *with_room;
  struct hash_index by_ref;
  struct hash_index by_hash;
  uint32_t *values; /* a ring of the refs of values, oldest first; NULL: none yet */
  size_t value_capacity;
  size_t value_count;
  size_t oldest_value;
};

enum jp_status jvm_objects_create(size_t max_objects, struct jvm_objects **objects)
{
  *objects = calloc(1, sizeof **objects);
  if (*objects == NULL)
    return JP_NO_MEMORY;
  (*objects)->max = max_objects < REF_MAX ? max_objects : REF_MAX;
  pthread_mutex_init(&(*objects)->lock, NULL);
  return JP_OK;
}

void jvm_objects_set_owner(struct jvm_objects *objects, const struct jvm_objects_owner *owner, void *context)
{
  objects->owner = owner;
  objects->owner_context = context;
}

void jvm_objects_set_tally(struct jvm_objects *objects, struct jvm_objects_tally *tally)
{
  enum { TABLE_SIZE = 64 }; /* neighbouring tables have different places */
  objects->tally = &tally->places[(uintptr_t)objects / TABLE_SIZE % JVM_OBJECTS_TALLY_PLACES].count;
}

void jvm_objects_set_quota(struct jvm_objects *objects, struct quota *quota, const char *name)
{
  objects->quota = quota;
  objects->quota_name = name;
}

void jvm_objects_begin_after(struct jvm_objects *objects, uint32_t ref)
{
  objects->last_ref = ref;
  objects->begun_after = ref;
}

uint32_t jvm_objects_last_ref(const struct jvm_objects *objects)
{
  return objects->last_ref;
}

static size_t count_objects(const struct jvm_objects *objects)
{
  return atomic_load_explicit(&objects->count, memory_order_relaxed);
}

static void set_count(struct jvm_objects *objects, size_t count)
{
  if (objects->quota != NULL) /* unsigned arithmetic: the sum is also right if the number has become
                               * smaller */
    atomic_fetch_add(&objects->quota->count, count - count_objects(objects));
  if (objects->tally != NULL)
    atomic_fetch_add_explicit(objects->tally, count - count_objects(objects), memory_order_relaxed);
  atomic_store_explicit(&objects->count, count, memory_order_relaxed);
}

/* The caller holds the lock, and has released the last object. */
static void leave_owner(const struct jvm_objects *objects)
{
  if (objects->owner != NULL)
    objects->owner->leave(objects->owner_context);
}

/* ---- slots and chunks: with the lock held, except for creating one ---- */

static struct slot *find_slot(const struct jvm_objects *objects, uint32_t number)
{
  return &objects->chunks[number / CHUNK_SPAN]->slots[number % CHUNK_SPAN];
}

/* The slot's number; HASH_INDEX_NONE: no object has the ref. */
static uint32_t find_ref(const struct jvm_objects *objects, uint32_t ref)
{
  size_t cursor = SIZE_MAX;
  return hash_index_next(&objects->by_ref, ref, &cursor);
}

static jobject take_object(JNIEnv *env, const struct jvm_objects *objects, uint32_t number)
{
  return (*env)->GetObjectArrayElement(env, objects->chunks[number / CHUNK_SPAN]->array,
                                       (jsize)(number % CHUNK_SPAN));
}

static void add_to_list(struct jvm_objects *objects, struct chunk *chunk)
{
  chunk->previous = NULL;
  chunk->next = objects->with_room;
  if (chunk->next != NULL)
    chunk->next->previous = chunk;
  objects->with_room = chunk;
}

static void remove_from_list(struct jvm_objects *objects, struct chunk *chunk)
{
  if (chunk->previous == NULL)
    objects->with_room = chunk->next;
  else
    chunk->previous->next = chunk->next;
  if (chunk->next != NULL)
    chunk->next->previous = chunk->previous;
}

static void destroy_chunk(JNIEnv *env, struct chunk *chunk)
{
  if (chunk == NULL)
    return;
  (*env)->DeleteGlobalRef(env, chunk->array);
  if (chunk->companions != NULL)
    (*env)->DeleteGlobalRef(env, chunk->companions);
  free(chunk);
}

/* A global reference; NULL: Java's memory is short. Call it without the lock, because allocating an array may
 * start a garbage collection. */
static jobjectArray make_array(struct jvm_thread *thread, uint32_t slot_count)
{
  JNIEnv *env = thread->env;
  jobjectArray local = (*env)->NewObjectArray(env, (jsize)slot_count, thread->jvm->known.class_object, NULL);
  jobjectArray global = local == NULL ? NULL : (*env)->NewGlobalRef(env, local);
  (*env)->DeleteLocalRef(env, local);
  if (global == NULL)
    (*env)->ExceptionClear(env); /* OutOfMemoryError */
  return global;
}

static struct chunk *create_chunk(struct jvm_thread *thread, uint32_t slot_count)
{
  struct chunk *chunk = malloc(sizeof *chunk + slot_count * sizeof chunk->slots[0]);
  if (chunk == NULL)
    return NULL;
  chunk->array = make_array(thread, slot_count);
  chunk->companions = NULL;
  if (chunk->array == NULL) {
    free(chunk);
    return NULL;
  }
  chunk->slot_count = slot_count;
  chunk->used = 0;
  chunk->first_free = 0;
  for (uint32_t i = 0; i < slot_count; i++)
    chunk->slots[i] = (struct slot){.next_free = i + 1};
  return chunk;
}

static uint32_t size_next_chunk(const struct jvm_objects *objects)
{
  size_t limit = objects->slots < CHUNK_SPAN ? SMALL_CHUNK_SLOTS : CHUNK_SPAN;
  size_t wanted = objects->slots == 0 ? FIRST_CHUNK_SLOTS : 3 * objects->slots;
  return (uint32_t)(wanted < limit ? wanted : limit);
}

static uint32_t find_free_number(const struct jvm_objects *objects)
{
  /* The first number is free unless a chunk was freed earlier. */
  for (size_t i = 0; i < objects->chunk_capacity; i++) {
    size_t number = (objects->chunk_count + i) % objects->chunk_capacity;
    if (objects->chunks[number] == NULL)
      return (uint32_t)number;
  }
  return NO_CHUNK;
}

static enum jp_status add_chunk(struct jvm_objects *objects, struct chunk *chunk)
{
  uint32_t number = find_free_number(objects);
  if (number == NO_CHUNK) {
    size_t capacity = objects->chunk_capacity == 0 ? FIRST_CHUNKS : objects->chunk_capacity * 2;
    struct chunk **wider = reallocarray(objects->chunks, capacity, sizeof(struct chunk *));
    if (wider == NULL)
      return JP_NO_MEMORY;
    for (size_t i = objects->chunk_capacity; i < capacity; i++)
      wider[i] = NULL;
    number = (uint32_t)objects->chunk_capacity;
    objects->chunks = wider;
    objects->chunk_capacity = capacity;
  }
  chunk->number = number;
  objects->chunks[number] = chunk;
  objects->chunk_count++;
  objects->slots += chunk->slot_count;
  add_to_list(objects, chunk);
  return JP_OK;
}

/* ---- objects that are built from pieces: with the lock held, except for joining the pieces ---- */

static struct assembly **find_assembly(struct jvm_objects *objects, uint32_t ref)
{
  struct assembly **link = &objects->assemblies;
  while (*link != NULL && (*link)->ref != ref)
    link = &(*link)->next;
  return link;
}

static void end_assembly(JNIEnv *env, struct jvm_objects *objects, struct assembly **link)
{
  struct assembly *assembly = *link;
  if (assembly == NULL)
    return;
  *link = assembly->next;
  if (assembly->named != NULL)
    (*env)->DeleteGlobalRef(env, assembly->named);
  atomic_fetch_sub(objects->assembled, assembly->bytes);
  free(assembly);
}

/* False: the total would exceed max. */
static bool count_bytes(_Atomic size_t *assembled, size_t bytes, size_t max)
{
  size_t before = atomic_load(assembled);
  do {
    if (bytes > max || before > max - bytes)
      return false;
  } while (!atomic_compare_exchange_weak(assembled, &before, before + bytes));
  return true;
}

/* The caller calls leave_owner if this was the last object. */
static void release_slot(JNIEnv *env, struct jvm_objects *objects, uint32_t number)
{
  struct chunk *chunk = objects->chunks[number / CHUNK_SPAN];
  uint32_t place = number % CHUNK_SPAN;
  struct slot *slot = &chunk->slots[place];
  if (objects->assemblies != NULL)
    end_assembly(env, objects, find_assembly(objects, slot->ref));
  hash_index_remove(&objects->by_ref, slot->ref, number);
  hash_index_remove(&objects->by_hash, (uint32_t)slot->hash, number);
  (*env)->SetObjectArrayElement(env, chunk->array, (jsize)place, NULL);
  if (chunk->companions != NULL)
    (*env)->SetObjectArrayElement(env, chunk->companions, (jsize)place, NULL);
  (*env)->ExceptionClear(env);
  *slot = (struct slot){.next_free = chunk->first_free};
  chunk->first_free = place;
  set_count(objects, count_objects(objects) - 1);
  if (chunk->used-- == chunk->slot_count)
    add_to_list(objects, chunk);
  bool is_only_room = objects->with_room == chunk && chunk->next == NULL;
  if (chunk->used == 0 && !is_only_room) {
    remove_from_list(objects, chunk);
    objects->chunks[chunk->number] = NULL;
    objects->chunk_count--;
    objects->slots -= chunk->slot_count;
    destroy_chunk(env, chunk);
  }
}

/* ---- the refs in the results of a message: a struct jvm_stored, which may be NULL ---- */

static bool has_slot_reserved(const struct jvm_stored *stored)
{
  return stored != NULL && stored->has_slot;
}

/* Room for one more ref. False: memory is short. */
static bool make_note_room(struct jvm_stored *stored)
{
  if (stored == NULL || stored->count < stored->capacity)
    return true;
  uint32_t *refs = array_grow(stored->refs, stored->count, &stored->capacity, sizeof *refs);
  if (refs != NULL)
    stored->refs = refs;
  return refs != NULL;
}

/* Call it after make_note_room. */
static void note_ref(struct jvm_stored *stored, uint32_t ref)
{
  if (stored != NULL)
    stored->refs[stored->count++] = ref;
}

void jvm_stored_fini(struct jvm_stored *stored)
{
  free(stored->refs);
  *stored = (struct jvm_stored){0};
}

/* ---- storing an object ---- */

static uint32_t find_same(JNIEnv *env, const struct jvm_objects *objects, jobject object, int32_t hash)
{
  size_t cursor = SIZE_MAX;
  uint32_t number;
  while ((number = hash_index_next(&objects->by_hash, (uint32_t)hash, &cursor)) != HASH_INDEX_NONE) {
    jobject held = take_object(env, objects, number);
    bool is_same = (*env)->IsSameObject(env, held, object);
    (*env)->DeleteLocalRef(env, held);
    if (is_same)
      return number;
  }
  return HASH_INDEX_NONE;
}

static uint32_t make_ref(struct jvm_objects *objects)
{
  do {
    objects->has_begun_again = objects->has_begun_again || objects->last_ref == REF_MAX;
    objects->last_ref = objects->last_ref == REF_MAX ? 1 : objects->last_ref + 1;
  } while (objects->has_begun_again && find_ref(objects, objects->last_ref) != HASH_INDEX_NONE);
  return objects->last_ref;
}

/* Fills the first free slot. At least one chunk must have room. */
static enum jp_status store_object(JNIEnv *env, struct jvm_objects *objects, jobject object,
                                   struct slot filled, uint32_t *ref)
{
  struct chunk *chunk = objects->with_room;
  uint32_t place = chunk->first_free;
  uint32_t number = chunk->number * CHUNK_SPAN + place;
  filled.ref = make_ref(objects);
  if (hash_index_add(&objects->by_ref, filled.ref, number) != JP_OK)
    return JP_NO_MEMORY;
  if (hash_index_add(&objects->by_hash, (uint32_t)filled.hash, number) != JP_OK) {
    hash_index_remove(&objects->by_ref, filled.ref, number);
    return JP_NO_MEMORY;
  }
  (*env)->SetObjectArrayElement(env, chunk->array, (jsize)place, object);
  (*env)->ExceptionClear(env); /* an Object[] accepts every object, but -Xcheck:jni demands the check */
  chunk->first_free = chunk->slots[place].next_free;
  chunk->slots[place] = filled;
  if (++chunk->used == chunk->slot_count)
    remove_from_list(objects, chunk);
  set_count(objects, count_objects(objects) + 1);
  *ref = filled.ref;
  return JP_OK;
}

/* The state of one jvm_objects_put. */
struct putting {
  struct jvm_thread *thread;
  struct jvm_objects *objects;
  jobject object;
  struct slot filled;
  uint64_t epoch;
  struct jvm_stored *stored;
  bool has_entered;    /* the owner's `enter` has succeeded, and the table is still empty */
  struct chunk *chunk; /* created, but not in the table yet */
};

enum need { NEED_NOTHING, NEED_ENTRY, NEED_CHUNK };

static bool needs_entry(const struct putting *putting)
{
  return putting->objects->owner != NULL && !putting->has_entered && count_objects(putting->objects) == 0;
}

/* A caller without a reservation cannot use the slots that others have reserved. */
static bool is_full(const struct jvm_objects *objects, const struct jvm_stored *stored)
{
  bool has_room = count_objects(objects) + objects->reserved < objects->max &&
                  (objects->quota == NULL || !quota_is_full(objects->quota));
  return !has_room && !has_slot_reserved(stored);
}

static enum jp_status fail_full(const struct jvm_objects *objects, struct jp_error *error)
{
  if (count_objects(objects) + objects->reserved < objects->max && objects->quota != NULL)
    return jp_fail(error, JP_LIMIT, "%s: the sessions of the principal hold %zu objects together already",
                   objects->quota_name, atomic_load(&objects->quota->count));
  return jp_fail(error, JP_LIMIT, "session-max-objects: the session holds %zu objects already",
                 count_objects(objects));
}

static void drop_slot(struct jvm_objects *objects, struct jvm_stored *stored)
{
  if (!has_slot_reserved(stored))
    return;
  stored->has_slot = false;
  objects->reserved--;
}

static void note_sent(struct jvm_stored *stored, uint32_t ref, bool is_new)
{
  if (stored == NULL)
    return;
  note_ref(stored, ref);
  stored->is_new = is_new;
}

/* The caller holds the lock. *need: what the caller has to do without the lock before it tries again;
 * NEED_NOTHING: the result is final. */
static enum jp_status put_locked(struct putting *putting, uint32_t *ref, enum need *need,
                                 struct jp_error *error)
{
  struct jvm_objects *objects = putting->objects;
  JNIEnv *env = putting->thread->env;
  *need = NEED_NOTHING;
  if (objects->epoch != putting->epoch)
    return jp_fail(error, JP_CLOSED, "the session was deleted");
  hash_index_expect(&objects->by_ref, objects->last_ref + 1);
  uint32_t same = find_same(env, objects, putting->object, putting->filled.hash);
  if (same != HASH_INDEX_NONE) {
    struct slot *slot = find_slot(objects, same);
    slot->sent_count = sent_count_add(slot->sent_count);
    note_sent(putting->stored, slot->ref, false);
    *ref = slot->ref;
    return JP_OK;
  }
  if (is_full(objects, putting->stored))
    return fail_full(objects, error);
  *need = needs_entry(putting) ? NEED_ENTRY : objects->with_room == NULL ? NEED_CHUNK : NEED_NOTHING;
  if (*need != NEED_NOTHING)
    return JP_NOT_FOUND;
  if (store_object(env, objects, putting->object, putting->filled, ref) != JP_OK)
    return jp_fail_memory(error, NULL);
  if (count_objects(objects) == 1)
    putting->has_entered = false; /* from now on the stored object owns the `leave` */
  drop_slot(objects, putting->stored);
  note_sent(putting->stored, *ref, true);
  return JP_OK;
}

static enum jp_status enter_owner(struct putting *putting, struct jp_error *error)
{
  const struct jvm_objects *objects = putting->objects;
  enum jp_status status = objects->owner->enter(objects->owner_context, putting->thread, error);
  putting->has_entered = status == JP_OK;
  return status;
}

/* One attempt under the lock; uses the chunk that was created for it. */
static enum jp_status try_to_put(struct putting *putting, uint32_t *ref, enum need *need,
                                 uint32_t *slot_count, struct jp_error *error)
{
  struct jvm_objects *objects = putting->objects;
  pthread_mutex_lock(&objects->lock);
  if (putting->chunk != NULL && objects->with_room == NULL && add_chunk(objects, putting->chunk) == JP_OK)
    putting->chunk = NULL;
  *slot_count = size_next_chunk(objects);
  enum jp_status status = put_locked(putting, ref, need, error);
  pthread_mutex_unlock(&objects->lock);
  return status;
}

static enum jp_status put_object(struct putting *putting, uint32_t *ref, struct jp_error *error)
{
  enum need need;
  uint32_t slot_count;
  enum jp_status status = needs_entry(putting) ? enter_owner(putting, error) : JP_OK;
  while (status == JP_OK) {
    bool had_chunk = putting->chunk != NULL;
    status = try_to_put(putting, ref, &need, &slot_count, error);
    if (status != JP_NOT_FOUND)
      return status;
    status = JP_OK;
    if (need == NEED_ENTRY)
      status = enter_owner(putting, error);
    else if (had_chunk || (putting->chunk = create_chunk(putting->thread, slot_count)) == NULL)
      status = jp_fail_memory(error, NULL);
  }
  return status;
}

enum jp_status jvm_objects_put(struct jvm_thread *thread, struct jvm_objects *objects, jobject object,
                               uint32_t class_id, uint64_t epoch, struct jvm_stored *stored, uint32_t *ref,
                               struct jp_error *error)
{
  struct putting putting = {.thread = thread,
                            .objects = objects,
                            .object = object,
                            .filled = {.class_id = class_id, .sent_count = 1},
                            .epoch = epoch,
                            .stored = stored};
  if ((*thread->jvmti)->GetObjectHashCode(thread->jvmti, object, &putting.filled.hash) != JVMTI_ERROR_NONE)
    return jp_fail(error, JP_INTERNAL, "this object has no identity hash");
  if (!make_note_room(stored))
    return jp_fail_memory(error, NULL);
  if (stored != NULL && stored->has_entered) { /* `enter` was called when the slot was reserved */
    stored->has_entered = false;
    putting.has_entered = true;
  }
  enum jp_status status = put_object(&putting, ref, error);
  destroy_chunk(thread->env, putting.chunk); /* another thread's chunk was added first */
  if (putting.has_entered)
    leave_owner(objects);
  return status;
}

/* ---- objects, pieces and companions of a ref ---- */

enum jp_status jvm_objects_assemble(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref,
                                    const struct jvm_assembly *facts, size_t bytes, size_t bytes_max)
{
  struct assembly *made = malloc(sizeof *made);
  if (made == NULL)
    return JP_NO_MEMORY;
  if (!count_bytes(&thread->jvm->assembled, bytes, bytes_max)) {
    free(made);
    return JP_LIMIT;
  }
  *made = (struct assembly){.ref = ref, .bytes = bytes, .facts = *facts};
  pthread_mutex_lock(&objects->lock);
  objects->assembled = &thread->jvm->assembled;
  made->next = objects->assemblies;
  objects->assemblies = made;
  if (find_ref(objects, ref) == HASH_INDEX_NONE) /* the session was deleted */
    end_assembly(thread->env, objects, &objects->assemblies);
  pthread_mutex_unlock(&objects->lock);
  return JP_OK;
}

jobject jvm_objects_assembly(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref,
                             struct jvm_assembly *facts, enum jp_status *status)
{
  jobject holder = NULL;
  pthread_mutex_lock(&objects->lock);
  uint32_t number = find_ref(objects, ref);
  const struct assembly *assembly = *find_assembly(objects, ref);
  bool is_building = assembly != NULL && assembly->state == ASSEMBLY_BUILDING;
  *status = number == HASH_INDEX_NONE ? JP_NOT_FOUND : is_building ? JP_OK : JP_CLOSED;
  if (*status == JP_OK) {
    *facts = assembly->facts;
    holder = take_object(thread->env, objects, number);
  }
  pthread_mutex_unlock(&objects->lock);
  return holder;
}

enum jp_status jvm_objects_count_piece(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref,
                                       size_t bytes, size_t bytes_max)
{
  enum jp_status status = JP_OK;
  pthread_mutex_lock(&objects->lock);
  struct assembly *assembly = *find_assembly(objects, ref);
  if (assembly == NULL || assembly->state != ASSEMBLY_BUILDING)
    status = JP_CLOSED;
  else if (!count_bytes(&thread->jvm->assembled, bytes, bytes_max))
    status = JP_LIMIT;
  else
    assembly->bytes += bytes;
  pthread_mutex_unlock(&objects->lock);
  return status;
}

static jarray make_primitives(JNIEnv *env, char letter, jsize count)
{
  switch (letter) {
  case 'Z':
    return (*env)->NewBooleanArray(env, count);
  case 'B':
    return (*env)->NewByteArray(env, count);
  case 'C':
    return (*env)->NewCharArray(env, count);
  case 'S':
    return (*env)->NewShortArray(env, count);
  case 'I':
    return (*env)->NewIntArray(env, count);
  case 'J':
    return (*env)->NewLongArray(env, count);
  case 'F':
    return (*env)->NewFloatArray(env, count);
  default:
    return (*env)->NewDoubleArray(env, count);
  }
}

static jsize count_units(JNIEnv *env, char letter, jobject piece)
{
  return letter == 'T' ? (*env)->GetStringLength(env, piece) : (*env)->GetArrayLength(env, piece);
}

/* -1: the total exceeds the longest array or String. */
static jsize count_all(JNIEnv *env, char letter, jobjectArray pieces, jsize count)
{
  int64_t total = 0;
  for (jsize i = 0; i < count; i++) {
    jobject piece = (*env)->GetObjectArrayElement(env, pieces, i);
    total += count_units(env, letter, piece);
    (*env)->DeleteLocalRef(env, piece);
  }
  return total > INT32_MAX ? -1 : (jsize)total;
}

/* NULL: memory is short; an exception may be pending. */
static jobject join_pieces(struct jvm_thread *thread, char letter, jobjectArray pieces)
{
  JNIEnv *env = thread->env;
  const struct jvm_known *known = &thread->jvm->known;
  jsize count = (*env)->GetArrayLength(env, pieces);
  jsize total = count_all(env, letter, pieces, count);
  jchar *units = letter == 'T' && total >= 0 ? malloc((size_t)total * sizeof *units + 1) : NULL;
  jobject array = letter == 'T' || total < 0 ? NULL : make_primitives(env, letter, total);
  jsize at = 0;
  for (jsize i = 0; i < count && (units != NULL || array != NULL); i++) {
    jobject piece = (*env)->GetObjectArrayElement(env, pieces, i);
    jsize length = count_units(env, letter, piece);
    if (units != NULL)
      (*env)->GetStringRegion(env, piece, 0, length, units + at);
    else
      (*env)->CallStaticVoidMethod(env, known->class_system, known->static_system_arraycopy, piece, 0, array,
                                   at, length);
    (*env)->ExceptionClear(env); /* these calls cannot fail, but -Xcheck:jni demands the check */
    (*env)->DeleteLocalRef(env, piece);
    at += length;
  }
  if (units != NULL)
    array = (*env)->NewString(env, units, total);
  free(units);
  return array;
}

/* Replaces the list of pieces by the whole object. The caller holds the lock. */
static void replace_holder(JNIEnv *env, struct jvm_objects *objects, uint32_t ref, jobject whole,
                           int32_t hash)
{
  struct assembly *assembly = *find_assembly(objects, ref);
  uint32_t number = find_ref(objects, ref);
  if (assembly == NULL || number == HASH_INDEX_NONE)
    return;
  struct slot *slot = find_slot(objects, number);
  hash_index_remove(&objects->by_hash, (uint32_t)slot->hash, number);
  slot->hash = hash;
  (void)!hash_index_add(&objects->by_hash, (uint32_t)hash, number); /* in the place of the removed entry */
  (*env)->SetObjectArrayElement(env, objects->chunks[number / CHUNK_SPAN]->array,
                                (jsize)(number % CHUNK_SPAN), whole);
  (*env)->ExceptionClear(env);
  assembly->state = ASSEMBLY_WHOLE;
}

/* Call it without the lock. False: Java's memory is short. */
static bool end_building(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref)
{
  JNIEnv *env = thread->env;
  struct jvm_assembly facts;
  enum jp_status status;
  jobject holder = jvm_objects_assembly(thread, objects, ref, &facts, &status);
  if (holder == NULL)
    return true; /* another thread has joined the pieces */
  if ((*env)->MonitorEnter(env, holder) != JNI_OK)
    return false;
  jobject whole = holder;
  int32_t hash = 0;
  if (facts.letter != 0) {
    jobjectArray pieces =
        (*env)->CallObjectMethod(env, holder, thread->jvm->known.method_collection_to_array);
    whole = (*env)->ExceptionCheck(env) ? NULL : join_pieces(thread, facts.letter, pieces);
    (*env)->ExceptionClear(env); /* OutOfMemoryError */
    (*env)->DeleteLocalRef(env, pieces);
  }
  bool is_whole =
      whole != NULL && (*thread->jvmti)->GetObjectHashCode(thread->jvmti, whole, &hash) == JVMTI_ERROR_NONE;
  if (is_whole) {
    pthread_mutex_lock(&objects->lock);
    replace_holder(env, objects, ref, whole, hash);
    pthread_mutex_unlock(&objects->lock);
  }
  (*env)->MonitorExit(env, holder);
  if (whole != holder)
    (*env)->DeleteLocalRef(env, whole);
  (*env)->DeleteLocalRef(env, holder);
  return is_whole;
}

/* Joins the pieces of an object that is being built. Called with the lock, which is released during the join.
 * *link: the object's assembly, or NULL. False: Java's memory is short. */
static bool make_whole(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref,
                       struct assembly ***link)
{
  *link = find_assembly(objects, ref);
  while (**link != NULL && (**link)->state == ASSEMBLY_BUILDING) {
    pthread_mutex_unlock(&objects->lock);
    bool is_whole = end_building(thread, objects, ref);
    pthread_mutex_lock(&objects->lock);
    if (!is_whole)
      return false;
    *link = find_assembly(objects, ref);
  }
  return true;
}

static jobject take_slot(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref,
                         uint32_t *class_id)
{
  uint32_t number = find_ref(objects, ref);
  if (number == HASH_INDEX_NONE)
    return NULL;
  if (class_id != NULL)
    *class_id = find_slot(objects, number)->class_id;
  return take_object(thread->env, objects, number);
}

jobject jvm_objects_get(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref,
                        uint32_t *class_id)
{
  jobject object = NULL;
  struct assembly **link;
  pthread_mutex_lock(&objects->lock);
  if (objects->assemblies == NULL) {
    object = take_slot(thread, objects, ref, class_id);
  } else if (make_whole(thread, objects, ref, &link)) {
    end_assembly(thread->env, objects, link);
    object = take_slot(thread, objects, ref, class_id);
  }
  pthread_mutex_unlock(&objects->lock);
  return object;
}

jobject jvm_objects_open(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref,
                         uint32_t *class_id, bool *is_unused)
{
  jobject object = NULL;
  struct assembly **link = &objects->assemblies;
  pthread_mutex_lock(&objects->lock);
  *is_unused = false;
  if (objects->assemblies == NULL || make_whole(thread, objects, ref, &link)) {
    *is_unused = *link != NULL;
    object = take_slot(thread, objects, ref, class_id);
  }
  pthread_mutex_unlock(&objects->lock);
  return object;
}

enum jp_status jvm_objects_fail_get(const struct jvm_request *request, uint32_t ref, struct outcome *outcome)
{
  struct jvm_objects *objects = request->objects;
  pthread_mutex_lock(&objects->lock);
  bool is_there = find_ref(objects, ref) != HASH_INDEX_NONE;
  pthread_mutex_unlock(&objects->lock);
  if (is_there)
    return outcome_fail_memory(outcome);
  outcome_fail(outcome, request->arena, FAILURE_SERVER, "java.lang.NullPointerException",
               "No object found with objRef: %u", ref);
  return JP_NOT_FOUND;
}

bool jvm_objects_use(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref, jobject *named)
{
  *named = NULL;
  pthread_mutex_lock(&objects->lock);
  struct assembly **link = find_assembly(objects, ref);
  bool is_first = *link != NULL && (*link)->state == ASSEMBLY_WHOLE;
  if (is_first && (*link)->named != NULL)
    *named = (*thread->env)->NewLocalRef(thread->env, (*link)->named);
  if (is_first)
    (*link)->state = ASSEMBLY_IN_USE;
  pthread_mutex_unlock(&objects->lock);
  return is_first;
}

void jvm_objects_end_use(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref, bool is_used)
{
  pthread_mutex_lock(&objects->lock);
  struct assembly **link = find_assembly(objects, ref);
  if (is_used)
    end_assembly(thread->env, objects, link);
  else if (*link != NULL)
    (*link)->state = ASSEMBLY_WHOLE;
  pthread_mutex_unlock(&objects->lock);
}

jobject jvm_objects_named(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref,
                          jobject offered)
{
  JNIEnv *env = thread->env;
  jobject named = NULL;
  pthread_mutex_lock(&objects->lock);
  struct assembly *assembly = *find_assembly(objects, ref);
  if (assembly != NULL && assembly->named == NULL && offered != NULL)
    assembly->named = (*env)->NewGlobalRef(env, offered);
  if (assembly != NULL && assembly->named != NULL)
    named = (*env)->NewLocalRef(env, assembly->named);
  pthread_mutex_unlock(&objects->lock);
  return named;
}

/* The caller holds the lock. Returns the ref's companion. If the ref has no companion yet, `offered` becomes
 * its companion. *slots: size of the array that the caller has to create first; 0: none. */
static jobject take_companion(JNIEnv *env, struct jvm_objects *objects, uint32_t ref, jobject offered,
                              jobjectArray *spare, uint32_t *slots)
{
  *slots = 0;
  uint32_t number = find_ref(objects, ref);
  if (number == HASH_INDEX_NONE)
    return NULL;
  struct chunk *chunk = objects->chunks[number / CHUNK_SPAN];
  jsize place = (jsize)(number % CHUNK_SPAN);
  if (chunk->companions == NULL && *spare == NULL) {
    *slots = chunk->slot_count;
    return NULL;
  }
  if (chunk->companions == NULL) {
    chunk->companions = *spare;
    *spare = NULL;
  }
  jobject companion = (*env)->GetObjectArrayElement(env, chunk->companions, place);
  if (companion != NULL)
    return companion;
  (*env)->SetObjectArrayElement(env, chunk->companions, place, offered);
  (*env)->ExceptionClear(env);
  return (*env)->NewLocalRef(env, offered);
}

jobject jvm_objects_companion(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref,
                              jobject offered)
{
  jobject companion = NULL;
  jobjectArray spare = NULL;
  uint32_t slots = 0;
  do {
    if (slots > 0 && (spare = make_array(thread, slots)) == NULL)
      return NULL;
    pthread_mutex_lock(&objects->lock);
    companion = take_companion(thread->env, objects, ref, offered, &spare, &slots);
    pthread_mutex_unlock(&objects->lock);
  } while (companion == NULL && slots > 0);
  if (spare != NULL)
    (*thread->env)->DeleteGlobalRef(thread->env, spare);
  return companion;
}

/* ---- sent counts ---- */

/* With the lock held. */
static void release_sent(JNIEnv *env, struct jvm_objects *objects, uint32_t ref, uint32_t count)
{
  uint32_t number = find_ref(objects, ref);
  if (number == HASH_INDEX_NONE)
    return;
  struct slot *slot = find_slot(objects, number);
  slot->sent_count = sent_count_remove(slot->sent_count, count);
  if (slot->sent_count == 0)
    release_slot(env, objects, number);
}

void jvm_objects_release_sent(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref,
                              uint32_t count)
{
  pthread_mutex_lock(&objects->lock);
  size_t before = jvm_objects_count(objects);
  release_sent(thread->env, objects, ref, count);
  if (before > 0 && jvm_objects_count(objects) == 0)
    leave_owner(objects);
  pthread_mutex_unlock(&objects->lock);
}

void jvm_objects_uncount_sent(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref,
                              struct jvm_stored *stored)
{
  /* Replaces the last entry of this ref by the last entry of all. */
  size_t i = stored == NULL ? 0 : stored->count;
  while (i > 0 && stored->refs[i - 1] != ref)
    i--;
  if (i > 0)
    stored->refs[i - 1] = stored->refs[--stored->count];
  jvm_objects_release_sent(thread, objects, ref, 1);
}

enum jp_status jvm_objects_count_sent(struct jvm_objects *objects, uint32_t ref, struct jvm_stored *stored)
{
  if (!make_note_room(stored))
    return JP_NO_MEMORY;
  pthread_mutex_lock(&objects->lock);
  uint32_t number = find_ref(objects, ref);
  if (number != HASH_INDEX_NONE) {
    struct slot *slot = find_slot(objects, number);
    slot->sent_count = sent_count_add(slot->sent_count);
    note_ref(stored, ref);
  }
  pthread_mutex_unlock(&objects->lock);
  return number == HASH_INDEX_NONE ? JP_NOT_FOUND : JP_OK;
}

/* True if this released the table's last object: the caller calls leave_owner. */
static bool roll_back(struct jvm_thread *thread, struct jvm_objects *objects, struct jvm_stored *stored,
                      size_t kept)
{
  size_t before = jvm_objects_count(objects);
  while (stored->count > kept)
    release_sent(thread->env, objects, stored->refs[--stored->count], 1);
  return before > 0 && jvm_objects_count(objects) == 0;
}

void jvm_objects_roll_back(struct jvm_thread *thread, struct jvm_objects *objects, struct jvm_stored *stored,
                           size_t kept)
{
  pthread_mutex_lock(&objects->lock);
  if (roll_back(thread, objects, stored, kept))
    leave_owner(objects);
  pthread_mutex_unlock(&objects->lock);
}

void jvm_objects_roll_back_and_reserve(struct jvm_thread *thread, struct jvm_objects *objects,
                                       struct jvm_stored *stored, size_t kept)
{
  pthread_mutex_lock(&objects->lock);
  bool is_last = roll_back(thread, objects, stored, kept);
  if (is_last && (objects->owner == NULL || stored->has_entered))
    leave_owner(objects);
  else if (is_last)
    stored->has_entered = true;
  if (!is_full(objects, stored) && !stored->has_slot) {
    stored->has_slot = true;
    objects->reserved++;
  }
  pthread_mutex_unlock(&objects->lock);
}

enum jp_status jvm_objects_delete(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref)
{
  pthread_mutex_lock(&objects->lock);
  uint32_t number = find_ref(objects, ref);
  if (number != HASH_INDEX_NONE) {
    release_slot(thread->env, objects, number);
    if (count_objects(objects) == 0)
      leave_owner(objects);
  }
  pthread_mutex_unlock(&objects->lock);
  return number == HASH_INDEX_NONE ? JP_NOT_FOUND : JP_OK;
}

/* ---- refs of values ---- */

/* Enlarges the ring. False: memory is short. */
static bool grow_values(struct jvm_objects *objects)
{
  enum { FIRST = 64 };
  size_t capacity = objects->value_capacity == 0 ? FIRST : 2 * objects->value_capacity;
  if (capacity > OBJECTS_VALUES_MAX)
    capacity = OBJECTS_VALUES_MAX;
  uint32_t *grown = calloc(capacity, sizeof *grown);
  if (grown == NULL)
    return false;
  size_t place = objects->oldest_value;
  for (size_t i = 0; i < objects->value_count; i++) {
    grown[i] = objects->values[place];
    place = place + 1 == objects->value_capacity ? 0 : place + 1;
  }
  free(objects->values);
  objects->values = grown;
  objects->value_capacity = capacity;
  objects->oldest_value = 0;
  return true;
}

void jvm_objects_bound_values(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref)
{
  uint32_t ended = 0;
  pthread_mutex_lock(&objects->lock);
  bool is_full = objects->value_count == OBJECTS_VALUES_MAX;
  if (is_full) {
    ended = objects->values[objects->oldest_value];
    objects->oldest_value = (objects->oldest_value + 1) % objects->value_capacity;
    objects->value_count--;
  }
  if (objects->value_count < objects->value_capacity || grow_values(objects)) {
    objects->values[(objects->oldest_value + objects->value_count) % objects->value_capacity] = ref;
    objects->value_count++;
  }
  pthread_mutex_unlock(&objects->lock);
  if (is_full)
    (void)!jvm_objects_delete(thread, objects, ended); /* JP_NOT_FOUND: the client has deleted it */
}

/* ---- reservations ---- */

enum jp_status jvm_objects_reserve(struct jvm_thread *thread, struct jvm_objects *objects, bool enters,
                                   struct jvm_stored *stored, struct jp_error *error)
{
  enum jp_status status = JP_OK;
  pthread_mutex_lock(&objects->lock);
  bool is_empty = count_objects(objects) == 0;
  if (is_full(objects, stored)) {
    status = fail_full(objects, error);
  } else {
    stored->has_slot = true;
    objects->reserved++;
  }
  pthread_mutex_unlock(&objects->lock);
  if (status != JP_OK || !enters || !is_empty || objects->owner == NULL)
    return status;
  status = objects->owner->enter(objects->owner_context, thread, error);
  stored->has_entered = status == JP_OK;
  if (status != JP_OK)
    jvm_objects_end_reservation(objects, stored);
  return status;
}

void jvm_objects_end_reservation(struct jvm_objects *objects, struct jvm_stored *stored)
{
  if (!stored->has_slot && !stored->has_entered)
    return;
  pthread_mutex_lock(&objects->lock);
  drop_slot(objects, stored);
  if (stored->has_entered)
    leave_owner(objects);
  stored->has_entered = false;
  pthread_mutex_unlock(&objects->lock);
}

/* ---- the whole table ---- */

void jvm_objects_clear(struct jvm_thread *thread, struct jvm_objects *objects)
{
  pthread_mutex_lock(&objects->lock);
  while (objects->assemblies != NULL)
    end_assembly(thread->env, objects, &objects->assemblies);
  for (size_t i = 0; i < objects->chunk_capacity; i++)
    destroy_chunk(thread->env, objects->chunks[i]);
  free(objects->chunks);
  objects->chunks = NULL;
  objects->chunk_capacity = 0;
  objects->chunk_count = 0;
  objects->slots = 0;
  objects->with_room = NULL;
  hash_index_fini(&objects->by_ref);
  hash_index_fini(&objects->by_hash);
  free(objects->values);
  objects->values = NULL;
  objects->value_capacity = 0;
  objects->value_count = 0;
  objects->oldest_value = 0;
  if (count_objects(objects) > 0)
    leave_owner(objects);
  set_count(objects, 0);
  objects->epoch++;
  pthread_mutex_unlock(&objects->lock);
}

void jvm_objects_destroy(struct jvm_thread *thread, struct jvm_objects *objects)
{
  if (objects == NULL)
    return;
  jvm_objects_clear(thread, objects);
  pthread_mutex_destroy(&objects->lock);
  free(objects);
}

size_t jvm_objects_count(const struct jvm_objects *objects)
{
  return count_objects(objects);
}

bool jvm_objects_is_unused(const struct jvm_objects *objects)
{
  return objects->last_ref == objects->begun_after &&
         atomic_load_explicit(&objects->epoch, memory_order_relaxed) == 0;
}

uint64_t jvm_objects_epoch(struct jvm_objects *objects)
{
  return atomic_load_explicit(&objects->epoch, memory_order_acquire);
}

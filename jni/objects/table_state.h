#ifndef JPEER_JNI_OBJECTS_TABLE_STATE_H
#define JPEER_JNI_OBJECTS_TABLE_STATE_H
/* The parts of a table of objects, for the files of jni/objects that work on them. */
#include "jni/objects/object_table.h"
#include "jni/objects/slot_index.h"

#include <pthread.h>
#include <stdatomic.h>

/*
 * A slot's number is its chunk's number times CHUNK_SPAN plus its place. The first chunk is tiny, as nearly
 * all sessions are, and each further one makes the table four times as large. A large table has large chunks,
 * because every collection of the young generation visits each chunk as a root. Chunks with room are in a
 * list. A chunk that becomes empty is freed only if another has room, so that a session that makes and drops
 * one object does not make and drop a chunk each time.
 */
enum { FIRST_CHUNK_SLOTS = 4, SMALL_CHUNK_SLOTS = 1024, CHUNK_SPAN = 8192 };
enum { FIRST_CHUNKS = 1 };
enum { NO_CHUNK = UINT32_MAX };
#define TOLD_MAX UINT32_MAX
#define REF_MAX  ((uint32_t)INT32_MAX)

struct slot {
  uint32_t ref; /* 0: free */
  int32_t hash;
  uint32_t class_id;
  union {
    uint32_t next_free; /* of a free slot: a place in the chunk; slot_count ends the list */
    uint32_t told;      /* of one that is held: how often answers have told its ref; TOLD_MAX: more often */
  };
};

struct chunk {
  jobjectArray array;      /* global: Object[slot_count] */
  jobjectArray companions; /* the same, of what is kept beside the objects; NULL: nothing is */
  uint32_t slot_count;
  uint32_t used;
  uint32_t first_free;
  uint32_t number;
  struct chunk *previous; /* in the list of those with room */
  struct chunk *next;
  struct slot slots[];
};

struct jvm_objects {
  pthread_mutex_t lock;
  const struct jvm_objects_owner *owner; /* NULL: none */
  void *owner_context;
  size_t max;
  _Atomic size_t count;   /* written with the lock */
  size_t reserved;        /* slots for results to come */
  _Atomic uint64_t epoch; /* likewise */
  uint32_t last_ref;
  uint32_t begun_after;  /* last_ref while nothing was ever stored */
  bool has_begun_again;  /* refs have wrapped around, so that the next ones may be in use */
  struct chunk **chunks; /* by number; NULL where one was given back */
  size_t chunk_capacity;
  size_t chunk_count;
  size_t slots; /* of all chunks */
  struct chunk *with_room;
  struct slot_index by_ref;
  struct slot_index by_hash;
  uint32_t *values; /* a ring of the refs of values, oldest first; NULL: there were none */
  size_t value_capacity;
  size_t value_count;
  size_t oldest_value;
};

/* A global reference; NULL: Java's memory is short. Without the lock: making an array may collect garbage. */
jobjectArray object_table_make_array(struct jvm_thread *thread, uint32_t slot_count);

/* All of these with the lock held. */

static inline struct slot *object_table_slot(const struct jvm_objects *objects, uint32_t number)
{
  return &objects->chunks[number / CHUNK_SPAN]->slots[number % CHUNK_SPAN];
}

/* The caller tells the owner where that was the last object. */
void object_table_release_slot(JNIEnv *env, struct jvm_objects *objects, uint32_t number);
/* When the last object is gone. */
void object_table_tell_owner(const struct jvm_objects *objects);

/* tellings.c */

/* Counts a telling. At TOLD_MAX nobody knows how many there are, and the object stays until all are let go. */
static inline void object_table_tell(struct slot *slot)
{
  if (slot->told < TOLD_MAX)
    slot->told++;
}

/* As jvm_objects_take_back. True where the last of the table's objects went, so that its owner has to be told. */
bool object_table_take_back(struct jvm_thread *thread, struct jvm_objects *objects, struct jvm_stored *stored,
                            size_t kept);

#endif

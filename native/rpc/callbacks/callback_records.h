#ifndef JPEER_RPC_CALLBACKS_CALLBACK_RECORDS_H
#define JPEER_RPC_CALLBACKS_CALLBACK_RECORDS_H
/*
 * What is known of each object that a client has given: a table by its ID. Used under the lock of the callbacks that it
 * belongs to.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct callback_record {
  struct callback_record *next; /* in its bucket */
  int64_t id;
  uint64_t epoch; /* of struct rpc_callbacks, when it was made */
  uint64_t given; /* arguments that were read since it was made */
  uint64_t proxy; /* the number of the last proxy that jni has made of it; 0: Java has none */
  size_t in_hand; /* arguments of messages that are being served, and open calls */
};

/* Begins as zero. */
struct callback_records {
  struct callback_record **buckets;
  size_t bucket_count; /* a power of two */
  size_t count;
  uint64_t seed; /* clients choose the IDs; they must not choose the buckets */
};

/* NULL: there is none. */
struct callback_record *callback_records_find(const struct callback_records *records, int64_t id);
/* The record of an ID, which is made where there is none. NULL: memory is short. */
struct callback_record *callback_records_make(struct callback_records *records, int64_t id);
/* Removes and frees a record of the table. */
void callback_records_remove(struct callback_records *records, struct callback_record *record);
/* Removes all; each is called for every one before. */
void callback_records_clear(struct callback_records *records,
                            void (*each)(void *context, const struct callback_record *record), void *context);
void callback_records_fini(struct callback_records *records);

#endif

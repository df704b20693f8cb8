#include "rpc/callbacks/callback_records.h"

#include "base/uuid.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_BUCKETS = 8 };

static struct callback_record **bucket_of(const struct callback_records *records, int64_t id)
{
  uint64_t hash = ((uint64_t)id ^ records->seed) * 0x9E3779B97F4A7C15u;
  return &records->buckets[(hash ^ hash >> 32) & (records->bucket_count - 1)];
}

struct callback_record *callback_records_find(const struct callback_records *records, int64_t id)
{
  if (records->bucket_count == 0)
    return NULL;
  struct callback_record *record = *bucket_of(records, id);
  while (record != NULL && record->id != id)
    record = record->next;
  return record;
}

static void add_record(struct callback_records *records, struct callback_record *record)
{
  struct callback_record **bucket = bucket_of(records, record->id);
  record->next = *bucket;
  *bucket = record;
}

static uint64_t make_seed(void)
{
  struct uuid uuid;
  uint64_t seed;
  uuid_random(&uuid);
  memcpy(&seed, &uuid, sizeof seed);
  return seed;
}

/* Keeps no more records than buckets. False: memory is short. */
static bool make_room(struct callback_records *records)
{
  if (records->count < records->bucket_count)
    return true;
  struct callback_records grown = {.bucket_count =
                                       records->bucket_count == 0 ? FIRST_BUCKETS : records->bucket_count * 2,
                                   .count = records->count,
                                   .seed = records->bucket_count == 0 ? make_seed() : records->seed};
  grown.buckets = calloc(grown.bucket_count, sizeof(struct callback_record *));
  if (grown.buckets == NULL)
    return false;
  for (size_t i = 0; i < records->bucket_count; i++) {
    for (struct callback_record *record = records->buckets[i], *next; record != NULL; record = next) {
      next = record->next;
      add_record(&grown, record);
    }
  }
  free(records->buckets);
  *records = grown;
  return true;
}

struct callback_record *callback_records_make(struct callback_records *records, int64_t id)
{
  struct callback_record *record = callback_records_find(records, id);
  if (record != NULL)
    return record;
  record = calloc(1, sizeof *record);
  if (record == NULL || !make_room(records)) {
    free(record);
    return NULL;
  }
  record->id = id;
  add_record(records, record);
  records->count++;
  return record;
}

void callback_records_remove(struct callback_records *records, struct callback_record *record)
{
  struct callback_record **link = bucket_of(records, record->id);
  while (*link != record)
    link = &(*link)->next;
  *link = record->next;
  records->count--;
  free(record);
}

void callback_records_clear(struct callback_records *records,
                            void (*each)(void *context, const struct callback_record *record), void *context)
{
  for (size_t i = 0; i < records->bucket_count; i++) {
    for (struct callback_record *record = records->buckets[i], *next; record != NULL; record = next) {
      next = record->next;
      each(context, record);
      free(record);
    }
    records->buckets[i] = NULL;
  }
  records->count = 0;
}

static void pass_over(void *context, const struct callback_record *record)
{
  (void)context, (void)record;
}

void callback_records_fini(struct callback_records *records)
{
  callback_records_clear(records, pass_over, NULL);
  free(records->buckets);
  *records = (struct callback_records){.count = 0};
}

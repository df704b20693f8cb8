#include "jni/internal/records.h"

#include <stdlib.h>

enum { BUCKETS = 2048, RECORDS_MAX = 4096 };

static void free_buckets(struct jvm_record **buckets)
{
  if (buckets == NULL)
    return;
  for (size_t i = 0; i < BUCKETS; i++)
    for (struct jvm_record *record = buckets[i], *next; record != NULL; record = next) {
      next = record->next;
      free(record);
    }
  free(buckets);
}

static void destroy(struct jvm_thread *thread)
{
  struct jvm_records *records = thread->records;
  thread->records = NULL;
  free_buckets(records->buckets);
  free_buckets(records->retired);
  free(records);
}

struct jvm_records *records_of(struct jvm_thread *thread)
{
  if (thread->records != NULL)
    return thread->records;
  struct jvm_records *records = calloc(1, sizeof *records);
  if (records == NULL)
    return NULL;
  records->buckets = calloc(BUCKETS, sizeof(struct jvm_record *));
  if (records->buckets == NULL) {
    free(records);
    return NULL;
  }
  thread->records = records;
  thread->records_destroy = destroy;
  return records;
}

struct key_writer {
  char *at;
  char *end;
  bool full;
};

static void write_bytes(struct key_writer *writer, const void *bytes, size_t count)
{
  if (writer->full || count > (size_t)(writer->end - writer->at)) {
    writer->full = true;
    return;
  }
  memcpy(writer->at, bytes, count);
  writer->at += count;
}

/* With its length before it, so that no two lists of texts read alike. */
static void write_text(struct key_writer *writer, struct text t)
{
  uint32_t length = (uint32_t)t.len;
  write_bytes(writer, &length, sizeof length);
  write_bytes(writer, t.data, t.len);
}

/* What overload resolution may look at: the declared type, or else the kind of the value; a ref's class. */
static void write_argument(struct key_writer *writer, const struct op_value *value, uint32_t class_id)
{
  char head[2] = {(char)value->kind, value->type.data != NULL};
  if (value->type.data != NULL && value->kind != OP_REF)
    head[0] = OP_NULL;
  write_bytes(writer, head, sizeof head);
  if (value->type.data != NULL)
    write_text(writer, value->type);
  if (value->kind == OP_REF) {
    write_bytes(writer, &class_id, sizeof class_id);
  } else if (value->type.data == NULL) {
    char form = value->kind == OP_PACKED ? value->packed.element : scalar_infer(value);
    write_bytes(writer, &form, sizeof form);
  }
}

void records_make_key(struct jvm_records *records, const struct operation *operation, uint32_t receiver_class)
{
  struct key_writer writer = {.at = records->key, .end = records->key + RECORD_KEY_MAX};
  char head[2] = {(char)operation->kind, operation->has_instance};
  write_bytes(&writer, head, sizeof head);
  write_bytes(&writer, &receiver_class, sizeof receiver_class);
  write_text(&writer, operation->type);
  write_text(&writer, operation->member);
  for (size_t i = 0; i < operation->arg_count; i++)
    write_argument(&writer, &operation->args[i], records->classes[i]);
  records->key_length = writer.full ? 0 : (size_t)(writer.at - records->key);
}

static struct text key_in_hand(const struct jvm_records *records)
{
  return (struct text){records->key, records->key_length};
}

struct jvm_record *records_find(struct jvm_records *records)
{
  if (records->key_length == 0)
    return NULL;
  struct text key = key_in_hand(records);
  uint64_t hash = text_hash(key);
  for (struct jvm_record *record = records->buckets[hash % BUCKETS]; record != NULL; record = record->next)
    if (record->hash == hash && text_equal((struct text){record->key, record->key_length}, key))
      return record;
  return NULL;
}

/* Starts the cache anew; records of the request in hand stay until this happens again. */
static bool retire(struct jvm_records *records)
{
  struct jvm_record **buckets = calloc(BUCKETS, sizeof(struct jvm_record *));
  if (buckets == NULL)
    return false;
  free_buckets(records->retired);
  records->retired = records->buckets;
  records->buckets = buckets;
  records->count = 0;
  return true;
}

struct jvm_record *records_keep(struct jvm_records *records, struct jvm_record *record)
{
  if (records->key_length == 0 || (records->count >= RECORDS_MAX && !retire(records)))
    return record;
  size_t plans_size = record->plan_count * sizeof *record->plans;
  struct jvm_record *kept = malloc(sizeof *kept + plans_size + records->key_length + record->member.len);
  if (kept == NULL)
    return record;
  *kept = *record;
  kept->plans = (struct argument_plan *)(void *)(kept + 1);
  char *key = (char *)kept->plans + plans_size;
  char *member = key + records->key_length;
  if (plans_size > 0)
    memcpy(kept->plans, record->plans, plans_size);
  memcpy(key, records->key, records->key_length);
  memcpy(member, record->member.data, record->member.len);
  kept->member.data = member;
  kept->key = key;
  kept->key_length = records->key_length;
  kept->hash = text_hash(key_in_hand(records));
  struct jvm_record **bucket = &records->buckets[kept->hash % BUCKETS];
  kept->next = *bucket;
  *bucket = kept;
  records->count++;
  return kept;
}

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

bool records_open(struct jvm_records *records, const struct operation *operation, struct arena *arena)
{
  size_t count = operation->arg_count;
  records->objects = records->few.objects;
  records->key.arguments = records->few.arguments;
  if (count > FEW_ARGUMENTS) {
    records->objects = arena_calloc(arena, count, sizeof(jobject));
    records->key.arguments = arena_calloc(arena, count, sizeof *records->key.arguments);
  }
  return records->objects != NULL && records->key.arguments != NULL;
}

/* A declared type says all that the value's own form could, but for a ref; kinds are told apart from it. */
static uint32_t form_of(const struct op_value *value)
{
  enum { IS_DECLARED = 1 << 8, IS_REF = 1 << 9, LETTER_SHIFT = 16 };
  if (value->kind == OP_REF)
    return value->type.data != NULL ? IS_REF | IS_DECLARED : IS_REF;
  if (value->type.data != NULL)
    return IS_DECLARED;
  char letter = value->kind == OP_PACKED ? value->packed.element : scalar_infer(value);
  return (uint32_t)value->kind | (uint32_t)(unsigned char)letter << LETTER_SHIFT;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
  hash = (hash ^ word) * 0xBF58476D1CE4E5B9u;
  return hash ^ hash >> 32;
}

void records_make_key(struct jvm_records *records, const struct operation *operation)
{
  struct record_key *key = &records->key;
  key->kind = operation->kind;
  key->type = operation->type;
  key->member = operation->member;
  key->argument_count = operation->arg_count;
  uint64_t hash = mix(text_hash(operation->type), text_hash(operation->member));
  hash = mix(hash, (uint64_t)key->receiver_class << 8 | (uint64_t)key->kind);
  for (size_t i = 0; i < operation->arg_count; i++) {
    struct record_argument *argument = &key->arguments[i];
    argument->type = operation->args[i].type;
    argument->form = form_of(&operation->args[i]);
    hash = mix(hash, (uint64_t)argument->class_id << 32 | argument->form);
    if (argument->type.data != NULL)
      hash = mix(hash, text_hash(argument->type));
  }
  key->hash = hash;
}

static bool is_same_argument(const struct record_argument *a, const struct record_argument *b)
{
  return a->form == b->form && a->class_id == b->class_id && text_equal(a->type, b->type);
}

static bool is_same_key(const struct record_key *a, const struct record_key *b)
{
  if (a->hash != b->hash || a->kind != b->kind || a->receiver_class != b->receiver_class ||
      a->argument_count != b->argument_count || !text_equal(a->type, b->type) ||
      !text_equal(a->member, b->member))
    return false;
  for (size_t i = 0; i < a->argument_count; i++)
    if (!is_same_argument(&a->arguments[i], &b->arguments[i]))
      return false;
  return true;
}

struct jvm_record *records_find(const struct jvm_records *records)
{
  struct jvm_record *record = records->buckets[records->key.hash % BUCKETS];
  while (record != NULL && !is_same_key(&record->key, &records->key))
    record = record->next;
  return record;
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

/* Of all texts of the key. */
static size_t length_of_texts(const struct record_key *key)
{
  size_t length = key->type.len + key->member.len;
  for (size_t i = 0; i < key->argument_count; i++)
    length += key->arguments[i].type.len;
  return length;
}

/* What is kept must not grow with what a caller may send. */
static bool is_short(const struct record_key *key)
{
  return key->argument_count <= RECORD_ARGUMENTS_MAX && length_of_texts(key) <= RECORD_TEXTS_MAX;
}

static struct text copy_text(char **at, struct text t)
{
  struct text copy = {t.data == NULL ? NULL : *at, t.len};
  if (t.len > 0)
    memcpy(*at, t.data, t.len);
  *at += t.len;
  return copy;
}

struct jvm_record *records_keep(struct jvm_records *records, struct jvm_record *record)
{
  const struct record_key *key = &records->key;
  size_t plans_size = record->plan_count * sizeof *record->plans;
  size_t arguments_size = key->argument_count * sizeof *key->arguments;
  if (!is_short(key) || (records->count >= RECORDS_MAX && !retire(records)))
    return record;
  struct jvm_record *kept = malloc(sizeof *kept + plans_size + arguments_size + length_of_texts(key));
  if (kept == NULL)
    return record;
  *kept = *record;
  kept->plans = (struct argument_plan *)(void *)(kept + 1);
  kept->key = *key;
  kept->key.arguments = (struct record_argument *)(void *)((char *)kept->plans + plans_size);
  char *at = (char *)kept->key.arguments + arguments_size;
  if (plans_size > 0)
    memcpy(kept->plans, record->plans, plans_size);
  kept->key.type = copy_text(&at, key->type);
  kept->key.member = copy_text(&at, key->member);
  kept->member = kept->key.member;
  for (size_t i = 0; i < key->argument_count; i++) {
    kept->key.arguments[i] = key->arguments[i];
    kept->key.arguments[i].type = copy_text(&at, key->arguments[i].type);
  }
  struct jvm_record **bucket = &records->buckets[kept->key.hash % BUCKETS];
  kept->next = *bucket;
  *bucket = kept;
  records->count++;
  return kept;
}

#include "rpc/meta/meta.h"

#include "base/process_limits.h"
#include "classfile/class_file.h"
#include "rpc/meta/document_cache.h"
#include "rpc/meta/meta_ahead.h"
#include "rpc/meta/meta_gzip.h"
#include "rpc/meta/meta_json.h"
#include "rpc/meta/meta_look.h"
#include "rpc/meta/meta_shapes.h"

#include <stdlib.h>

/* Bytes of text that are collected before they are compressed. */
enum { TEXT_PIECE = 32 * 1024 };

struct rpc_meta {
  struct catalog *catalog; /* borrowed */
  struct document_cache *cache;
  bool writes_ahead; /* there is a processor for it */
};

/* An answer that is made while it is read. */
struct new_answer {
  struct policy *policy;           /* held */
  struct catalog_excerpt *excerpt; /* held; the query's tables */
  struct rpc_meta *meta;
  struct meta_reach reach;
  struct meta_query query;
  struct meta_json json;
  struct meta_ahead *ahead; /* writes the text; NULL: it is written here */
  bool compress;
  struct meta_gzip gzip;
  struct buffer text;   /* before it is compressed */
  struct buffer record; /* the body so far, for the cache; dropped when it grows too large */
  bool is_recorded;
  struct buffer key;
  bool done;
};

/* An answer out of the cache. */
struct kept_answer {
  struct kept_document *document;
  size_t given;
};

enum jp_status rpc_meta_create(struct catalog *catalog, struct rpc_meta **meta, struct jp_error *error)
{
  struct rpc_meta *created = calloc(1, sizeof *created);
  if (created != NULL)
    created->cache = document_cache_create();
  if (created == NULL || created->cache == NULL) {
    free(created);
    return jp_fail(error, JP_NO_MEMORY, "out of memory");
  }
  created->catalog = catalog;
  created->writes_ahead = processors_usable() > 1;
  *meta = created;
  return JP_OK;
}

void rpc_meta_destroy(struct rpc_meta *meta)
{
  if (meta == NULL)
    return;
  document_cache_destroy(meta->cache);
  free(meta);
}

static enum jp_status read_kept(void *state, struct buffer *out, size_t max)
{
  struct kept_answer *answer = state;
  struct text whole = kept_document_text(answer->document);
  size_t step = whole.len - answer->given;
  if (step == 0)
    return JP_CLOSED;
  if (step > max)
    step = max;
  buffer_append(out, whole.data + answer->given, step);
  answer->given += step;
  return out->failed ? JP_NO_MEMORY : JP_OK;
}

static void close_kept(void *state)
{
  struct kept_answer *answer = state;
  kept_document_drop(answer->document);
  free(answer);
}

static enum jp_status write_text(struct new_answer *answer, struct buffer *out, size_t until)
{
  while (out->len < until) {
    enum jp_status status = meta_json_next(&answer->json, out);
    if (status == JP_CLOSED)
      answer->done = true;
    if (status != JP_OK)
      return status == JP_CLOSED ? JP_OK : status;
  }
  return JP_OK;
}

static enum jp_status write_compressed(struct new_answer *answer, struct buffer *out, size_t until)
{
  enum jp_status status = JP_OK;
  while (status == JP_OK && out->len < until && !answer->done) {
    if (answer->ahead != NULL) {
      status = meta_ahead_next(answer->ahead, &answer->text, &answer->done);
    } else {
      buffer_clear(&answer->text);
      status = write_text(answer, &answer->text, TEXT_PIECE);
    }
    if (status == JP_OK)
      status = meta_gzip_write(&answer->gzip, buffer_text(&answer->text), answer->done, out);
  }
  return status;
}

static void record_piece(struct new_answer *answer, struct text piece)
{
  if (!answer->is_recorded)
    return;
  buffer_append_text(&answer->record, piece);
  answer->is_recorded = answer->record.len <= DOCUMENT_CACHE_BYTES_MAX && !answer->record.failed;
  if (!answer->is_recorded)
    buffer_fini(&answer->record);
  else if (answer->done)
    document_cache_take(answer->meta->cache, buffer_text(&answer->key), &answer->record);
}

static enum jp_status read_new(void *state, struct buffer *out, size_t max)
{
  struct new_answer *answer = state;
  size_t before = out->len;
  if (answer->done)
    return JP_CLOSED;
  enum jp_status status =
      answer->compress ? write_compressed(answer, out, before + max) : write_text(answer, out, before + max);
  if (status != JP_OK)
    return status;
  record_piece(answer, text_slice(buffer_text(out), before, out->len));
  return out->len > before ? JP_OK : JP_CLOSED;
}

static void close_new(void *state)
{
  struct new_answer *answer = state;
  meta_ahead_stop(answer->ahead);
  meta_json_fini(&answer->json);
  meta_query_fini(&answer->query);
  meta_reach_fini(&answer->reach);
  if (answer->compress)
    meta_gzip_fini(&answer->gzip);
  buffer_fini(&answer->text);
  buffer_fini(&answer->record);
  buffer_fini(&answer->key);
  policy_destroy(answer->policy);
  catalog_excerpt_close(answer->excerpt);
  free(answer);
}

static void append_key_number(struct buffer *key, uint64_t number)
{
  buffer_append(key, &number, sizeof number);
}

static void append_key_texts(struct buffer *key, const struct text *texts, size_t count)
{
  append_key_number(key, count);
  for (size_t i = 0; i < count; i++) {
    append_key_number(key, texts[i].len);
    buffer_append_text(key, texts[i]);
  }
}

/* Names all that a compressed answer depends on; the catalog never changes. */
static void make_key(struct buffer *key, const struct policy *policy, enum policy_channel channel,
                     const struct meta_reach *reach, const struct operation *operation)
{
  append_key_number(key, policy_generation(policy));
  append_key_number(key, reach->stamp);
  append_key_number(key, (uint64_t)channel << 1 | operation->meta.merge_ancestry);
  append_key_texts(key, operation->meta.exclude_prefixes, operation->meta.exclude_count);
  append_key_texts(key, operation->meta.include_classes,
                   operation->meta.include_classes == NULL ? 0 : operation->meta.include_count);
}

static bool open_kept(struct rpc_meta *meta, struct text key, struct outcome_body *body)
{
  struct kept_document *document = document_cache_find(meta->cache, key);
  struct kept_answer *answer = document == NULL ? NULL : calloc(1, sizeof *answer);
  if (answer == NULL) {
    kept_document_drop(document);
    return false;
  }
  answer->document = document;
  *body = (struct outcome_body){answer, read_kept, close_kept};
  return true;
}

/* Takes *reach where it succeeds. */
static enum jp_status open_new(struct rpc_meta *meta, struct policy *policy, enum policy_channel channel,
                               struct catalog_excerpt *excerpt, struct meta_reach *reach,
                               const struct operation *operation, struct buffer *key,
                               struct outcome_body *body, struct jp_error *error)
{
  struct new_answer *answer = calloc(1, sizeof *answer);
  if (answer == NULL ||
      meta_query_init(&answer->query, catalog_excerpt_tables(excerpt), policy, channel, operation) != JP_OK) {
    free(answer);
    return jp_fail(error, JP_NO_MEMORY, "out of memory");
  }
  answer->reach = *reach;
  *reach = (struct meta_reach){.classes = NULL};
  answer->query.reach = &answer->reach;
  answer->meta = meta;
  answer->policy = policy_retain(policy);
  answer->excerpt = catalog_excerpt_retain(excerpt);
  meta_json_init(&answer->json, &answer->query);
  answer->compress = operation->meta.compress_encode;
  answer->is_recorded = answer->compress && !key->failed && key->len <= DOCUMENT_CACHE_KEY_MAX;
  answer->key = *key;
  buffer_init(key);
  if (answer->compress && meta_gzip_init(&answer->gzip) != JP_OK) {
    close_new(answer);
    return jp_fail(error, JP_NO_MEMORY, "out of memory");
  }
  if (answer->compress && meta->writes_ahead && answer->query.included == NULL)
    answer->ahead = meta_ahead_start(&answer->json);
  *body = (struct outcome_body){answer, read_new, close_new};
  return JP_OK;
}

/* Whether another class may have it as its superclass, which only the files of all classes tell. */
static bool may_have_subclasses(const struct catalog_tables *tables, struct text name)
{
  uint32_t found = catalog_find(tables, name);
  return found != CATALOG_NONE && !tables->classes[found].hidden &&
         (tables->classes[found].access & (ACCESS_FINAL | ACCESS_INTERFACE)) == 0;
}

/* The classes that the answer needs: those that the operation names, and all where one of these may have subclasses, or
 * where it names none. */
static enum jp_status open_classes(struct catalog *catalog, const struct operation *operation,
                                   struct catalog_excerpt **excerpt, struct jp_error *error)
{
  const struct text *names = operation->meta.include_classes;
  size_t count = names == NULL ? 0 : operation->meta.include_count;
  if (count == 0)
    return catalog_excerpt_open_whole(catalog, excerpt, error);
  enum jp_status status = catalog_excerpt_open(catalog, names, count, CATALOG_ANCESTRY, excerpt, error);
  bool needs_all = false;
  for (size_t i = 0; status == JP_OK && !catalog_excerpt_is_whole(*excerpt) && !needs_all && i < count; i++)
    needs_all = may_have_subclasses(catalog_excerpt_tables(*excerpt), names[i]);
  if (!needs_all)
    return status;
  catalog_excerpt_close(*excerpt);
  return catalog_excerpt_open_whole(catalog, excerpt, error);
}

enum jp_status rpc_meta_open(struct rpc_meta *meta, struct policy *policy, enum policy_channel channel,
                             const struct meta_loaders *loaders, const struct operation *operation,
                             struct outcome_body *body, struct jp_error *error)
{
  struct catalog_excerpt *excerpt;
  struct meta_reach reach;
  struct buffer key;
  enum jp_status status = open_classes(meta->catalog, operation, &excerpt, error);
  if (status != JP_OK)
    return status;
  if (meta_reach_find(&reach, catalog_excerpt_tables(excerpt), loaders) != JP_OK) {
    catalog_excerpt_close(excerpt);
    return jp_fail(error, JP_NO_MEMORY, "out of memory");
  }
  buffer_init(&key);
  if (operation->meta.compress_encode)
    make_key(&key, policy, channel, &reach, operation);
  bool is_kept = operation->meta.compress_encode && !key.failed && open_kept(meta, buffer_text(&key), body);
  if (!is_kept)
    status = open_new(meta, policy, channel, excerpt, &reach, operation, &key, body, error);
  buffer_fini(&key);
  meta_reach_fini(&reach);
  catalog_excerpt_close(excerpt);
  return status;
}

enum jp_status rpc_meta_describe(struct rpc_meta *meta, const struct policy *policy,
                                 enum policy_channel channel, const struct op_look *look, struct arena *arena,
                                 struct text *text)
{
  struct buffer out;
  struct catalog_excerpt *known = meta_shapes_open_known(meta == NULL ? NULL : meta->catalog, look);
  buffer_init(&out);
  enum jp_status status =
      meta_look_write(look, known == NULL ? NULL : catalog_excerpt_tables(known), policy, channel, &out);
  if (status == JP_OK) {
    *text = arena_text(arena, buffer_text(&out));
    status = text->data == NULL ? JP_NO_MEMORY : JP_OK;
  }
  buffer_fini(&out);
  catalog_excerpt_close(known);
  return status;
}

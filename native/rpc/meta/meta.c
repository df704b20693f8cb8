#include "rpc/meta/meta.h"

#include "base/base64.h"
#include "base/process_limits.h"
#include "classfile/class_file.h"
#include "rpc/meta/document_cache.h"
#include "rpc/meta/meta_json.h"
#include "rpc/meta/meta_shapes.h"
#include "rpc/meta/name_list.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#define ZLIB_CONST /* makes zlib's input pointer const */
#include <zlib.h>

/* ---- compressing ---- */

/* Converts bytes to the base64 (RFC 4648) of their gzip (RFC 1952), piece by piece. */
struct meta_gzip {
  z_stream stream;
  uint8_t kept[2]; /* bytes that wait for the rest of a base64 group of three */
  size_t kept_count;
};

/* Metadata repeats itself so much that the quick level compresses well enough (docs/metadata.md has the
 * figures). */
enum { LEVEL = 3, GZIP_WINDOW = 15 + 16, MEMORY_LEVEL = 8, PIECE = 3 * 5 * 1024 };

static enum jp_status begin_gzip(struct meta_gzip *gzip)
{
  *gzip = (struct meta_gzip){0};
  return deflateInit2(&gzip->stream, LEVEL, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) == Z_OK
             ? JP_OK
             : JP_NO_MEMORY;
}

/* Compresses the next bytes and appends the output that is ready. last: these are the last bytes, and all
 * output is appended. */
static enum jp_status write_gzip(struct meta_gzip *gzip, struct text bytes, bool last, struct buffer *out)
{
  uint8_t piece[PIECE];
  int code = Z_OK;
  gzip->stream.next_in = (const Bytef *)bytes.data;
  gzip->stream.avail_in = (uInt)bytes.len;
  do {
    memcpy(piece, gzip->kept, gzip->kept_count);
    gzip->stream.next_out = piece + gzip->kept_count;
    gzip->stream.avail_out = (uInt)(sizeof piece - gzip->kept_count);
    code = deflate(&gzip->stream, last ? Z_FINISH : Z_NO_FLUSH);
    if (code == Z_STREAM_ERROR)
      return JP_INTERNAL;
    size_t ready = sizeof piece - gzip->stream.avail_out;
    gzip->kept_count = code == Z_STREAM_END ? 0 : ready % 3;
    memcpy(gzip->kept, piece + ready - gzip->kept_count, gzip->kept_count);
    base64_encode(out, piece, ready - gzip->kept_count);
  } while (last ? code != Z_STREAM_END : gzip->stream.avail_out == 0);
  return out->failed ? JP_NO_MEMORY : JP_OK;
}

/* ---- writing ahead ---- */

enum { PIECES = 4, PIECE_BYTES = 128 * 1024 };

/* Writes the JSON of a large answer on a thread of its own, a few pieces ahead of the thread that
 * compresses them. */
struct meta_ahead {
  pthread_t thread;
  struct meta_json *json;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  /* guarded by the lock, except the piece that the thread is writing */
  struct buffer pieces[PIECES]; /* a ring */
  size_t written;               /* pieces so far; the next piece goes to written % PIECES */
  size_t taken;
  enum jp_status status; /* JP_CLOSED: the last piece is written */
  bool is_stopped;
};

/* False: the reader has stopped. */
static bool await_room(struct meta_ahead *ahead)
{
  pthread_mutex_lock(&ahead->lock);
  while (ahead->written - ahead->taken == PIECES && !ahead->is_stopped)
    pthread_cond_wait(&ahead->changed, &ahead->lock);
  bool goes_on = !ahead->is_stopped;
  pthread_mutex_unlock(&ahead->lock);
  return goes_on;
}

static void *write_pieces(void *context)
{
  struct meta_ahead *ahead = context;
  enum jp_status status = JP_OK;
  while (status == JP_OK && await_room(ahead)) {
    struct buffer *piece = &ahead->pieces[ahead->written % PIECES];
    buffer_clear(piece);
    while (status == JP_OK && piece->len < PIECE_BYTES)
      status = meta_json_next(ahead->json, piece);
    pthread_mutex_lock(&ahead->lock);
    ahead->written++;
    ahead->status = status;
    pthread_cond_signal(&ahead->changed);
    pthread_mutex_unlock(&ahead->lock);
  }
  return NULL;
}

static void destroy_ahead(struct meta_ahead *ahead)
{
  for (size_t i = 0; i < PIECES; i++)
    buffer_fini(&ahead->pieces[i]);
  pthread_mutex_destroy(&ahead->lock);
  pthread_cond_destroy(&ahead->changed);
  free(ahead);
}

/* Starts the thread. json is borrowed: the thread uses it, and everything to which it refers, until
 * stop_ahead. NULL: no thread could be started. */
static struct meta_ahead *start_ahead(struct meta_json *json)
{
  struct meta_ahead *ahead = calloc(1, sizeof *ahead);
  sigset_t all;
  sigset_t before;
  if (ahead == NULL)
    return NULL;
  ahead->json = json;
  pthread_mutex_init(&ahead->lock, NULL);
  pthread_cond_init(&ahead->changed, NULL);
  for (size_t i = 0; i < PIECES; i++)
    buffer_init(&ahead->pieces[i]);
  sigfillset(&all); /* the peer handles signals on a thread of its own */
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int fault = pthread_create(&ahead->thread, NULL, write_pieces, ahead);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (fault == 0)
    return ahead;
  destroy_ahead(ahead);
  return NULL;
}

/* Ends the thread after it has finished the piece that it is writing. NULL is accepted. */
static void stop_ahead(struct meta_ahead *ahead)
{
  if (ahead == NULL)
    return;
  pthread_mutex_lock(&ahead->lock);
  ahead->is_stopped = true;
  pthread_cond_signal(&ahead->changed);
  pthread_mutex_unlock(&ahead->lock);
  pthread_join(ahead->thread, NULL);
  destroy_ahead(ahead);
}

/* Waits for the next piece, and replaces the content of *piece by it. *is_last becomes true for the last
 * piece. JP_NO_MEMORY. */
static enum jp_status await_piece(struct meta_ahead *ahead, struct buffer *piece, bool *is_last)
{
  pthread_mutex_lock(&ahead->lock);
  while (ahead->written == ahead->taken)
    pthread_cond_wait(&ahead->changed, &ahead->lock);
  struct buffer *next = &ahead->pieces[ahead->taken % PIECES];
  struct buffer taken = *next;
  *next = *piece;
  *piece = taken;
  ahead->taken++;
  bool has_failed = ahead->status != JP_OK && ahead->status != JP_CLOSED;
  *is_last = ahead->status == JP_CLOSED && ahead->written == ahead->taken;
  pthread_cond_signal(&ahead->changed);
  pthread_mutex_unlock(&ahead->lock);
  return has_failed || piece->failed ? JP_NO_MEMORY : JP_OK;
}

/* ---- answers ---- */

/* Bytes of text that are collected before they are compressed. */
enum { TEXT_PIECE = 32 * 1024 };

struct rpc_meta {
  struct catalog *catalog; /* borrowed */
  struct document_cache *cache;
  bool writes_ahead; /* answers are written ahead, because a processor is free for the thread */
};

/* An answer that is made while it is read. */
struct new_answer {
  struct policy *policy;           /* held */
  struct catalog_excerpt *excerpt; /* held; the query's tables */
  struct rpc_meta *meta;
  struct meta_reach reach;
  struct meta_query query;
  struct meta_json json;
  struct meta_ahead *ahead; /* writes the text; NULL: the reading thread writes it */
  bool compress;
  struct meta_gzip gzip;
  struct buffer text;   /* before it is compressed */
  struct buffer record; /* the body so far, for the cache; dropped when it grows too large */
  bool is_recorded;
  struct buffer key;
  bool done;
};

/* An answer from the cache. */
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
    return jp_fail_memory(error, NULL);
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
      status = await_piece(answer->ahead, &answer->text, &answer->done);
    } else {
      buffer_clear(&answer->text);
      status = write_text(answer, &answer->text, TEXT_PIECE);
    }
    if (status == JP_OK)
      status = write_gzip(&answer->gzip, buffer_text(&answer->text), answer->done, out);
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
  stop_ahead(answer->ahead);
  meta_json_fini(&answer->json);
  meta_query_fini(&answer->query);
  meta_reach_fini(&answer->reach);
  if (answer->compress)
    deflateEnd(&answer->gzip.stream);
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

/* Takes *reach if it succeeds. */
static enum jp_status open_new(struct rpc_meta *meta, struct policy *policy, enum policy_channel channel,
                               struct catalog_excerpt *excerpt, struct meta_reach *reach,
                               const struct operation *operation, struct buffer *key,
                               struct outcome_body *body, struct jp_error *error)
{
  struct new_answer *answer = calloc(1, sizeof *answer);
  if (answer == NULL ||
      meta_query_init(&answer->query, catalog_excerpt_tables(excerpt), policy, channel, operation) != JP_OK) {
    free(answer);
    return jp_fail_memory(error, NULL);
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
  if (answer->compress && begin_gzip(&answer->gzip) != JP_OK) {
    close_new(answer);
    return jp_fail_memory(error, NULL);
  }
  if (answer->compress && meta->writes_ahead && answer->query.included == NULL)
    answer->ahead = start_ahead(&answer->json);
  *body = (struct outcome_body){answer, read_new, close_new};
  return JP_OK;
}

/* Whether the class may be the superclass of another class. To know this, the files of all classes must be
 * read. */
static bool may_have_subclasses(const struct catalog_tables *tables, struct text name)
{
  uint32_t found = catalog_find(tables, name);
  return found != CATALOG_NONE && !tables->classes[found].hidden &&
         (tables->classes[found].access & (ACCESS_FINAL | ACCESS_INTERFACE)) == 0;
}

/* Opens the classes that the answer needs. These are the classes that the operation names, or all classes if
 * it names no class or if one of the named classes may have subclasses. */
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

/* ---- lists of names ---- */

struct list_answer {
  struct buffer text;
  size_t given;
};

static enum jp_status read_list(void *state, struct buffer *out, size_t max)
{
  struct list_answer *answer = state;
  size_t rest = answer->text.len - answer->given;
  size_t step = rest > max ? max : rest;
  if (step == 0)
    return JP_CLOSED;
  buffer_append(out, answer->text.data + answer->given, step);
  answer->given += step;
  return out->failed ? JP_NO_MEMORY : JP_OK;
}

static void close_list(void *state)
{
  struct list_answer *answer = state;
  buffer_fini(&answer->text);
  free(answer);
}

static enum jp_status open_list(struct rpc_meta *meta, const struct name_list_query *query,
                                struct outcome_body *body, struct jp_error *error)
{
  struct list_answer *answer = calloc(1, sizeof *answer);
  if (answer == NULL)
    return jp_fail_memory(error, NULL);
  buffer_init(&answer->text);
  enum jp_status status = name_list_write(meta->catalog, query, &answer->text, error);
  if (status != JP_OK)
    close_list(answer);
  else
    *body = (struct outcome_body){answer, read_list, close_list};
  return status;
}

enum jp_status rpc_meta_open(struct rpc_meta *meta, struct policy *policy, enum policy_channel channel,
                             const struct meta_loaders *loaders, const struct operation *operation,
                             struct outcome_body *body, struct jp_error *error)
{
  struct catalog_excerpt *excerpt;
  struct meta_reach reach;
  struct buffer key;
  if (operation->meta.service == OP_META_NAMES) {
    const struct name_list_query query = {policy, channel, operation->names.prefix, operation->names.max};
    return open_list(meta, &query, body, error);
  }
  enum jp_status status = open_classes(meta->catalog, operation, &excerpt, error);
  if (status != JP_OK)
    return status;
  if (meta_reach_find(&reach, catalog_excerpt_tables(excerpt), loaders) != JP_OK) {
    catalog_excerpt_close(excerpt);
    return jp_fail_memory(error, NULL);
  }
  buffer_init(&key);
  if (operation->meta.compress_encode) {
    /* Everything on which a compressed answer depends; the catalog never changes. */
    append_key_number(&key, policy_generation(policy));
    append_key_number(&key, reach.stamp);
    append_key_number(&key, (uint64_t)channel << 1 | operation->meta.merge_ancestry);
    append_key_texts(&key, operation->meta.exclude_prefixes, operation->meta.exclude_count);
    append_key_texts(&key, operation->meta.include_classes,
                     operation->meta.include_classes == NULL ? 0 : operation->meta.include_count);
  }
  bool is_kept = operation->meta.compress_encode && !key.failed && open_kept(meta, buffer_text(&key), body);
  if (!is_kept)
    status = open_new(meta, policy, channel, excerpt, &reach, operation, &key, body, error);
  buffer_fini(&key);
  meta_reach_fini(&reach);
  catalog_excerpt_close(excerpt);
  return status;
}

enum jp_status rpc_meta_describe(struct rpc_meta *meta, const struct policy *policy,
                                 enum policy_channel channel, const struct op_description *look,
                                 struct arena *arena, struct text *text)
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

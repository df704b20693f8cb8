#include "classfile/scan.h"

#include "base/process_limits.h"
#include "classfile/class_path.h"
#include "classfile/folder.h"
#include "classfile/jar.h"
#include "classfile/jimage.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
  THREADS_MAX = 16,
  JDK_CLASSES = 1500, /* classes of the JDK in one item; a thread reads them in about 20 ms */
  AHEAD_MAX = 8       /* items that each thread may read before earlier items are merged */
};

enum item_state { ITEM_WAITING, ITEM_BEING_READ, ITEM_READ };

/* The unit that one thread reads: an element of the class path, or a part of the JDK's classes. */
struct item {
  struct item *next; /* in the order in which they are merged */
  enum item_state state;
  const char *path; /* NULL: of the JDK */
  size_t element;   /* of the class path */
  size_t from;      /* of the JDK's classes */
  size_t to;

  /* by the thread that reads it */
  struct builder *builder;
  struct arena arena;
  struct text class_path; /* of a jar, in the arena */
  enum jp_status status;
  struct jp_error error;
};

struct scan {
  const struct scan_config *config;
  struct builder *builder; /* used by the thread that merges */
  struct jimage *jimage;
  unsigned feature_version;
  unsigned threads;

  pthread_mutex_t lock;
  pthread_cond_t changed;
  /* guarded by the lock */
  struct elements elements; /* used by the thread that merges */
  struct item *first;       /* the first item that is not merged yet; NULL: all items are merged */
  size_t ahead;             /* the number of items that were started and are not merged yet */
  bool is_merging;
  enum jp_status status; /* of the first item, in the order of merging, that failed */
  struct jp_error error;
};

static struct item *create_item(void)
{
  struct item *item = calloc(1, sizeof *item);
  if (item != NULL)
    arena_init_small(&item->arena);
  return item;
}

static void destroy_item(struct item *item)
{
  builder_destroy(item->builder);
  arena_fini(&item->arena);
  free(item);
}

/* ---- the items ---- */

/* Adds items for the elements from `element` up to `end` after *link. */
static enum jp_status add_elements(struct scan *scan, struct item **link, size_t element, size_t end,
                                   struct jp_error *error)
{
  for (; element != end; element = elements_at(&scan->elements, element)->next) {
    struct item *item = create_item();
    if (item == NULL)
      return jp_fail_memory(error, "class files");
    item->path = elements_at(&scan->elements, element)->path;
    item->element = element;
    item->next = *link;
    *link = item;
    link = &item->next;
  }
  return JP_OK;
}

static enum jp_status add_jdk(struct scan *scan, struct item ***link, struct jp_error *error)
{
  size_t count = 0;
  if (scan->config->catalog.java_home == NULL)
    return JP_OK;
  enum jp_status status = jimage_open(scan->config->catalog.java_home, &scan->jimage, error);
  if (status == JP_OK)
    status = jimage_begin_read(scan->jimage, &count, error);
  for (size_t from = 0; status == JP_OK && from < count; from += JDK_CLASSES) {
    struct item *item = create_item();
    if (item == NULL)
      return jp_fail_memory(error, "class files");
    item->from = from;
    item->to = from + JDK_CLASSES < count ? from + JDK_CLASSES : count;
    **link = item;
    *link = &item->next;
  }
  return status;
}

/* ---- reading ---- */

static enum jp_status read_item(const struct scan *scan, struct item *item)
{
  struct stat facts;
  item->builder = builder_create_part(scan->config->is_stopped);
  if (item->builder == NULL)
    return jp_fail_memory(&item->error, "class files");
  if (item->path == NULL)
    return jimage_read(item->builder, scan->jimage, item->from, item->to, &item->error);
  item->class_path = TEXT("");
  if (stat(item->path, &facts) != 0)
    return JP_OK; /* java is silent about missing elements, too */
  if (S_ISDIR(facts.st_mode))
    return folder_read(item->builder, item->path, &item->error);
  return S_ISREG(facts.st_mode) ? jar_read_file(item->builder, item->path, scan->feature_version,
                                                &item->arena, &item->class_path, &item->error)
                                : JP_OK;
}

/* The caller holds the lock. The item that is merged next is always started, even if a jar has just added
 * it. */
static struct item *start_item(struct scan *scan)
{
  struct item *item = scan->first;
  bool is_far_ahead = scan->ahead >= (size_t)scan->threads * AHEAD_MAX;
  if (is_far_ahead && item != NULL && item->state != ITEM_WAITING)
    return NULL;
  while (item != NULL && item->state != ITEM_WAITING)
    item = item->next;
  if (item != NULL) {
    item->state = ITEM_BEING_READ;
    scan->ahead++;
  }
  return item;
}

/* ---- merging ---- */

/* Merges an item, unless its file occurs earlier in the class path. This is checked only here, because
 * earlier elements may have been inserted since the file was read. *is_jar: the manifest of the file may add
 * elements. */
static enum jp_status merge_item(struct scan *scan, struct item *item, bool *is_jar)
{
  enum element_kind kind = ELEMENT_NONE;
  enum jp_status status = item->status;
  if (status == JP_OK && item->path != NULL)
    status = elements_examine(&scan->elements, item->element, &kind, &item->error);
  if (status == JP_OK && (item->path == NULL || kind != ELEMENT_NONE))
    status = builder_merge(scan->builder, item->builder, &item->error);
  *is_jar = status == JP_OK && kind == ELEMENT_JAR && item->class_path.len > 0;
  return status;
}

/* The caller holds the lock, and this function releases the lock while it merges an item. */
static void merge_items(struct scan *scan)
{
  if (scan->is_merging)
    return;
  scan->is_merging = true;
  while (scan->status == JP_OK && scan->first != NULL && scan->first->state == ITEM_READ) {
    struct item *item = scan->first;
    bool is_jar;
    pthread_mutex_unlock(&scan->lock);
    enum jp_status status = merge_item(scan, item, &is_jar);
    pthread_mutex_lock(&scan->lock);
    size_t end = item->path == NULL ? ELEMENTS_END : elements_at(&scan->elements, item->element)->next;
    if (is_jar)
      status = elements_insert(&scan->elements, item->element, item->class_path, &item->error);
    if (is_jar && status == JP_OK)
      status = add_elements(scan, &item->next, elements_at(&scan->elements, item->element)->next, end,
                            &item->error);
    if (status != JP_OK) {
      scan->status = status;
      scan->error = item->error;
    }
    scan->first = item->next;
    scan->ahead--;
    destroy_item(item);
    pthread_cond_broadcast(&scan->changed);
  }
  scan->is_merging = false;
}

static bool is_stopped(const struct scan *scan)
{
  return scan->config->is_stopped != NULL && atomic_load(scan->config->is_stopped);
}

static void *work(void *context)
{
  struct scan *scan = context;
  pthread_mutex_lock(&scan->lock);
  while (scan->status == JP_OK && scan->first != NULL) {
    if (is_stopped(scan)) {
      scan->status = jp_fail(&scan->error, JP_CLOSED, "the peer is stopping");
      pthread_cond_broadcast(&scan->changed);
      break;
    }
    struct item *item = start_item(scan);
    if (item == NULL) {
      pthread_cond_wait(&scan->changed, &scan->lock);
      continue;
    }
    pthread_mutex_unlock(&scan->lock);
    enum jp_status status = read_item(scan, item);
    pthread_mutex_lock(&scan->lock);
    item->status = status;
    item->state = ITEM_READ;
    merge_items(scan);
  }
  pthread_mutex_unlock(&scan->lock);
  return NULL;
}

/* ---- */

/* Runs as many threads as can be started, including the calling thread. Signals are blocked in the started
 * threads, because the peer handles signals on another thread. */
static void run_threads(struct scan *scan)
{
  pthread_t threads[THREADS_MAX];
  unsigned started = 0;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (started + 1 < scan->threads && pthread_create(&threads[started], NULL, work, scan) == 0)
    started++;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  work(scan);
  for (unsigned i = 0; i < started; i++)
    pthread_join(threads[i], NULL);
}

enum jp_status scan_run(const struct scan_config *config, struct builder *builder, struct jp_error *error)
{
  struct scan scan = {.config = config, .builder = builder, .threads = config->threads};
  struct item **link = &scan.first;
  if (scan.threads == 0)
    scan.threads = processors_usable();
  if (scan.threads > THREADS_MAX)
    scan.threads = THREADS_MAX;
  scan.feature_version = catalog_feature_version(&config->catalog);
  pthread_mutex_init(&scan.lock, NULL);
  pthread_cond_init(&scan.changed, NULL);
  enum jp_status status = elements_init(&scan.elements, config->catalog.class_path, error);
  /* The JDK's classes are merged first, because Java searches the JDK's class loaders before the
   * application's class loader. */
  if (status == JP_OK)
    status = add_jdk(&scan, &link, error);
  if (status == JP_OK)
    status = add_elements(&scan, link, scan.elements.first, ELEMENTS_END, error);
  if (status == JP_OK) {
    run_threads(&scan);
    status = scan.status;
    if (status != JP_OK && error != NULL)
      *error = scan.error;
  }
  for (struct item *item = scan.first; item != NULL;) {
    struct item *next = item->next;
    destroy_item(item);
    item = next;
  }
  jimage_close(scan.jimage);
  elements_fini(&scan.elements);
  pthread_mutex_destroy(&scan.lock);
  pthread_cond_destroy(&scan.changed);
  return status;
}

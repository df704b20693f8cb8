/* Lists of the peers in a directory, for programs. */
#include "base/clock.h"
#include "client/directory_lookup.h"
#include "client/messages/client_error.h"
#include "directory/entries.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FAULT_SIZE = 1100, PAUSE_MS = 100 };
/* A watch ends after that time, and begins again: a server that hangs is not noticed by a watch. */
enum { WATCH_MS = 30000, INTERRUPTIBLE_MS = 300 };
enum { READ_MS = 1000 }; /* that a read may take at least, also if a watch has less time */

struct jp_directory_peers {
  struct arena arena; /* of all texts */
  struct jp_directory_peer *peers;
  size_t count;
  int64_t revision;
  char fault[FAULT_SIZE]; /* "": none */
};

size_t jp_directory_peers_count(const struct jp_directory_peers *list)
{
  return list == NULL ? 0 : list->count;
}

const struct jp_directory_peer *jp_directory_peers_at(const struct jp_directory_peers *list, size_t index)
{
  return index < jp_directory_peers_count(list) ? &list->peers[index] : NULL;
}

const char *jp_directory_peers_fault(const struct jp_directory_peers *list)
{
  return list == NULL || list->fault[0] == '\0' ? NULL : list->fault;
}

void jp_directory_peers_free(struct jp_directory_peers *list)
{
  if (list == NULL)
    return;
  arena_fini(&list->arena);
  free(list);
}

/* ---- making a list ---- */

static int compare_names(const char *a, const char *b)
{
  return strcmp(a == NULL ? "\xff" : a, b == NULL ? "\xff" : b); /* no UTF-8 has this byte */
}

static int compare_peers(const void *a, const void *b)
{
  const struct jp_directory_peer *one = a;
  const struct jp_directory_peer *other = b;
  const int by_name = compare_names(one->name, other->name);
  return by_name != 0 ? by_name : strcmp(one->uuid, other->uuid);
}

static bool fill_list(struct jp_directory_peers *list, const struct found_peers *found)
{
  list->peers = arena_calloc(&list->arena, found->count + 1, sizeof *list->peers);
  list->count = found->count;
  list->revision = found->revision;
  for (size_t i = 0; list->peers != NULL && i < found->count; i++) {
    const struct found_peer *peer = &found->items[i];
    char *uuid = arena_alloc(&list->arena, UUID_TEXT_LENGTH + 1);
    if (uuid == NULL)
      return false;
    uuid_format(&peer->uuid, uuid);
    list->peers[i] = (struct jp_directory_peer){.uuid = uuid,
                                                .name = peer->name.data,
                                                .json_rpc = peer->json_rpc.data,
                                                .zmq_rpc = peer->zmq_rpc.data,
                                                .zmq_curve = peer->zmq_curve.data,
                                                .since_ms = peer->since_ms};
  }
  if (list->peers == NULL)
    return false;
  qsort(list->peers, list->count, sizeof *list->peers, compare_peers);
  if (found->fault_count > 0)
    text_format(list->fault, sizeof list->fault, "%zu %s of the directory cannot be read; the first is %s",
                found->fault_count, found->fault_count == 1 ? "entry" : "entries", found->fault);
  return true;
}

/* *is_lost: no endpoint has answered. */
static enum jp_client_status read_list(const struct directory_access *access, struct etcd_client *etcd,
                                       int64_t deadline_ms, struct jp_directory_peers **list, bool *is_lost,
                                       struct jp_client_error *error)
{
  struct found_peers found;
  struct jp_directory_peers *made = calloc(1, sizeof *made);
  *list = NULL;
  *is_lost = false;
  if (made == NULL)
    return client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a list of peers");
  arena_init(&made->arena);
  enum jp_client_status status =
      directory_find_all(access, etcd, deadline_ms, &made->arena, &found, is_lost, error);
  if (status == JP_CLIENT_OK && !fill_list(made, &found))
    status = client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a list of peers");
  if (status != JP_CLIENT_OK) {
    jp_directory_peers_free(made);
    return status;
  }
  *list = made;
  return JP_CLIENT_OK;
}

static enum jp_client_status open_directory(const struct jp_directory_config *config,
                                            struct directory_access *access, struct etcd_client **etcd,
                                            struct jp_client_error *error)
{
  enum jp_client_status status = directory_access_init(access, config, TEXT_ABSENT, error);
  if (status != JP_CLIENT_OK)
    return status;
  status = directory_open(access, etcd, error);
  if (status != JP_CLIENT_OK)
    directory_access_fini(access);
  return status;
}

static void close_directory(struct directory_access *access, struct etcd_client *etcd)
{
  etcd_client_destroy(etcd);
  directory_access_fini(access);
}

enum jp_client_status jp_directory_list(const struct jp_directory_config *config,
                                        struct jp_directory_peers **list, struct jp_client_error *error)
{
  struct directory_access access;
  struct etcd_client *etcd;
  *list = NULL;
  enum jp_client_status status = open_directory(config, &access, &etcd, error);
  if (status != JP_CLIENT_OK)
    return status;
  bool is_lost;
  status = read_list(&access, etcd, clock_now_ms() + access.timeout_ms, list, &is_lost, error);
  close_directory(&access, etcd);
  return status;
}

/* ---- watching ---- */

static bool are_texts_equal(const char *a, const char *b)
{
  return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool are_lists_equal(const struct jp_directory_peers *a, const struct jp_directory_peers *b)
{
  bool are_equal = a->count == b->count && strcmp(a->fault, b->fault) == 0;
  for (size_t i = 0; are_equal && i < a->count; i++) {
    const struct jp_directory_peer *one = &a->peers[i];
    const struct jp_directory_peer *other = &b->peers[i];
    are_equal = are_texts_equal(one->uuid, other->uuid) && are_texts_equal(one->name, other->name) &&
                are_texts_equal(one->json_rpc, other->json_rpc) &&
                are_texts_equal(one->zmq_rpc, other->zmq_rpc) &&
                are_texts_equal(one->zmq_curve, other->zmq_curve) && one->since_ms == other->since_ms;
  }
  return are_equal;
}

struct watching {
  const struct jp_directory_config *config;
  struct directory_access access;
  struct etcd_client *etcd;
  int64_t deadline_ms;
  int64_t revision; /* the changes up to here are known */
  bool has_begun;   /* the watch */
  bool has_changed;
  bool is_older; /* than the revision: the directory is another one, or this member is late */
};

static bool note_events(void *context, const struct etcd_event *events, size_t count, int64_t revision)
{
  struct watching *watching = context;
  (void)events;
  watching->has_begun = true;
  if (count == 0) {
    /* A directory that has lost its data counts from 1 again, and reports nothing until it reaches the old revision. */
    watching->is_older = revision < watching->revision;
    return !watching->is_older;
  }
  watching->has_changed = true;
  watching->revision = revision;
  return false;
}

static bool is_interrupted(const struct watching *watching)
{
  const struct jp_directory_config *config = watching->config;
  return config != NULL && config->interrupted != NULL && config->interrupted(config->interrupted_context);
}

static void pause_watching(void)
{
  static const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};
  nanosleep(&pause, NULL);
}

/* Reads the list. An etcd that restarts refuses connections for a moment, so reads are repeated for the time of a
 * look-up. */
static enum jp_client_status read_persistently(const struct watching *watching,
                                               struct jp_directory_peers **list,
                                               struct jp_client_error *error)
{
  const int64_t lost_ms = clock_now_ms() + watching->access.timeout_ms;
  const int64_t end_ms = lost_ms < watching->deadline_ms ? lost_ms : watching->deadline_ms;
  for (;;) {
    bool is_lost;
    const int64_t least_ms =
        clock_now_ms() + (watching->access.timeout_ms < READ_MS ? watching->access.timeout_ms : READ_MS);
    enum jp_client_status status = read_list(&watching->access, watching->etcd,
                                             end_ms > least_ms ? end_ms : least_ms, list, &is_lost, error);
    if (!is_lost || clock_now_ms() + PAUSE_MS >= end_ms)
      return status;
    if (is_interrupted(watching))
      return client_fail(error, JP_CLIENT_INTERRUPTED, "the wait was interrupted");
    pause_watching();
  }
}

/* Replaces the list if it differs; *is_new says whether. */
static enum jp_client_status renew_list(struct watching *watching, struct jp_directory_peers **list,
                                        bool *is_new, struct jp_client_error *error)
{
  struct jp_directory_peers *now;
  enum jp_client_status status = read_persistently(watching, &now, error);
  if (now == NULL)
    return status;
  *is_new = *list == NULL || !are_lists_equal(*list, now);
  watching->revision = now->revision;
  watching->has_changed = false;
  if (*is_new) {
    jp_directory_peers_free(*list);
    *list = now;
  } else {
    (*list)->revision = now->revision;
    jp_directory_peers_free(now);
  }
  return JP_CLIENT_OK;
}

/* Waits for a change; on return the list should be read if *should_read. */
static enum jp_client_status await_change(struct watching *watching, bool *should_read,
                                          struct jp_client_error *error)
{
  struct arena arena;
  struct jp_error why;
  const int64_t now_ms = clock_now_ms();
  const bool has_hook = watching->config != NULL && watching->config->interrupted != NULL;
  const int64_t most_ms = now_ms + (has_hook ? INTERRUPTIBLE_MS : WATCH_MS);
  *should_read = false;
  watching->has_begun = false;
  watching->is_older = false;
  if (is_interrupted(watching))
    return client_fail(error, JP_CLIENT_INTERRUPTED, "the wait was interrupted");
  if (now_ms >= watching->deadline_ms)
    return client_fail(error, JP_CLIENT_TIMEOUT, "the directory has not changed in time");
  arena_init(&arena);
  const struct text prefix = directory_prefix_peers(&arena, text_of(watching->access.space));
  enum jp_status status = prefix.data == NULL
                              ? jp_fail_memory(&why, NULL)
                              : etcd_watch(watching->etcd, prefix, ETCD_PREFIX, watching->revision + 1,
                                           most_ms < watching->deadline_ms ? most_ms : watching->deadline_ms,
                                           note_events, watching, &why);
  arena_fini(&arena);
  /* A server that hangs begins no watch: a read goes to another one. */
  *should_read = watching->has_changed || watching->is_older || !watching->has_begun ||
                 status == JP_NOT_FOUND || status == JP_IO;
  if (status == JP_IO || watching->is_older)
    pause_watching(); /* the read shows whether the directory is lost */
  return status == JP_OK || *should_read ? JP_CLIENT_OK : directory_fail(error, &why);
}

enum jp_client_status jp_directory_watch(const struct jp_directory_config *config, int timeout_ms,
                                         struct jp_directory_peers **list, struct jp_client_error *error)
{
  struct watching watching = {.config = config,
                              .deadline_ms =
                                  timeout_ms < 0 ? INT64_MAX : clock_now_ms() + (int64_t)timeout_ms,
                              .revision = *list == NULL ? 0 : (*list)->revision};
  enum jp_client_status status = open_directory(config, &watching.access, &watching.etcd, error);
  if (status != JP_CLIENT_OK)
    return status;
  bool is_new = false;
  bool should_read = *list == NULL;
  while (status == JP_CLIENT_OK && !is_new) {
    if (should_read)
      status = renew_list(&watching, list, &is_new, error);
    if (status == JP_CLIENT_OK && !is_new)
      status = await_change(&watching, &should_read, error);
  }
  close_directory(&watching.access, watching.etcd);
  return status;
}

/* The life of a client's callbacks: how they begin, what they were given, and how they end. */
#include "rpc/callbacks/callbacks_state.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdlib.h>

struct rpc_callbacks_list {
  pthread_mutex_t lock;
  struct rpc_callbacks *first;
  uint64_t clearings; /* so far: each looks at every client once */
};

enum jp_status rpc_callbacks_list_create(struct rpc_callbacks_list **list)
{
  struct rpc_callbacks_list *made = calloc(1, sizeof *made);
  if (made == NULL)
    return JP_NO_MEMORY;
  pthread_mutex_init(&made->lock, NULL);
  *list = made;
  return JP_OK;
}

void rpc_callbacks_list_destroy(struct rpc_callbacks_list *list)
{
  if (list == NULL)
    return;
  pthread_mutex_destroy(&list->lock);
  free(list);
}

static void enter_list(struct rpc_callbacks_list *list, struct rpc_callbacks *callbacks)
{
  pthread_mutex_lock(&list->lock);
  callbacks->next = list->first;
  if (list->first != NULL)
    list->first->before = callbacks;
  list->first = callbacks;
  pthread_mutex_unlock(&list->lock);
}

static void leave_list(struct rpc_callbacks_list *list, struct rpc_callbacks *callbacks)
{
  pthread_mutex_lock(&list->lock);
  if (callbacks->before != NULL)
    callbacks->before->next = callbacks->next;
  else
    list->first = callbacks->next;
  if (callbacks->next != NULL)
    callbacks->next->before = callbacks->before;
  pthread_mutex_unlock(&list->lock);
}

/* ---- the beginning ---- */

static void init_condition(pthread_cond_t *condition)
{
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(condition, &monotonic);
  pthread_condattr_destroy(&monotonic);
}

static struct rpc_callbacks *make_callbacks(struct rpc_peer *peer, const struct rpc_client *client,
                                            const struct rpc_codec *codec)
{
  struct rpc_callbacks *made = calloc(1, sizeof *made);
  if (made == NULL)
    return NULL;
  atomic_init(&made->holders, 1);
  made->peer = peer;
  made->codec = codec;
  made->push = client->push;
  made->channel = client->channel;
  made->key = client->key;
  made->maker = client->maker;
  made->session = client->session;
  made->is_client_open = true;
  pthread_mutex_init(&made->lock, NULL);
  init_condition(&made->was_read);
  made->duplex = client->push->open(client->connection, made);
  if (made->duplex != NULL)
    return made;
  pthread_cond_destroy(&made->was_read);
  pthread_mutex_destroy(&made->lock);
  free(made);
  return NULL;
}

enum jp_status rpc_callbacks_of(struct rpc_peer *peer, struct rpc_client *client,
                                const struct rpc_codec *codec, struct rpc_callbacks **callbacks,
                                struct jp_error *error)
{
  *callbacks = client->callbacks;
  if (client->callbacks != NULL)
    return JP_OK;
  if (client->push == NULL)
    return jp_fail(error, JP_INVALID,
                   "callbacks need a connection on which both sides may speak at any time");
  enum jp_status status = client->session != NULL ? JP_OK : rpc_client_hold_session(peer, client, error);
  if (status != JP_OK)
    return status;
  struct rpc_callbacks *made = make_callbacks(peer, client, codec);
  if (made == NULL)
    return jp_fail(error, JP_NO_MEMORY, "out of memory");
  rpc_session_retain(peer->sessions, made->session);
  enter_list(peer->callbacks, made);
  *callbacks = client->callbacks = made;
  return JP_OK;
}

void callbacks_release(struct rpc_callbacks *callbacks)
{
  if (atomic_fetch_sub_explicit(&callbacks->holders, 1, memory_order_acq_rel) > 1)
    return;
  callbacks->push->close(callbacks->duplex);
  callback_records_fini(&callbacks->records);
  free(callbacks->releases.ids);
  free(callbacks->releases.given);
  pthread_cond_destroy(&callbacks->was_read);
  pthread_mutex_destroy(&callbacks->lock);
  free(callbacks);
}

/* ---- the end ---- */

/* Under the lock. What was ended before stays as it was. */
static void end_calls(struct rpc_callbacks *callbacks, enum callback_ending ending)
{
  for (struct rpc_callback_call *call = callbacks->calls; call != NULL; call = call->next) {
    if (call->ending == CALLBACK_GOES_ON)
      call->ending = ending;
  }
}

void rpc_callbacks_end(struct rpc_callbacks *callbacks, enum rpc_callbacks_end end)
{
  pthread_mutex_lock(&callbacks->lock);
  if (callbacks->end == RPC_CALLBACKS_OPEN) {
    callbacks->end = end;
    end_calls(callbacks, end == RPC_CALLBACKS_STOPPED ? CALLBACK_STOPPED : CALLBACK_CLIENT_GONE);
  }
  pthread_mutex_unlock(&callbacks->lock);
  callbacks_wake_ended(callbacks);
}

void callbacks_release_session(struct rpc_callbacks *callbacks)
{
  rpc_session_release(callbacks->peer->sessions, callbacks->session, NULL, clock_now_ms());
}

void rpc_callbacks_close(struct rpc_callbacks *callbacks)
{
  if (callbacks == NULL)
    return;
  rpc_callbacks_end(callbacks, RPC_CALLBACKS_CLIENT_GONE);
  leave_list(callbacks->peer->callbacks, callbacks);
  pthread_mutex_lock(&callbacks->lock);
  callbacks->is_client_open = false;
  bool is_last = callbacks->calls_open == 0;
  pthread_mutex_unlock(&callbacks->lock);
  if (is_last)
    callbacks_release_session(callbacks);
  callbacks_release(callbacks);
}

/* ---- delete_session ---- */

static void add_release(void *context, const struct callback_record *record)
{
  callbacks_add_release(context, record->id, record->given);
}

static void end_session(struct rpc_callbacks *callbacks)
{
  pthread_mutex_lock(&callbacks->lock);
  callbacks->epoch++;
  end_calls(callbacks, CALLBACK_SESSION_DELETED);
  callback_records_clear(&callbacks->records, add_release, callbacks);
  pthread_mutex_unlock(&callbacks->lock);
  callbacks_wake_ended(callbacks);
  callbacks_send_releases(callbacks);
}

/* The next client of the session that this clearing has not seen, held; NULL: there is none. */
static struct rpc_callbacks *find_uncleared(struct rpc_callbacks_list *list,
                                            const struct rpc_session *session, uint64_t clearing)
{
  pthread_mutex_lock(&list->lock);
  struct rpc_callbacks *found = list->first;
  while (found != NULL && (found->session != session || found->cleared >= clearing))
    found = found->next;
  if (found != NULL) {
    found->cleared = clearing;
    callbacks_hold(found);
  }
  pthread_mutex_unlock(&list->lock);
  return found;
}

void rpc_callbacks_end_session(struct rpc_peer *peer, const struct rpc_session *session)
{
  struct rpc_callbacks_list *list = peer->callbacks;
  struct rpc_callbacks *callbacks;
  pthread_mutex_lock(&list->lock);
  uint64_t clearing = ++list->clearings;
  pthread_mutex_unlock(&list->lock);
  while ((callbacks = find_uncleared(list, session, clearing)) != NULL) {
    end_session(callbacks);
    callbacks_release(callbacks);
  }
}

/* ---- given ---- */

static bool make_room(struct rpc_given *given)
{
  enum { FIRST_CAPACITY = 8 };
  if (given->count < given->capacity)
    return true;
  size_t wanted = given->capacity == 0 ? FIRST_CAPACITY : given->capacity * 2;
  struct rpc_given_id *grown = reallocarray(given->ids, wanted, sizeof *grown);
  if (grown == NULL)
    return false;
  given->ids = grown;
  given->capacity = wanted;
  return true;
}

/* Under the lock. */
static enum jp_status count_given(struct rpc_callbacks *callbacks, int64_t id, struct rpc_given_id *noted,
                                  struct jp_error *error)
{
  size_t max = callbacks->peer->config.limits.session_max_objects;
  struct callback_record *record = callback_records_find(&callbacks->records, id);
  if (record == NULL && callbacks->records.count >= max)
    return jp_fail(error, JP_LIMIT,
                   "the limit of %zu callbacks of a connection is reached (session-max-objects)", max);
  if (record == NULL) {
    record = callback_records_make(&callbacks->records, id);
    if (record == NULL)
      return jp_fail(error, JP_NO_MEMORY, "out of memory");
    record->epoch = callbacks->epoch;
  }
  record->given++;
  record->in_hand++;
  *noted = (struct rpc_given_id){.id = id, .epoch = record->epoch};
  return JP_OK;
}

enum jp_status rpc_callbacks_note(struct rpc_callbacks *callbacks, int64_t id, struct rpc_given *given,
                                  struct jp_error *error)
{
  if (!make_room(given))
    return jp_fail(error, JP_NO_MEMORY, "out of memory");
  pthread_mutex_lock(&callbacks->lock);
  enum jp_status status = count_given(callbacks, id, &given->ids[given->count], error);
  pthread_mutex_unlock(&callbacks->lock);
  if (status == JP_OK)
    given->count++;
  return status;
}

/* Under the lock. NULL: delete_session has released the ID meanwhile. */
static struct callback_record *find_noted(const struct rpc_callbacks *callbacks,
                                          const struct rpc_given_id *noted)
{
  struct callback_record *record = callback_records_find(&callbacks->records, noted->id);
  return record != NULL && record->epoch == noted->epoch ? record : NULL;
}

static void empty_given(struct rpc_given *given)
{
  free(given->ids);
  *given = (struct rpc_given){.count = 0};
}

void rpc_callbacks_settle(struct rpc_callbacks *callbacks, struct rpc_given *given)
{
  if (given->count == 0)
    return;
  pthread_mutex_lock(&callbacks->lock);
  for (size_t i = 0; i < given->count; i++) {
    struct callback_record *record = find_noted(callbacks, &given->ids[i]);
    if (record == NULL)
      continue;
    record->in_hand--;
    callbacks_settle_record(callbacks, record);
  }
  pthread_mutex_unlock(&callbacks->lock);
  empty_given(given);
  callbacks_send_releases(callbacks);
}

enum { UNREAD_MAX = 1000000 /* releases that a client leaves unread, 16 bytes each */ };

/* An ID that nobody has read. No limit on objects holds what a client gives in messages that nobody reads, such as
 * answers that nobody waits for. */
static void release_unread(struct rpc_callbacks *callbacks, int64_t id)
{
  pthread_mutex_lock(&callbacks->lock);
  struct callback_record *record = callback_records_find(&callbacks->records, id);
  bool has_place = record != NULL || callbacks->releases.count < UNREAD_MAX;
  if (record != NULL)
    record->given++;
  else if (has_place)
    callbacks_add_release(callbacks, id, 1);
  pthread_mutex_unlock(&callbacks->lock);
  if (!has_place)
    log_warn_rarely("a client that leaves %d releases of callbacks unread is told of no further ones",
                    (int)UNREAD_MAX);
}

static int compare_ids(const void *left, const void *right)
{
  int64_t a = ((const struct rpc_given_id *)left)->id;
  int64_t b = ((const struct rpc_given_id *)right)->id;
  return (a > b) - (a < b);
}

/* The first entry that has not a smaller ID, of those in order. */
static size_t find_first(const struct rpc_given *given, int64_t id)
{
  size_t low = 0;
  for (size_t high = given->count; low < high;) {
    size_t middle = low + (high - low) / 2;
    if (given->ids[middle].id < id)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* What a message gives, and what of that was noted. */
struct unread_search {
  struct rpc_callbacks *callbacks;
  struct rpc_given *noted; /* in the order of the IDs */
};

/* Each entry stands for one argument, whatever has become of its record: the others of its ID were not read. */
static bool take_noted(struct rpc_given *noted, int64_t id)
{
  size_t first = find_first(noted, id);
  if (first == noted->count)
    return false;
  size_t next = first + noted->ids[first].found;
  if (next >= noted->count || noted->ids[next].id != id)
    return false;
  noted->ids[first].found++;
  return true;
}

/* rpc_callback_form.find_given, with an unread_search */
static void count_unless_noted(void *context, int64_t id)
{
  const struct unread_search *search = context;
  if (!take_noted(search->noted, id))
    release_unread(search->callbacks, id);
}

void rpc_callbacks_settle_partly(struct rpc_callbacks *callbacks, struct rpc_given *given,
                                 struct text message)
{
  struct unread_search search = {callbacks, given};
  if (given->count > 1)
    qsort(given->ids, given->count, sizeof *given->ids, compare_ids);
  callbacks->codec->callbacks->find_given(message, callbacks->peer->config.limits.max_depth,
                                          count_unless_noted, &search);
  rpc_callbacks_settle(callbacks, given);
  callbacks_send_releases(callbacks);
}

void rpc_callbacks_count_unread(struct rpc_callbacks *callbacks, struct text message)
{
  struct rpc_given none = {.count = 0};
  rpc_callbacks_settle_partly(callbacks, &none, message);
}

/* rpc_callback_form.find_given, with a size_t */
static void count_one(void *context, int64_t id)
{
  (void)id;
  ++*(size_t *)context;
}

void rpc_callbacks_count_refused(struct rpc_peer *peer, struct rpc_client *client,
                                 const struct rpc_codec *codec, struct text message)
{
  struct rpc_callbacks *callbacks = client->callbacks;
  struct jp_error error;
  size_t count = 0;
  if (callbacks == NULL && client->push != NULL)
    codec->callbacks->find_given(message, peer->config.limits.max_depth, count_one, &count);
  if (count > 0 && rpc_callbacks_of(peer, client, codec, &callbacks, &error) != JP_OK)
    log_warn("callbacks of a refused message were not counted: %s", error.text);
  if (callbacks != NULL)
    rpc_callbacks_count_unread(callbacks, message);
}

/* The life of a client's callbacks: their beginning, the objects that the client has given, the releases, and
 * their end. */
#include "rpc/callbacks/callbacks_state.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/uuid.h"

#include <stdlib.h>

enum {
  FIRST_BUCKETS = 8,   /* of the records */
  RELEASES_MAX = 256,  /* in one message */
  UNREAD_MAX = 1000000 /* releases that a client leaves unread, 16 bytes each */
};

struct rpc_callbacks_list {
  pthread_mutex_t lock;
  struct rpc_callbacks *first;
  struct rpc_process *processes; /* that clients have joined */
  uint64_t clearings;            /* the number of calls of rpc_callbacks_end_session so far; each call visits
                                  * every client once */
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

/* ---- records: a table by ID, used under the lock ---- */

static struct callback_record **bucket_of(const struct callback_records *records, int64_t id)
{
  uint64_t hash = ((uint64_t)id ^ records->seed) * 0x9E3779B97F4A7C15u;
  return &records->buckets[(hash ^ hash >> 32) & (records->bucket_count - 1)];
}

struct callback_record *callbacks_find_record(const struct callback_records *records, int64_t id)
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

/* Grows the table, so that there are never more records than buckets. False: memory is short. */
static bool grow_records(struct callback_records *records)
{
  if (records->count < records->bucket_count)
    return true;
  struct callback_records grown = {
      .bucket_count = records->bucket_count * 2, .count = records->count, .seed = records->seed};
  if (records->bucket_count == 0) {
    struct uuid random;
    uuid_random(&random);
    memcpy(&grown.seed, &random, sizeof grown.seed);
    grown.bucket_count = FIRST_BUCKETS;
  }
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

/* Makes a record of an ID that has none. NULL: memory is short. */
static struct callback_record *make_record(struct callback_records *records, int64_t id)
{
  struct callback_record *record = calloc(1, sizeof *record);
  if (record == NULL || !grow_records(records)) {
    free(record);
    return NULL;
  }
  record->id = id;
  add_record(records, record);
  records->count++;
  return record;
}

/* ---- releases ---- */

/* Called with the lock held, after the record of the ID was removed. Adds the ID to the releases of the
 * connection that has given it or, if that connection is closed, to the releases of another connection of the
 * process. */
static void add_release(struct rpc_process *process, struct rpc_callbacks *giver, int64_t id, uint64_t given)
{
  struct rpc_callbacks *receiver = callbacks_find_open(process, giver);
  if (receiver == NULL)
    return; /* no connection is left to receive the release */
  struct callback_releases *releases = &receiver->releases;
  struct callback_release *items =
      array_grow(releases->items, releases->count, &releases->capacity, sizeof *items);
  if (items == NULL) {
    log_warn_rarely("memory is short: the release of a callback is not sent to its client");
    return;
  }
  releases->items = items;
  items[releases->count++] = (struct callback_release){id, given};
  process->unsent++;
}

void callbacks_settle_record(struct rpc_callbacks *callbacks, struct callback_record *record)
{
  struct rpc_process *process = callbacks->process;
  if (record->proxy != 0 || record->in_flight > 0)
    return;
  if (record->given > 0)
    add_release(process, record->giver, record->id, record->given);
  struct callback_record **link = bucket_of(&process->records, record->id);
  while (*link != record)
    link = &(*link)->next;
  *link = record->next;
  process->records.count--;
  free(record->older);
  free(record);
}

/* Called with the lock held: removes all records. are_released: their IDs are released, because a client is
 * left that can receive the releases. */
static void clear_records(struct rpc_process *process, bool are_released)
{
  struct callback_records *records = &process->records;
  for (size_t i = 0; i < records->bucket_count; i++) {
    for (struct callback_record *record = records->buckets[i], *next; record != NULL; record = next) {
      next = record->next;
      if (are_released)
        add_release(process, record->giver, record->id, record->given);
      free(record->older);
      free(record);
    }
    records->buckets[i] = NULL;
  }
  records->count = 0;
}

static enum rpc_pushed push_releases(struct rpc_callbacks *callbacks, const struct callback_release *taken,
                                     size_t count)
{
  struct buffer out;
  buffer_init(&out);
  callbacks->codec->callbacks->write_released(&out, taken, count);
  enum rpc_pushed pushed = out.failed ? RPC_PUSH_CLOSED
                                      : callbacks->push->send(callbacks->duplex, rpc_worker_now(),
                                                              RPC_PUSH_NOTICE, buffer_text(&out));
  if (out.failed)
    log_warn_rarely("memory is short: the releases of callbacks are not sent to their client");
  buffer_fini(&out);
  return pushed;
}

static const uint16_t callback_releases_transitions[] = {
    [RELEASES_WAIT] = TO(RELEASES_LEAVE),
    [RELEASES_LEAVE] = TO(RELEASES_GOT_ROOM) | TO(RELEASES_WAIT),
    [RELEASES_GOT_ROOM] = TO(RELEASES_LEAVE) | TO(RELEASES_WAIT),
};

static void set_releases_state(struct rpc_callbacks *callbacks, enum callback_releases_state to)
{
  assert(callbacks_are_locked(callbacks));
  ASSERT_TRANSITION(callback_releases_transitions, callbacks->releases.state, to);
  callbacks->releases.state = to;
}

static void send_member_releases(struct rpc_callbacks *callbacks)
{
  struct rpc_process *process = callbacks->process;
  struct callback_releases *releases = &callbacks->releases;
  struct callback_release taken[RELEASES_MAX];
  bool goes_on = true;
  pthread_mutex_lock(&callbacks->process->lock);
  if (releases->state != RELEASES_WAIT || callbacks->duplex == NULL) {
    pthread_mutex_unlock(&callbacks->process->lock);
    return;
  }
  set_releases_state(callbacks, RELEASES_LEAVE);
  while (goes_on && releases->count > 0) {
    size_t count = releases->count < RELEASES_MAX ? releases->count : RELEASES_MAX;
    releases->count -= count;
    process->unsent -= count;
    memcpy(taken, releases->items + releases->count, count * sizeof *taken);
    if (releases->state == RELEASES_GOT_ROOM)
      set_releases_state(callbacks, RELEASES_LEAVE);
    pthread_mutex_unlock(&callbacks->process->lock);
    enum rpc_pushed pushed = push_releases(callbacks, taken, count);
    pthread_mutex_lock(&callbacks->process->lock);
    if (pushed == RPC_PUSHED || (pushed != RPC_PUSH_NO_ROOM && process->open <= 1))
      continue;
    /* the remaining releases wait for room, or for another connection of the process */
    for (size_t i = 0; i < count; i++)
      add_release(process, callbacks, taken[i].id, taken[i].given);
    goes_on = pushed == RPC_PUSH_NO_ROOM && releases->state == RELEASES_GOT_ROOM;
  }
  set_releases_state(callbacks, RELEASES_WAIT);
  pthread_mutex_unlock(&callbacks->process->lock);
}

/* Finds the next member that has releases and was not visited in this round. The caller holds the result.
 * NULL: no member is left. */
static struct rpc_callbacks *find_unsent(struct rpc_process *process, uint64_t round)
{
  pthread_mutex_lock(&process->lock);
  struct rpc_callbacks *found = process->unsent == 0 ? NULL : process->members;
  while (found != NULL && (found->releases.count == 0 || found->round >= round))
    found = found->next_member;
  if (found != NULL) {
    found->round = round;
    callbacks_hold(found);
  }
  pthread_mutex_unlock(&process->lock);
  return found;
}

void callbacks_send_releases(struct rpc_callbacks *callbacks)
{
  struct rpc_process *process = callbacks->process;
  struct rpc_callbacks *member;
  pthread_mutex_lock(&process->lock);
  uint64_t round = ++process->rounds;
  bool has_unsent = process->unsent > 0;
  pthread_mutex_unlock(&process->lock);
  while (has_unsent && (member = find_unsent(process, round)) != NULL) {
    send_member_releases(member);
    callbacks_release(member);
  }
}

void callbacks_resume_releases(struct rpc_callbacks *callbacks)
{
  pthread_mutex_lock(&callbacks->process->lock);
  if (callbacks->releases.state == RELEASES_LEAVE)
    set_releases_state(callbacks, RELEASES_GOT_ROOM);
  pthread_mutex_unlock(&callbacks->process->lock);
  callbacks_send_releases(callbacks);
}

/* ---- processes ---- */

struct rpc_callbacks *callbacks_find_open(const struct rpc_process *process, struct rpc_callbacks *preferred)
{
  if (preferred != NULL && preferred->state == RPC_CALLBACKS_OPEN)
    return preferred;
  struct rpc_callbacks *member = process->open == 0 ? NULL : process->members;
  while (member != NULL && member->state != RPC_CALLBACKS_OPEN)
    member = member->next_member;
  return member;
}

/* The caller holds the result. NULL: memory is short. */
static struct rpc_process *create_process(uint64_t client)
{
  struct rpc_process *made = calloc(1, sizeof *made);
  if (made == NULL)
    return NULL;
  atomic_init(&made->holders, 1);
  made->client = client;
  pthread_mutex_init(&made->lock, NULL);
  return made;
}

static struct rpc_process *hold_process(struct rpc_process *process)
{
  atomic_fetch_add_explicit(&process->holders, 1, memory_order_relaxed);
  return process;
}

static void release_process(struct rpc_process *process)
{
  if (process == NULL || atomic_fetch_sub_explicit(&process->holders, 1, memory_order_acq_rel) > 1)
    return;
  clear_records(process, false);
  free(process->records.buckets);
  pthread_mutex_destroy(&process->lock);
  free((char *)process->name.data);
  free(process);
}

uint64_t rpc_process_client(const struct rpc_process *process)
{
  return process->client;
}

/* True if both addresses belong to the same user of Unix sockets, or if neither belongs to a user. */
static bool are_of_same_user(const struct rpc_address *one, const struct rpc_address *other)
{
  uint32_t user, other_user;
  bool has_user = rpc_address_user(one, &user);
  if (has_user != rpc_address_user(other, &other_user))
    return false;
  return !has_user || user == other_user;
}

/* Called with the list's lock held. NULL: no process has this name. */
static struct rpc_process *find_process(const struct rpc_callbacks_list *list,
                                        const struct rpc_client *client, struct text name)
{
  struct rpc_process *process = list->processes;
  while (process != NULL &&
         !(process->session == client->session && are_of_same_user(&process->from, &client->maker.address) &&
           text_equal(process->name, name)))
    process = process->next;
  return process;
}

static struct rpc_process *make_process(struct rpc_callbacks_list *list, const struct rpc_client *client,
                                        struct text name)
{
  char *copy = malloc(name.len);
  struct rpc_process *made = copy == NULL ? NULL : create_process(client->number);
  if (made == NULL) {
    free(copy);
    return NULL;
  }
  memcpy(copy, name.data, name.len);
  made->name = (struct text){copy, name.len};
  made->session = client->session;
  made->from = client->maker.address;
  made->next = list->processes;
  list->processes = made;
  return made;
}

void rpc_process_leave(struct rpc_peer *peer, struct rpc_client *client)
{
  struct rpc_process *process = client->process;
  struct rpc_callbacks_list *list = peer->callbacks;
  if (process == NULL)
    return;
  client->process = NULL;
  pthread_mutex_lock(&list->lock);
  if (--process->joined == 0) {
    struct rpc_process **at = &list->processes;
    while (*at != process)
      at = &(*at)->next;
    *at = process->next;
  }
  pthread_mutex_unlock(&list->lock);
  release_process(process);
}

/* ---- the beginning ---- */

/* On success, the callbacks own the process. */
static struct rpc_callbacks *make_callbacks(struct rpc_peer *peer, const struct rpc_client *client,
                                            const struct rpc_codec *codec, struct rpc_process *process)
{
  struct rpc_callbacks *made = calloc(1, sizeof *made);
  if (made == NULL)
    return NULL;
  atomic_init(&made->holders, 1);
  made->peer = peer;
  made->codec = codec;
  made->push = client->push;
  made->process = process;
  made->channel = client->channel;
  made->key = client->key;
  made->maker = client->maker;
  made->proof = client->proof;
  made->session = client->session;
  clock_init_condition(&made->was_read);
  made->duplex = client->push->open(client->connection, made);
  if (made->duplex != NULL) {
    (void)principal_retain(made->maker.principal);
    return made;
  }
  pthread_cond_destroy(&made->was_read);
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
  struct rpc_process *process =
      client->process != NULL ? hold_process(client->process) : create_process(client->number);
  struct rpc_callbacks *made = process == NULL ? NULL : make_callbacks(peer, client, codec, process);
  if (made == NULL) {
    release_process(process);
    return jp_fail_memory(error, NULL);
  }
  pthread_mutex_lock(&process->lock);
  made->next_member = process->members;
  process->members = made;
  process->open++;
  pthread_mutex_unlock(&process->lock);
  rpc_session_retain(peer->sessions, made->session);
  struct rpc_callbacks_list *list = peer->callbacks;
  pthread_mutex_lock(&list->lock);
  made->next = list->first;
  if (list->first != NULL)
    list->first->before = made;
  list->first = made;
  pthread_mutex_unlock(&list->lock);
  *callbacks = client->callbacks = made;
  return JP_OK;
}

/* Makes the client a member of the process of that name, which is made if it does not exist. */
static enum jp_status enter_process(struct rpc_callbacks_list *list, struct rpc_client *client,
                                    struct text name, struct jp_error *error)
{
  pthread_mutex_lock(&list->lock);
  struct rpc_process *process = find_process(list, client, name);
  if (process != NULL)
    (void)hold_process(process);
  else
    process = make_process(list, client, name);
  if (process != NULL)
    process->joined++;
  pthread_mutex_unlock(&list->lock);
  client->process = process;
  return process == NULL ? jp_fail_memory(error, NULL) : JP_OK;
}

enum jp_status rpc_process_join(struct rpc_peer *peer, struct rpc_client *client,
                                const struct rpc_codec *codec, struct text name, struct jp_error *error)
{
  struct rpc_callbacks *callbacks;
  if (client->process != NULL)
    return text_equal(client->process->name, name)
               ? JP_OK
               : jp_fail(error, JP_INVALID, "the connection belongs to another process already");
  if (client->callbacks != NULL)
    return jp_fail(error, JP_INVALID, "the connection has given callbacks already");
  enum jp_status status = client->session != NULL ? JP_OK : rpc_client_hold_session(peer, client, error);
  if (status == JP_OK)
    status = enter_process(peer->callbacks, client, name, error);
  /* From now on the client can be called, because another connection of the process may end at any time, and
   * this connection may become the last connection. */
  if (status == JP_OK)
    status = rpc_callbacks_of(peer, client, codec, &callbacks, error);
  if (status != JP_OK)
    rpc_process_leave(peer, client);
  return status;
}

void callbacks_release(struct rpc_callbacks *callbacks)
{
  if (atomic_fetch_sub_explicit(&callbacks->holders, 1, memory_order_acq_rel) > 1)
    return;
  callbacks->push->close(callbacks->duplex);
  release_process(callbacks->process);
  principal_release(callbacks->maker.principal);
  free(callbacks->releases.items);
  pthread_cond_destroy(&callbacks->was_read);
  free(callbacks);
}

void rpc_callbacks_retain(struct rpc_callbacks *callbacks)
{
  if (callbacks != NULL)
    (void)callbacks_hold(callbacks);
}

void rpc_callbacks_release(struct rpc_callbacks *callbacks)
{
  if (callbacks != NULL)
    callbacks_release(callbacks);
}

/* ---- the end ---- */

static const uint16_t rpc_callbacks_transitions[] = {
    [RPC_CALLBACKS_OPEN] = TO(RPC_CALLBACKS_CLIENT_GONE) | TO(RPC_CALLBACKS_STOPPED),
    [RPC_CALLBACKS_CLIENT_GONE] = TO(RPC_CALLBACKS_CLOSED),
    [RPC_CALLBACKS_STOPPED] = TO(RPC_CALLBACKS_STOPPED_CLOSED),
    [RPC_CALLBACKS_CLOSED] = 0,
    [RPC_CALLBACKS_STOPPED_CLOSED] = 0,
};

static void set_callbacks_state(struct rpc_callbacks *callbacks, enum rpc_callbacks_state to)
{
  assert(callbacks_are_locked(callbacks));
  ASSERT_TRANSITION(rpc_callbacks_transitions, callbacks->state, to);
  struct rpc_process *process = callbacks->process;
  process->open -= callbacks->state == RPC_CALLBACKS_OPEN;
  callbacks->state = to;
}

/* Called with the lock held. Calls that have ended already keep their reason. */
static void end_calls(struct rpc_callbacks *callbacks, enum callback_ending ending)
{
  for (struct rpc_callback_call *call = callbacks->calls; call != NULL; call = call->next) {
    if (call->state == RPC_CALL_ANSWERED || callback_call_has_ended(call))
      continue;
    callback_call_end(call, RPC_CALL_ENDING, ending);
  }
}

/* Ends every open call with this reason; every later call ends at once. If the callbacks have ended already,
 * their first reason remains. Does not wait. */
static void end_callbacks(struct rpc_callbacks *callbacks, enum rpc_callbacks_state end)
{
  pthread_mutex_lock(&callbacks->process->lock);
  if (callbacks->state == RPC_CALLBACKS_OPEN) {
    set_callbacks_state(callbacks, end);
    end_calls(callbacks, end == RPC_CALLBACKS_STOPPED ? CALLBACK_STOPPED : CALLBACK_CLIENT_GONE);
  }
  pthread_mutex_unlock(&callbacks->process->lock);
  callbacks_wake_ended(callbacks);
}

void rpc_callbacks_client_gone(void *context, struct rpc_callbacks *callbacks, bool is_stopping)
{
  (void)context;
  end_callbacks(callbacks, is_stopping ? RPC_CALLBACKS_STOPPED : RPC_CALLBACKS_CLIENT_GONE);
}

void callbacks_release_session(struct rpc_callbacks *callbacks)
{
  rpc_session_release(callbacks->peer->sessions, callbacks->session, NULL, clock_now_ms());
}

/* Called with the lock held: other connections of the process get its unsent releases. */
static void leave_process(struct rpc_callbacks *callbacks)
{
  struct rpc_process *process = callbacks->process;
  struct callback_releases *releases = &callbacks->releases;
  struct rpc_callbacks **at = &process->members;
  while (*at != callbacks)
    at = &(*at)->next_member;
  *at = callbacks->next_member;
  process->unsent -= releases->count;
  for (size_t i = 0; i < releases->count; i++)
    add_release(process, NULL, releases->items[i].id, releases->items[i].given);
  releases->count = 0;
  for (size_t i = 0; i < process->records.bucket_count; i++) {
    for (struct callback_record *record = process->records.buckets[i]; record != NULL; record = record->next)
      record->giver = record->giver == callbacks ? NULL : record->giver;
  }
}

void rpc_callbacks_close(struct rpc_callbacks *callbacks)
{
  if (callbacks == NULL)
    return;
  end_callbacks(callbacks, RPC_CALLBACKS_CLIENT_GONE);
  struct rpc_callbacks_list *list = callbacks->peer->callbacks;
  pthread_mutex_lock(&list->lock);
  if (callbacks->before != NULL)
    callbacks->before->next = callbacks->next;
  else
    list->first = callbacks->next;
  if (callbacks->next != NULL)
    callbacks->next->before = callbacks->before;
  pthread_mutex_unlock(&list->lock);
  pthread_mutex_lock(&callbacks->process->lock);
  set_callbacks_state(callbacks, callbacks->state == RPC_CALLBACKS_STOPPED ? RPC_CALLBACKS_STOPPED_CLOSED
                                                                           : RPC_CALLBACKS_CLOSED);
  leave_process(callbacks);
  bool is_last = callbacks->calls_open == 0;
  pthread_mutex_unlock(&callbacks->process->lock);
  callbacks_send_releases(callbacks);
  if (is_last)
    callbacks_release_session(callbacks);
  callbacks_release(callbacks);
}

/* ---- delete_session ---- */

/* Finds the next client of the session that was not visited in this clearing. The caller holds the result.
 * NULL: no client is left. */
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
    struct rpc_process *process = callbacks->process;
    pthread_mutex_lock(&process->lock);
    if (process->cleared < clearing) {
      process->cleared = clearing;
      process->epoch++;
      clear_records(process, true);
    }
    end_calls(callbacks, CALLBACK_SESSION_DELETED);
    pthread_mutex_unlock(&process->lock);
    callbacks_wake_ended(callbacks);
    callbacks_send_releases(callbacks);
    callbacks_release(callbacks);
  }
}

/* ---- given ---- */

/* Under the lock. */
static enum jp_status count_given(struct rpc_callbacks *callbacks, int64_t id, struct rpc_given_id *noted,
                                  struct jp_error *error)
{
  size_t max = callbacks->peer->config.limits.session_max_objects;
  struct rpc_process *process = callbacks->process;
  struct callback_record *record = callbacks_find_record(&process->records, id);
  if (record == NULL && process->records.count >= max)
    return jp_fail(error, JP_LIMIT,
                   "the limit of %zu callbacks of a connection is reached (session-max-objects)", max);
  if (record == NULL) {
    record = make_record(&process->records, id);
    if (record == NULL)
      return jp_fail_memory(error, NULL);
    record->epoch = process->epoch;
  }
  /* after the end of the callbacks, leave_process has moved the releases to another connection already */
  if (callbacks->state == RPC_CALLBACKS_OPEN)
    record->giver = callbacks;
  record->given++;
  record->in_flight++;
  *noted = (struct rpc_given_id){.id = id, .epoch = record->epoch};
  return JP_OK;
}

enum jp_status rpc_callbacks_note(struct rpc_callbacks *callbacks, int64_t id, struct rpc_given *given,
                                  struct jp_error *error)
{
  struct rpc_given_id *ids = array_grow(given->ids, given->count, &given->capacity, sizeof *ids);
  if (ids == NULL)
    return jp_fail_memory(error, NULL);
  given->ids = ids;
  pthread_mutex_lock(&callbacks->process->lock);
  enum jp_status status = count_given(callbacks, id, &ids[given->count], error);
  pthread_mutex_unlock(&callbacks->process->lock);
  if (status == JP_OK)
    given->count++;
  return status;
}

void rpc_callbacks_settle(struct rpc_callbacks *callbacks, struct rpc_given *given)
{
  if (given->count == 0)
    return;
  pthread_mutex_lock(&callbacks->process->lock);
  for (size_t i = 0; i < given->count; i++) {
    struct callback_record *record = callbacks_find_record(&callbacks->process->records, given->ids[i].id);
    if (record == NULL || record->epoch != given->ids[i].epoch)
      continue; /* delete_session has released the ID */
    record->in_flight--;
    callbacks_settle_record(callbacks, record);
  }
  pthread_mutex_unlock(&callbacks->process->lock);
  free(given->ids);
  *given = (struct rpc_given){.count = 0};
  callbacks_send_releases(callbacks);
}

/* Counts an ID in a message that was not read, such as an answer to a call that has ended. The limit on
 * objects does not apply to such IDs. */
static void release_unread(struct rpc_callbacks *callbacks, int64_t id)
{
  pthread_mutex_lock(&callbacks->process->lock);
  struct callback_record *record = callbacks_find_record(&callbacks->process->records, id);
  bool has_place = record != NULL || callbacks->releases.count < UNREAD_MAX;
  if (record != NULL)
    record->given++;
  else if (has_place)
    add_release(callbacks->process, callbacks, id, 1);
  pthread_mutex_unlock(&callbacks->process->lock);
  if (!has_place)
    log_warn_rarely("a client that leaves %d releases of callbacks unread is sent no further ones",
                    (int)UNREAD_MAX);
}

static int compare_ids(const void *left, const void *right)
{
  int64_t a = ((const struct rpc_given_id *)left)->id;
  int64_t b = ((const struct rpc_given_id *)right)->id;
  return (a > b) - (a < b);
}

/* Returns the index of the first entry whose ID is not smaller than `id`. The entries are in the order of
 * their IDs. */
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

/* A search for the callbacks that a message gives and that were not noted when its arguments were read. */
struct unread_search {
  struct rpc_callbacks *callbacks;
  struct rpc_given *noted; /* in the order of the IDs */
};

/* Removes one entry of the ID. Each entry is for one argument that was read, even if the record of the ID
 * does not exist any more. Arguments with this ID for which no entry is left were not read. */
static bool remove_noted(struct rpc_given *noted, int64_t id)
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

/* The function `found` of rpc_callback_form.find_given; context: a struct unread_search. */
static void count_unless_noted(void *context, int64_t id)
{
  const struct unread_search *search = context;
  if (!remove_noted(search->noted, id))
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

/* The function `found` of rpc_callback_form.find_given; context: a size_t. */
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

/* ---- proxies: the hooks of jni that do not belong to a call ---- */

static size_t find_older(const struct callback_record *record, uint64_t number)
{
  size_t at = record->older_count;
  while (at > 0 && record->older[at - 1] != number)
    at--;
  return at == 0 ? SIZE_MAX : at - 1;
}

bool callbacks_has_proxy(const struct callback_record *record, uint64_t number)
{
  return record != NULL &&
         (record->proxy == number || (record->older_count > 0 && find_older(record, number) != SIZE_MAX));
}

uint64_t callbacks_find_proxy(struct rpc_callbacks *callbacks, int64_t id, uint64_t below)
{
  pthread_mutex_lock(&callbacks->process->lock);
  const struct callback_record *record = callbacks_find_record(&callbacks->process->records, id);
  uint64_t number = record == NULL ? 0 : record->proxy;
  if (record != NULL && number >= below) {
    size_t count = record->older_count;
    while (count > 0 && record->older[count - 1] >= below)
      count--;
    number = count == 0 ? 0 : record->older[count - 1];
  }
  pthread_mutex_unlock(&callbacks->process->lock);
  return number;
}

/* Under the lock. */
static enum jp_status add_proxy(struct callback_record *record, uint64_t number)
{
  if (record->proxy != 0) {
    uint64_t *older = array_grow(record->older, record->older_count, &record->older_capacity, sizeof *older);
    if (older == NULL)
      return JP_NO_MEMORY;
    record->older = older;
    older[record->older_count++] = record->proxy;
  }
  record->proxy = number;
  return JP_OK;
}

/* If delete_session has removed the record since the proxy was made, calls of the proxy throw. */
enum jp_status callbacks_note_proxy(struct rpc_callbacks *callbacks, int64_t id, uint64_t number,
                                    uint64_t newest, bool *is_taken)
{
  enum jp_status status = JP_OK;
  pthread_mutex_lock(&callbacks->process->lock);
  struct callback_record *record = callbacks_find_record(&callbacks->process->records, id);
  *is_taken = record == NULL || record->proxy == newest;
  if (*is_taken && record != NULL)
    status = add_proxy(record, number);
  *is_taken = *is_taken && status == JP_OK;
  pthread_mutex_unlock(&callbacks->process->lock);
  if (*is_taken)
    callbacks_hold(callbacks);
  return status;
}

uint64_t callbacks_find_owner(struct rpc_callbacks *callbacks, int64_t id, uint64_t number)
{
  pthread_mutex_lock(&callbacks->process->lock);
  const struct callback_record *record = callbacks_find_record(&callbacks->process->records, id);
  bool is_owned = callbacks->process->open > 0 && callbacks_has_proxy(record, number);
  pthread_mutex_unlock(&callbacks->process->lock);
  return is_owned ? callbacks->process->client : 0;
}

/* Under the lock. */
static void remove_proxy(struct callback_record *record, uint64_t number)
{
  size_t at = record->proxy == number ? SIZE_MAX : find_older(record, number);
  size_t left = record->older_count;
  if (at == SIZE_MAX) {
    record->proxy = left == 0 ? 0 : record->older[left - 1];
  } else {
    for (size_t next = at + 1; next < left; next++)
      record->older[next - 1] = record->older[next];
  }
  record->older_count = left == 0 ? 0 : left - 1;
}

void callbacks_release_proxy(struct rpc_callbacks *callbacks, int64_t id, uint64_t number)
{
  pthread_mutex_lock(&callbacks->process->lock);
  struct callback_record *record = callbacks_find_record(&callbacks->process->records, id);
  if (callbacks_has_proxy(record, number)) {
    remove_proxy(record, number);
    callbacks_settle_record(callbacks, record);
  }
  pthread_mutex_unlock(&callbacks->process->lock);
  callbacks_send_releases(callbacks);
  callbacks_release(callbacks);
}

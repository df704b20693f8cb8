/* The table of refs, and the functions for handles. */
#include "client/client_refs.h"
#include "client/client_sessions.h"
#include "client/client_state.h"

#include <assert.h>
#include <stdlib.h>

enum { FIRST_CAPACITY = 64 };

/* ---- the table ---- */

/* The numbers of refs count up, but the peer chooses them. They are hashed so that a peer cannot make the
 * table slow. */
static size_t home_of(const struct ref_table *table, uint32_t number)
{
  return (size_t)(number * 0x9E3779B97F4A7C15u >> 32) & (table->capacity - 1);
}

static size_t next_place(const struct ref_table *table, size_t place)
{
  return (place + 1) & (table->capacity - 1);
}

/* The place of the ref, or the free place where it belongs. */
static size_t find_place(const struct ref_table *table, uint32_t number)
{
  size_t place = home_of(table, number);
  while (table->places[place] != NULL && table->places[place]->number != number)
    place = next_place(table, place);
  return place;
}

static bool grow_table(struct ref_table *table)
{
  struct ref_table larger = *table;
  larger.capacity = table->capacity == 0 ? FIRST_CAPACITY : table->capacity * 2;
  larger.places = calloc(larger.capacity, sizeof(struct jp_ref *));
  if (larger.places == NULL)
    return false;
  for (size_t i = 0; i < table->capacity; i++) {
    if (table->places[i] != NULL)
      larger.places[find_place(&larger, table->places[i]->number)] = table->places[i];
  }
  free(table->places);
  *table = larger;
  return true;
}

/* Moves the entries after the removed ref closer to their own places, so that no search stops at the hole. */
static void remove_ref(struct ref_table *table, struct jp_ref *ref)
{
  size_t hole = find_place(table, ref->number);
  for (size_t at = next_place(table, hole); table->places[at] != NULL; at = next_place(table, at)) {
    size_t home = home_of(table, table->places[at]->number);
    if (((at - home) & (table->capacity - 1)) < ((at - hole) & (table->capacity - 1)))
      continue;
    table->places[hole] = table->places[at];
    hole = at;
  }
  table->places[hole] = NULL;
  table->count--;
  free(ref);
}

/* ---- the list of releases ---- */

static void append_release(struct ref_table *table, struct jp_ref *ref)
{
  ref->next = NULL;
  ref->previous = table->last_release;
  if (table->last_release != NULL)
    table->last_release->next = ref;
  else
    table->first_release = ref;
  table->last_release = ref;
  table->releases++;
}

static void remove_release(struct ref_table *table, struct jp_ref *ref)
{
  if (ref->previous != NULL)
    ref->previous->next = ref->next;
  else
    table->first_release = ref->next;
  if (ref->next != NULL)
    ref->next->previous = ref->previous;
  else
    table->last_release = ref->previous;
  table->releases--;
}

/* ---- receiving and releasing ---- */

static struct jp_ref *add_ref(struct ref_table *table, uint32_t number, struct text type)
{
  if (table->count >= table->capacity / 2 && !grow_table(table))
    return NULL;
  struct jp_ref *ref = malloc(sizeof *ref + type.len + 1);
  if (ref == NULL)
    return NULL;
  const uint64_t epoch = ref_table_epoch(table);
  *ref = (struct jp_ref){.client = table->client, .number = number, .epoch = epoch, .first_epoch = epoch};
  if (type.len > 0)
    memcpy(ref->type, type.data, type.len);
  ref->type[type.len] = '\0';
  table->places[find_place(table, number)] = ref;
  table->count++;
  return ref;
}

static struct jp_ref *receive_ref(struct answer_refs *refs, uint32_t number, struct text type)
{
  struct ref_table *table = (struct ref_table *)refs;
  struct jp_ref *ref = table->capacity == 0 ? NULL : table->places[find_place(table, number)];
  if (ref != NULL && ref->handles == 0)
    remove_release(table, ref);
  else if (ref == NULL)
    ref = add_ref(table, number, type);
  if (ref == NULL)
    return NULL;
  if (ref->handles == 0)
    table->held++;
  ref->handles++;
  ref->sent_count++;
  return ref;
}

void ref_table_init(struct ref_table *table, struct jp_client *client)
{
  *table = (struct ref_table){.refs = {.receive = receive_ref}, .client = client};
}

/* Empties the table without sending releases. */
static void clear_table(struct ref_table *table)
{
  for (size_t i = 0; i < table->capacity; i++) {
    struct jp_ref *ref = table->places[i];
    table->places[i] = NULL;
    if (ref != NULL && ref->handles > 0)
      atomic_store_explicit(&ref->epoch, EPOCH_ENDED, memory_order_relaxed);
    else
      free(ref);
  }
  table->count = 0;
  table->first_release = NULL;
  table->last_release = NULL;
  table->releases = 0;
}

void ref_table_enter_epoch(struct ref_table *table, uint64_t epoch)
{
  if (epoch == ref_table_epoch(table))
    return;
  clear_table(table);
  atomic_store_explicit(&table->epoch, epoch, memory_order_relaxed);
}

void ref_table_leave_peer(struct ref_table *table)
{
  clear_table(table);
}

void ref_table_fini(struct ref_table *table)
{
  for (size_t i = 0; i < table->capacity; i++)
    free(table->places[i]);
  free(table->places);
  *table = (struct ref_table){0};
}

void ref_table_release(struct ref_table *table, struct jp_ref *ref)
{
  if (--ref->handles > 0)
    return;
  table->held--;
  if (atomic_load_explicit(&ref->epoch, memory_order_relaxed) == EPOCH_ENDED)
    free(ref);
  else
    append_release(table, ref);
}

size_t ref_table_pop_releases(struct ref_table *table, struct message_release *releases, size_t max)
{
  size_t count = 0;
  while (count < max && table->first_release != NULL) {
    struct jp_ref *ref = table->first_release;
    assert(ref->previous == NULL);
    if (ref->sent_count > 0)
      releases[count++] = (struct message_release){ref->number, ref->sent_count};
    remove_release(table, ref);
    remove_ref(table, ref);
  }
  return count;
}

size_t ref_table_pop_sent_counts(struct ref_table *table, size_t *from, struct message_release *releases,
                                 size_t max)
{
  size_t count = 0;
  for (; *from < table->capacity && count < max; ++*from) {
    struct jp_ref *ref = table->places[*from];
    if (ref == NULL || ref->sent_count == 0)
      continue;
    releases[count++] = (struct message_release){ref->number, ref->sent_count};
    ref->sent_count = 0;
  }
  return count;
}

/* ---- epochs ---- */

uint64_t ref_epoch_parse(struct text digits)
{
  enum { DIGITS = 16 };
  uint64_t epoch = 0;
  if (digits.data == NULL || digits.len != DIGITS)
    return EPOCH_UNKNOWN;
  for (size_t i = 0; i < DIGITS; i++) {
    char c = digits.data[i];
    unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                     : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                            : 16;
    if (digit > 15)
      return EPOCH_UNKNOWN;
    epoch = epoch << 4 | digit;
  }
  return epoch == EPOCH_ENDED ? EPOCH_UNKNOWN : epoch;
}

/* ---- handles ---- */

struct jp_ref *client_adopt_ref(struct jp_client *client, uint32_t number, const char *type, uint64_t epoch,
                                uint32_t sent_count)
{
  struct jp_ref *ref = NULL;
  client_lock(client);
  if (epoch != EPOCH_UNKNOWN && epoch == ref_table_epoch(&client->refs) && number != 0)
    ref = receive_ref(&client->refs.refs, number, text_of(type));
  if (ref != NULL)
    ref->sent_count += sent_count - 1;
  client_unlock(client);
  return ref;
}

uint32_t client_sent_count(struct jp_ref *ref)
{
  client_lock(ref->client);
  uint32_t count = ref->sent_count;
  client_unlock(ref->client);
  return count;
}

uint64_t client_session_epoch(struct jp_client *client)
{
  client_lock(client);
  uint64_t epoch = ref_table_epoch(&client->refs);
  client_unlock(client);
  return epoch;
}

struct jp_ref *jp_ref_keep(struct jp_ref *ref)
{
  if (ref == NULL || fork_guard_is_child(&ref->client->fork_guard))
    return ref;
  client_lock(ref->client);
  ref->handles++;
  client_unlock(ref->client);
  return ref;
}

void jp_ref_release(struct jp_ref *ref)
{
  if (ref == NULL || fork_guard_is_child(&ref->client->fork_guard))
    return;
  struct jp_client *client = ref->client;
  client_lock(client);
  ref_table_release(&client->refs, ref);
  client_write_overdue_releases(client);
  client_unlock(client);
}

uint32_t jp_ref_number(const struct jp_ref *ref)
{
  return ref == NULL ? 0 : ref->number;
}

uint64_t jp_ref_epoch(const struct jp_ref *ref)
{
  return ref == NULL ? 0 : ref->first_epoch;
}

uint64_t message_ref_epoch(const struct jp_ref *ref)
{
  return atomic_load_explicit(&ref->epoch, memory_order_relaxed);
}

const struct jp_client *jp_ref_client(const struct jp_ref *ref)
{
  return ref == NULL ? NULL : ref->client;
}

const char *jp_ref_type(const struct jp_ref *ref)
{
  return ref == NULL ? "" : ref->type;
}

#include "client/callback_group.h"

#include "base/uuid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 16 };

static const uint16_t callback_transitions[] = {
    [CALLBACK_HELD] = TO(CALLBACK_RELEASED),
    [CALLBACK_RELEASED] = TO(CALLBACK_HELD) | TO(CALLBACK_ENDED),
    [CALLBACK_ENDED] = 0,
};

void callback_set_state(struct jp_callback *callback, enum callback_state to)
{
  assert(mutex_is_locked(&callback->group->lock));
  ASSERT_TRANSITION(callback_transitions, callback->state, to);
  callback->state = to;
}

/* ---- groups with names ---- */

static struct {
  pthread_mutex_t lock;
  struct callback_group *first;
} groups = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void lock_groups(void)
{
  pthread_mutex_lock(&groups.lock);
}

static void unlock_groups(void)
{
  pthread_mutex_unlock(&groups.lock);
}

/* In a child of fork(2) the groups belong to the parent: the child cannot use their clients, and their locks
 * may be held for ever. */
static void forget_groups(void)
{
  groups.first = NULL;
  unlock_groups();
}

/* A child of fork(2) may open clients of its own. */
static void guard_fork(void)
{
  (void)pthread_atfork(lock_groups, unlock_groups, forget_groups);
}

static struct callback_group *make_group(const char *name)
{
  struct callback_group *made = calloc(1, sizeof *made);
  if (made == NULL)
    return NULL;
  made->name = name == NULL ? NULL : strdup(name);
  if (name != NULL && made->name == NULL) {
    free(made);
    return NULL;
  }
  pthread_mutex_init(&made->lock, NULL);
  return made;
}

struct callback_group *callback_group_enter(const char *name)
{
  if (name == NULL) {
    struct callback_group *own = make_group(NULL);
    if (own != NULL)
      own->clients = 1;
    return own;
  }
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, guard_fork);
  lock_groups();
  struct callback_group *group = groups.first;
  while (group != NULL && strcmp(group->name, name) != 0)
    group = group->next;
  if (group == NULL) {
    group = make_group(name);
    if (group != NULL) {
      group->next = groups.first;
      groups.first = group;
    }
  }
  if (group != NULL)
    group->clients++;
  unlock_groups();
  return group;
}

static void remove_group(const struct callback_group *group)
{
  struct callback_group **at = &groups.first;
  while (*at != group)
    at = &(*at)->next;
  *at = group->next;
}

void callback_group_leave(struct callback_group *group)
{
  if (group == NULL)
    return;
  lock_groups();
  bool is_last = --group->clients == 0;
  if (is_last && group->name != NULL)
    remove_group(group);
  unlock_groups();
  if (!is_last)
    return;
  pthread_mutex_destroy(&group->lock);
  free(group->places);
  free(group->name);
  free(group);
}

/* ---- the name of the process ---- */

/* The length of the text's longest prefix of whole characters with at most `most` bytes. */
static int length_within(const char *text, size_t most)
{
  size_t length = strlen(text);
  if (length > most) {
    length = most;
    while (((unsigned char)text[length] & 0xC0) == 0x80)
      length--;
  }
  return (int)length;
}

void callback_group_connect(struct callback_group *group)
{
  if (group->connections++ > 0 || group->name == NULL)
    return;
  struct uuid generation;
  char digits[UUID_TEXT_LENGTH + 1];
  uuid_random(&generation);
  uuid_format(&generation, digits);
  const size_t room = PROCESS_LENGTH_MAX - UUID_TEXT_LENGTH - 1;
  snprintf(group->process, sizeof group->process, "%.*s/%s", length_within(group->name, room), group->name,
           digits);
}

/* ---- the table ---- */

/* Returns the place of an id in the table. Ids count up, so they are spread well without a hash. */
static struct jp_callback **find_place(const struct callback_group *group, int64_t id)
{
  return &group->places[(size_t)id & (group->capacity - 1)];
}

struct jp_callback *callback_group_find(const struct callback_group *group, int64_t id)
{
  struct jp_callback *callback = group->capacity == 0 ? NULL : *find_place(group, id);
  while (callback != NULL && callback->id != id)
    callback = callback->next;
  return callback;
}

static void insert_callback(struct callback_group *group, struct jp_callback *callback)
{
  struct jp_callback **place = find_place(group, callback->id);
  callback->next = *place;
  *place = callback;
}

static bool grow_table(struct callback_group *group)
{
  struct callback_group larger = {.capacity = group->capacity == 0 ? FIRST_CAPACITY : group->capacity * 2};
  larger.places = calloc(larger.capacity, sizeof(struct jp_callback *));
  if (larger.places == NULL)
    return false;
  for (size_t i = 0; i < group->capacity; i++) {
    for (struct jp_callback *callback = group->places[i]; callback != NULL;) {
      struct jp_callback *next = callback->next;
      insert_callback(&larger, callback);
      callback = next;
    }
  }
  free(group->places);
  group->places = larger.places;
  group->capacity = larger.capacity;
  return true;
}

bool callback_group_add(struct callback_group *group, struct jp_callback *callback)
{
  if (group->count == group->capacity && !grow_table(group))
    return false;
  callback->id = ++group->last_id;
  insert_callback(group, callback);
  group->count++;
  return true;
}

void callback_group_remove(struct callback_group *group, const struct jp_callback *callback)
{
  struct jp_callback **at = find_place(group, callback->id);
  while (*at != callback)
    at = &(*at)->next;
  *at = callback->next;
  group->count--;
}

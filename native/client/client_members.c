#include "client/client_members.h"

#include "base/clock.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A peer that was restarted may have its UUID and its address again. */
static const int64_t FAILED_FOR_NS = 30 * 1000000000LL;

struct member {
  struct member *next;
  size_t holders; /* places, and sessions that live here */
  size_t connections;
  int64_t failed_ns; /* 0: it has not failed since the last connection */
  size_t uuid_length;
  char key[]; /* UUID, space, URL; NUL-terminated */
};

struct member_session {
  struct member_session *next;
  size_t clients;
  struct uuid session;
  struct member *member; /* where the session lives; NULL: nowhere */
  size_t connections;    /* at `member` */
  char dir_url[];
};

static struct {
  pthread_mutex_t lock;
  struct member *first;
  struct member_session *first_session;
} members = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void lock_members(void)
{
  pthread_mutex_lock(&members.lock);
}

static void unlock_members(void)
{
  pthread_mutex_unlock(&members.lock);
}

/* The connections belong to the parent, which also frees the entries. */
static void forget_members(void)
{
  members.first = NULL;
  members.first_session = NULL;
  unlock_members();
}

static void guard_fork(void)
{
  (void)pthread_atfork(lock_members, unlock_members, forget_members);
}

/* ---- members ---- */

static bool has_failed(const struct member *member, int64_t now_ns)
{
  return member != NULL && member->failed_ns != 0 && now_ns - member->failed_ns < FAILED_FOR_NS;
}

/* Frees members that nobody holds and whose failure is forgotten. */
static void sweep_members(int64_t now_ns)
{
  struct member **at = &members.first;
  while (*at != NULL) {
    struct member *member = *at;
    if (member->holders > 0 || has_failed(member, now_ns)) {
      at = &member->next;
      continue;
    }
    *at = member->next;
    free(member);
  }
}

static struct text uuid_of(const struct member *member)
{
  return (struct text){member->key, member->uuid_length};
}

static struct text url_of(const struct member *member)
{
  return text_of(member->key + member->uuid_length + 1);
}

static struct member *find_member(const struct member_candidate *candidate)
{
  struct member *member = members.first;
  while (member != NULL &&
         !(text_equal(uuid_of(member), candidate->uuid) && text_equal(url_of(member), candidate->url)))
    member = member->next;
  return member;
}

static struct member *add_member(const struct member_candidate *candidate)
{
  struct member *member = calloc(1, sizeof *member + candidate->uuid.len + 1 + candidate->url.len + 1);
  if (member == NULL)
    return NULL;
  member->uuid_length = candidate->uuid.len;
  memcpy(member->key, candidate->uuid.data, candidate->uuid.len);
  member->key[candidate->uuid.len] = ' ';
  memcpy(member->key + candidate->uuid.len + 1, candidate->url.data, candidate->url.len);
  member->next = members.first;
  members.first = member;
  return member;
}

/* ---- sessions ---- */

struct member_session *member_session_enter(const struct uuid *session, struct text dir_url)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, guard_fork);
  lock_members();
  struct member_session *found = members.first_session;
  while (found != NULL &&
         !(uuid_equal(&found->session, session) && text_equal(text_of(found->dir_url), dir_url)))
    found = found->next;
  if (found == NULL) {
    found = calloc(1, sizeof *found + dir_url.len + 1);
    if (found != NULL) {
      found->session = *session;
      memcpy(found->dir_url, dir_url.data, dir_url.len);
      found->next = members.first_session;
      members.first_session = found;
    }
  }
  if (found != NULL)
    found->clients++;
  unlock_members();
  return found;
}

/* The session lives at that member from now on; NULL: nowhere. */
static void move_session(struct member_session *session, struct member *member)
{
  if (session->member == member)
    return;
  if (session->member != NULL)
    session->member->holders--;
  if (member != NULL)
    member->holders++;
  session->member = member;
  session->connections = 0;
}

void member_session_leave(struct member_session *session)
{
  if (session == NULL)
    return;
  lock_members();
  if (--session->clients == 0) {
    struct member_session **at = &members.first_session;
    while (*at != session)
      at = &(*at)->next;
    *at = session->next;
    move_session(session, NULL);
    free(session);
  }
  unlock_members();
}

/* ---- places ---- */

static void take_place(struct member_place *place, struct member_session *session, struct member *member)
{
  *place = (struct member_place){session, member};
  member->holders++;
  member->connections++;
  move_session(session, member);
  session->connections++;
}

bool member_place_take_shared(struct member_place *place, struct member_session *session)
{
  lock_members();
  bool is_shared = session->connections > 0;
  if (is_shared)
    take_place(place, session, session->member);
  unlock_members();
  return is_shared;
}

static size_t connections_of(const struct member_candidate *candidate)
{
  const struct member *member = find_member(candidate);
  return member == NULL ? 0 : member->connections;
}

/* The number-th candidate that was not tried and has not failed. */
static size_t find_good(const struct member_candidate *candidates, size_t number, int64_t now_ns)
{
  for (size_t i = 0;; i++) {
    bool is_good = !candidates[i].was_tried && !has_failed(find_member(&candidates[i]), now_ns);
    if (is_good && number-- == 0)
      return i;
  }
}

/* `count` > 0 of the candidates are good. */
static size_t choose_good(const struct member_candidate *candidates, size_t count, int64_t now_ns)
{
  struct uuid random; /* its first and last bytes are random */
  uint32_t numbers[2];
  uuid_random(&random);
  memcpy(&numbers[0], random.bytes, sizeof numbers[0]);
  memcpy(&numbers[1], random.bytes + sizeof random.bytes - sizeof numbers[1], sizeof numbers[1]);
  size_t first = numbers[0] % count;
  size_t one = find_good(candidates, first, now_ns);
  if (count == 1)
    return one;
  size_t other = find_good(candidates, (first + 1 + numbers[1] % (count - 1)) % count, now_ns);
  return connections_of(&candidates[other]) < connections_of(&candidates[one]) ? other : one;
}

/* The index of the candidate; SIZE_MAX: all were tried. */
static size_t choose_candidate(const struct member_session *session,
                               const struct member_candidate *candidates, size_t count, int64_t now_ns)
{
  size_t good = 0;
  size_t oldest = SIZE_MAX; /* of those that have failed */
  int64_t oldest_ns = INT64_MAX;
  for (size_t i = 0; i < count; i++) {
    if (candidates[i].was_tried)
      continue;
    const struct member *member = find_member(&candidates[i]);
    if (member != NULL && member == session->member && session->connections > 0)
      return i;
    if (!has_failed(member, now_ns)) {
      good++;
    } else if (member->failed_ns < oldest_ns) {
      oldest = i;
      oldest_ns = member->failed_ns;
    }
  }
  return good > 0 ? choose_good(candidates, good, now_ns) : oldest;
}

enum member_choice member_place_choose(struct member_place *place, struct member_session *session,
                                       struct member_candidate *candidates, size_t count, size_t *index)
{
  const int64_t now_ns = clock_now_ns();
  enum member_choice choice = MEMBER_NONE_LEFT;
  lock_members();
  sweep_members(now_ns);
  *index = choose_candidate(session, candidates, count, now_ns);
  if (*index != SIZE_MAX) {
    struct member *member = find_member(&candidates[*index]);
    if (member == NULL)
      member = add_member(&candidates[*index]);
    choice = member == NULL ? MEMBER_NO_MEMORY : MEMBER_CHOSEN;
    if (member != NULL) {
      candidates[*index].was_tried = true;
      take_place(place, session, member);
    }
  }
  unlock_members();
  return choice;
}

struct text member_place_url(const struct member_place *place)
{
  return url_of(place->member);
}

struct text member_place_uuid(const struct member_place *place)
{
  return uuid_of(place->member);
}

void member_place_confirm(const struct member_place *place)
{
  lock_members();
  place->member->failed_ns = 0;
  unlock_members();
}

void member_place_leave(struct member_place *place, enum member_end end)
{
  struct member *member = place->member;
  if (member == NULL)
    return;
  lock_members();
  assert(member->connections > 0 && member->holders > 0);
  if (end == MEMBER_FAILED)
    member->failed_ns = clock_now_ns();
  member->connections--;
  member->holders--;
  if (place->session->member == member && --place->session->connections == 0)
    move_session(place->session, NULL);
  unlock_members();
  *place = (struct member_place){0};
}

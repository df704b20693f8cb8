#include "directory/registration.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/transitions.h"
#include "directory/entries.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
  SECOND_MS = 1000,
  REVOKE_MS = 500,
  PAUSE_LEAST_MS = 250,
  PAUSE_MOST_MS = 5000,
  NAME_PAUSE_MS = 500,   /* between attempts to get a taken name at the start */
  LEASE_SLACK_MS = 3000, /* etcd removes the keys of a lease up to so long after its time */
  WARNING_MS = 60000,
  ATTEMPTS = 8,
  /* info and name; the states of two peers */
  CONDITIONS_MAX = 4,
  /* info, state, name; the info of a dead peer */
  CHANGES_MAX = REGISTRATION_SERVICES_MAX + 4
};

enum registration_state {
  REGISTRATION_BEGUN,
  REGISTRATION_AWAITS_NAME, /* at the start: another peer has the name, and may be dead */
  REGISTRATION_LISTED,
  REGISTRATION_DISPLACED, /* another peer has the name: listed by UUID alone; or another has the UUID: not listed */
  REGISTRATION_LOST,    /* etcd cannot be used; the entries may still be there */
  REGISTRATION_REFUSED, /* the start has failed, and the thread has ended */
  REGISTRATION_WITHDRAWING,
  REGISTRATION_WITHDRAWN /* the thread has ended */
};

static const uint16_t registration_transitions[] = {
    [REGISTRATION_BEGUN] = TO(REGISTRATION_AWAITS_NAME) | TO(REGISTRATION_LISTED) | TO(REGISTRATION_LOST) |
                           TO(REGISTRATION_REFUSED) | TO(REGISTRATION_WITHDRAWING) |
                           TO(REGISTRATION_WITHDRAWN),
    [REGISTRATION_AWAITS_NAME] = TO(REGISTRATION_LISTED) | TO(REGISTRATION_LOST) | TO(REGISTRATION_REFUSED) |
                                 TO(REGISTRATION_WITHDRAWING),
    [REGISTRATION_LISTED] = TO(REGISTRATION_DISPLACED) | TO(REGISTRATION_LOST) | TO(REGISTRATION_WITHDRAWING),
    [REGISTRATION_DISPLACED] = TO(REGISTRATION_LISTED) | TO(REGISTRATION_LOST) | TO(REGISTRATION_WITHDRAWING),
    [REGISTRATION_LOST] = TO(REGISTRATION_LISTED) | TO(REGISTRATION_DISPLACED) | TO(REGISTRATION_WITHDRAWING),
    [REGISTRATION_REFUSED] = TO(REGISTRATION_WITHDRAWN),
    [REGISTRATION_WITHDRAWING] = TO(REGISTRATION_WITHDRAWN),
    [REGISTRATION_WITHDRAWN] = 0,
};

/* What was put into the directory under the lease. */
enum entries { ENTRIES_NONE, ENTRIES_UNNAMED, ENTRIES_WHOLE };

/* The peer that has the name or the UUID. */
struct owner {
  bool has_own_uuid; /* it has the UUID of this peer, not only the name */
  struct uuid uuid;
  int64_t lease; /* 0: its entries do not end by themselves */
  char where[512];
};

struct registration {
  struct registration_config config;
  struct etcd_client *client;
  pthread_t thread;
  bool has_thread;             /* not joined yet */
  pthread_mutex_t thread_lock; /* of these two; taken before `lock` */

  pthread_mutex_t lock;
  pthread_cond_t changed;
  enum registration_state state;
  struct jp_error error; /* of REGISTRATION_REFUSED */

  /* of the thread alone */
  int64_t begun_ms; /* since 1970 */
  int64_t lease;    /* 0: none */
  int64_t granted_s;
  int64_t kept_ms; /* when the lease was granted or kept last */
  enum entries entries;
  int64_t revision;   /* of the transaction that put the entries */
  int64_t reached_ms; /* when etcd answered last, or when the thread began */
  int64_t name_by_ms; /* until when the name is waited for; 0: not yet known */
  int64_t warned_ms;  /* when it was logged last that another peer has the name; 0: never */
  int64_t pause_ms;   /* before the next attempt while etcd is lost */
  struct owner owner; /* of the name, while it is taken */
};

/* ---- states ---- */

static enum registration_state state_of(struct registration *registration)
{
  pthread_mutex_lock(&registration->lock);
  enum registration_state state = registration->state;
  pthread_mutex_unlock(&registration->lock);
  return state;
}

static void change_state(struct registration *registration, enum registration_state to)
{
  assert(mutex_is_locked(&registration->lock));
  ASSERT_TRANSITION(registration_transitions, registration->state, to);
  registration->state = to;
  pthread_cond_broadcast(&registration->changed);
}

/* The thread's way to another state; a withdrawal that was asked for during that time remains. */
static void enter_state(struct registration *registration, enum registration_state to)
{
  pthread_mutex_lock(&registration->lock);
  if (registration->state != REGISTRATION_WITHDRAWING && registration->state != to)
    change_state(registration, to);
  pthread_mutex_unlock(&registration->lock);
}

static bool is_start(enum registration_state state)
{
  return state == REGISTRATION_BEGUN || state == REGISTRATION_AWAITS_NAME;
}

/* ---- one registration ---- */

static int64_t real_time_ms(void)
{
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (int64_t)now.tv_sec * SECOND_MS + now.tv_nsec / 1000000;
}

/* Of one call: an etcd that hangs must not cost the lease, and the start ends in time. */
static int64_t call_deadline(struct registration *registration)
{
  enum { PARTS = 3 };
  int64_t part_ms = registration->config.ttl_s * SECOND_MS / PARTS;
  int64_t timeout_ms = registration->config.timeout_ms;
  int64_t deadline = clock_now_ms() + (part_ms < timeout_ms ? part_ms : timeout_ms);
  int64_t end = registration->reached_ms + timeout_ms;
  return is_start(state_of(registration)) && end < deadline ? end : deadline;
}

static struct text optional_text(const char *string)
{
  return string == NULL ? TEXT_ABSENT : text_of(string);
}

/* A transaction and its parts, in the arena. */
struct draft {
  struct arena *arena;
  bool is_short; /* of memory */
  struct etcd_txn txn;
  struct etcd_condition conditions[CONDITIONS_MAX];
  struct etcd_change changes[CHANGES_MAX];
  struct text info_key;
  struct text state_key;
  struct text name_key; /* data NULL: without the name */
  struct text reads[3];
};

/* What stood in the way of the attempt before, and may be replaced. */
struct obstacles {
  int64_t info_revision; /* the info of this UUID; 0: there must be none */
  int64_t name_revision; /* the key of the name */
  bool has_dead_own;     /* the info of this UUID is dead: it must have no state */
  bool has_dead_owner;   /* the owner of the name is dead: it must have no state */
  struct uuid dead_owner;
};

static void add_condition(struct draft *draft, struct text key, int64_t revision)
{
  draft->is_short = draft->is_short || key.data == NULL;
  draft->conditions[draft->txn.condition_count++] = (struct etcd_condition){key, revision};
}

static void add_put(struct draft *draft, struct text key, struct text value, int64_t lease)
{
  draft->is_short = draft->is_short || key.data == NULL || value.data == NULL;
  draft->changes[draft->txn.change_count++] = (struct etcd_change){ETCD_PUT, key, value, lease};
}

static void add_entries(const struct registration *registration, struct draft *draft)
{
  const struct registration_config *config = &registration->config;
  const struct text space = text_of(config->space);
  const int64_t lease = registration->lease;
  char uuid[UUID_TEXT_LENGTH + 1];
  struct arena *arena = draft->arena;
  const bool is_named = draft->name_key.data != NULL;
  const struct directory_info info = {.uuid = config->uuid,
                                      .name = is_named ? text_of(config->name) : TEXT_ABSENT,
                                      .ctime_ms = registration->begun_ms};
  const struct directory_state state = {.mtime_ms = real_time_ms(),
                                        .zmq_rpc = optional_text(config->zmq_url),
                                        .json_rpc = optional_text(config->json_url),
                                        .zmq_curve = optional_text(config->zmq_curve)};
  const struct directory_member member = {
      .uuid = config->uuid, .json_rpc = state.json_rpc, .zmq_rpc = state.zmq_rpc};
  uuid_format(&config->uuid, uuid);
  add_put(draft, draft->info_key, directory_info_write(arena, &info), lease);
  add_put(draft, draft->state_key, directory_state_write(arena, &state), lease);
  if (is_named)
    add_put(draft, draft->name_key, arena_text(arena, text_of(uuid)), lease);
  for (size_t i = 0; i < config->service_count; i++)
    add_put(draft, directory_key_service(arena, space, text_of(config->services[i]), &config->uuid),
            directory_member_write(arena, &member), lease);
}

static void make_draft(const struct registration *registration, enum entries wanted,
                       const struct obstacles *obstacles, struct arena *arena, struct draft *draft)
{
  const struct registration_config *config = &registration->config;
  const struct text space = text_of(config->space);
  *draft = (struct draft){.arena = arena,
                          .info_key = directory_key_info(arena, space, &config->uuid),
                          .state_key = directory_key_state(arena, space, &config->uuid)};
  if (wanted == ENTRIES_WHOLE && config->name != NULL)
    draft->name_key = directory_key_name(arena, space, text_of(config->name));
  add_condition(draft, draft->info_key, obstacles->info_revision);
  if (obstacles->has_dead_own)
    add_condition(draft, draft->state_key, 0);
  if (draft->name_key.data != NULL)
    add_condition(draft, draft->name_key, obstacles->name_revision);
  add_entries(registration, draft);
  if (obstacles->has_dead_owner) {
    add_condition(draft, directory_key_state(arena, space, &obstacles->dead_owner), 0);
    struct text dead = directory_key_info(arena, space, &obstacles->dead_owner);
    draft->is_short = draft->is_short || dead.data == NULL;
    draft->changes[draft->txn.change_count++] = (struct etcd_change){.kind = ETCD_DELETE, .key = dead};
  }
  draft->reads[draft->txn.read_count++] = draft->info_key;
  draft->reads[draft->txn.read_count++] = draft->state_key;
  if (draft->name_key.data != NULL)
    draft->reads[draft->txn.read_count++] = draft->name_key;
  draft->txn.conditions = draft->conditions;
  draft->txn.changes = draft->changes;
  draft->txn.reads = draft->reads;
}

static const struct etcd_pair *find_pair(const struct etcd_pairs *pairs, struct text key)
{
  for (size_t i = 0; i < pairs->count; i++) {
    if (text_equal(pairs->items[i].key, key))
      return &pairs->items[i];
  }
  return NULL;
}

static void describe_owner(const struct etcd_pair *state, struct arena *arena, struct owner *owner)
{
  struct directory_state read;
  char shown[256];
  owner->lease = state->lease;
  strcpy(owner->where, "on no address that it says");
  if (directory_state_read(state->value, arena, &read, NULL) != JP_OK)
    return;
  struct text first = read.json_rpc.data != NULL ? read.json_rpc : read.zmq_rpc;
  struct text second = read.json_rpc.data != NULL ? read.zmq_rpc : TEXT_ABSENT;
  if (first.data == NULL)
    return;
  text_escape(first, "", "", shown, sizeof shown);
  text_format(owner->where, sizeof owner->where, "on %s", shown);
  if (second.data != NULL) {
    size_t length = strlen(owner->where);
    text_escape(second, "", "", shown, sizeof shown);
    text_format(owner->where + length, sizeof owner->where - length, " and %s", shown);
  }
}

/* Who stands in the way of a transaction that has failed. *is_taken: the owner lives, and is in
 * registration->owner. Otherwise the obstacles of the next attempt. */
static enum jp_status study_obstacles(struct registration *registration, const struct draft *draft,
                                      const struct etcd_pairs *pairs, struct obstacles *obstacles,
                                      bool *is_taken, struct jp_error *error)
{
  const struct registration_config *config = &registration->config;
  struct owner *owner = &registration->owner;
  const struct etcd_pair *info = find_pair(pairs, draft->info_key);
  const struct etcd_pair *state = find_pair(pairs, draft->state_key);
  const struct etcd_pair *name = draft->name_key.data == NULL ? NULL : find_pair(pairs, draft->name_key);
  *obstacles = (struct obstacles){0};
  *is_taken = false;
  if (info != NULL && info->lease == registration->lease) {
    /* The answer to an attempt before was lost, or the peer is listed without its name. */
    registration->revision = info->mod_revision;
    registration->entries =
        name != NULL && name->lease == registration->lease ? ENTRIES_WHOLE : ENTRIES_UNNAMED;
    obstacles->info_revision = info->mod_revision;
  } else if (info != NULL) {
    obstacles->info_revision = info->mod_revision;
    obstacles->has_dead_own = state == NULL;
    if (state != NULL) {
      *owner = (struct owner){.has_own_uuid = true, .uuid = config->uuid};
      describe_owner(state, draft->arena, owner);
      *is_taken = true;
      return JP_OK;
    }
  }
  if (name == NULL || name->lease == registration->lease)
    return JP_OK;
  struct uuid uuid;
  obstacles->name_revision = name->mod_revision;
  if (!uuid_parse(name->value, &uuid))
    return JP_OK; /* it names no peer: it is dead */
  struct etcd_pairs states;
  struct text key = directory_key_state(draft->arena, text_of(config->space), &uuid);
  if (key.data == NULL)
    return jp_fail_memory(error, NULL);
  enum jp_status status = etcd_read(registration->client, key, ETCD_ONE_KEY, call_deadline(registration),
                                    draft->arena, &states, error);
  if (status != JP_OK)
    return status;
  if (states.count > 0 && !uuid_equal(&uuid, &config->uuid)) {
    *owner = (struct owner){.uuid = uuid};
    describe_owner(&states.items[0], draft->arena, owner);
    *is_taken = true;
  } else if (states.count == 0 && !uuid_equal(&uuid, &config->uuid)) {
    obstacles->has_dead_owner = true;
    obstacles->dead_owner = uuid;
  }
  return JP_OK;
}

/* Puts the entries under the lease. *is_taken: another peer has the name or the UUID. */
static enum jp_status put_entries(struct registration *registration, enum entries wanted, bool *is_taken,
                                  struct jp_error *error)
{
  struct arena arena;
  struct obstacles obstacles = {.info_revision =
                                    registration->entries == ENTRIES_NONE ? 0 : registration->revision};
  enum jp_status status = JP_OK;
  bool is_done = false;
  *is_taken = false;
  arena_init(&arena);
  for (int attempt = 0; attempt < ATTEMPTS && status == JP_OK && !*is_taken && !is_done; attempt++) {
    struct draft draft;
    struct etcd_txn_result result;
    make_draft(registration, wanted, &obstacles, &arena, &draft);
    status = draft.is_short ? jp_fail_memory(error, NULL)
                            : etcd_commit(registration->client, &draft.txn, call_deadline(registration),
                                          &arena, &result, error);
    if (status != JP_OK)
      break;
    if (result.succeeded) {
      registration->entries = wanted;
      registration->revision = result.pairs.revision;
    } else {
      status = study_obstacles(registration, &draft, &result.pairs, &obstacles, is_taken, error);
    }
    is_done = registration->entries == wanted;
  }
  if (status == JP_OK && !is_done && !*is_taken)
    status = jp_fail(error, JP_IO, "%s: the entries change all the time",
                     etcd_client_endpoint(registration->client));
  arena_fini(&arena);
  return status;
}

/* ---- the lease ---- */

static void forget_lease(struct registration *registration)
{
  registration->lease = 0;
  registration->entries = ENTRIES_NONE;
  registration->revision = 0;
}

/* Someone may have removed the entries, and left the lease. */
static enum jp_status check_entries(struct registration *registration, struct jp_error *error)
{
  struct arena arena;
  struct etcd_txn_result result = {.succeeded = true};
  arena_init_small(&arena);
  struct etcd_condition condition = {
      directory_key_state(&arena, text_of(registration->config.space), &registration->config.uuid),
      registration->revision};
  const struct etcd_txn txn = {.conditions = &condition, .condition_count = 1};
  enum jp_status status =
      condition.key.data == NULL
          ? jp_fail_memory(error, NULL)
          : etcd_commit(registration->client, &txn, call_deadline(registration), &arena, &result, error);
  arena_fini(&arena);
  if (status == JP_OK && !result.succeeded) {
    log_warn("the directory lacks the entries of this peer: it registers anew");
    registration->entries = ENTRIES_NONE;
    registration->revision = 0;
  }
  return status;
}

static bool is_keep_due(const struct registration *registration)
{
  enum { PARTS = 3 };
  return clock_now_ms() - registration->kept_ms >= registration->granted_s * SECOND_MS / PARTS;
}

/* Keeps the lease, or gets a new one. */
static enum jp_status settle_lease(struct registration *registration, struct jp_error *error)
{
  enum jp_status status = JP_OK;
  if (registration->lease != 0 && is_keep_due(registration)) {
    int64_t begun = clock_now_ms();
    status = etcd_lease_keep(registration->client, registration->lease, call_deadline(registration), error);
    if (status == JP_OK) {
      registration->kept_ms = begun;
      return registration->entries == ENTRIES_NONE ? JP_OK : check_entries(registration, error);
    }
    if (status != JP_NOT_FOUND)
      return status;
    if (registration->entries != ENTRIES_NONE)
      log_warn("the lease of this peer in the directory has ended: it registers anew");
    forget_lease(registration);
    *error = (struct jp_error){0};
  }
  if (registration->lease != 0)
    return JP_OK;
  registration->kept_ms = clock_now_ms();
  return etcd_lease_grant(registration->client, registration->config.ttl_s, call_deadline(registration),
                          &registration->lease, &registration->granted_s, error);
}

/* ---- a name that another peer has ---- */

static enum jp_status fail_taken(const struct registration *registration, struct jp_error *error)
{
  const struct owner *owner = &registration->owner;
  char uuid[UUID_TEXT_LENGTH + 1];
  uuid_format(&owner->uuid, uuid);
  if (owner->has_own_uuid)
    return jp_fail(error, JP_DENIED,
                   "the UUID %s is taken in the directory %s by another peer, which listens %s", uuid,
                   registration->config.etcd.endpoints, owner->where);
  return jp_fail(error, JP_DENIED, "the name \"%s\" is taken in the directory %s: %s has it, and listens %s",
                 registration->config.name, registration->config.etcd.endpoints, uuid, owner->where);
}

static void refuse(struct registration *registration, const struct jp_error *error)
{
  pthread_mutex_lock(&registration->lock);
  if (registration->state != REGISTRATION_WITHDRAWING) {
    registration->error = *error;
    change_state(registration, REGISTRATION_REFUSED);
  }
  pthread_mutex_unlock(&registration->lock);
}

/* When the lease of the owner can have ended, from now on. */
static enum jp_status look_at_owner(struct registration *registration, struct jp_error *error)
{
  int64_t left_s;
  int64_t granted_s;
  struct jp_error taken;
  enum jp_status status = etcd_lease_look(registration->client, registration->owner.lease,
                                          call_deadline(registration), &left_s, &granted_s, error);
  if (status == JP_NOT_FOUND)
    granted_s = 0; /* its keys go any time now */
  else if (status != JP_OK)
    return status;
  registration->name_by_ms = clock_now_ms() + granted_s * SECOND_MS + LEASE_SLACK_MS;
  (void)fail_taken(registration, &taken);
  log_info("%s: waits up to %lld s, because that peer may be dead", taken.text,
           (long long)(granted_s + LEASE_SLACK_MS / SECOND_MS));
  return JP_OK;
}

/* At the start, while another peer has the name: waits for it, or refuses the start. */
static enum jp_status await_name(struct registration *registration, struct jp_error *error)
{
  struct jp_error taken;
  enum jp_status status = JP_OK;
  (void)fail_taken(registration, &taken);
  bool may_end = registration->config.patience == REGISTRATION_WAITS && registration->owner.lease != 0;
  if (may_end && registration->name_by_ms == 0)
    status = look_at_owner(registration, error);
  else if (!may_end || clock_now_ms() >= registration->name_by_ms)
    refuse(registration, &taken);
  if (status == JP_OK && state_of(registration) == REGISTRATION_BEGUN)
    enter_state(registration, REGISTRATION_AWAITS_NAME);
  return status;
}

static void warn_displaced(struct registration *registration)
{
  struct jp_error error;
  int64_t now = clock_now_ms();
  if (registration->warned_ms != 0 && now - registration->warned_ms < WARNING_MS)
    return;
  registration->warned_ms = now;
  (void)fail_taken(registration, &error);
  log_warn("%s: this peer serves on, %s", error.text,
           registration->owner.has_own_uuid ? "and is not listed" : "listed by its UUID alone");
}

/* ---- the thread ---- */

static void log_listed(const struct registration *registration)
{
  char uuid[UUID_TEXT_LENGTH + 1];
  const char *name = registration->config.name;
  uuid_format(&registration->config.uuid, uuid);
  log_info("registered in the directory %s as %s%s%s", registration->config.etcd.endpoints,
           name == NULL ? "" : name, name == NULL ? "" : ", ", uuid);
}

/* After the lease and the entries were settled. *is_taken as put_entries has set it. */
static enum jp_status settle_name(struct registration *registration, bool is_taken, struct jp_error *error)
{
  enum jp_status status = JP_OK;
  if (!is_taken) {
    registration->warned_ms = 0;
    enter_state(registration, REGISTRATION_LISTED);
    return JP_OK;
  }
  const struct owner owner = registration->owner;
  bool is_uuid_taken = owner.has_own_uuid;
  if (registration->entries == ENTRIES_NONE && !is_uuid_taken) {
    status = put_entries(registration, ENTRIES_UNNAMED, &is_uuid_taken, error);
    if (!is_uuid_taken)
      registration->owner = owner;
  }
  if (status == JP_OK) {
    warn_displaced(registration);
    enter_state(registration, REGISTRATION_DISPLACED);
  }
  return status;
}

/* One round: the lease, the entries, and the name if it is free. JP_OK: the state is up to date. */
static enum jp_status work_once(struct registration *registration, struct jp_error *error)
{
  enum registration_state before = state_of(registration);
  bool is_taken = false;
  enum jp_status status = settle_lease(registration, error);
  if (status == JP_OK && registration->entries != ENTRIES_WHOLE) {
    status = put_entries(registration, ENTRIES_WHOLE, &is_taken, error);
    if (status == JP_OK && !is_taken)
      log_listed(registration);
  }
  if (status == JP_OK && is_taken && is_start(before))
    return await_name(registration, error);
  if (status == JP_OK)
    status = settle_name(registration, is_taken, error);
  if (status == JP_OK && before == REGISTRATION_LOST)
    log_info("the directory %s can be used again", registration->config.etcd.endpoints);
  if (status == JP_NOT_FOUND) { /* the lease has ended in between */
    forget_lease(registration);
    return jp_fail(error, JP_IO, "%s: a lease has ended at once", etcd_client_endpoint(registration->client));
  }
  return status;
}

static void face_failure(struct registration *registration, struct jp_error *error)
{
  const struct registration_config *config = &registration->config;
  const bool was_start = is_start(state_of(registration));
  if (error->status == JP_CLOSED)
    return;
  if (was_start && config->need == REGISTRATION_REQUIRED) {
    int64_t left = registration->reached_ms + config->timeout_ms - clock_now_ms();
    if (error->status == JP_IO &&
        left > PAUSE_LEAST_MS + PAUSE_LEAST_MS) /* the last error comes from an attempt that had time */
      return;
    jp_error_prefix(error, "the directory %s", config->etcd.endpoints);
    refuse(registration, error);
    return;
  }
  if (state_of(registration) == REGISTRATION_LOST)
    log_debug("the directory %s: %s", config->etcd.endpoints, error->text);
  else
    log_warn("the directory %s cannot be used: %s: the peer serves on, and tries again",
             config->etcd.endpoints, error->text);
  enter_state(registration, REGISTRATION_LOST);
}

/* Peers that lost the same etcd do not all come back at once. */
static int64_t spread(const struct registration *registration, int64_t pause_ms)
{
  enum { PARTS = 1024 };
  return pause_ms - pause_ms * registration->config.uuid.bytes[0] / PARTS;
}

/* How long until the next round. */
static int64_t choose_pause(struct registration *registration, enum jp_status status)
{
  enum { PARTS = 3 };
  if (is_start(state_of(registration)))
    return status == JP_OK ? spread(registration, NAME_PAUSE_MS) : PAUSE_LEAST_MS;
  if (status != JP_OK) {
    int64_t pause = registration->pause_ms == 0 ? PAUSE_LEAST_MS : 2 * registration->pause_ms;
    if (pause > PAUSE_MOST_MS)
      pause = PAUSE_MOST_MS;
    registration->pause_ms = pause;
    return spread(registration, pause);
  }
  registration->pause_ms = 0;
  int64_t due = registration->kept_ms + registration->granted_s * SECOND_MS / PARTS - clock_now_ms();
  /* The name may be free long before the lease has to be kept. */
  if (due > PAUSE_MOST_MS && state_of(registration) == REGISTRATION_DISPLACED)
    due = spread(registration, PAUSE_MOST_MS);
  return due > 0 ? due : 0;
}

static void sleep_until_due(struct registration *registration, int64_t pause_ms)
{
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += pause_ms / SECOND_MS;
  until.tv_nsec += pause_ms % SECOND_MS * 1000000;
  if (until.tv_nsec >= 1000000000) {
    until.tv_sec++;
    until.tv_nsec -= 1000000000;
  }
  pthread_mutex_lock(&registration->lock);
  while (registration->state != REGISTRATION_WITHDRAWING && registration->state != REGISTRATION_REFUSED &&
         pthread_cond_timedwait(&registration->changed, &registration->lock, &until) == 0)
    continue;
  pthread_mutex_unlock(&registration->lock);
}

static void revoke_lease(struct registration *registration)
{
  struct jp_error error = {0};
  if (registration->lease == 0)
    return;
  etcd_client_resume(registration->client);
  enum jp_status status =
      etcd_lease_revoke(registration->client, registration->lease, clock_now_ms() + REVOKE_MS, &error);
  if (status != JP_OK && status != JP_NOT_FOUND)
    log_warn("the directory could not be told that this peer ends: %s: its entries end within %lld s",
             error.text, (long long)registration->granted_s);
  else if (registration->entries != ENTRIES_NONE)
    log_info("withdrawn from the directory");
}

static void *run_thread(void *argument)
{
  struct registration *registration = argument;
  pthread_setname_np(pthread_self(), "jpeer-directory");
  registration->reached_ms = clock_now_ms();
  registration->begun_ms = real_time_ms();
  enum registration_state state;
  do {
    struct jp_error error = {0};
    enum jp_status status = work_once(registration, &error);
    if (status == JP_OK)
      registration->reached_ms = clock_now_ms();
    else
      face_failure(registration, &error);
    sleep_until_due(registration, choose_pause(registration, status));
    state = state_of(registration);
  } while (state != REGISTRATION_WITHDRAWING && state != REGISTRATION_REFUSED);
  revoke_lease(registration);
  return NULL;
}

enum jp_status registration_create(const struct registration_config *config,
                                   struct registration **registration, struct jp_error *error)
{
  struct registration *made = calloc(1, sizeof *made);
  *registration = NULL;
  if (made == NULL)
    return jp_fail_memory(error, NULL);
  made->config = *config;
  enum jp_status status = etcd_client_create(&config->etcd, &made->client, error);
  if (status != JP_OK) {
    free(made);
    return status;
  }
  pthread_mutex_init(&made->lock, NULL);
  pthread_mutex_init(&made->thread_lock, NULL);
  clock_init_condition(&made->changed);
  *registration = made;
  return JP_OK;
}

static enum jp_status start_thread(struct registration *registration, struct jp_error *error)
{
  sigset_t all;
  sigset_t before;
  int fault = 0;
  pthread_mutex_lock(&registration->thread_lock);
  if (state_of(registration) == REGISTRATION_BEGUN) {
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    fault = pthread_create(&registration->thread, NULL, run_thread, registration);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    registration->has_thread = fault == 0;
  }
  pthread_mutex_unlock(&registration->thread_lock);
  return fault == 0 ? JP_OK : jp_fail(error, JP_IO, "no thread for the directory: %s", strerror(fault));
}

enum jp_status registration_begin(struct registration *registration, struct jp_error *error)
{
  enum jp_status status = start_thread(registration, error);
  if (status != JP_OK)
    return status;
  pthread_mutex_lock(&registration->lock);
  while (is_start(registration->state))
    pthread_cond_wait(&registration->changed, &registration->lock);
  if (registration->state == REGISTRATION_REFUSED) {
    *error = registration->error;
    status = registration->error.status;
  } else if (registration->state == REGISTRATION_WITHDRAWING ||
             registration->state == REGISTRATION_WITHDRAWN) {
    status = jp_fail(error, JP_CLOSED, "the peer ends");
  }
  pthread_mutex_unlock(&registration->lock);
  return status;
}

void registration_withdraw(struct registration *registration)
{
  if (registration == NULL)
    return;
  pthread_mutex_lock(&registration->thread_lock);
  pthread_mutex_lock(&registration->lock);
  const bool is_working = registration->has_thread && registration->state != REGISTRATION_REFUSED;
  if (is_working) {
    change_state(registration, REGISTRATION_WITHDRAWING);
    etcd_client_stop(registration->client);
  }
  pthread_mutex_unlock(&registration->lock);
  if (registration->has_thread)
    pthread_join(registration->thread, NULL);
  registration->has_thread = false;
  pthread_mutex_lock(&registration->lock);
  if (registration->state != REGISTRATION_WITHDRAWN)
    change_state(registration, REGISTRATION_WITHDRAWN);
  pthread_mutex_unlock(&registration->lock);
  pthread_mutex_unlock(&registration->thread_lock);
}

void registration_destroy(struct registration *registration)
{
  if (registration == NULL)
    return;
  registration_withdraw(registration);
  etcd_client_destroy(registration->client);
  pthread_cond_destroy(&registration->changed);
  pthread_mutex_destroy(&registration->lock);
  pthread_mutex_destroy(&registration->thread_lock);
  free(registration);
}

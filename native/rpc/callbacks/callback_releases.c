/* Telling the client which of its objects Java has let go of. */
#include "rpc/callbacks/callbacks_state.h"

#include "base/log.h"

#include <stdlib.h>

enum { RELEASES_MAX = 256 /* in one message */ };

static bool make_room(struct callback_releases *releases)
{
  enum { FIRST_CAPACITY = 16 };
  if (releases->count < releases->capacity)
    return true;
  size_t wanted = releases->capacity == 0 ? FIRST_CAPACITY : releases->capacity * 2;
  int64_t *ids = reallocarray(releases->ids, wanted, sizeof *ids);
  if (ids == NULL)
    return false;
  releases->ids = ids;
  uint64_t *given = reallocarray(releases->given, wanted, sizeof *given);
  if (given == NULL)
    return false;
  releases->given = given;
  releases->capacity = wanted;
  return true;
}

void callbacks_add_release(struct rpc_callbacks *callbacks, int64_t id, uint64_t given)
{
  struct callback_releases *releases = &callbacks->releases;
  if (callbacks->end != RPC_CALLBACKS_OPEN)
    return; /* nobody is told any more */
  if (!make_room(releases)) {
    log_warn_rarely("memory is short: a client is not told that its callback was let go of");
    return;
  }
  releases->ids[releases->count] = id;
  releases->given[releases->count++] = given;
}

void callbacks_settle_record(struct rpc_callbacks *callbacks, struct callback_record *record)
{
  if (record->proxy != 0 || record->in_hand > 0)
    return;
  if (record->given > 0)
    callbacks_add_release(callbacks, record->id, record->given);
  callback_records_remove(&callbacks->records, record);
}

struct taken_releases {
  int64_t ids[RELEASES_MAX];
  uint64_t given[RELEASES_MAX];
  size_t count;
};

/* Under the lock. */
static void take_last(struct callback_releases *releases, struct taken_releases *taken)
{
  taken->count = releases->count < RELEASES_MAX ? releases->count : RELEASES_MAX;
  releases->count -= taken->count;
  memcpy(taken->ids, releases->ids + releases->count, taken->count * sizeof *taken->ids);
  memcpy(taken->given, releases->given + releases->count, taken->count * sizeof *taken->given);
}

static enum rpc_pushed push_releases(struct rpc_callbacks *callbacks, const struct taken_releases *taken)
{
  struct buffer out;
  buffer_init(&out);
  callbacks->codec->callbacks->write_released(&out, taken->ids, taken->given, taken->count);
  enum rpc_pushed pushed = out.failed ? RPC_PUSH_CLOSED
                                      : callbacks->push->send(callbacks->duplex, callback_thread_worker(),
                                                              RPC_PUSH_NOTICE, buffer_text(&out));
  if (out.failed)
    log_warn_rarely("memory is short: a client is not told that its callbacks were let go of");
  buffer_fini(&out);
  return pushed;
}

/* Under the lock. False: they wait for room. */
static bool note_pushed(struct rpc_callbacks *callbacks, const struct taken_releases *taken,
                        enum rpc_pushed pushed)
{
  if (pushed != RPC_PUSH_NO_ROOM)
    return true;
  for (size_t i = 0; i < taken->count; i++)
    callbacks_add_release(callbacks, taken->ids[i], taken->given[i]);
  return callbacks->releases.has_room;
}

void callbacks_send_releases(struct rpc_callbacks *callbacks)
{
  struct callback_releases *releases = &callbacks->releases;
  struct taken_releases taken;
  bool goes_on = true;
  pthread_mutex_lock(&callbacks->lock);
  if (releases->is_sending || callbacks->duplex == NULL) {
    pthread_mutex_unlock(&callbacks->lock);
    return;
  }
  releases->is_sending = true;
  while (goes_on && releases->count > 0) {
    take_last(releases, &taken);
    releases->has_room = false;
    pthread_mutex_unlock(&callbacks->lock);
    enum rpc_pushed pushed = push_releases(callbacks, &taken);
    pthread_mutex_lock(&callbacks->lock);
    goes_on = note_pushed(callbacks, &taken, pushed);
  }
  releases->is_sending = false;
  pthread_mutex_unlock(&callbacks->lock);
}

/* What programs do with handles of objects. */
#include "client/client_state.h"

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

const char *jp_ref_type(const struct jp_ref *ref)
{
  return ref == NULL ? "" : ref->type;
}

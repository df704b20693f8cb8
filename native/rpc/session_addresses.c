#include "rpc/session_addresses.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct session_address {
  struct session_address *next; /* in its bucket */
  uint64_t hash;
  size_t holders;
  _Atomic size_t sessions;
  struct session_queue passing;
  struct rpc_address address;
};

enum jp_status session_addresses_init(struct session_addresses *addresses, size_t bucket_count)
{
  addresses->bucket_count = bucket_count;
  addresses->buckets = calloc(bucket_count, sizeof(struct session_address *));
  return addresses->buckets == NULL ? JP_NO_MEMORY : JP_OK;
}

void session_addresses_fini(struct session_addresses *addresses)
{
  for (size_t i = 0; addresses->buckets != NULL && i < addresses->bucket_count; i++) {
    for (struct session_address *address = addresses->buckets[i], *next; address != NULL; address = next) {
      next = address->next;
      free(address);
    }
  }
  free(addresses->buckets);
  addresses->buckets = NULL;
}

static struct session_address **bucket_of(struct session_addresses *addresses, uint64_t hash)
{
  return &addresses->buckets[hash & (addresses->bucket_count - 1)];
}

static bool is_of(const struct session_address *entry, const struct rpc_address *address)
{
  return entry->address.length == address->length &&
         memcmp(entry->address.bytes, address->bytes, address->length) == 0;
}

static struct session_address *find_entry(struct session_addresses *addresses,
                                          const struct rpc_address *address, uint64_t hash)
{
  struct session_address *entry = *bucket_of(addresses, hash);
  while (entry != NULL && !is_of(entry, address))
    entry = entry->next;
  return entry;
}

struct session_address *session_address_hold(struct session_addresses *addresses,
                                             const struct rpc_address *address, uint64_t hash)
{
  struct session_address **bucket = bucket_of(addresses, hash);
  struct session_address *entry = find_entry(addresses, address, hash);
  if (entry == NULL) {
    entry = calloc(1, sizeof *entry);
    if (entry == NULL)
      return NULL;
    entry->hash = hash;
    entry->address = *address;
    entry->next = *bucket;
    *bucket = entry;
  }
  entry->holders++;
  return entry;
}

void session_address_release(struct session_addresses *addresses, struct session_address *address)
{
  if (--address->holders > 0)
    return;
  struct session_address **link = bucket_of(addresses, address->hash);
  while (*link != address)
    link = &(*link)->next;
  *link = address->next;
  free(address);
}

size_t session_addresses_count(struct session_addresses *addresses, const struct rpc_address *address,
                               uint64_t hash)
{
  const struct session_address *entry = find_entry(addresses, address, hash);
  return entry == NULL ? 0 : atomic_load_explicit(&entry->sessions, memory_order_relaxed);
}

struct session_queue *session_address_passing(struct session_address *address)
{
  return &address->passing;
}

bool session_address_count_up(struct session_address *address, size_t most)
{
  size_t count = atomic_load_explicit(&address->sessions, memory_order_relaxed);
  do {
    if (count >= most)
      return false;
  } while (!atomic_compare_exchange_weak(&address->sessions, &count, count + 1));
  return true;
}

void session_address_count_down(struct session_address *address)
{
  atomic_fetch_sub(&address->sessions, 1);
}

#include "net/admission/wrong_evidence.h"

#include "base/text.h"

enum { COUNTED_MS = 1000 };

void wrong_evidence_init(struct wrong_evidence *wrong)
{
  *wrong = (struct wrong_evidence){.places = {{{.since_ms = 0}}}};
  pthread_mutex_init(&wrong->lock, NULL);
}

void wrong_evidence_fini(struct wrong_evidence *wrong)
{
  pthread_mutex_destroy(&wrong->lock);
}

static bool is_same_address(const struct rpc_address *a, const struct rpc_address *b)
{
  return a->length == b->length && memcmp(a->bytes, b->bytes, a->length) == 0;
}

int64_t wrong_evidence_count(struct wrong_evidence *wrong, const struct rpc_address *address, bool is_wrong,
                             int64_t now_ms)
{
  size_t set = text_hash((struct text){(const char *)address->bytes, address->length}) % WRONG_EVIDENCE_SETS;
  unsigned count = 0;
  pthread_mutex_lock(&wrong->lock);
  size_t way = WRONG_EVIDENCE_WAYS;
  size_t oldest = 0;
  for (size_t i = 0; i < WRONG_EVIDENCE_WAYS; i++) {
    if (wrong->places[set][i].since_ms != 0 && is_same_address(&wrong->places[set][i].address, address))
      way = i;
    if (wrong->places[set][i].since_ms < wrong->places[set][oldest].since_ms)
      oldest = i;
  }
  bool is_known = way < WRONG_EVIDENCE_WAYS;
  if (!is_known)
    way = oldest;
  if (is_wrong && (!is_known || now_ms - wrong->places[set][way].since_ms >= COUNTED_MS)) {
    wrong->places[set][way].address = *address;
    wrong->places[set][way].since_ms = now_ms;
    wrong->places[set][way].count = 0;
    is_known = true;
  }
  if (is_known && now_ms - wrong->places[set][way].since_ms < COUNTED_MS) {
    wrong->places[set][way].count += is_wrong;
    count = wrong->places[set][way].count;
  }
  pthread_mutex_unlock(&wrong->lock);
  return count > WRONG_EVIDENCE_MAX ? WRONG_EVIDENCE_DELAY_MS : 0;
}

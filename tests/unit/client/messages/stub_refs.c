#include "tests/unit/client/messages/stub_refs.h"

#include <stdlib.h>
#include <string.h>

struct jp_ref {
  uint32_t number;
  uint64_t epoch;
  char type[64];
};

size_t stub_refs_open;

struct jp_ref *stub_ref(uint32_t number, const char *type)
{
  struct jp_ref *ref = calloc(1, sizeof *ref);
  if (ref == NULL)
    abort();
  ref->number = number;
  strncpy(ref->type, type, sizeof ref->type - 1);
  stub_refs_open++;
  return ref;
}

void stub_ref_set_epoch(struct jp_ref *ref, uint64_t epoch)
{
  ref->epoch = epoch;
}

static struct jp_ref *receive_ref(struct answer_refs *refs, uint32_t number, struct text type)
{
  struct stub_refs *stub = (struct stub_refs *)refs;
  char name[64];
  if (stub->received == stub->room)
    return NULL;
  stub->received++;
  memcpy(name, type.data, type.len);
  name[type.len] = '\0';
  return stub_ref(number, name);
}

void stub_refs_init(struct stub_refs *stub)
{
  *stub = (struct stub_refs){.refs = {.receive = receive_ref}, .room = SIZE_MAX};
}

uint32_t jp_ref_number(const struct jp_ref *ref)
{
  return ref->number;
}

uint64_t message_ref_epoch(const struct jp_ref *ref)
{
  return ref->epoch;
}

const char *jp_ref_type(const struct jp_ref *ref)
{
  return ref->type;
}

void jp_ref_release(struct jp_ref *ref)
{
  if (ref == NULL)
    return;
  stub_refs_open--;
  free(ref);
}

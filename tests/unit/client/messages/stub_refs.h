#ifndef JPEER_TESTS_UNIT_CLIENT_MESSAGES_STUB_REFS_H
#define JPEER_TESTS_UNIT_CLIENT_MESSAGES_STUB_REFS_H
/* Refs without a client, for tests of messages. One thread. */
#include "client/messages/client_answer.h"

/* Counts sent references; `receive` fails (no memory) after `room` references. */
struct stub_refs {
  struct answer_refs refs;
  size_t received;
  size_t room;
};

void stub_refs_init(struct stub_refs *stub);
struct jp_ref *stub_ref(uint32_t number, const char *type);
/* Refs have the epoch 0 at first. */
void stub_ref_set_epoch(struct jp_ref *ref, uint64_t epoch);
/* The number of handles that were created and not released. */
extern size_t stub_refs_open;

#endif

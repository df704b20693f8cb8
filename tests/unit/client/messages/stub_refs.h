#ifndef JPEER_TESTS_UNIT_CLIENT_MESSAGES_STUB_REFS_H
#define JPEER_TESTS_UNIT_CLIENT_MESSAGES_STUB_REFS_H
/* Handles without a client: what was told of refs and is not released yet. One thread. */
#include "client/messages/client_answer.h"

/* Counts tellings; told fails (no memory) once `room` of them were made. */
struct stub_refs {
  struct answer_refs refs;
  size_t told;
  size_t room;
};

void stub_refs_init(struct stub_refs *stub);
struct jp_ref *stub_ref(uint32_t number, const char *type);
/* Handles are of the epoch 0 before. */
void stub_ref_set_epoch(struct jp_ref *ref, uint64_t epoch);
/* Handles that were made and are not released. */
extern size_t stub_refs_open;

#endif

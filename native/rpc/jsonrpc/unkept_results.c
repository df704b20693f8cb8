#include "rpc/jsonrpc/unkept_results.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 16 };

struct unkept_object {
  struct uuid session; /* that the request has named itself; else zero */
  uint32_t ref;
};

static bool make_room(struct unkept_results *unkept)
{
  if (unkept->count < unkept->capacity)
    return true;
  size_t wanted = unkept->capacity == 0 ? FIRST_CAPACITY : unkept->capacity * 2;
  struct unkept_object *grown = reallocarray(unkept->items, wanted, sizeof *grown);
  if (grown == NULL)
    return false;
  unkept->items = grown;
  unkept->capacity = wanted;
  return true;
}

void unkept_results_note(struct unkept_results *unkept, struct rpc_run *run)
{
  struct jvm_stored *stored = &run->runner->stored;
  struct unkept_object object = {0};
  if (run->names_session)
    object.session = run->guest_id;
  while (stored->count > run->stored_before && make_room(unkept)) {
    object.ref = stored->refs[--stored->count];
    unkept->items[unkept->count++] = object;
  }
}

static void forget_telling(struct rpc_run *run, const struct unkept_object *object)
{
  static const struct uuid none;
  struct op_value ref = {.kind = OP_REF, .ref = object->ref, .tellings = 1};
  const struct operation operation = {
      .kind = OP_CONTROL, .command = OP_DELETE_OBJECT, .args = &ref, .arg_count = 1};
  struct outcome outcome;
  rpc_run_begin(run, uuid_equal(&object->session, &none) ? NULL : &object->session, true);
  rpc_run_operation(run, &operation, &outcome);
  rpc_run_end(run);
}

void unkept_results_drop(struct unkept_results *unkept, struct rpc_run *run)
{
  for (size_t i = 0; i < unkept->count; i++)
    forget_telling(run, &unkept->items[i]);
  free(unkept->items);
  *unkept = (struct unkept_results){.count = 0};
}

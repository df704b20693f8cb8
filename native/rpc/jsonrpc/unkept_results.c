#include "rpc/jsonrpc/unkept_results.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 16 };

struct unkept_object {
  struct uuid session; /* that the request has named itself; else zero */
  uint32_t ref;
};

_Static_assert(sizeof(struct unkept_object) == sizeof(struct uuid) + sizeof(uint32_t),
               "objects are compared by their bytes");

/* ---- noting ---- */

static bool make_room(struct unkept_objects *objects, struct arena *arena)
{
  if (objects->count < objects->capacity)
    return true;
  size_t wanted = objects->capacity == 0 ? FIRST_CAPACITY : objects->capacity * 2;
  struct unkept_object *grown = arena_alloc(arena, wanted * sizeof *grown);
  if (grown == NULL)
    return false;
  if (objects->count > 0)
    memcpy(grown, objects->items, objects->count * sizeof *grown);
  objects->items = grown;
  objects->capacity = wanted;
  return true;
}

static void add_object(struct unkept_objects *objects, const struct rpc_run *run, uint32_t ref)
{
  struct unkept_object object = {.ref = ref};
  if (run->names_session)
    object.session = run->guest_id;
  if (make_room(objects, &run->runner->arena))
    objects->items[objects->count++] = object;
}

void unkept_results_note(struct unkept_results *unkept, const struct rpc_run *run)
{
  const struct jvm_stored *stored = &run->runner->stored;
  for (size_t i = run->stored_before; i < stored->count; i++)
    add_object(&unkept->made, run, stored->refs[i]);
}

static void tell_value(struct unkept_results *unkept, const struct rpc_run *run, const struct op_value *value)
{
  switch (value->kind) {
  case OP_REF:
    add_object(&unkept->told, run, value->ref);
    return;
  case OP_LIST:
    for (size_t i = 0; i < value->list.count; i++)
      tell_value(unkept, run, &value->list.items[i]);
    return;
  case OP_MAP:
    for (size_t i = 0; i < value->map.count; i++)
      tell_value(unkept, run, &value->map.entries[i].value);
    return;
  default:
    return;
  }
}

void unkept_results_tell(struct unkept_results *unkept, const struct rpc_run *run,
                         const struct outcome *outcome)
{
  if (unkept->made.count == 0 || outcome->kind != OUTCOME_VALUE || outcome->is_null)
    return;
  if (outcome->ref != 0)
    add_object(&unkept->told, run, outcome->ref);
  if (outcome->has_value)
    tell_value(unkept, run, &outcome->value);
}

/* ---- letting go ---- */

static int compare_objects(const void *left, const void *right)
{
  return memcmp(left, right, sizeof(struct unkept_object));
}

static bool is_told(const struct unkept_objects *told, const struct unkept_object *object)
{
  return told->count > 0 &&
         bsearch(object, told->items, told->count, sizeof *object, compare_objects) != NULL;
}

static void delete_object(struct rpc_run *run, const struct unkept_object *object)
{
  static const struct uuid none;
  struct op_value ref = {.kind = OP_REF, .ref = object->ref};
  const struct operation operation = {
      .kind = OP_CONTROL, .command = OP_DELETE_OBJECT, .args = &ref, .arg_count = 1};
  struct outcome outcome; /* an error where a request of the batch has deleted it already */
  rpc_run_begin(run, uuid_equal(&object->session, &none) ? NULL : &object->session, true);
  rpc_run_operation(run, &operation, &outcome);
  rpc_run_end(run);
}

void unkept_results_drop(struct unkept_results *unkept, struct rpc_run *run)
{
  if (unkept->told.count > 0)
    qsort(unkept->told.items, unkept->told.count, sizeof *unkept->told.items, compare_objects);
  for (size_t i = 0; i < unkept->made.count; i++) {
    if (!is_told(&unkept->told, &unkept->made.items[i]))
      delete_object(run, &unkept->made.items[i]);
  }
}

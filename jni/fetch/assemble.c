/* Objects that a client sends in pieces, because they are too long for one message. */
#include "jni/fetch.h"

#include "jni/convert/results.h"
#include "jni/objects/object_table.h"
#include "jni/resolve/resolve.h"
#include "jni/runtime/throwables.h"

struct assembling {
  JNIEnv *env;
  const struct jvm_request *request;
  struct outcome *outcome;
  jobject piece; /* local */
  struct jvm_class *class;
  struct jvm_assembly facts; /* of the piece, and so of the whole object */
};

/* Returns false. */
static bool fail_assembling(const struct assembling *one, enum outcome_failure failure, const char *what)
{
  outcome_fail(one->outcome, one->request->arena, failure, NULL, "%s", what);
  return false;
}

static bool fail_status(const struct assembling *one, enum jp_status status, uint32_t ref)
{
  struct arena *arena = one->request->arena;
  switch (status) {
  case JP_OK:
    return true;
  case JP_NOT_FOUND:
    outcome_fail(one->outcome, arena, FAILURE_SERVER, "java.lang.NullPointerException",
                 "No object found with objRef: %u", ref);
    return false;
  case JP_CLOSED:
    outcome_fail(one->outcome, arena, FAILURE_SERVER, NULL,
                 "ref %u accepts no more pieces: the object was used already, or is not being assembled",
                 ref);
    return false;
  case JP_LIMIT:
    outcome_fail(one->outcome, arena, FAILURE_SERVER, NULL,
                 "the pieces of unfinished objects have more than %zu bytes (input-max-total)",
                 one->request->limits->assembled_max);
    return false;
  default:
    return outcome_fail_memory(one->outcome) == JP_OK;
  }
}

static bool take_exception(const struct assembling *one)
{
  return throwable_take_outcome(one->request->thread, one->request->arena,
                                one->request->limits->stack_frames_max, one->outcome);
}

/* Converts the piece like an argument of its type. */
static bool make_piece(struct assembling *one)
{
  struct call_frame frame = {.receiver = NULL};
  const struct jvm_known *known = &one->request->thread->jvm->known;
  if (!call_frame_make_receiver(one->request, &frame, one->outcome))
    return false;
  one->piece = frame.receiver;
  one->class = jvm_class_by_id(one->request->thread, frame.receiver_class);
  if (one->class == NULL)
    return outcome_fail_memory(one->outcome) == JP_OK;
  char component = one->class->component;
  one->facts.class_id = frame.receiver_class;
  if (component != 0 && component != 'L' && component != '[')
    one->facts.letter = component;
  else if (one->class->maker == MAKER_STRING)
    one->facts.letter = 'T';
  else if (!(*one->env)->IsInstanceOf(one->env, one->piece, known->class_list) &&
           !(*one->env)->IsInstanceOf(one->env, one->piece, known->class_map))
    return fail_assembling(one, FAILURE_INVALID_PARAMS,
                           "only an array of primitives, a String, a List or a Map can be assembled");
  return true;
}

/* Adds the piece to the holder of the earlier pieces. */
static bool add_piece(const struct assembling *one, jobject holder)
{
  const struct jvm_known *known = &one->request->thread->jvm->known;
  if (one->facts.letter != 0)
    (*one->env)->CallBooleanMethod(one->env, holder, known->method_array_list_add, one->piece);
  else if ((*one->env)->IsInstanceOf(one->env, holder, known->class_list))
    (*one->env)->CallBooleanMethod(one->env, holder, known->method_collection_add_all, one->piece);
  else
    (*one->env)->CallVoidMethod(one->env, holder, known->method_map_put_all, one->piece);
  return !take_exception(one);
}

static bool begin_object(const struct assembling *one, uint32_t *ref)
{
  const struct jvm_request *request = one->request;
  struct jvm_thread *thread = request->thread;
  const struct jvm_known *known = &thread->jvm->known;
  jobject holder = one->piece;
  if (one->facts.letter != 0) {
    holder = (*one->env)->NewObject(one->env, known->class_array_list, known->method_array_list_init);
    if (take_exception(one) || !add_piece(one, holder))
      return false;
  }
  uint64_t epoch = jvm_objects_epoch(request->objects);
  if (!result_store(request, epoch, one->class, holder, ref, one->outcome))
    return false;
  return fail_status(one,
                     jvm_objects_assemble(thread, request->objects, *ref, &one->facts,
                                          request->operation->assemble.size, request->limits->assembled_max),
                     *ref);
}

/* With the holder's monitor entered. */
static bool append_piece(const struct assembling *one, jobject holder, uint32_t ref)
{
  const struct jvm_request *request = one->request;
  enum jp_status status =
      jvm_objects_count_piece(request->thread, request->objects, ref, request->operation->assemble.size,
                              request->limits->assembled_max);
  return fail_status(one, status, ref) && add_piece(one, holder);
}

static bool continue_object(const struct assembling *one, uint32_t ref)
{
  const struct jvm_request *request = one->request;
  struct jvm_assembly facts;
  enum jp_status status;
  jobject holder = jvm_objects_assembly(request->thread, request->objects, ref, &facts, &status);
  if (holder == NULL)
    return fail_status(one, status, ref);
  if (facts.class_id != one->facts.class_id)
    return fail_assembling(one, FAILURE_INVALID_PARAMS, "'type' is not the type of the first piece");
  if ((*one->env)->MonitorEnter(one->env, holder) != JNI_OK)
    return outcome_fail_memory(one->outcome) == JP_OK;
  bool is_added = append_piece(one, holder, ref);
  (*one->env)->MonitorExit(one->env, holder);
  if (!is_added)
    return false;
  enum jp_status counted = jvm_objects_count_sent(request->objects, ref, request->stored);
  return fail_status(one, counted, ref);
}

void jvm_assemble(const struct jvm_request *request, struct outcome *outcome)
{
  *outcome = (struct outcome){.kind = OUTCOME_VOID};
  if (request->drops_result) /* the client could not use the object */
    return;
  struct assembling one = {.env = request->thread->env, .request = request, .outcome = outcome};
  uint32_t ref = request->operation->instance;
  if (!make_piece(&one))
    return;
  if (request->operation->has_instance ? !continue_object(&one, ref) : !begin_object(&one, &ref))
    return;
  struct op_entry *entry = arena_calloc(request->arena, 1, sizeof *entry);
  if (entry == NULL) {
    outcome_fail_memory(outcome);
    return;
  }
  *entry = (struct op_entry){TEXT("ref"), {.kind = OP_INTEGER, .integer = ref}};
  *outcome = (struct outcome){.kind = OUTCOME_VALUE,
                              .type = TEXT("java.util.Map"),
                              .has_value = true,
                              .value = {.kind = OP_MAP, .map = {.entries = entry, .count = 1}}};
}

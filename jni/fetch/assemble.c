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
  jobject named; /* local: the objects that the piece names by ref, as keys of a Map; NULL: none */
  struct jvm_class *class;
  struct jvm_assembly facts; /* the facts of the piece, which are also those of the whole object */
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

static bool note_object(struct assembling *one, jobject object)
{
  JNIEnv *env = one->env;
  const struct jvm_known *known = &one->request->thread->jvm->known;
  if (one->named == NULL)
    one->named = (*env)->NewObject(env, known->class_identity_hash_map, known->method_identity_hash_map_init);
  if (!(*env)->ExceptionCheck(env))
    (*env)->CallObjectMethod(env, one->named, known->method_map_put, object, NULL);
  return !take_exception(one);
}

static bool note_all(struct assembling *one, jobject named)
{
  JNIEnv *env = one->env;
  const struct jvm_known *known = &one->request->thread->jvm->known;
  if (one->named == NULL)
    one->named = (*env)->NewObject(env, known->class_identity_hash_map, known->method_identity_hash_map_init);
  if (!(*env)->ExceptionCheck(env))
    (*env)->CallVoidMethod(env, one->named, known->method_map_put_all, named);
  return !take_exception(one);
}

/* Notes the object of a ref in the piece. An object that was sent in pieces itself does not count as an
 * object that the client had before. */
static bool note_ref(struct assembling *one, uint32_t ref)
{
  JNIEnv *env = one->env;
  struct jvm_thread *thread = one->request->thread;
  bool is_unused;
  jobject object = jvm_objects_open(thread, one->request->objects, ref, NULL, &is_unused);
  if (object == NULL) /* an error when the piece is made */
    return true;
  jobject named = is_unused ? jvm_objects_named(thread, one->request->objects, ref, NULL) : NULL;
  bool noted = !is_unused ? note_object(one, object) : named == NULL || note_all(one, named);
  (*env)->DeleteLocalRef(env, named);
  (*env)->DeleteLocalRef(env, object);
  return noted;
}

/* Notes the objects of all refs in the value. The object has as many levels as the message, and the depth of
 * a message is limited. */
static bool note_refs(struct assembling *one, const struct op_value *value)
{
  if (value->kind == OP_REF)
    return note_ref(one, value->ref);
  bool noted = true;
  for (size_t i = 0; noted && value->kind == OP_LIST && i < value->list.count; i++)
    noted = note_refs(one, &value->list.items[i]);
  for (size_t i = 0; noted && value->kind == OP_MAP && i < value->map.count; i++)
    noted = note_refs(one, &value->map.entries[i].value);
  return noted;
}

/* Converts the piece like an argument of its type. */
static bool make_piece(struct assembling *one)
{
  struct call_frame frame = {.receiver = NULL};
  const struct jvm_known *known = &one->request->thread->jvm->known;
  if (!note_refs(one, one->request->operation->receiver) ||
      !call_frame_make_receiver(one->request, &frame, one->outcome))
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

/* Keeps the named objects together with the named objects of earlier pieces. */
static bool keep_named(const struct assembling *one, uint32_t ref)
{
  if (one->named == NULL)
    return true;
  const struct jvm_known *known = &one->request->thread->jvm->known;
  jobject kept = jvm_objects_named(one->request->thread, one->request->objects, ref, one->named);
  if (kept != NULL && !(*one->env)->IsSameObject(one->env, kept, one->named))
    (*one->env)->CallVoidMethod(one->env, kept, known->method_map_put_all, one->named);
  (*one->env)->DeleteLocalRef(one->env, kept);
  return !take_exception(one);
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
                     *ref) &&
         keep_named(one, *ref);
}

/* The caller has entered the holder's monitor. */
static bool append_piece(const struct assembling *one, jobject holder, uint32_t ref)
{
  const struct jvm_request *request = one->request;
  enum jp_status status =
      jvm_objects_count_piece(request->thread, request->objects, ref, request->operation->assemble.size,
                              request->limits->assembled_max);
  return fail_status(one, status, ref) && keep_named(one, ref) && add_piece(one, holder);
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

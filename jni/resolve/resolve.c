/* Finds the member of an operation: looks up the operation's objects, searches the cache, asks the policy
 * and, if the cache does not have the member, resolves it. */
#include "jni/resolve/resolve.h"

#include "jni/convert/arguments.h"
#include "jni/convert/judgement.h"
#include "jni/loaders/loaders.h"
#include "jni/objects/object_table.h"
#include "jni/resolve/resolution.h"
#include "jni/runtime/throwables.h"
#include "judge/judge.h"

#include <assert.h>

enum {
  FRAMED_ARGUMENTS = 16, /* arguments whose references fit in the request's own frame */
  /* For the objects that the arguments of one call become: JVMS 4.3.3 allows 255, and the conversion of each
   * may need another reference. Arguments that become an array need no reference. */
  MADE_REFERENCES = 2 * 255 + 64
};

/* ---- the frame ---- */

static enum jp_status open_receiver(const struct jvm_request *request, struct call_frame *frame)
{
  const struct operation *operation = request->operation;
  frame->receiver = NULL;
  frame->has_unused = false;
  frame->has_references = operation->has_instance || operation->receiver != NULL;
  frame->receiver_class = 0;
  if (!operation->has_instance)
    return JP_OK;
  frame->unknown_ref = operation->instance;
  frame->receiver =
      jvm_objects_get(request->thread, request->objects, operation->instance, &frame->receiver_class);
  return frame->receiver == NULL ? JP_NOT_FOUND : JP_OK;
}

static enum jp_status open_loader(const struct jvm_request *request, struct call_frame *frame)
{
  struct jvm_thread *thread = request->thread;
  frame->loader = NULL;
  frame->loader_number = 0;
  if (request->operation->loader == 0)
    return JP_OK;
  frame->has_references = true;
  frame->unknown_ref = request->operation->loader;
  frame->loader = jvm_objects_get(thread, request->objects, request->operation->loader, NULL);
  if (frame->loader == NULL)
    return JP_NOT_FOUND;
  if (!(*thread->env)->IsInstanceOf(thread->env, frame->loader, thread->jvm->known.class_class_loader))
    return JP_INVALID;
  frame->loader_number = loader_number(thread->jvm, thread->env, frame->loader);
  return frame->loader_number == 0 ? JP_NO_MEMORY : JP_OK;
}

static enum jp_status open_arguments(const struct jvm_request *request, struct call_frame *frame)
{
  const struct operation *operation = request->operation;
  for (size_t i = 0; i < operation->arg_count; i++) {
    const struct op_value *value = &operation->args[i];
    frame->objects[i] = NULL;
    frame->classes[i] = 0;
    if (value->kind != OP_REF)
      continue;
    frame->has_references = true;
    frame->unknown_ref = value->ref;
    bool is_unused;
    frame->objects[i] =
        jvm_objects_open(request->thread, request->objects, value->ref, &frame->classes[i], &is_unused);
    frame->has_unused = frame->has_unused || is_unused;
    if (frame->objects[i] == NULL)
      return JP_NOT_FOUND;
  }
  return JP_OK;
}

/* One frame for the refs, and inside it a second frame for the arguments' objects, because both together may
 * exceed a frame's limit. */
static enum jp_status open_many_arguments(const struct jvm_request *request, struct call_frame *frame)
{
  size_t refs = 0;
  for (size_t i = 0; i < request->operation->arg_count; i++)
    refs += request->operation->args[i].kind == OP_REF;
  frame->has_references = true;
  if (!jvm_request_add_frame(request->thread, refs))
    return JP_NO_MEMORY;
  enum jp_status status = open_arguments(request, frame);
  if (status != JP_OK)
    return status;
  return jvm_request_add_frame(request->thread, MADE_REFERENCES) ? JP_OK : JP_NO_MEMORY;
}

static bool make_argument_room(struct call_frame *frame, size_t count, struct arena *arena)
{
  frame->objects = frame->few.objects;
  frame->classes = frame->few.classes;
  if (count > FEW_ARGUMENTS) {
    frame->objects = arena_calloc(arena, count, sizeof(jobject));
    frame->classes = arena_calloc(arena, count, sizeof *frame->classes);
  }
  return frame->objects != NULL && frame->classes != NULL;
}

/*
 * Looks up the receiver, the loader and the arguments that are refs. JP_NOT_FOUND: the session has no object
 * unknown_ref. JP_INVALID: the loader is not a ClassLoader. JP_NO_MEMORY: memory is short, and *frame may be
 * NULL.
 */
static enum jp_status open_frame(const struct jvm_request *request, struct call_frame **frame)
{
  size_t count = request->operation->arg_count;
  struct call_frame *opened = arena_alloc(request->arena, sizeof *opened);
  *frame = opened;
  if (opened == NULL || !make_argument_room(opened, count, request->arena))
    return JP_NO_MEMORY;
  opened->epoch = jvm_objects_epoch(request->objects);
  opened->stamp = judge_stamp(request->judge);
  enum jp_status status = open_receiver(request, opened);
  if (status == JP_OK)
    status = open_loader(request, opened);
  if (status != JP_OK)
    return status;
  return count <= FRAMED_ARGUMENTS ? open_arguments(request, opened) : open_many_arguments(request, opened);
}

bool call_frame_make_receiver(const struct jvm_request *request, struct call_frame *frame,
                              struct outcome *outcome)
{
  struct jvm_thread *thread = request->thread;
  const struct op_value *value = request->operation->receiver;
  const struct argument_path path = {0};
  struct conversion conversion = {
      .thread = thread, .request = request, .outcome = outcome, .is_receiver = true, .path = &path};
  struct jvm_class *any = jvm_class_of(thread, thread->jvm->known.class_object);
  if (any == NULL)
    return argument_fail_memory(&conversion);
  if (!argument_make_element(&conversion, any, value, &frame->receiver))
    return false;
  if (frame->receiver == NULL)
    return argument_fail(&conversion, value, "there is no object to use");
  const struct jvm_class *class = jvm_class_of_object(thread, frame->receiver);
  if (class == NULL)
    return argument_fail_memory(&conversion);
  frame->receiver_class = class->id;
  return true;
}

/* ---- the class ---- */

static bool find_class(struct resolution *resolution)
{
  const struct operation *operation = resolution->operation;
  struct jp_error error;
  struct op_type type;
  /* The name of a hidden class cannot be loaded, so the class of the receiver itself is used. */
  if (operation->implies_type && resolution->receiver_class != NULL &&
      text_equal(resolution->receiver_class->name, operation->type)) {
    resolution->named = resolution->receiver_class;
    return true;
  }
  if (op_type_parse_target(operation->type, &type, &error) != JP_OK) {
    outcome_fail(resolution->conversion.outcome, resolution->arena, FAILURE_INVALID_PARAMS, NULL, "%s",
                 error.text);
    return false;
  }
  if (resolution->receiver_class != NULL && resolution->conversion.frame->loader == NULL) {
    struct text name = op_type_binary_name(&type, resolution->arena);
    if (name.data == NULL)
      return argument_fail_memory(&resolution->conversion);
    resolution->named = resolution_find_ancestor(resolution, resolution->receiver_class, name);
  }
  if (resolution->named != NULL || resolution->only_ancestors)
    return resolution->named != NULL;
  struct class_finding finding;
  resolution->named = argument_declared_class(&resolution->conversion, &type, NULL, &finding);
  if (resolution->named == NULL)
    return false;
  resolution->held = finding.held; /* until the request ends */
  resolution->conversion.member->basis = finding.basis;
  return true;
}

static enum jp_status fail_to_open(const struct jvm_request *request, enum jp_status status,
                                   const struct call_frame *frame, struct outcome *outcome)
{
  if (status == JP_INVALID) {
    outcome_fail(outcome, request->arena, FAILURE_INVALID_PARAMS, NULL,
                 "The object with objRef %u is no java.lang.ClassLoader", frame->unknown_ref);
    return status;
  }
  if (status != JP_NOT_FOUND)
    return outcome_fail_memory(outcome);
  return jvm_objects_fail_get(request, frame->unknown_ref, outcome);
}

static struct resolution begin_resolution(const struct jvm_request *request, struct call_frame *frame,
                                          struct resolved_member *member, struct outcome *outcome)
{
  uint32_t receiver_class = frame->receiver_class;
  return (struct resolution){
      .conversion = {.thread = request->thread,
                     .request = request,
                     .outcome = outcome,
                     .frame = frame,
                     .member = member,
                     .loader = frame->loader,
                     .has_unused = frame->has_unused,
                     .is_put = request->operation->kind == OP_PUT},
      .operation = request->operation,
      .arena = request->arena,
      .receiver_class = receiver_class == 0 ? NULL : jvm_class_by_id(request->thread, receiver_class),
      .cacheable = true,
  };
}

/* ---- a class or a value, without a member ---- */

struct text jvm_instance_class(const struct jvm_request *request, struct outcome *outcome)
{
  struct jvm_thread *thread = request->thread;
  uint32_t id = 0;
  jobject object = jvm_objects_get(thread, request->objects, request->operation->instance, &id);
  const struct jvm_class *class = object == NULL ? NULL : jvm_class_by_id(thread, id);
  (*thread->env)->DeleteLocalRef(thread->env, object);
  if (class != NULL)
    return class->name;
  jvm_objects_fail_get(request, request->operation->instance, outcome);
  return TEXT_ABSENT;
}

struct jvm_class *resolve_named_class(const struct jvm_request *request, bool only_ancestors,
                                      struct jvm_class **receiver_class, struct outcome *outcome)
{
  struct call_frame *frame = NULL;
  struct resolved_member none = {.named = NULL};
  enum jp_status opened = open_frame(request, &frame);
  if (opened != JP_OK) {
    (void)fail_to_open(request, opened, frame, outcome);
    return NULL;
  }
  struct resolution resolution = begin_resolution(request, frame, &none, outcome);
  resolution.only_ancestors = only_ancestors;
  *receiver_class = resolution.receiver_class;
  return find_class(&resolution) ? resolution.named : NULL;
}

bool resolve_value(const struct jvm_request *request, struct jvm_type *type,
                   const struct element_types *elements, const struct jvm_class *beside, jvalue *out,
                   struct outcome *outcome)
{
  struct call_frame *frame = NULL;
  struct resolved_member none = {.named = NULL};
  enum jp_status opened = open_frame(request, &frame);
  if (opened != JP_OK) {
    (void)fail_to_open(request, opened, frame, outcome);
    return false;
  }
  struct resolution resolution = begin_resolution(request, frame, &none, outcome);
  struct conversion *conversion = &resolution.conversion;
  conversion->beside = beside;
  if (!resolution_type_arguments(&resolution) || !resolution_plan_put(&resolution, type))
    return false;
  struct argument_path path = {0};
  conversion->path = &path;
  conversion->elements = elements;
  return argument_convert(conversion, &resolution.plans[0], &request->operation->args[0], frame->objects[0],
                          out);
}

/* ---- the member ---- */

/* Stores the member in the thread's cache for later requests. */
static struct resolved_member *keep_member(struct resolution *resolution, struct member_cache *cache)
{
  JNIEnv *env = resolution->conversion.thread->env;
  struct resolved_member *member = resolution->conversion.member;
  if (!resolution->cacheable || resolution->is_passing)
    return member;
  if (resolution->held != NULL) {
    member->named_ref = (*env)->NewWeakGlobalRef(env, resolution->held);
    (*env)->ExceptionClear(env);
    if (member->named_ref == NULL)
      return member;
  }
  struct resolved_member *kept =
      member_cache_keep(cache, resolution->operation, resolution->conversion.frame, member);
  if (kept == member && member->named_ref != NULL) {
    (*env)->DeleteWeakGlobalRef(env, member->named_ref);
    member->named_ref = NULL;
  }
  return kept;
}

/* True for a change of a thread of the peer, which may be serving another client. */
static bool changes_thread(const struct resolved_member *member)
{
  static const struct text changes[] = {TEXT("interrupt"), TEXT("setName"), TEXT("setContextClassLoader")};
  bool is_change = false;
  if (member->runtime == NULL || !text_equal(member->runtime->name, TEXT("jpeer.peer.PeerThread")))
    return false;
  for (size_t i = 0; !is_change && i < sizeof changes / sizeof changes[0]; i++)
    is_change = text_equal(member->name, changes[i]);
  return is_change;
}

static struct resolved_member *resolve_member(const struct jvm_request *request, struct member_cache *cache,
                                              struct call_frame *frame, bool only_ancestors,
                                              struct outcome *outcome)
{
  frame->has_references = true;
  struct resolved_member *member = arena_calloc(request->arena, 1, sizeof *member);
  if (member == NULL) {
    outcome_fail_memory(outcome);
    return NULL;
  }
  struct resolution resolution = begin_resolution(request, frame, member, outcome);
  resolution.only_ancestors = only_ancestors;
  if (!find_class(&resolution))
    return NULL;
  assert(resolution.named != NULL);
  resolution.conversion.beside = resolution.named;
  member->named = resolution.named;
  member->name = request->operation->member;
  bool is_array = request->operation->kind == OP_NEW && resolution.named->component != 0;
  if (!is_array && !resolution_type_arguments(&resolution))
    return NULL;
  if (!resolution_find_member(&resolution))
    return NULL;
  member->needs_own_thread = changes_thread(member);
  return keep_member(&resolution, cache);
}

/* The object's classes, for questions about supertypes. False: the member is called on no object. */
static bool fill_lineage(const struct jvm_request *request, const struct resolved_member *member,
                         struct jvm_lineage *lineage)
{
  *lineage = (struct jvm_lineage){.thread = request->thread,
                                  .arena = request->arena,
                                  .method = member->method,
                                  .named = member->named,
                                  .runtime = member->runtime};
  return member->action == MEMBER_CALL && member->runtime != NULL;
}

/* Asks the judge about the member. */
static enum jp_status ask_about_member(const struct jvm_request *request,
                                       const struct resolved_member *member, const struct jvm_target *target,
                                       struct outcome *outcome)
{
  struct jvm_lineage lineage;
  bool has_lineage = fill_lineage(request, member, &lineage);
  return jvm_judge_member(request, request->operation->kind, &target->facts, has_lineage ? &lineage : NULL,
                          outcome);
}

/* Called after the policy has allowed the member, so that its denial is reported first. */
static enum jp_status ask_if_idempotent(const struct jvm_request *request, const struct jvm_target *target,
                                        struct outcome *outcome)
{
  struct jvm_lineage lineage;
  if (request->operation->kind == OP_GET)
    return JP_OK;
  if (request->operation->kind == OP_PUT)
    return jvm_judge_idempotent_write(request, &target->facts, outcome);
  bool has_lineage = fill_lineage(request, target->resolved, &lineage);
  return jvm_judge_idempotent(request, &target->facts, has_lineage ? &lineage : NULL, outcome);
}

static enum jp_status status_of(const struct outcome *outcome)
{
  return outcome->kind == OUTCOME_ERROR && outcome->failure == FAILURE_DENIED ? JP_DENIED : JP_NOT_FOUND;
}

/*
 * Has the names of the operation judged, finds the member, and asks the judge about the member. A receiver that
 * is a value is made after the names have been judged, because making it may run code, and before the member is
 * searched, because the member depends on the receiver's class.
 *
 * *by_object: set by judge_operation; becomes false when the member is found, because the judge then decides
 * about that member.
 */
static enum jp_status find_judged(const struct jvm_request *request, bool *by_object,
                                  struct jvm_target *target, struct outcome *outcome)
{
  bool makes_receiver = request->operation->receiver != NULL;
  struct member_cache *cache = member_cache_of(request->thread);
  struct call_frame *frame = NULL;
  struct resolved_member *member = NULL;
  enum jp_status opened = cache == NULL ? JP_NO_MEMORY : open_frame(request, &frame);
  if (opened == JP_OK && !makes_receiver)
    member = member_cache_find(cache, request->operation, frame);
  if (member != NULL && !member_cache_is_current(request->thread, member, frame)) {
    member_cache_take_out(cache, member);
    member = NULL;
  }
  if (member != NULL) {
    resolved_member_fill_target(member, frame, target);
    if (judge_has_allowed(request->judge, request->operation->kind, target->facts.verdicts))
      return JP_OK;
  }
  /* Before any error is reported: a caller who may not use these names must not learn why they are wrong. */
  enum jp_status status =
      judge_operation(request->judge, request->operation, by_object, request->arena, outcome);
  if (status != JP_OK)
    return status;
  if (opened != JP_OK)
    return fail_to_open(request, opened, frame, outcome);
  if (makes_receiver) {
    if (!call_frame_make_receiver(request, frame, outcome))
      return status_of(outcome);
    member = member_cache_find(cache, request->operation, frame);
  }
  if (member == NULL)
    member = resolve_member(request, cache, frame, *by_object, outcome);
  if (member == NULL)
    return *by_object ? JP_DENIED : status_of(outcome);
  *by_object = false;
  resolved_member_fill_target(member, frame, target);
  return ask_about_member(request, member, target, outcome);
}

/* True if the receiver is the thread that runs the request. */
static bool is_own_thread(const struct jvm_request *request, const struct jvm_target *target)
{
  struct jvm_thread *thread = request->thread;
  JNIEnv *env = thread->env;
  jobject current = (*env)->CallStaticObjectMethod(env, thread->jvm->known.class_thread,
                                                   thread->jvm->known.static_thread_current);
  if (throwable_take(thread, NULL))
    return false;
  bool is_own = (*env)->IsSameObject(env, current, target->frame->receiver);
  (*env)->DeleteLocalRef(env, current);
  return is_own;
}

/* If the names are denied, and only the class of the object could allow the member (by_object), any failure to find the
 * member becomes the denial of the names. So a caller who may not use the names learns nothing about the object. */
enum jp_status jvm_resolve(const struct jvm_request *request, struct jvm_target *target,
                           struct outcome *outcome)
{
  bool by_object = false;
  enum jp_status status = find_judged(request, &by_object, target, outcome);
  if (status == JP_OK && target->resolved->needs_own_thread && !is_own_thread(request, target))
    return judge_deny(request->judge, target->facts.named_class, target->facts.member, request->arena,
                      outcome);
  if (status == JP_OK)
    return request->operation->only_idempotent ? ask_if_idempotent(request, target, outcome) : JP_OK;
  if (!by_object)
    return status;
  status = judge_operation(request->judge, request->operation, NULL, request->arena, outcome);
  return status == JP_OK ? JP_DENIED : status;
}

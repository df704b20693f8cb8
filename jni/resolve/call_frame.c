#include "jni/resolve/call_frame.h"

#include "jni/convert/arguments.h"
#include "jni/loaders/loaders.h"
#include "jni/objects/object_table.h"

enum {
  FRAMED_ARGUMENTS = 16, /* the request's frame has room for their references */
  /* What the arguments of one call become: JVMS 4.3.3 allows 255, and each may need another on its way. What
   * is gathered into an array leaves none. */
  MADE_REFERENCES = 2 * 255 + 64
};

static enum jp_status open_receiver(const struct jvm_request *request, struct call_frame *frame)
{
  const struct operation *operation = request->operation;
  frame->receiver = NULL;
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
    frame->objects[i] = jvm_objects_get(request->thread, request->objects, value->ref, &frame->classes[i]);
    if (frame->objects[i] == NULL)
      return JP_NOT_FOUND;
  }
  return JP_OK;
}

static size_t count_refs(const struct operation *operation)
{
  size_t count = 0;
  for (size_t i = 0; i < operation->arg_count; i++)
    count += operation->args[i].kind == OP_REF;
  return count;
}

/* A frame of references for the refs, and inside it one for what the arguments become: together they may be
 * more than a frame can have. */
static enum jp_status open_many_arguments(const struct jvm_request *request, struct call_frame *frame)
{
  frame->has_references = true;
  if (!jvm_request_add_frame(request->thread, count_refs(request->operation)))
    return JP_NO_MEMORY;
  enum jp_status status = open_arguments(request, frame);
  if (status != JP_OK)
    return status;
  return jvm_request_add_frame(request->thread, MADE_REFERENCES) ? JP_OK : JP_NO_MEMORY;
}

static bool make_room(struct call_frame *frame, size_t count, struct arena *arena)
{
  frame->objects = frame->few.objects;
  frame->classes = frame->few.classes;
  if (count > FEW_ARGUMENTS) {
    frame->objects = arena_calloc(arena, count, sizeof(jobject));
    frame->classes = arena_calloc(arena, count, sizeof *frame->classes);
  }
  return frame->objects != NULL && frame->classes != NULL;
}

enum jp_status call_frame_open(const struct jvm_request *request, struct call_frame **frame)
{
  size_t count = request->operation->arg_count;
  struct call_frame *opened = arena_alloc(request->arena, sizeof *opened);
  *frame = opened;
  if (opened == NULL || !make_room(opened, count, request->arena))
    return JP_NO_MEMORY;
  opened->epoch = jvm_objects_epoch(request->objects);
  opened->stamp = request->guard == NULL ? 0 : request->guard->stamp;
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

#include "jni/look.h"

#include "jni/convert/judge.h"
#include "jni/convert/results.h"
#include "jni/look/shapes.h"
#include "jni/objects/object_table.h"
#include "jni/proxies/kinds.h"
#include "jni/resolve/resolve.h"
#include "jni/runtime/strings.h"
#include "jni/runtime/throwables.h"

enum { TEXT_UNITS_MAX = 1000 };

struct looking {
  JNIEnv *env;
  const struct jvm_request *request;
  struct op_look *look;
  struct outcome *outcome;
  jobject object; /* local */
  struct jvm_class *class;
  struct jvm_class *object_class; /* of the object that has the class; NULL: there is none */
};

static bool fail_memory(struct looking *looking)
{
  outcome_fail(looking->outcome, looking->request->arena, FAILURE_SERVER, NULL, "out of memory");
  return false;
}

/* ---- the object ---- */

static bool open_ref(struct looking *looking)
{
  const struct jvm_request *request = looking->request;
  uint32_t class_id = 0;
  looking->object =
      jvm_objects_get(request->thread, request->objects, request->operation->instance, &class_id);
  if (looking->object == NULL) {
    outcome_fail(looking->outcome, request->arena, FAILURE_SERVER, "java.lang.NullPointerException",
                 "No object found with objRef: %u", request->operation->instance);
    return false;
  }
  looking->class = jvm_class_by_id(request->thread, class_id);
  return true;
}

static bool make_value(struct looking *looking)
{
  struct call_frame frame = {.receiver = NULL};
  if (!call_frame_make_receiver(looking->request, &frame, looking->outcome))
    return false;
  looking->object = frame.receiver;
  looking->class = jvm_class_by_id(looking->request->thread, frame.receiver_class);
  return true;
}

static bool open_object(struct looking *looking)
{
  bool is_value = looking->request->operation->receiver != NULL;
  if (!(is_value ? make_value(looking) : open_ref(looking)))
    return false;
  return looking->class != NULL || fail_memory(looking);
}

/* ---- what it says of itself ---- */

static bool may_call(struct looking *looking, jclass declaring, struct judged_member member)
{
  struct outcome denied;
  return judge_call(looking->request, looking->class, declaring, member, &denied);
}

/* How many units of the string are told: no pair is cut. */
static jsize cut_length(JNIEnv *env, jstring string)
{
  jsize length = (*env)->GetStringLength(env, string);
  jchar units[2];
  if (length <= TEXT_UNITS_MAX)
    return length;
  (*env)->GetStringRegion(env, string, TEXT_UNITS_MAX - 1, 2, units);
  bool is_pair = (units[0] & 0xFC00) == 0xD800 && (units[1] & 0xFC00) == 0xDC00;
  return is_pair ? TEXT_UNITS_MAX - 1 : TEXT_UNITS_MAX;
}

static bool read_text(struct looking *looking, jstring string)
{
  JNIEnv *env = looking->env;
  jchar units[TEXT_UNITS_MAX];
  jsize length = cut_length(env, string);
  (*env)->GetStringRegion(env, string, 0, length, units);
  looking->look->text = jvm_text_of_units(units, (size_t)length, looking->request->arena);
  return looking->look->text.data != NULL || fail_memory(looking);
}

static bool find_text(struct looking *looking)
{
  static const struct judged_member to_string = {"toString", "()Ljava/lang/String;"};
  JNIEnv *env = looking->env;
  const struct jvm_known *known = &looking->request->thread->jvm->known;
  looking->look->text = TEXT_ABSENT;
  if (!may_call(looking, known->class_object, to_string))
    return true;
  jstring string = (*env)->CallObjectMethod(env, looking->object, known->method_object_to_string);
  if (throwable_take(looking->request->thread, NULL) || string == NULL)
    return true;
  bool read = read_text(looking, string);
  (*env)->DeleteLocalRef(env, string);
  return read;
}

/* The length of an array or a String is told with every ref; a collection's or map's is a call of its size. */
static void find_length(struct looking *looking)
{
  static const struct judged_member size = {"size", "()I"};
  JNIEnv *env = looking->env;
  const struct jvm_known *known = &looking->request->thread->jvm->known;
  bool is_collection = (*env)->IsInstanceOf(env, looking->object, known->class_collection);
  bool is_map = !is_collection && (*env)->IsInstanceOf(env, looking->object, known->class_map);
  if ((is_collection && !may_call(looking, known->class_collection, size)) ||
      (is_map && !may_call(looking, known->class_map, size)))
    return;
  looking->look->has_length =
      result_find_length(looking->request, looking->class, looking->object, &looking->look->length);
}

/* ---- */

static bool find_shapes(struct looking *looking)
{
  const struct jvm_request *request = looking->request;
  if (shapes_find(request, looking->class, looking->object_class, looking->look))
    return true;
  return throwable_take_outcome(request->thread, request->arena, request->limits->stack_frames_max,
                                looking->outcome)
             ? false
             : fail_memory(looking);
}

static void name_class(struct looking *looking)
{
  looking->look->class_name = looking->class->name;
  looking->look->judged_name = looking->class->element_name;
}

/* Reflection tells it, which loads the classes that the methods name and initialises none. */
static void find_function(const struct looking *looking)
{
  struct jvm_thread *thread = looking->request->thread;
  struct op_look *look = looking->look;
  look->function_name = TEXT_ABSENT;
  int arity =
      looking->class->is_interface ? callback_function_arity(thread, looking->class) : CALLBACK_NO_FUNCTION;
  if (arity == CALLBACK_NO_FUNCTION)
    return;
  look->function_name = callback_function_name(thread, looking->class, looking->request->arena);
  look->function_arity = (size_t)arity;
}

bool jvm_look(const struct jvm_request *request, struct op_look *look, struct outcome *outcome)
{
  struct looking looking = {
      .env = request->thread->env, .request = request, .look = look, .outcome = outcome};
  if (!open_object(&looking))
    return false;
  looking.object_class = looking.class;
  name_class(&looking);
  find_length(&looking);
  return find_text(&looking) && find_shapes(&looking);
}

bool jvm_look_class(const struct jvm_request *request, struct op_look *look, struct outcome *outcome)
{
  struct looking looking = {
      .env = request->thread->env, .request = request, .look = look, .outcome = outcome};
  looking.class = resolve_named_class(request, look->only_ancestors, &looking.object_class, outcome);
  if (looking.class == NULL)
    return false;
  name_class(&looking);
  if (look->tells_class)
    find_function(&looking);
  return find_shapes(&looking);
}

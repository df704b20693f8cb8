/* What there is to see of an object, and of a class: its members as the JVM knows them, whatever they were loaded from. */
#include "jni/look.h"

#include "jni/convert/judgement.h"
#include "jni/convert/results.h"
#include "jni/objects/object_table.h"
#include "jni/proxies/kinds.h"
#include "jni/resolve/resolve.h"
#include "jni/runtime/strings.h"
#include "jni/runtime/throwables.h"
#include "judge/judge.h"

enum { TEXT_UNITS_MAX = 1000, ACC_MASK = 0xFFFF };

struct looking {
  JNIEnv *env;
  const struct jvm_request *request;
  struct op_look *look;
  struct outcome *outcome;
  jobject object; /* local */
  struct jvm_class *class;
  struct jvm_class *object_class; /* of the object that has the class; NULL: there is none */
};

/* ---- the shapes of classes, from their tables of members ---- */

struct shapes {
  struct jvm_thread *thread;
  struct arena *arena;
  const struct judge *judge;  /* NULL: there is no object, or none of the class */
  struct jvm_class *named;    /* the first class */
  struct jvm_class *runtime;  /* of the object */
  struct text only_member;    /* of struct op_look */
  struct jvm_class **classes; /* in the order in which they were met */
  size_t count;
  size_t capacity;
};

/* ---- the classes ---- */

static bool add_class(struct shapes *shapes, struct jvm_class *class)
{
  bool is_known = class == NULL;
  for (size_t i = 0; !is_known && i < shapes->count; i++)
    is_known = shapes->classes[i] == class;
  if (is_known)
    return true;
  struct jvm_class **classes = arena_grow(shapes->arena, shapes->classes, shapes->count, &shapes->capacity,
                                          sizeof(struct jvm_class *));
  if (classes == NULL)
    return false;
  shapes->classes = classes;
  classes[shapes->count++] = class;
  return true;
}

/* JVMTI tells no interfaces of arrays, which have these two (JLS 10.8). */
static const struct text array_interfaces[] = {TEXT("java.lang.Cloneable"), TEXT("java.io.Serializable")};

enum { ARRAY_INTERFACES = sizeof array_interfaces / sizeof *array_interfaces };

/* ---- their members ---- */

/* The tables of members leave out what no call needs. */
static struct text read_signature(const struct shapes *shapes, const struct jvm_method *method)
{
  jvmtiEnv *jvmti = shapes->thread->jvmti;
  char *signature = NULL;
  if ((*jvmti)->GetMethodName(jvmti, method->id, NULL, NULL, &signature) != JVMTI_ERROR_NONE ||
      signature == NULL)
    return TEXT("");
  struct text text = jvm_text_of_modified(shapes->thread, signature, shapes->arena);
  (*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
  return text;
}

static struct text read_field_signature(const struct shapes *shapes, const struct jvm_field *field)
{
  jvmtiEnv *jvmti = shapes->thread->jvmti;
  char *signature = NULL;
  if ((*jvmti)->GetFieldName(jvmti, field->owner->ref, field->id, NULL, NULL, &signature) !=
          JVMTI_ERROR_NONE ||
      signature == NULL)
    return TEXT("");
  struct text text = jvm_text_of_modified(shapes->thread, signature, shapes->arena);
  (*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
  return text;
}

/* For what the named class alone denies; what it allows is asked elsewhere. */
static bool is_open(const struct shapes *shapes, struct jvm_method *method)
{
  if (shapes->judge == NULL || (method->modifiers & OP_ACC_PUBLIC) == 0 ||
      (method->modifiers & OP_ACC_STATIC) != 0 || text_equal(method->name, TEXT("<init>")))
    return false;
  const struct jvm_lineage lineage = {.thread = shapes->thread,
                                      .arena = shapes->arena,
                                      .method = method,
                                      .named = shapes->named,
                                      .runtime = shapes->runtime};
  const struct judged_member member = {.kind = OP_MEMBER_METHOD,
                                       .modifiers = method->modifiers,
                                       .named_class = shapes->named->element_name,
                                       .declaring_class = method->owner->element_name,
                                       .runtime_class = TEXT_ABSENT,
                                       .member = method->name};
  return !judge_allows(shapes->judge, OP_CALL, &member) &&
         jvm_judge_allows(shapes->judge, OP_CALL, &member, &lineage);
}

static bool read_method(const struct shapes *shapes, const struct jvm_method *method,
                        struct op_shape_member *member)
{
  *member = (struct op_shape_member){
      .name = method->name,
      .descriptor = jvm_text_of_modified(shapes->thread, method->raw_descriptor, shapes->arena),
      .signature = read_signature(shapes, method),
      .access = (uint16_t)(method->modifiers & ACC_MASK),
      .parameter_count = (uint8_t)method->param_count};
  return member->descriptor.data != NULL && member->signature.data != NULL;
}

/* `new` finds no hidden class by its name. */
static bool is_wanted(const struct shapes *shapes, const struct jvm_method *method)
{
  return !(method->owner->is_hidden && text_equal(method->name, TEXT("<init>"))) &&
         (shapes->only_member.data == NULL || text_equal(method->name, shapes->only_member));
}

static bool read_methods(const struct shapes *shapes, const struct member_table *table,
                         struct op_shape *shape)
{
  size_t count = table->method_count + table->hidden_count;
  bool read = true;
  shape->methods = arena_calloc(shapes->arena, count, sizeof *shape->methods);
  if (shape->methods == NULL)
    return false;
  for (size_t i = 0; read && i < count; i++) {
    const struct jvm_method *method =
        i < table->method_count ? &table->methods[i] : &table->hidden[i - table->method_count];
    if (is_wanted(shapes, method))
      read = read_method(shapes, method, &shape->methods[shape->method_count++]);
    if (read && i < table->method_count && is_wanted(shapes, method))
      shape->methods[shape->method_count - 1].is_open = is_open(shapes, &table->methods[i]);
  }
  return read;
}

static bool read_fields(const struct shapes *shapes, const struct member_table *table, struct op_shape *shape)
{
  bool read = true;
  if (shapes->only_member.data != NULL)
    return true;
  shape->fields = arena_calloc(shapes->arena, table->field_count, sizeof *shape->fields);
  if (shape->fields == NULL)
    return false;
  for (size_t i = 0; read && i < table->field_count; i++) {
    const struct jvm_field *field = &table->fields[i];
    shape->fields[i] = (struct op_shape_member){
        .name = field->name,
        .descriptor = jvm_text_of_modified(shapes->thread, field->raw_descriptor, shapes->arena),
        .signature = read_field_signature(shapes, field),
        .access = (uint16_t)(field->modifiers & ACC_MASK)};
    read = shape->fields[i].descriptor.data != NULL && shape->fields[i].signature.data != NULL;
  }
  shape->field_count = table->field_count;
  return read;
}

static bool name_interfaces(const struct shapes *shapes, const struct jvm_class *class,
                            const struct member_table *table, struct op_shape *shape)
{
  bool is_array = class->component != 0;
  size_t count = is_array ? ARRAY_INTERFACES : table->interface_count;
  shape->interfaces = arena_calloc(shapes->arena, count, sizeof *shape->interfaces);
  if (shape->interfaces == NULL)
    return false;
  for (size_t i = 0; i < count; i++)
    shape->interfaces[i] = is_array ? array_interfaces[i] : table->interfaces[i]->name;
  shape->interface_count = count;
  return true;
}

/* Fills look->shapes with those of the class and of all above it, and asks the judge which methods are open for an object
 * of object_class, which is the class or below it (NULL: there is no object). False: an exception is pending (an interface
 * cannot be linked), or none is (memory is short). */
static bool find_shapes(const struct jvm_request *request, struct jvm_class *class,
                        struct jvm_class *object_class, struct op_look *look)
{
  bool asks = object_class != NULL && jvm_class_is_assignable(request->thread, object_class, class);
  struct shapes shapes = {.thread = request->thread,
                          .arena = request->arena,
                          .judge = asks ? request->judge : NULL,
                          .named = class,
                          .runtime = object_class,
                          .only_member = look->only_member};
  if (!add_class(&shapes, class))
    return false;
  for (size_t i = 0; class->component != 0 && i < ARRAY_INTERFACES; i++) {
    struct jvm_class *interface = jvm_class_load(shapes.thread, array_interfaces[i], NULL);
    if (interface == NULL || !add_class(&shapes, interface))
      return false;
  }
  for (size_t i = 0; i < shapes.count; i++) {
    const struct member_table *table = member_table_of(shapes.thread, shapes.classes[i]);
    if (table == NULL || !add_class(&shapes, table->super))
      return false;
    for (size_t at = 0; at < table->interface_count; at++)
      if (!add_class(&shapes, table->interfaces[at]))
        return false;
  }
  look->shapes = arena_calloc(shapes.arena, shapes.count, sizeof *look->shapes);
  if (look->shapes == NULL)
    return false;
  look->shape_count = shapes.count;
  for (size_t i = 0; i < shapes.count; i++) {
    const struct member_table *table = member_table_of(shapes.thread, shapes.classes[i]);
    if (table == NULL)
      return false;
    struct op_shape *shape = &look->shapes[i];
    shape->name = shapes.classes[i]->name;
    shape->access = (uint16_t)(shapes.classes[i]->modifiers & ACC_MASK);
    shape->is_permanent = shapes.classes[i]->permanent;
    shape->superclass = table->super == NULL ? TEXT("") : table->super->name;
    if (!name_interfaces(&shapes, shapes.classes[i], table, shape) || !read_methods(&shapes, table, shape) ||
        !read_fields(&shapes, table, shape))
      return false;
  }
  return true;
}

/* ---- the object ---- */

static bool open_object(struct looking *looking)
{
  if (looking->request->operation->receiver != NULL) {
    struct call_frame frame = {.receiver = NULL};
    if (!call_frame_make_receiver(looking->request, &frame, looking->outcome))
      return false;
    looking->object = frame.receiver;
    looking->class = jvm_class_by_id(looking->request->thread, frame.receiver_class);
  } else {
    const struct jvm_request *request = looking->request;
    uint32_t class_id = 0;
    looking->object =
        jvm_objects_get(request->thread, request->objects, request->operation->instance, &class_id);
    if (looking->object == NULL) {
      jvm_objects_fail_get(request, request->operation->instance, looking->outcome);
      return false;
    }
    looking->class = jvm_class_by_id(request->thread, class_id);
  }
  return looking->class != NULL || outcome_fail_memory(looking->outcome) == JP_OK;
}

/* ---- what it says of itself ---- */

static bool may_call(struct looking *looking, jclass declaring, struct named_method named)
{
  struct outcome denied;
  return jvm_judge_call(looking->request, looking->class, declaring, named, &denied);
}

static bool read_text(struct looking *looking, jstring string)
{
  JNIEnv *env = looking->env;
  jchar units[TEXT_UNITS_MAX];
  jsize length = (*env)->GetStringLength(env, string);
  if (length > TEXT_UNITS_MAX) {
    (*env)->GetStringRegion(env, string, TEXT_UNITS_MAX - 1, 2, units);
    bool is_pair = (units[0] & 0xFC00) == 0xD800 && (units[1] & 0xFC00) == 0xDC00; /* which is not cut */
    length = is_pair ? TEXT_UNITS_MAX - 1 : TEXT_UNITS_MAX;
  }
  (*env)->GetStringRegion(env, string, 0, length, units);
  looking->look->text = jvm_text_of_units(units, (size_t)length, looking->request->arena);
  return looking->look->text.data != NULL || outcome_fail_memory(looking->outcome) == JP_OK;
}

static bool find_text(struct looking *looking)
{
  static const struct named_method to_string = {"toString", "()Ljava/lang/String;"};
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
  static const struct named_method size = {"size", "()I"};
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

/* ---- its class ---- */

static bool find_class_shapes(struct looking *looking)
{
  const struct jvm_request *request = looking->request;
  if (find_shapes(request, looking->class, looking->object_class, looking->look))
    return true;
  return throwable_take_outcome(request->thread, request->arena, request->limits->stack_frames_max,
                                looking->outcome)
             ? false
             : outcome_fail_memory(looking->outcome) == JP_OK;
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
  look->class_name = looking.class->name;
  look->judged_name = looking.class->element_name;
  look->text = TEXT_ABSENT;
  if (request->operation->members_only)
    return find_class_shapes(&looking);
  find_length(&looking);
  return find_text(&looking) && find_class_shapes(&looking);
}

bool jvm_look_class(const struct jvm_request *request, struct op_look *look, struct outcome *outcome)
{
  struct looking looking = {
      .env = request->thread->env, .request = request, .look = look, .outcome = outcome};
  looking.class = resolve_named_class(request, look->only_ancestors, &looking.object_class, outcome);
  if (looking.class == NULL)
    return false;
  look->class_name = looking.class->name;
  look->judged_name = looking.class->element_name;
  if (look->is_of_class)
    find_function(&looking);
  return find_class_shapes(&looking);
}

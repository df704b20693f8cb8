/* Describes an object or a class, with its members as the JVM knows them, wherever the class was loaded
 * from. */
#include "jni/describe.h"

#include "jni/convert/judgement.h"
#include "jni/convert/results.h"
#include "jni/objects/object_table.h"
#include "jni/proxies/kinds.h"
#include "jni/resolve/resolve.h"
#include "jni/runtime/strings.h"
#include "jni/runtime/throwables.h"
#include "judge/judge.h"

enum { TEXT_UNITS_MAX = 1000, ACC_MASK = 0xFFFF };

struct describing {
  JNIEnv *env;
  const struct jvm_request *request;
  struct op_description *description;
  struct outcome *outcome;
  jobject object; /* local */
  struct jvm_class *class;
  struct jvm_class *object_class; /* the class of the object being described; NULL: no object */
};

/* ---- the shapes of classes, from their tables of members ---- */

struct shapes {
  struct jvm_thread *thread;
  struct arena *arena;
  const struct judge *judge;  /* NULL: no object, or not an instance of the class */
  struct jvm_class *named;    /* the class being described */
  struct jvm_class *runtime;  /* of the object */
  struct text only_member;    /* of struct op_description */
  struct jvm_class **classes; /* in the order in which they were found */
  size_t count;
  size_t capacity;
};

/* ---- classes ---- */

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

/* JVMTI does not list the interfaces of arrays, which are these two (JLS 10.8). */
static const struct text array_interfaces[] = {TEXT("java.lang.Cloneable"), TEXT("java.io.Serializable")};

enum { ARRAY_INTERFACES = sizeof array_interfaces / sizeof *array_interfaces };

/* ---- members ---- */

/* The tables of members do not have the generic signatures, because no call needs them. */
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

/* True if the policy denies the method by the name of the described class, but allows it by the name of a
 * supertype. If it is false, the method may still be allowed by the name of the described class: the code that
 * reads the description asks the policy about that (rpc/meta/meta_query.c, rpc/methods/java_call.c). */
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

/* Excludes constructors of hidden classes, which `new` cannot find by name. */
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

/* ---- where a class comes from ---- */

static int hex_value(char c)
{
  if (c >= '0' && c <= '9')
    return c - '0';
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes the path of a file URL, in which the JDK's class loaders write a blank as "%20". NULL: memory is
 * short, or the path cannot be a file's. */
static const char *decode_path(struct text encoded, struct arena *arena)
{
  char *path = arena_alloc(arena, encoded.len + 1);
  size_t length = 0;
  for (size_t i = 0; path != NULL && i < encoded.len; i++) {
    char c = encoded.data[i];
    if (c == '%') {
      int high = i + 2 < encoded.len ? hex_value(encoded.data[i + 1]) : -1;
      int low = high >= 0 ? hex_value(encoded.data[i + 2]) : -1;
      c = (char)(low < 0 ? 0 : high * 16 + low);
      i += 2;
    }
    if (c == '\0')
      return NULL;
    path[length++] = c;
  }
  if (path != NULL)
    path[length] = '\0';
  return path;
}

/* A local reference. NULL: the method has returned null or thrown. */
static jobject ask_object(const struct shapes *shapes, jobject object, jmethodID method)
{
  JNIEnv *env = shapes->thread->env;
  jobject result = object == NULL ? NULL : (*env)->CallObjectMethod(env, object, method);
  return throwable_take(shapes->thread, NULL) ? NULL : result;
}

static struct text ask_text(const struct shapes *shapes, jobject object, jmethodID method)
{
  jstring string = ask_object(shapes, object, method);
  return string == NULL ? TEXT_ABSENT : jvm_string_get(shapes->thread, string, shapes->arena);
}

/* The class's code source. All these methods are the JDK's own, which an application cannot override. */
static const char *find_element(const struct shapes *shapes, const struct jvm_class *class)
{
  JNIEnv *env = shapes->thread->env;
  const struct jvm_known *known = &shapes->thread->jvm->known;
  const char *path = NULL;
  enum { REFERENCES = 5 };
  if (!class->permanent || class->is_of_jdk || class->component != 0)
    return NULL;
  if ((*env)->PushLocalFrame(env, REFERENCES) != 0) {
    (void)throwable_take(shapes->thread, NULL);
    return NULL;
  }
  jobject domain = ask_object(shapes, class->ref, known->method_class_get_protection_domain);
  jobject source = ask_object(shapes, domain, known->method_protection_domain_get_code_source);
  jobject url = ask_object(shapes, source, known->method_code_source_get_location);
  struct text protocol = ask_text(shapes, url, known->method_url_get_protocol);
  struct text encoded = ask_text(shapes, url, known->method_url_get_path);
  if (protocol.data != NULL && encoded.data != NULL && text_equal(protocol, TEXT("file")))
    path = decode_path(encoded, shapes->arena);
  (*env)->PopLocalFrame(env, NULL);
  return path;
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

/* Fills description->shapes with the class and all its supertypes. Asks the judge which methods a supertype
 * allows for an object of object_class, which is the class or a subclass (NULL: no object). False: an
 * interface cannot be linked, and an exception is pending; or memory is short, and no exception is
 * pending. */
static bool find_shapes(const struct jvm_request *request, struct jvm_class *class,
                        struct jvm_class *object_class, struct op_description *description)
{
  bool asks = object_class != NULL && jvm_class_is_assignable(request->thread, object_class, class);
  struct shapes shapes = {.thread = request->thread,
                          .arena = request->arena,
                          .judge = asks ? request->judge : NULL,
                          .named = class,
                          .runtime = object_class,
                          .only_member = description->only_member};
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
  description->shapes = arena_calloc(shapes.arena, shapes.count, sizeof *description->shapes);
  if (description->shapes == NULL)
    return false;
  description->shape_count = shapes.count;
  for (size_t i = 0; i < shapes.count; i++) {
    const struct member_table *table = member_table_of(shapes.thread, shapes.classes[i]);
    if (table == NULL)
      return false;
    struct op_shape *shape = &description->shapes[i];
    shape->name = shapes.classes[i]->name;
    shape->access = (uint16_t)(shapes.classes[i]->modifiers & ACC_MASK);
    shape->is_permanent = shapes.classes[i]->permanent;
    shape->element = find_element(&shapes, shapes.classes[i]);
    shape->superclass = table->super == NULL ? TEXT("") : table->super->name;
    if (!name_interfaces(&shapes, shapes.classes[i], table, shape) || !read_methods(&shapes, table, shape) ||
        !read_fields(&shapes, table, shape))
      return false;
  }
  return true;
}

/* ---- the object ---- */

static bool open_object(struct describing *describing)
{
  if (describing->request->operation->receiver != NULL) {
    struct call_frame frame = {.receiver = NULL};
    if (!call_frame_make_receiver(describing->request, &frame, describing->outcome))
      return false;
    describing->object = frame.receiver;
    describing->class = jvm_class_by_id(describing->request->thread, frame.receiver_class);
  } else {
    const struct jvm_request *request = describing->request;
    uint32_t class_id = 0;
    describing->object =
        jvm_objects_get(request->thread, request->objects, request->operation->instance, &class_id);
    if (describing->object == NULL) {
      jvm_objects_fail_get(request, request->operation->instance, describing->outcome);
      return false;
    }
    describing->class = jvm_class_by_id(request->thread, class_id);
  }
  return describing->class != NULL || outcome_fail_memory(describing->outcome) == JP_OK;
}

/* ---- toString and size ---- */

static bool may_call(struct describing *describing, jclass declaring, struct named_method named)
{
  struct outcome denied;
  return jvm_judge_call(describing->request, describing->class, declaring, named, &denied);
}

static bool read_text(struct describing *describing, jstring string)
{
  JNIEnv *env = describing->env;
  jchar units[TEXT_UNITS_MAX];
  jsize length = (*env)->GetStringLength(env, string);
  if (length > TEXT_UNITS_MAX) {
    (*env)->GetStringRegion(env, string, TEXT_UNITS_MAX - 1, 2, units);
    bool is_pair =
        (units[0] & 0xFC00) == 0xD800 && (units[1] & 0xFC00) == 0xDC00; /* a surrogate pair is not cut */
    length = is_pair ? TEXT_UNITS_MAX - 1 : TEXT_UNITS_MAX;
  }
  (*env)->GetStringRegion(env, string, 0, length, units);
  describing->description->text = jvm_text_of_units(units, (size_t)length, describing->request->arena);
  return describing->description->text.data != NULL || outcome_fail_memory(describing->outcome) == JP_OK;
}

static bool find_text(struct describing *describing)
{
  static const struct named_method to_string = {"toString", "()Ljava/lang/String;"};
  JNIEnv *env = describing->env;
  const struct jvm_known *known = &describing->request->thread->jvm->known;
  describing->description->text = TEXT_ABSENT;
  if (!may_call(describing, known->class_object, to_string))
    return true;
  jstring string = (*env)->CallObjectMethod(env, describing->object, known->method_object_to_string);
  if (throwable_take(describing->request->thread, NULL) || string == NULL)
    return true;
  bool read = read_text(describing, string);
  (*env)->DeleteLocalRef(env, string);
  return read;
}

/* The length of an array or a String needs no permission. For a collection or a map, its method size is
 * called. */
static void find_length(struct describing *describing)
{
  static const struct named_method size = {"size", "()I"};
  JNIEnv *env = describing->env;
  const struct jvm_known *known = &describing->request->thread->jvm->known;
  bool is_collection = (*env)->IsInstanceOf(env, describing->object, known->class_collection);
  bool is_map = !is_collection && (*env)->IsInstanceOf(env, describing->object, known->class_map);
  if ((is_collection && !may_call(describing, known->class_collection, size)) ||
      (is_map && !may_call(describing, known->class_map, size)))
    return;
  describing->description->has_length = result_find_length(
      describing->request, describing->class, describing->object, &describing->description->length);
}

/* ---- the object's class ---- */

static bool find_class_shapes(struct describing *describing)
{
  const struct jvm_request *request = describing->request;
  if (find_shapes(request, describing->class, describing->object_class, describing->description))
    return true;
  return throwable_take_outcome(request->thread, request->arena, request->limits->stack_frames_max,
                                describing->outcome)
             ? false
             : outcome_fail_memory(describing->outcome) == JP_OK;
}

/* Uses reflection, which loads the classes that the methods name, but initialises none. */
static void find_function(const struct describing *describing)
{
  struct jvm_thread *thread = describing->request->thread;
  struct op_description *description = describing->description;
  description->function_name = TEXT_ABSENT;
  int arity = describing->class->is_interface ? callback_function_arity(thread, describing->class)
                                              : CALLBACK_NO_FUNCTION;
  if (arity == CALLBACK_NO_FUNCTION)
    return;
  description->function_name = callback_function_name(thread, describing->class, describing->request->arena);
  description->function_arity = (size_t)arity;
}

bool jvm_describe(const struct jvm_request *request, struct op_description *description,
                  struct outcome *outcome)
{
  struct describing describing = {
      .env = request->thread->env, .request = request, .description = description, .outcome = outcome};
  if (!open_object(&describing))
    return false;
  describing.object_class = describing.class;
  description->class_name = describing.class->name;
  description->judged_name = describing.class->element_name;
  description->text = TEXT_ABSENT;
  if (request->operation->members_only)
    return find_class_shapes(&describing);
  find_length(&describing);
  return find_text(&describing) && find_class_shapes(&describing);
}

bool jvm_describe_class(const struct jvm_request *request, struct op_description *description,
                        struct outcome *outcome)
{
  struct describing describing = {
      .env = request->thread->env, .request = request, .description = description, .outcome = outcome};
  describing.class =
      resolve_named_class(request, description->only_ancestors, &describing.object_class, outcome);
  if (describing.class == NULL)
    return false;
  description->class_name = describing.class->name;
  description->judged_name = describing.class->element_name;
  if (description->is_of_class)
    find_function(&describing);
  return find_class_shapes(&describing);
}

#include "jni/look/shapes.h"

#include "jni/runtime/strings.h"
#include "jni/types/selection.h"

enum { FIRST_CLASSES = 16, ACC_MASK = 0xFFFF };

struct shapes {
  struct jvm_thread *thread;
  struct arena *arena;
  const struct jvm_guard *guard; /* NULL: nothing is asked about an object */
  struct jvm_class *named;       /* the first class */
  struct jvm_class *runtime;     /* of the object */
  struct text only_member;       /* of struct op_look */
  struct jvm_class **classes;    /* in the order in which they were met */
  size_t count;
  size_t capacity;
};

/* ---- the classes ---- */

static bool knows_class(const struct shapes *shapes, const struct jvm_class *class)
{
  for (size_t i = 0; i < shapes->count; i++) {
    if (shapes->classes[i] == class)
      return true;
  }
  return false;
}

static bool add_class(struct shapes *shapes, struct jvm_class *class)
{
  if (class == NULL || knows_class(shapes, class))
    return true;
  if (shapes->count == shapes->capacity) {
    size_t capacity = shapes->capacity == 0 ? FIRST_CLASSES : 2 * shapes->capacity;
    struct jvm_class **grown = arena_calloc(shapes->arena, capacity, sizeof(struct jvm_class *));
    if (grown == NULL)
      return false;
    if (shapes->count > 0)
      memcpy(grown, shapes->classes, shapes->count * sizeof(struct jvm_class *));
    shapes->classes = grown;
    shapes->capacity = capacity;
  }
  shapes->classes[shapes->count++] = class;
  return true;
}

/* JVMTI tells no interfaces of arrays, which have these two (JLS 10.8). */
static const struct text array_interfaces[] = {TEXT("java.lang.Cloneable"), TEXT("java.io.Serializable")};

enum { ARRAY_INTERFACES = sizeof array_interfaces / sizeof *array_interfaces };

static bool add_array_interfaces(struct shapes *shapes)
{
  bool added = true;
  for (size_t i = 0; added && i < ARRAY_INTERFACES; i++) {
    struct jvm_class *interface = jvm_class_load(shapes->thread, array_interfaces[i], NULL);
    added = interface != NULL && add_class(shapes, interface);
  }
  return added;
}

static bool add_ancestors(struct shapes *shapes, const struct member_table *table)
{
  bool added = add_class(shapes, table->super);
  for (size_t i = 0; added && i < table->interface_count; i++)
    added = add_class(shapes, table->interfaces[i]);
  return added;
}

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
  if (shapes->guard == NULL || (method->modifiers & JVM_ACC_PUBLIC) == 0 ||
      (method->modifiers & JVM_ACC_STATIC) != 0 || text_equal(method->name, TEXT("<init>")))
    return false;
  const struct jvm_lineage lineage = {.thread = shapes->thread,
                                      .arena = shapes->arena,
                                      .method = method,
                                      .named = shapes->named,
                                      .runtime = shapes->runtime};
  struct jvm_target member = {.kind = JVM_METHOD,
                              .modifiers = method->modifiers,
                              .named_class = shapes->named->element_name,
                              .declaring_class = method->owner->element_name,
                              .runtime_class = TEXT_ABSENT,
                              .member = method->name};
  if (shapes->guard->allows(shapes->guard->context, OP_CALL, &member))
    return false;
  member.lineage = &lineage;
  return shapes->guard->allows(shapes->guard->context, OP_CALL, &member);
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
static bool is_nameless(const struct jvm_method *method)
{
  return method->owner->is_hidden && text_equal(method->name, TEXT("<init>"));
}

static bool is_wanted(const struct shapes *shapes, const struct jvm_method *method)
{
  return !is_nameless(method) &&
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

static bool read_shape(const struct shapes *shapes, const struct jvm_class *class,
                       const struct member_table *table, struct op_shape *shape)
{
  shape->name = class->name;
  shape->access = (uint16_t)(class->modifiers & ACC_MASK);
  shape->is_permanent = class->permanent;
  shape->superclass = table->super == NULL ? TEXT("") : table->super->name;
  return name_interfaces(shapes, class, table, shape) && read_methods(shapes, table, shape) &&
         read_fields(shapes, table, shape);
}

/* ---- */

bool shapes_find(const struct jvm_request *request, struct jvm_class *class, struct jvm_class *object_class,
                 struct op_look *look)
{
  bool asks = object_class != NULL && request->guard != NULL && request->guard->allows != NULL &&
              jvm_class_is_assignable(request->thread, object_class, class);
  struct shapes shapes = {.thread = request->thread,
                          .arena = request->arena,
                          .guard = asks ? request->guard : NULL,
                          .named = class,
                          .runtime = object_class,
                          .only_member = look->only_member};
  if (!add_class(&shapes, class) || (class->component != 0 && !add_array_interfaces(&shapes)))
    return false;
  for (size_t i = 0; i < shapes.count; i++) {
    const struct member_table *table = member_table_of(shapes.thread, shapes.classes[i]);
    if (table == NULL || !add_ancestors(&shapes, table))
      return false;
  }
  look->shapes = arena_calloc(shapes.arena, shapes.count, sizeof *look->shapes);
  if (look->shapes == NULL)
    return false;
  look->shape_count = shapes.count;
  for (size_t i = 0; i < shapes.count; i++) {
    const struct member_table *table = member_table_of(shapes.thread, shapes.classes[i]);
    if (table == NULL || !read_shape(&shapes, shapes.classes[i], table, &look->shapes[i]))
      return false;
  }
  return true;
}

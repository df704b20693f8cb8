#include "jni/types/member_table.h"

#include "base/primitives.h"
#include "jni/members.h"
#include "jni/runtime/strings.h"
#include "jni/runtime/throwables.h"

#include <stdlib.h>

enum { ACC_BRIDGE = 0x0040, ACC_SYNTHETIC = 0x1000, PARAMETERS_MAX = 255 /* JVMS 4.3.3 */ };

struct builder {
  struct jvm_thread *thread;
  struct jvm_class *class;
  struct arena arena; /* becomes the table's memory */
  size_t room;        /* the length of the array of methods: visible methods fill it from the front, hidden
                       * methods from the back */
  struct member_table *table;
};

/* JVMTI does not list the members of a class that is not linked. Both look-ups link the class without
 * initialising it. The look-up of a constructor is cheaper, but does not link interfaces. */
static bool link_class(struct jvm_thread *thread, const struct jvm_class *class)
{
  JNIEnv *env = thread->env;
  const struct jvm_known *known = &thread->jvm->known;
  jint status = 0;
  if ((*thread->jvmti)->GetClassStatus(thread->jvmti, class->ref, &status) == JVMTI_ERROR_NONE &&
      (status & (JVMTI_CLASS_STATUS_PREPARED | JVMTI_CLASS_STATUS_ARRAY)) != 0)
    return true;
  jobject members =
      (*env)->CallObjectMethod(env, class->ref,
                               class->is_interface ? known->method_class_get_declared_fields
                                                   : known->method_class_get_declared_constructors);
  jthrowable thrown = throwable_catch(env);
  (*env)->DeleteLocalRef(env, members);
  if (thrown == NULL)
    return true;
  /* The class of a parameter may be missing although the class itself is linked. */
  bool linked = (*thread->jvmti)->GetClassStatus(thread->jvmti, class->ref, &status) == JVMTI_ERROR_NONE &&
                (status & JVMTI_CLASS_STATUS_PREPARED) != 0;
  if (!linked)
    (*env)->Throw(env, thrown);
  (*env)->DeleteLocalRef(env, thrown);
  return linked;
}

static const char *copy_string(struct arena *arena, const char *string)
{
  return arena_text(arena, (struct text){string, strlen(string) + 1}).data;
}

/* Reads one type and moves *descriptor past it. */
static bool read_type(struct builder *builder, struct text *descriptor, struct jvm_type *type)
{
  struct op_type parsed;
  if (op_type_parse_descriptor(descriptor, &builder->arena, &parsed) != JP_OK)
    return false;
  type->kind = parsed.dimensions > 0 ? 'L' : parsed.base;
  type->name = op_type_binary_name(&parsed, &builder->arena);
  type->unboxed = type->kind == 'L' ? primitive_unboxed(type->name) : 0;
  type->context = builder->class;
  return type->name.data != NULL;
}

/* Makes the component type of an array type; its name is a slice of the array's. */
static struct jvm_type make_component_type(const struct jvm_type *array)
{
  struct jvm_type type = {.kind = array->name.data[1], .context = array->context};
  type.name = text_slice(array->name, 1, array->name.len);
  if (type.kind == 'L')
    type.name = text_slice(type.name, 1, type.name.len - 1);
  type.unboxed = type.kind == 'L' ? primitive_unboxed(type.name) : 0;
  if (type.kind == '[')
    type.kind = 'L';
  return type;
}

static bool read_descriptor(struct builder *builder, struct text descriptor, struct jvm_method *method)
{
  struct jvm_type params[PARAMETERS_MAX] = {0};
  descriptor = text_slice(descriptor, 1, descriptor.len);
  while (descriptor.len > 0 && descriptor.data[0] != ')') {
    if (method->param_count == PARAMETERS_MAX ||
        !read_type(builder, &descriptor, &params[method->param_count]))
      return false;
    method->param_count++;
  }
  method->params = arena_calloc(&builder->arena, method->param_count, sizeof *method->params);
  if (method->params == NULL || descriptor.len == 0)
    return false;
  memcpy(method->params, params, method->param_count * sizeof *params);
  descriptor = text_slice(descriptor, 1, descriptor.len);
  if (descriptor.len > 0 && descriptor.data[0] == 'V')
    method->result = (struct jvm_type){.kind = 'V', .name = TEXT("void")};
  else if (!read_type(builder, &descriptor, &method->result))
    return false;

  struct jvm_type *last = method->param_count == 0 ? NULL : &method->params[method->param_count - 1];
  if ((method->modifiers & OP_ACC_VARARGS) == 0 || last == NULL || last->name.data[0] != '[')
    method->modifiers &= ~(unsigned)OP_ACC_VARARGS;
  else
    method->element = make_component_type(last);
  return true;
}

static bool read_method(struct builder *builder, jmethodID id)
{
  jvmtiEnv *jvmti = builder->thread->jvmti;
  char *name = NULL;
  char *descriptor = NULL;
  jint modifiers = 0;
  bool read = false;
  if ((*jvmti)->GetMethodName(jvmti, id, &name, &descriptor, NULL) != JVMTI_ERROR_NONE ||
      (*jvmti)->GetMethodModifiers(jvmti, id, &modifiers) != JVMTI_ERROR_NONE)
    goto out;
  read = true;
  bool is_bridge = (modifiers & ACC_BRIDGE) != 0;
  bool is_synthetic = (modifiers & ACC_SYNTHETIC) != 0;
  bool is_static = (modifiers & OP_ACC_STATIC) != 0;
  /* Callers may use Kotlin's `name$default`, which is a static synthetic method, but no other synthetic
   * methods. */
  bool is_hidden = is_bridge || (is_synthetic && !is_static);
  if (strcmp(name, "<clinit>") == 0 || (is_bridge && is_static) ||
      ((is_bridge || is_synthetic) && (modifiers & OP_ACC_PRIVATE) != 0))
    goto out;

  struct member_table *table = builder->table;
  struct jvm_method *method =
      &table->methods[is_hidden ? builder->room - 1 - table->hidden_count : table->method_count];
  *method = (struct jvm_method){.id = id, .modifiers = (unsigned)modifiers, .owner = builder->class};
  method->raw_name = copy_string(&builder->arena, name);
  method->raw_descriptor = copy_string(&builder->arena, descriptor);
  method->name = jvm_text_of_modified(builder->thread, name, &builder->arena);
  struct text text = jvm_text_of_modified(builder->thread, descriptor, &builder->arena);
  read = method->raw_name != NULL && method->raw_descriptor != NULL && method->name.data != NULL &&
         text.data != NULL && read_descriptor(builder, text, method);
  builder->table->method_count += read && !is_hidden;
  builder->table->hidden_count += read && is_hidden;
out:
  (*jvmti)->Deallocate(jvmti, (unsigned char *)name);
  (*jvmti)->Deallocate(jvmti, (unsigned char *)descriptor);
  return read;
}

static bool read_methods(struct builder *builder)
{
  jvmtiEnv *jvmti = builder->thread->jvmti;
  jint count = 0;
  jmethodID *ids = NULL;
  jvmtiError error = (*jvmti)->GetClassMethods(jvmti, builder->class->ref, &count, &ids);
  if (error != JVMTI_ERROR_NONE)
    return error == JVMTI_ERROR_CLASS_NOT_PREPARED; /* an array class */
  builder->room = (size_t)count;
  builder->table->methods = arena_calloc(&builder->arena, builder->room, sizeof *builder->table->methods);
  bool read = builder->table->methods != NULL;
  for (jint i = 0; read && i < count; i++)
    read = read_method(builder, ids[i]);
  if (read)
    builder->table->hidden = builder->table->methods + builder->room - builder->table->hidden_count;
  (*jvmti)->Deallocate(jvmti, (unsigned char *)ids);
  return read;
}

static bool read_field(struct builder *builder, jfieldID id)
{
  jvmtiEnv *jvmti = builder->thread->jvmti;
  jclass class = builder->class->ref;
  char *name = NULL;
  char *descriptor = NULL;
  jint modifiers = 0;
  bool read = false;
  if ((*jvmti)->GetFieldName(jvmti, class, id, &name, &descriptor, NULL) != JVMTI_ERROR_NONE ||
      (*jvmti)->GetFieldModifiers(jvmti, class, id, &modifiers) != JVMTI_ERROR_NONE)
    goto out;
  read = true;
  if ((modifiers & ACC_SYNTHETIC) != 0)
    goto out;

  struct jvm_field *field = &builder->table->fields[builder->table->field_count];
  *field = (struct jvm_field){.id = id, .modifiers = (unsigned)modifiers, .owner = builder->class};
  field->raw_name = copy_string(&builder->arena, name);
  field->raw_descriptor = copy_string(&builder->arena, descriptor);
  field->name = jvm_text_of_modified(builder->thread, name, &builder->arena);
  struct text text = jvm_text_of_modified(builder->thread, descriptor, &builder->arena);
  read = field->raw_name != NULL && field->raw_descriptor != NULL && field->name.data != NULL &&
         text.data != NULL && read_type(builder, &text, &field->type);
  builder->table->field_count += read;
out:
  (*jvmti)->Deallocate(jvmti, (unsigned char *)name);
  (*jvmti)->Deallocate(jvmti, (unsigned char *)descriptor);
  return read;
}

static bool read_fields(struct builder *builder)
{
  jvmtiEnv *jvmti = builder->thread->jvmti;
  jint count = 0;
  jfieldID *ids = NULL;
  jvmtiError error = (*jvmti)->GetClassFields(jvmti, builder->class->ref, &count, &ids);
  if (error != JVMTI_ERROR_NONE)
    return error == JVMTI_ERROR_CLASS_NOT_PREPARED;
  builder->table->fields = arena_calloc(&builder->arena, (size_t)count, sizeof *builder->table->fields);
  bool read = builder->table->fields != NULL;
  for (jint i = 0; read && i < count; i++)
    read = read_field(builder, ids[i]);
  (*jvmti)->Deallocate(jvmti, (unsigned char *)ids);
  return read;
}

static bool read_ancestors(struct builder *builder)
{
  JNIEnv *env = builder->thread->env;
  jvmtiEnv *jvmti = builder->thread->jvmti;
  struct member_table *table = builder->table;
  jclass super = builder->class->is_interface ? NULL : (*env)->GetSuperclass(env, builder->class->ref);
  if (super != NULL) {
    table->super = jvm_class_of(builder->thread, super);
    (*env)->DeleteLocalRef(env, super);
    if (table->super == NULL)
      return false;
  }
  jint count = 0;
  jclass *interfaces = NULL;
  jvmtiError error = (*jvmti)->GetImplementedInterfaces(jvmti, builder->class->ref, &count, &interfaces);
  if (error != JVMTI_ERROR_NONE)
    return error == JVMTI_ERROR_CLASS_NOT_PREPARED;
  table->interfaces = arena_calloc(&builder->arena, (size_t)count, sizeof(struct jvm_class *));
  bool read = table->interfaces != NULL;
  for (jint i = 0; i < count; i++) {
    struct jvm_class *interface = read ? jvm_class_of(builder->thread, interfaces[i]) : NULL;
    (*env)->DeleteLocalRef(env, interfaces[i]);
    read = interface != NULL;
    if (read)
      table->interfaces[table->interface_count++] = interface;
  }
  (*jvmti)->Deallocate(jvmti, (unsigned char *)interfaces);
  return read;
}

const struct member_table *member_table_of(struct jvm_thread *thread, struct jvm_class *class)
{
  struct member_table *table = atomic_load_explicit(&class->members, memory_order_acquire);
  if (table != NULL)
    return table;
  if (!link_class(thread, class))
    return NULL;
  struct builder builder = {.thread = thread, .class = class};
  arena_init(&builder.arena);
  builder.table = arena_calloc(&builder.arena, 1, sizeof *builder.table);
  if (builder.table != NULL && read_methods(&builder) && read_fields(&builder) && read_ancestors(&builder)) {
    builder.table->memory = builder.arena;
    /* Another thread may have made an equal table first. That table is then used. */
    if (atomic_compare_exchange_strong(&class->members, &table, builder.table))
      return builder.table;
  }
  arena_fini(&builder.arena);
  return table;
}

void member_table_free(struct member_table *table)
{
  if (table == NULL)
    return;
  struct arena memory = table->memory; /* the table itself is in this arena */
  arena_fini(&memory);
}

struct jvm_class *jvm_type_class(struct jvm_thread *thread, struct jvm_type *type)
{
  struct jvm_class *class = atomic_load_explicit(&type->class, memory_order_acquire);
  if (class != NULL || type->kind != 'L' || type->context == NULL)
    return class;
  jobject loader = NULL;
  if ((*thread->jvmti)->GetClassLoader(thread->jvmti, type->context->ref, &loader) != JVMTI_ERROR_NONE)
    return NULL;
  class = jvm_class_load(thread, type->name, loader);
  (void)throwable_take(thread, NULL);
  if (loader != NULL)
    (*thread->env)->DeleteLocalRef(thread->env, loader);
  if (class != NULL)
    atomic_store_explicit(&type->class, class, memory_order_release);
  return class;
}

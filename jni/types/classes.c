#include "jni/types/classes.h"

#include "base/primitives.h"
#include "jni/members.h"
#include "jni/runtime/strings.h"
#include "jni/runtime/throwables.h"
#include "jni/types/member_table.h"

#include <pthread.h>
#include <stdlib.h>

enum { ID_CHUNK = 1024, ID_CHUNKS = 16384, FIRST_BUCKETS = 1024 };

struct jvm_classes {
  pthread_mutex_t lock; /* never held while Java code runs */
  struct jvm_class **buckets;
  size_t bucket_count; /* a power of two */
  size_t count;
  uint32_t last_id;
  jobject platform_loader; /* global */
  /* The entries by id, in chunks. Chunks are added under the lock, and read without it. */
  _Atomic(struct jvm_class **) by_id[ID_CHUNKS];
};

static pthread_mutex_t first_use = PTHREAD_MUTEX_INITIALIZER;

static jobject find_platform_loader(struct jvm_thread *thread)
{
  JNIEnv *env = thread->env;
  const struct jvm_known *known = &thread->jvm->known;
  jobject local =
      (*env)->CallStaticObjectMethod(env, known->class_class_loader, known->static_class_loader_get_platform);
  if (throwable_take(thread, NULL) || local == NULL)
    return NULL;
  jobject global = (*env)->NewGlobalRef(env, local);
  (*env)->DeleteLocalRef(env, local);
  return global;
}

static struct jvm_classes *make_table(struct jvm_thread *thread)
{
  struct jvm_classes *table = calloc(1, sizeof *table);
  if (table == NULL)
    return NULL;
  table->buckets = calloc(FIRST_BUCKETS, sizeof(struct jvm_class *));
  if (table->buckets == NULL) {
    free(table);
    return NULL;
  }
  table->bucket_count = FIRST_BUCKETS;
  pthread_mutex_init(&table->lock, NULL);
  table->platform_loader = find_platform_loader(thread);
  return table;
}

static struct text known_class_name(struct jvm_thread *thread, jobject object)
{
  const struct jvm_class *class = jvm_class_of_object(thread, object);
  return class == NULL ? TEXT_ABSENT : class->name;
}

static struct jvm_classes *find_table(struct jvm_thread *thread)
{
  struct jvm_classes *table = __atomic_load_n(&thread->jvm->classes, __ATOMIC_ACQUIRE);
  if (table != NULL)
    return table;
  struct jvm_classes *made = make_table(thread);
  pthread_mutex_lock(&first_use);
  table = thread->jvm->classes;
  if (table == NULL && made != NULL) {
    thread->jvm->known_class_name = known_class_name;
    __atomic_store_n(&thread->jvm->classes, table = made, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&first_use);
  if (made != NULL && made != table) {
    if (made->platform_loader != NULL)
      (*thread->env)->DeleteGlobalRef(thread->env, made->platform_loader);
    pthread_mutex_destroy(&made->lock);
    free(made->buckets);
    free(made);
  }
  return table;
}

/* Returns the name of an array's element class, or the keyword of its primitive; for other classes the name
 * itself. */
static struct text read_element_name(struct text name)
{
  size_t at = 0;
  while (at < name.len && name.data[at] == '[')
    at++;
  if (at == 0)
    return name;
  if (name.data[at] == 'L')
    return text_slice(name, at + 1, name.len - 1);
  return primitive_keyword(name.data[at]);
}

/* LOADER_ADDED: classes of the boot loader that -Xbootclasspath/a or an agent has added; they are in no
 * module. */
enum loader_kind { LOADER_OTHER, LOADER_APPLICATION, LOADER_ADDED, LOADER_JDK };

/* True if the class is in a named module. JVMTI finds the module by the package. No Java code runs, because
 * it could fail when the stack is short. */
static bool has_named_module(struct jvm_thread *thread, jobject loader, struct text class_name)
{
  struct arena arena;
  arena_init(&arena);
  size_t dot = text_find_last(class_name, '.');
  char *package = arena_alloc(&arena, class_name.len + 1);
  jobject module = NULL;
  if (package != NULL) {
    size_t length = dot == SIZE_MAX ? 0 : dot;
    for (size_t i = 0; i < length; i++)
      package[i] = (char)(class_name.data[i] == '.' ? '/' : class_name.data[i]);
    package[length] = '\0';
    if ((*thread->jvmti)->GetNamedModule(thread->jvmti, loader, package, &module) != JVMTI_ERROR_NONE)
      module = NULL;
  }
  (*thread->env)->DeleteLocalRef(thread->env, module);
  arena_fini(&arena);
  return module != NULL;
}

/* element_name: as read_element_name returns it. */
static enum loader_kind find_loader_kind(struct jvm_thread *thread, const struct jvm_classes *table,
                                         jclass class, struct text element_name)
{
  JNIEnv *env = thread->env;
  jobject loader = NULL;
  enum loader_kind kind = LOADER_OTHER;
  if ((*thread->jvmti)->GetClassLoader(thread->jvmti, class, &loader) != JVMTI_ERROR_NONE)
    return LOADER_OTHER;
  if (loader == NULL || (*env)->IsSameObject(env, loader, table->platform_loader))
    kind = primitive_is_keyword(element_name) || has_named_module(thread, loader, element_name)
               ? LOADER_JDK
               : LOADER_ADDED;
  else if ((*env)->IsSameObject(env, loader, thread->jvm->class_loader))
    kind = LOADER_APPLICATION;
  (*env)->DeleteLocalRef(env, loader);
  return kind;
}

static bool is_direct_subclass(struct jvm_thread *thread, jclass class, struct text ancestor)
{
  JNIEnv *env = thread->env;
  jclass super = (*env)->GetSuperclass(env, class);
  if (super == NULL)
    return false;
  struct jvm_class *entry = jvm_class_of(thread, super);
  (*env)->DeleteLocalRef(env, super);
  return entry != NULL && text_equal(entry->name, ancestor);
}

static struct text copy_name(struct jvm_thread *thread, jclass class)
{
  struct arena arena;
  arena_init(&arena);
  struct text name = jvm_class_name(thread, class, &arena);
  struct text copy = TEXT_ABSENT;
  char *bytes = name.data == NULL ? NULL : malloc(name.len + 1);
  if (bytes != NULL) {
    memcpy(bytes, name.data, name.len);
    bytes[name.len] = '\0';
    copy = (struct text){bytes, name.len};
  }
  arena_fini(&arena);
  return copy;
}

static void describe_class(struct jvm_thread *thread, struct jvm_class *entry, jclass class)
{
  struct text name = entry->name;
  entry->element_name = read_element_name(name);
  bool is_array = name.data[0] == '[';
  entry->component = is_array ? name.data[1] : 0;
  entry->unboxed = primitive_unboxed(name);
  entry->is_hidden = !is_array && memchr(name.data, '/', name.len) != NULL;
  const struct value_class *row = value_class_find(name);
  entry->row = value_class_find_maker(name);
  entry->maker = is_array ? MAKER_ARRAY : entry->row == NULL ? MAKER_OTHER : entry->row->maker;
  jint modifiers = 0;
  if ((*thread->jvmti)->GetClassModifiers(thread->jvmti, class, &modifiers) == JVMTI_ERROR_NONE)
    entry->modifiers = (unsigned)modifiers;
  entry->is_interface = (entry->modifiers & 0x0200) != 0; /* ACC_INTERFACE */
  if (is_array || entry->is_interface)
    return;
  entry->is_proxy = is_direct_subclass(thread, class, TEXT("java.lang.reflect.Proxy"));
  entry->is_record = is_direct_subclass(thread, class, TEXT("java.lang.Record"));
  entry->is_enum = (*thread->env)->IsAssignableFrom(thread->env, class, thread->jvm->known.class_enum) &&
                   !text_equal(name, TEXT("java.lang.Enum"));
  entry->text = entry->is_enum ? CLASS_TEXT_NAME : row == NULL ? CLASS_TEXT_NONE : row->text;
}

/* The element class of an array with any number of dimensions. A local reference; NULL: it failed. */
static jclass find_element_class(struct jvm_thread *thread, const struct jvm_class *array, jclass class)
{
  JNIEnv *env = thread->env;
  jclass element = (*env)->NewLocalRef(env, class);
  for (size_t i = 0; element != NULL && array->name.data[i] == '['; i++) {
    jclass component =
        (*env)->CallObjectMethod(env, element, thread->jvm->known.method_class_get_component_type);
    (*env)->DeleteLocalRef(env, element);
    element = throwable_take(thread, NULL) ? NULL : component;
  }
  return element;
}

/* Sets entry->is_of_jdk. A proxy is not the JDK's, because its handler is the application's. False:
 * unknown. */
static bool find_is_of_jdk(struct jvm_thread *thread, struct jvm_class *entry, jclass class,
                           enum loader_kind loader)
{
  entry->is_of_jdk = loader == LOADER_JDK;
  if (!entry->is_of_jdk)
    return true;
  if (entry->component == 0) {
    entry->is_of_jdk = !entry->is_proxy;
    return true;
  }
  jclass element = find_element_class(thread, entry, class);
  const struct jvm_class *known = element == NULL ? NULL : jvm_class_of(thread, element);
  (*thread->env)->DeleteLocalRef(thread->env, element);
  entry->is_of_jdk = known != NULL && known->is_of_jdk;
  return known != NULL;
}

static void free_entry(JNIEnv *env, struct jvm_class *entry)
{
  if (entry == NULL)
    return;
  if (entry->ref != NULL && entry->permanent)
    (*env)->DeleteGlobalRef(env, entry->ref);
  else if (entry->ref != NULL)
    (*env)->DeleteWeakGlobalRef(env, entry->ref);
  free((char *)entry->name.data);
  free(entry);
}

static struct jvm_class *make_entry(struct jvm_thread *thread, struct jvm_classes *table, jclass class,
                                    jint hash)
{
  JNIEnv *env = thread->env;
  struct jvm_class *entry = calloc(1, sizeof *entry);
  if (entry == NULL)
    return NULL;
  entry->hash = hash;
  entry->name = copy_name(thread, class);
  if (entry->name.data == NULL)
    goto out;
  describe_class(thread, entry, class);
  enum loader_kind loader = find_loader_kind(thread, table, class, entry->element_name);
  /* True for a class that is never unloaded. */
  entry->permanent = !entry->is_hidden && loader != LOADER_OTHER;
  if (!find_is_of_jdk(thread, entry, class, loader))
    goto out;
  entry->ref = entry->permanent ? (*env)->NewGlobalRef(env, class) : (*env)->NewWeakGlobalRef(env, class);
  (void)throwable_take(thread, NULL);
  if (entry->ref != NULL)
    return entry;
out:
  free_entry(env, entry);
  return NULL;
}

static struct jvm_class *find_locked(JNIEnv *env, struct jvm_classes *table, jclass class, jint hash)
{
  struct jvm_class *entry = table->buckets[(size_t)(uint32_t)hash & (table->bucket_count - 1)];
  while (entry != NULL && (entry->hash != hash || !(*env)->IsSameObject(env, entry->ref, class)))
    entry = entry->next;
  return entry;
}

/* Removes the entries of unloaded classes. No look-up can find these entries any more. */
static void drop_unloaded_locked(JNIEnv *env, struct jvm_classes *table)
{
  for (size_t i = 0; i < table->bucket_count; i++)
    for (struct jvm_class **at = &table->buckets[i]; *at != NULL;) {
      struct jvm_class *entry = *at;
      if (entry->permanent || !(*env)->IsSameObject(env, entry->ref, NULL)) {
        at = &entry->next;
        continue;
      }
      *at = entry->next;
      table->count--;
      (*env)->DeleteWeakGlobalRef(env, entry->ref);
      entry->ref = NULL;
      member_table_free(atomic_exchange(&entry->members, NULL));
    }
}

static void grow_locked(struct jvm_classes *table)
{
  size_t count = table->bucket_count * 2;
  if (count == 0)
    return;
  struct jvm_class **buckets = calloc(count, sizeof(struct jvm_class *));
  if (buckets == NULL)
    return;
  for (size_t i = 0; i < table->bucket_count; i++)
    for (struct jvm_class *entry = table->buckets[i], *next; entry != NULL; entry = next) {
      next = entry->next;
      struct jvm_class **bucket = &buckets[(size_t)(uint32_t)entry->hash & (count - 1)];
      entry->next = *bucket;
      *bucket = entry;
    }
  free(table->buckets);
  table->buckets = buckets;
  table->bucket_count = count;
}

static void make_room_locked(JNIEnv *env, struct jvm_classes *table)
{
  if (table->count < table->bucket_count)
    return;
  drop_unloaded_locked(env, table);
  if (table->count > table->bucket_count / 2)
    grow_locked(table);
}

static bool insert_locked(JNIEnv *env, struct jvm_classes *table, struct jvm_class *entry)
{
  uint32_t id = table->last_id + 1;
  if (id / ID_CHUNK >= ID_CHUNKS)
    return false;
  struct jvm_class **chunk = atomic_load_explicit(&table->by_id[id / ID_CHUNK], memory_order_relaxed);
  if (chunk == NULL) {
    chunk = calloc(ID_CHUNK, sizeof(struct jvm_class *));
    if (chunk == NULL)
      return false;
  }
  entry->id = id;
  __atomic_store_n(&chunk[id % ID_CHUNK], entry, __ATOMIC_RELEASE);
  atomic_store_explicit(&table->by_id[id / ID_CHUNK], chunk, memory_order_release);
  table->last_id = id;
  make_room_locked(env, table);
  table->count++;
  struct jvm_class **bucket = &table->buckets[(size_t)(uint32_t)entry->hash & (table->bucket_count - 1)];
  entry->next = *bucket;
  *bucket = entry;
  return true;
}

static struct jvm_class *find_or_make(struct jvm_thread *thread, jclass class)
{
  JNIEnv *env = thread->env;
  struct jvm_classes *table = find_table(thread);
  jint hash = 0;
  if (table == NULL || (*thread->jvmti)->GetObjectHashCode(thread->jvmti, class, &hash) != JVMTI_ERROR_NONE)
    return NULL;
  pthread_mutex_lock(&table->lock);
  struct jvm_class *entry = find_locked(env, table, class, hash);
  pthread_mutex_unlock(&table->lock);
  if (entry != NULL)
    return entry;

  struct jvm_class *made = make_entry(thread, table, class, hash);
  if (made == NULL)
    return NULL;
  pthread_mutex_lock(&table->lock);
  entry = find_locked(env, table, class, hash);
  if (entry == NULL && insert_locked(env, table, made)) {
    entry = made;
    made = NULL;
  }
  pthread_mutex_unlock(&table->lock);
  free_entry(env, made);
  return entry;
}

struct jvm_class *jvm_class_of(struct jvm_thread *thread, jclass class)
{
  struct jvm_class *last = thread->last_class;
  if (last != NULL && (*thread->env)->IsSameObject(thread->env, last->ref, class))
    return last;
  struct jvm_class *entry = find_or_make(thread, class);
  if (entry != NULL &&
      entry->permanent) /* only such an entry is remembered: another thread may remove any other entry */
    thread->last_class = entry;
  return entry;
}

struct jvm_class *jvm_class_of_object(struct jvm_thread *thread, jobject object)
{
  JNIEnv *env = thread->env;
  struct jvm_class *last = thread->last_class;
  /* All objects of a final class have exactly this class, unless it is an array class. */
  if (last != NULL && (last->modifiers & OP_ACC_FINAL) != 0 && last->component == 0 &&
      (*env)->IsInstanceOf(env, object, last->ref))
    return last; /* this saves two of three JNI calls for each String of a list */
  jclass class = (*env)->GetObjectClass(env, object);
  struct jvm_class *entry = jvm_class_of(thread, class);
  (*env)->DeleteLocalRef(env, class);
  return entry;
}

struct jvm_class *jvm_class_by_id(struct jvm_thread *thread, uint32_t id)
{
  struct jvm_classes *table = find_table(thread);
  if (table == NULL || id / ID_CHUNK >= ID_CHUNKS)
    return NULL;
  struct jvm_class **chunk = atomic_load_explicit(&table->by_id[id / ID_CHUNK], memory_order_acquire);
  return chunk == NULL ? NULL : __atomic_load_n(&chunk[id % ID_CHUNK], __ATOMIC_ACQUIRE);
}

struct jvm_class *jvm_class_component(struct jvm_thread *thread, struct jvm_class *array)
{
  struct jvm_class *component = atomic_load_explicit(&array->component_class, memory_order_acquire);
  if (component != NULL)
    return component;
  JNIEnv *env = thread->env;
  jclass class =
      (*env)->CallObjectMethod(env, array->ref, thread->jvm->known.method_class_get_component_type);
  if (throwable_take(thread, NULL) || class == NULL)
    return NULL;
  component = jvm_class_of(thread, class);
  (*env)->DeleteLocalRef(env, class);
  atomic_store_explicit(&array->component_class, component, memory_order_release);
  return component;
}

struct jvm_class *jvm_class_load_held(struct jvm_thread *thread, struct text name, jobject loader,
                                      jclass *held)
{
  JNIEnv *env = thread->env;
  const struct jvm_known *known = &thread->jvm->known;
  *held = NULL;
  jstring string = jvm_string_new(thread, name);
  if (string == NULL)
    return NULL;
  jclass class = (*env)->CallStaticObjectMethod(env, known->class_class, known->static_class_for_name, string,
                                                JNI_FALSE, loader);
  (*env)->DeleteLocalRef(env, string);
  if ((*env)->ExceptionCheck(env) || class == NULL)
    return NULL;
  struct jvm_class *entry = jvm_class_of(thread, class);
  if (entry == NULL)
    (*env)->DeleteLocalRef(env, class);
  else
    *held = class;
  return entry;
}

struct jvm_class *jvm_class_load(struct jvm_thread *thread, struct text name, jobject loader)
{
  jclass held = NULL;
  struct jvm_class *entry = jvm_class_load_held(thread, name, loader, &held);
  (*thread->env)->DeleteLocalRef(thread->env, held);
  return entry;
}

bool jvm_class_is_assignable(struct jvm_thread *thread, const struct jvm_class *sub,
                             const struct jvm_class *super)
{
  return sub == super || (*thread->env)->IsAssignableFrom(thread->env, sub->ref, super->ref);
}

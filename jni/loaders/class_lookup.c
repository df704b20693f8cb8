/*
 * From a name to a class: asking one loader, the order of loaders, and a thread's cache of classes.
 *
 * A loader that is capable of parallel loading keeps a lock for every name that was ever requested, even if
 * the class does not exist (ClassLoader.getClassLoadingLock), and the application's and the platform loader
 * live as long as the JVM. For this reason these two loaders are asked only if they are likely to have the
 * class: it is loaded already, or they would find a class file. Other loaders may generate classes in any
 * way, and are always asked.
 */
#include "jni/loaders/class_lookup.h"

#include "jni/loading.h"
#include "jni/runtime/strings.h"
#include "jni/runtime/throwables.h"

#include <stdlib.h>

enum {
  SLOTS = 256,
  NAME_KEPT_MAX = 256,
  OWNERS_MAX = 8 /* levels of nested classes that are searched */
};

/* A thread's cache: one slot for each hash. */
struct found_classes {
  struct found_class {
    uint64_t hash;
    struct jvm_class *class; /* NULL: the slot is empty */
    jweak ref;               /* NULL: the class is permanent */
    struct class_basis basis;
    size_t length;
    char name[NAME_KEPT_MAX];
  } slots[SLOTS];
};

/* ---- one loader ---- */

/* The element class of an array, borrowed from the name; the name itself if the class is not an array; data
 * NULL: a primitive. */
static struct text find_element_name(struct text name)
{
  size_t at = 0;
  while (at < name.len && name.data[at] == '[')
    at++;
  if (at == 0)
    return name;
  return at < name.len && name.data[at] == 'L' ? text_slice(name, at + 1, name.len - 1) : TEXT_ABSENT;
}

/* True for the JDK's own two loaders, which only read class files of modules and of the class path. A JVM may
 * have another application loader (java.system.class.loader). */
static bool reads_files_alone(struct jvm_thread *thread, jobject loader)
{
  if (loader == NULL)
    return false;
  const struct jvm_class *class = jvm_class_of_object(thread, loader);
  return class != NULL && text_starts_with(class->name, TEXT("jdk.internal.loader.ClassLoaders$"));
}

static bool has_loaded(struct jvm_thread *thread, jobject loader, struct text name)
{
  JNIEnv *env = thread->env;
  jstring string = jvm_string_new(thread, name);
  jclass class = string == NULL
                     ? NULL
                     : (*env)->CallObjectMethod(
                           env, loader, thread->jvm->known.method_class_loader_find_loaded_class, string);
  (void)throwable_take(thread, NULL);
  bool has = class != NULL;
  (*env)->DeleteLocalRef(env, class);
  (*env)->DeleteLocalRef(env, string);
  return has;
}

static bool is_in_module(struct jvm_thread *thread, struct text name)
{
  JNIEnv *env = thread->env;
  size_t dot = text_find_last(name, '.');
  if (dot == SIZE_MAX)
    return false;
  jstring package = jvm_string_new(thread, text_slice(name, 0, dot));
  bool is_in = package != NULL && (*env)->CallStaticBooleanMethod(env, thread->jvm->packages_class,
                                                                  thread->jvm->packages_has, package);
  (*env)->DeleteLocalRef(env, package);
  return !throwable_take(thread, NULL) && is_in;
}

/* "a.B" to "a/B.class", as a local reference. NULL: memory is short; an exception may be pending. */
static jstring make_file_path(struct jvm_thread *thread, struct text name)
{
  static const struct text suffix = TEXT(".class");
  char *path = malloc(name.len + suffix.len);
  if (path == NULL)
    return NULL;
  for (size_t i = 0; i < name.len; i++)
    path[i] = name.data[i] == '.' ? '/' : name.data[i];
  memcpy(path + name.len, suffix.data, suffix.len);
  jstring string = jvm_string_new(thread, (struct text){path, name.len + suffix.len});
  free(path);
  return string;
}

/* Searches the class path by findResource, because getResource keeps the names of packages that no module
 * has. If the search throws, the caller asks the loader, because the loader may report the reason. */
static bool has_file(struct jvm_thread *thread, jobject loader, struct text name)
{
  JNIEnv *env = thread->env;
  const struct jvm_known *known = &thread->jvm->known;
  bool in_module = is_in_module(thread, name);
  jstring path = make_file_path(thread, name);
  jobject url = NULL;
  if (path != NULL && in_module)
    url = (*env)->CallObjectMethod(env, loader, known->method_class_loader_get_resource, path);
  else if (path != NULL)
    url = (*env)->CallObjectMethod(env, loader, known->method_class_loader_find_resource, NULL, path);
  bool has = throwable_take(thread, NULL) || path == NULL || url != NULL;
  (*env)->DeleteLocalRef(env, path);
  (*env)->DeleteLocalRef(env, url);
  return has;
}

/* True if the boot loader finds the class, because an option or an agent has appended it to the boot loader's
 * search. Asking the boot loader costs no memory, because it keeps no names. Also true if the search throws
 * anything except ClassNotFoundException: the caller then asks its own loader, which reports the
 * exception. */
static bool is_boot_class(struct jvm_thread *thread, struct text name)
{
  JNIEnv *env = thread->env;
  jclass held = NULL;
  bool is_loaded = jvm_class_load_held(thread, name, NULL, &held) != NULL;
  (*env)->DeleteLocalRef(env, held);
  jthrowable thrown = throwable_catch(env);
  bool is_missing =
      thrown != NULL && (*env)->IsInstanceOf(env, thrown, thread->jvm->known.class_class_not_found_exception);
  (*env)->DeleteLocalRef(env, thrown);
  return is_loaded || !is_missing;
}

struct jvm_class *loader_load_class(struct jvm_thread *thread, struct text name, jobject loader, jclass *held)
{
  JNIEnv *env = thread->env;
  struct text element = find_element_name(name);
  *held = NULL;
  if (element.data == NULL || !reads_files_alone(thread, loader) || has_loaded(thread, loader, element) ||
      has_file(thread, loader, element) || is_boot_class(thread, element))
    return jvm_class_load_held(thread, name, loader, held);
  (*env)->ThrowNew(env, thread->jvm->known.class_class_not_found_exception, "there is no such class file");
  return NULL;
}

bool class_basis_holds(struct jvm_thread *thread, const struct class_basis *basis)
{
  switch (basis->kind) {
  case CLASS_OF_MAIN:
    return main_loader_number(thread) == basis->loader;
  case CLASS_ALONE:
    return loaded_name_changes(basis->hash) == basis->changes;
  case CLASS_FOR_GOOD:
    break;
  }
  return true;
}

void class_finding_end(struct jvm_thread *thread, struct class_finding *finding)
{
  (*thread->env)->DeleteLocalRef(thread->env, finding->held);
  finding->held = NULL;
}

/* ---- the thread's cache ---- */

static void destroy_found(struct jvm_thread *thread)
{
  struct found_classes *found = thread->found_classes;
  for (size_t i = 0; i < SLOTS; i++)
    if (found->slots[i].ref != NULL)
      (*thread->env)->DeleteWeakGlobalRef(thread->env, found->slots[i].ref);
  free(found);
  thread->found_classes = NULL;
}

static struct found_class *find_slot(struct jvm_thread *thread, uint64_t hash)
{
  return &thread->found_classes->slots[(hash ^ hash >> 32) % SLOTS];
}

static bool recall_class(struct jvm_thread *thread, struct text name, struct class_finding *finding)
{
  if (thread->found_classes == NULL || name.len > NAME_KEPT_MAX)
    return false;
  uint64_t hash = text_hash(name);
  const struct found_class *slot = find_slot(thread, hash);
  if (slot->class == NULL || slot->hash != hash || !text_equal((struct text){slot->name, slot->length}, name))
    return false;
  if (slot->ref != NULL)
    finding->held = (*thread->env)->NewLocalRef(thread->env, slot->ref);
  if (slot->ref != NULL && finding->held == NULL)
    return false;
  if (!class_basis_holds(thread, &slot->basis)) {
    class_finding_end(thread, finding);
    return false;
  }
  finding->class = slot->class;
  finding->basis = slot->basis;
  return true;
}

static void keep_class(struct jvm_thread *thread, struct text name, const struct class_finding *finding)
{
  if (name.len > NAME_KEPT_MAX)
    return;
  if (thread->found_classes == NULL) {
    thread->found_classes_destroy = destroy_found;
    if ((thread->found_classes = calloc(1, sizeof *thread->found_classes)) == NULL)
      return;
  }
  JNIEnv *env = thread->env;
  uint64_t hash = text_hash(name);
  struct found_class *slot = find_slot(thread, hash);
  bool is_held = !finding->class->permanent;
  jweak ref = is_held ? (*env)->NewWeakGlobalRef(env, finding->held) : NULL;
  if (is_held && (throwable_take(thread, NULL) || ref == NULL))
    return;
  if (slot->ref != NULL)
    (*env)->DeleteWeakGlobalRef(env, slot->ref);
  slot->hash = hash;
  slot->class = finding->class;
  slot->ref = ref;
  slot->basis = finding->basis;
  slot->length = name.len;
  memcpy(slot->name, name.data, name.len);
}

/* ---- the search ---- */

/* Asks a loader. False: it does not have the class, and the search continues; no exception is pending. */
static bool ask_loader(struct jvm_thread *thread, struct text name, jobject loader,
                       struct class_finding *finding)
{
  JNIEnv *env = thread->env;
  finding->class = loader_load_class(thread, name, loader, &finding->held);
  if (finding->class != NULL)
    return true;
  jthrowable thrown = throwable_catch(env);
  if (thrown == NULL)
    return true;
  if ((*env)->IsInstanceOf(env, thrown, thread->jvm->known.class_class_not_found_exception)) {
    (*env)->DeleteLocalRef(env, thrown);
    return false;
  }
  (*env)->Throw(env, thrown);
  (*env)->DeleteLocalRef(env, thrown);
  return true;
}

static bool ask_main_loader(struct jvm_thread *thread, struct text name, struct class_finding *finding)
{
  uint32_t number = main_loader_number(thread);
  jobject loader = number == 0 ? NULL : loader_take(thread, number);
  if (loader == NULL)
    return false;
  finding->basis = (struct class_basis){.kind = CLASS_OF_MAIN, .loader = number};
  bool ends = ask_loader(thread, name, loader, finding);
  (*thread->env)->DeleteLocalRef(thread->env, loader);
  return ends;
}

/* The loaders that have the class or, if no loader has it, the innermost enclosing class. */
static void list_loaders(struct jvm_thread *thread, struct text name, struct loader_list *found)
{
  loaders_of_name(thread, name, found);
  for (unsigned i = 0; found->count == 0 && i < OWNERS_MAX; i++) {
    size_t dollar = text_find_last(name, '$');
    if (dollar == SIZE_MAX || dollar == 0)
      return;
    name = text_slice(name, 0, dollar);
    loaders_of_name(thread, name, found);
  }
}

static bool ask_loaded(struct jvm_thread *thread, struct text name, struct class_finding *finding)
{
  struct text element = find_element_name(name);
  if (element.data == NULL)
    return false;
  uint32_t hash = loaded_name_hash(element);
  /* Read before the search, so that a class that is loaded during the search is not missed. */
  finding->basis =
      (struct class_basis){.kind = CLASS_ALONE, .hash = hash, .changes = loaded_name_changes(hash)};
  list_loaders(thread, element, &finding->several);
  if (finding->several.count > 1)
    return true;
  jobject loader = finding->several.count == 0 ? NULL : loader_take(thread, finding->several.numbers[0]);
  finding->several.count = 0;
  if (loader == NULL)
    return false;
  bool ends = ask_loader(thread, name, loader, finding);
  (*thread->env)->DeleteLocalRef(thread->env, loader);
  return ends;
}

/* The steps after the application's loader has thrown. */
static void search_further(struct jvm_thread *thread, struct text name, struct class_finding *finding)
{
  JNIEnv *env = thread->env;
  jthrowable thrown = throwable_catch(env);
  bool is_missing =
      thrown != NULL && (*env)->IsInstanceOf(env, thrown, thread->jvm->known.class_class_not_found_exception);
  bool has_ended =
      is_missing && (ask_main_loader(thread, name, finding) || ask_loaded(thread, name, finding));
  if (thrown != NULL && !has_ended)
    (*env)->Throw(env, thrown);
  (*env)->DeleteLocalRef(env, thrown);
  if (finding->class != NULL &&
      finding->class->permanent) /* a permanent class needs no other basis, whichever loader was asked */
    finding->basis = (struct class_basis){.kind = CLASS_FOR_GOOD};
}

/* A loader that has returned a permanent class always returns it, so no loader is asked twice. */
void class_find(struct jvm_thread *thread, struct text name, bool searches_further,
                struct class_finding *finding)
{
  *finding = (struct class_finding){.basis = {.kind = CLASS_FOR_GOOD}};
  if (searches_further && recall_class(thread, name, finding))
    return;
  finding->class = loader_load_class(thread, name, thread->jvm->class_loader, &finding->held);
  bool is_beyond = finding->class == NULL && searches_further;
  if (is_beyond)
    search_further(thread, name, finding);
  if (finding->class == NULL)
    return;
  if (is_beyond || (searches_further && finding->class->permanent))
    keep_class(thread, name, finding);
  if (finding->class->permanent)
    class_finding_end(thread, finding);
}

/* ---- whether a class can be named (jni/loading.h) ---- */

bool jvm_main_loader_finds(struct jvm_thread *thread, struct text class_name)
{
  uint32_t number = main_loader_number(thread);
  jobject loader = number == 0 ? NULL : loader_take(thread, number);
  if (loader == NULL)
    return false;
  jstring path = make_file_path(thread, class_name);
  (void)throwable_take(thread, NULL);
  bool is_found = false;
  if (path != NULL) {
    jobject url = (*thread->env)
                      ->CallObjectMethod(thread->env, loader,
                                         thread->jvm->known.method_class_loader_get_resource, path);
    if (throwable_take(thread, NULL))
      url = NULL;
    is_found = url != NULL;
    (*thread->env)->DeleteLocalRef(thread->env, url);
  }
  (*thread->env)->DeleteLocalRef(thread->env, path);
  (*thread->env)->DeleteLocalRef(thread->env, loader);
  return is_found;
}

bool jvm_class_is_loaded_once(struct jvm_thread *thread, struct text class_name)
{
  struct loader_list found = {.count = 0};
  loaders_of_name(thread, class_name, &found);
  return found.count == 1;
}

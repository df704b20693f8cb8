#include "jni/loaders/class_lookup.h"

#include "jni/loaders/load_class.h"
#include "jni/loaders/main_loader.h"
#include "jni/runtime/throwables.h"

#include <stdlib.h>

enum {
  SLOTS = 256,
  NAME_KEPT_MAX = 256,
  OWNERS_MAX = 8 /* levels of nested classes that are looked through */
};

/* What a thread has found: one slot a hash. */
struct found_classes {
  struct found_class {
    uint64_t hash;
    struct jvm_class *class; /* NULL: the slot is free */
    jweak ref;               /* NULL: the class is permanent */
    struct class_basis basis;
    size_t length;
    char name[NAME_KEPT_MAX];
  } slots[SLOTS];
};

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

/* ---- what was found before ---- */

static void destroy_found(struct jvm_thread *thread)
{
  struct found_classes *found = thread->found_classes;
  for (size_t i = 0; i < SLOTS; i++)
    if (found->slots[i].ref != NULL)
      (*thread->env)->DeleteWeakGlobalRef(thread->env, found->slots[i].ref);
  free(found);
  thread->found_classes = NULL;
}

static struct found_class *slot_of(struct jvm_thread *thread, uint64_t hash)
{
  return &thread->found_classes->slots[(hash ^ hash >> 32) % SLOTS];
}

static bool recall(struct jvm_thread *thread, struct text name, struct class_finding *finding)
{
  if (thread->found_classes == NULL || name.len > NAME_KEPT_MAX)
    return false;
  uint64_t hash = text_hash(name);
  const struct found_class *slot = slot_of(thread, hash);
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

static bool make_slots(struct jvm_thread *thread)
{
  if (thread->found_classes == NULL) {
    thread->found_classes = calloc(1, sizeof *thread->found_classes);
    thread->found_classes_destroy = destroy_found;
  }
  return thread->found_classes != NULL;
}

static void remember(struct jvm_thread *thread, struct text name, const struct class_finding *finding)
{
  if (name.len > NAME_KEPT_MAX || !make_slots(thread))
    return;
  JNIEnv *env = thread->env;
  uint64_t hash = text_hash(name);
  struct found_class *slot = slot_of(thread, hash);
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

/* Asks a loader. False where the search goes on: it has no such class, and nothing is pending. */
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

/* The loaders that have the class or, where none has, the innermost class around it. */
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
  struct text element = loader_element_name(name);
  if (element.data == NULL)
    return false;
  uint32_t hash = loaded_name_hash(element);
  /* Before the search, so that a class that is loaded meanwhile is not missed. */
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

/* A permanent class needs no other basis, whoever was asked for it. */
static void settle_basis(struct class_finding *finding)
{
  if (finding->class->permanent)
    finding->basis = (struct class_basis){.kind = CLASS_FOR_GOOD};
}

/* After the application's loader has thrown. */
static void look_beyond(struct jvm_thread *thread, struct text name, struct class_finding *finding)
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
  if (finding->class != NULL)
    settle_basis(finding);
}

/* A loader that has given a permanent class gives it always, so that neither is asked twice. */
void class_find(struct jvm_thread *thread, struct text name, bool looks_beyond, struct class_finding *finding)
{
  *finding = (struct class_finding){.basis = {.kind = CLASS_FOR_GOOD}};
  if (looks_beyond && recall(thread, name, finding))
    return;
  finding->class = loader_load_class(thread, name, thread->jvm->class_loader, &finding->held);
  bool is_beyond = finding->class == NULL && looks_beyond;
  if (is_beyond)
    look_beyond(thread, name, finding);
  if (finding->class == NULL)
    return;
  if (is_beyond || (looks_beyond && finding->class->permanent))
    remember(thread, name, finding);
  if (finding->class->permanent)
    class_finding_end(thread, finding);
}

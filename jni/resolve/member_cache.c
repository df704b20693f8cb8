#include "jni/resolve/member_cache.h"

#include <stdlib.h>

enum { BUCKETS = 2048, MEMBERS_MAX = 4096 };

static void free_members(JNIEnv *env, struct resolved_member *member)
{
  for (struct resolved_member *next; member != NULL; member = next) {
    next = member->next;
    if (member->named_ref != NULL)
      (*env)->DeleteWeakGlobalRef(env, member->named_ref);
    if (member->elements != NULL)
      arena_fini(&member->elements->arena);
    free(member->elements);
    free(member);
  }
}

static void free_buckets(JNIEnv *env, struct resolved_member **buckets)
{
  if (buckets == NULL)
    return;
  for (size_t i = 0; i < BUCKETS; i++)
    free_members(env, buckets[i]);
  free(buckets);
}

static void destroy_cache(struct jvm_thread *thread)
{
  struct member_cache *cache = thread->member_cache;
  thread->member_cache = NULL;
  free_buckets(thread->env, cache->buckets);
  free_buckets(thread->env, cache->retired);
  free_members(thread->env, cache->outdated);
  free(cache);
}

struct member_cache *member_cache_of(struct jvm_thread *thread)
{
  if (thread->member_cache != NULL)
    return thread->member_cache;
  struct member_cache *cache = calloc(1, sizeof *cache);
  if (cache == NULL)
    return NULL;
  cache->serial = 1;
  cache->thread = thread;
  cache->buckets = calloc(BUCKETS, sizeof(struct resolved_member *));
  if (cache->buckets == NULL) {
    free(cache);
    return NULL;
  }
  thread->member_cache = cache;
  thread->member_cache_destroy = destroy_cache;
  return cache;
}

/* With a declared type the value's own form does not matter, unless it is a ref. */
static uint32_t describe_form(const struct op_value *value)
{
  enum { ARITY_SHIFT = 16, ARITY_MAX = 254, IS_SEVERAL = 1 << 24 };
  enum {
    IS_DECLARED = 1 << 8,
    IS_REF = 1 << 9,
    IS_MEMBERS_TYPE = 1 << 10,
    LETTER_SHIFT = 16,
    SUFFIX_SHIFT = 24
  };
  uint32_t members_type = value->is_members_type ? IS_MEMBERS_TYPE : 0;
  if (value->kind == OP_REF)
    return value->type.data != NULL ? IS_REF | IS_DECLARED | members_type : IS_REF;
  /* A callback that names its interfaces is never cached. */
  if (value->kind == OP_CALLBACK && value->callback->interface_count > 0)
    return (uint32_t)value->kind | IS_SEVERAL;
  if (value->type.data != NULL)
    return IS_DECLARED | members_type;
  if (value->kind == OP_CALLBACK) {
    int arity = value->callback->arity < ARITY_MAX ? value->callback->arity : ARITY_MAX;
    return (uint32_t)value->kind | (uint32_t)(arity + 1) << ARITY_SHIFT;
  }
  char letter = value->kind == OP_PACKED ? value->packed.element : op_scalar_infer(value);
  bool is_number = op_value_is_number(value);
  uint32_t suffix = is_number ? (unsigned char)value->suffix : 0;
  return (uint32_t)value->kind | (uint32_t)(unsigned char)letter << LETTER_SHIFT | suffix << SUFFIX_SHIFT;
}

static uint64_t mix_hash(uint64_t hash, uint64_t word)
{
  hash = (hash ^ word) * 0xBF58476D1CE4E5B9u;
  return hash ^ hash >> 32;
}

static bool is_range_put(const struct operation *operation)
{
  return operation->piece != NULL && operation->kind == OP_PUT && operation->piece->kind == OP_PIECE_RANGE;
}

static uint64_t hash_key(const struct call_frame *frame, const struct operation *operation)
{
  uint64_t hash = mix_hash(text_hash(operation->type), text_hash(operation->member));
  hash = mix_hash(hash, ((uint64_t)frame->receiver_class << 8 | (uint64_t)operation->implies_type << 7 |
                         (uint64_t)is_range_put(operation) << 6 | (uint64_t)operation->kind) ^
                            (uint64_t)frame->loader_number << 40);
  for (size_t i = 0; i < operation->arg_count; i++) {
    const struct op_value *value = &operation->args[i];
    hash = mix_hash(hash, (uint64_t)frame->classes[i] << 32 | describe_form(value));
    if (value->type.data != NULL)
      hash = mix_hash(hash, text_hash(value->type));
  }
  return hash;
}

/* Compares the parts of the key that depend on values. */
static bool fits_values(const struct member_key *key, const struct call_frame *frame,
                        const struct operation *operation)
{
  if (key->receiver_class != frame->receiver_class || key->loader != frame->loader_number)
    return false;
  for (size_t i = 0; i < key->argument_count; i++) {
    const struct member_key_argument *argument = &key->arguments[i];
    if (argument->form != describe_form(&operation->args[i]) || argument->class_id != frame->classes[i])
      return false;
  }
  return true;
}

/* Compares with the request itself, because making a key first would cost as much as the rest of the
 * look-up. */
static bool is_key_of(const struct member_key *key, const struct call_frame *frame,
                      const struct operation *operation)
{
  if (key->hash != frame->hash || key->kind != operation->kind ||
      key->implies_type != operation->implies_type || key->is_range_put != is_range_put(operation) ||
      key->argument_count != operation->arg_count || !text_equal(key->type, operation->type) ||
      !text_equal(key->member, operation->member) || !fits_values(key, frame, operation))
    return false;
  for (size_t i = 0; i < key->argument_count; i++) {
    if (!text_equal(key->arguments[i].type, operation->args[i].type))
      return false;
  }
  return true;
}

struct resolved_member *member_cache_find(struct member_cache *cache, const struct operation *operation,
                                          struct call_frame *frame)
{
  frame->hash = hash_key(frame, operation);
  struct resolved_member *member = cache->buckets[frame->hash % BUCKETS];
  while (member != NULL && !(is_key_of(&member->key, frame, operation) &&
                             (member->stamp == 0 || member->stamp == frame->stamp)))
    member = member->next;
  return member;
}

bool member_cache_is_current(struct jvm_thread *thread, const struct resolved_member *member,
                             struct call_frame *frame)
{
  if (member->named_ref == NULL)
    return true;
  frame->has_references = true;
  return (*thread->env)->NewLocalRef(thread->env, member->named_ref) != NULL &&
         class_basis_holds(thread, &member->basis);
}

void member_cache_take_out(struct member_cache *cache, struct resolved_member *member)
{
  struct resolved_member **at = &cache->buckets[member->key.hash % BUCKETS];
  while (*at != member)
    at = &(*at)->next;
  *at = member->next;
  member->next = cache->outdated;
  cache->outdated = member;
}

/* Empties the cache. The removed members are freed when the cache is emptied the next time, because the
 * request being served may use them. */
static bool retire_members(struct member_cache *cache)
{
  struct resolved_member **buckets = calloc(BUCKETS, sizeof(struct resolved_member *));
  if (buckets == NULL)
    return false;
  free_buckets(cache->thread->env, cache->retired);
  while (cache->outdated != NULL) {
    struct resolved_member *member = cache->outdated;
    cache->outdated = member->next;
    member->next = cache->buckets[0];
    cache->buckets[0] = member;
  }
  cache->retired = cache->buckets;
  cache->buckets = buckets;
  cache->count = 0;
  cache->serial++;
  return true;
}

/* The total length of the key's texts. */
static size_t count_text_bytes(const struct operation *operation)
{
  size_t length = operation->type.len + operation->member.len;
  for (size_t i = 0; i < operation->arg_count; i++)
    length += operation->args[i].type.len;
  return length;
}

static struct text copy_text(char **at, struct text t)
{
  if (t.data == NULL)
    return TEXT_ABSENT;
  struct text copy = {*at, t.len};
  memcpy(*at, t.data, t.len);
  *at += t.len;
  return copy;
}

/* Writes the key's arguments and then its texts into memory. */
static void fill_key(const struct call_frame *frame, const struct operation *operation, void *memory,
                     struct member_key *key)
{
  struct member_key_argument *arguments = memory;
  char *at = (char *)(arguments + operation->arg_count);
  *key = (struct member_key){.hash = frame->hash,
                             .receiver_class = frame->receiver_class,
                             .loader = frame->loader_number,
                             .kind = operation->kind,
                             .implies_type = operation->implies_type,
                             .is_range_put = is_range_put(operation),
                             .argument_count = operation->arg_count,
                             .arguments = arguments};
  key->type = copy_text(&at, operation->type);
  key->member = copy_text(&at, operation->member);
  for (size_t i = 0; i < operation->arg_count; i++) {
    arguments[i].form = describe_form(&operation->args[i]);
    arguments[i].class_id = frame->classes[i];
    arguments[i].type = copy_text(&at, operation->args[i].type);
  }
}

/* True for static calls and accesses without objects as parameters or result. */
static bool leaves_no_references(const struct resolved_member *member)
{
  char result = 'V';
  switch (member->action) {
  case MEMBER_CALL_STATIC:
    result = member->method->result.kind;
    break;
  case MEMBER_GET_STATIC:
    result = member->field->type.kind;
    break;
  case MEMBER_PUT_STATIC:
    break;
  default:
    return false;
  }
  bool has_objects = result == 'L' || member->variable;
  for (size_t i = 0; !has_objects && i < member->plan_count; i++)
    has_objects = member->plans[i].to->kind == 'L';
  return !has_objects;
}

struct resolved_member *member_cache_keep(struct member_cache *cache, const struct operation *operation,
                                          const struct call_frame *frame, struct resolved_member *member)
{
  size_t plans_size = member->plan_count * sizeof *member->plans;
  size_t holders_size = member->holder_count * sizeof *member->holders;
  if (operation->arg_count > KEY_ARGUMENTS_MAX || count_text_bytes(operation) > KEY_TEXTS_MAX ||
      (cache->count >= MEMBERS_MAX && !retire_members(cache)))
    return member;
  struct resolved_member *kept =
      malloc(sizeof *kept + plans_size + holders_size +
             operation->arg_count * sizeof(struct member_key_argument) + count_text_bytes(operation));
  if (kept == NULL)
    return member;
  *kept = *member;
  kept->plans = (struct argument_plan *)(void *)(kept + 1);
  if (plans_size > 0)
    memcpy(kept->plans, member->plans, plans_size);
  if (kept->action == MEMBER_PUT_PIECE || kept->action == MEMBER_PUT_RANGE)
    kept->plans[0].to = &kept->element;
  kept->holders = (struct judged_holder *)(void *)((char *)kept->plans + plans_size);
  if (holders_size > 0)
    memcpy(kept->holders, member->holders, holders_size);
  fill_key(frame, operation, (char *)kept->holders + holders_size, &kept->key);
  kept->name = kept->key.member;
  kept->leaves_no_references = leaves_no_references(kept);
  kept->is_kept = true;
  struct resolved_member **bucket = &cache->buckets[kept->key.hash % BUCKETS];
  kept->next = *bucket;
  *bucket = kept;
  cache->count++;
  return kept;
}

void resolved_member_fill_target(struct resolved_member *member, struct call_frame *frame,
                                 struct jvm_target *target)
{
  *target = (struct jvm_target){
      .resolved = member,
      .frame = frame,
      .facts = {.kind = member->kind,
                .modifiers = member->modifiers,
                .named_class = member->named->element_name,
                .declaring_class = member->declaring->element_name,
                .runtime_class = member->runtime == NULL ? TEXT_ABSENT : member->runtime->element_name,
                .holders = member->holders,
                .holder_count = member->holder_count,
                .member = member->name,
                .verdicts = member->verdicts},
  };
}

/* ---- elements ---- */

static const struct element_types *find_elements(struct jvm_thread *thread,
                                                 const struct resolved_member *member, size_t index,
                                                 struct arena *arena)
{
  return member->field != NULL
             ? element_types_of_field(thread, member->field, member->runtime, arena)
             : element_types_of_parameter(thread, member->method, index, member->runtime, arena);
}

/* NULL: memory is short. */
static struct member_elements *make_elements(struct resolved_member *member)
{
  size_t count = member->field != NULL ? 1 : member->method->param_count;
  if (member->elements != NULL)
    return member->elements;
  struct member_elements *made = calloc(1, sizeof *made + count * sizeof made->of[0]);
  if (made == NULL)
    return NULL;
  arena_init_small(&made->arena);
  made->count = count;
  member->elements = made;
  return made;
}

const struct element_types *resolved_member_elements(struct jvm_thread *thread,
                                                     struct resolved_member *member, size_t index,
                                                     struct arena *arena)
{
  if (member->field == NULL && member->method == NULL)
    return NULL;
  struct member_elements *elements = member->is_kept ? make_elements(member) : NULL;
  if (elements == NULL)
    return find_elements(thread, member, index, arena);
  if (index < elements->count && !elements->of[index].is_known) {
    const struct element_types *found = find_elements(thread, member, index, arena);
    elements->of[index].types = found == NULL ? NULL : element_types_copy(found, &elements->arena);
    elements->of[index].is_known = true;
  }
  return index < elements->count ? elements->of[index].types : NULL;
}

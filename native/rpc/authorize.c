#include "rpc/authorize.h"

#include "base/log.h"
#include "base/primitives.h"
#include "op/type.h"
#include "op/value_classes.h"
#include "rpc/channel.h"

static const char *const operation_names[] = {
    [OP_NEW] = "new", [OP_CALL] = "call",       [OP_GET] = "get",
    [OP_PUT] = "put", [OP_CONTROL] = "control", [OP_META] = "meta",
};

/* The members that an operation may mean, judging by its names alone: whether a method is static shows
 * later. */
static const unsigned possible_members[] = {
    [OP_NEW] = 1u << POLICY_CONSTRUCTOR,
    [OP_CALL] = 1u << POLICY_METHOD | 1u << POLICY_STATIC_METHOD,
    [OP_GET] = 1u << POLICY_FIELD_GET,
    [OP_PUT] = 1u << POLICY_FIELD_SET,
};

/* Those that a description shows. */
enum {
  USED_MEMBERS = 1u << POLICY_METHOD | 1u << POLICY_STATIC_METHOD | 1u << POLICY_CONSTRUCTOR |
                 1u << POLICY_FIELD_GET | 1u << POLICY_FIELD_SET
};

/* Beside the kinds of operations; a kind of member below the first. */
enum {
  QUESTION_ARGUMENT = 0x100,
  QUESTION_TYPE = 0x200,
  QUESTION_OVERLOADS = 0x300,
  QUESTION_IMPLIED = 0x400
};

enum { NAME_LOGGED = 512 }; /* bytes of a name, so that a line's end is never lost */

static uint64_t hash_names(struct text class_name, struct text member, unsigned question)
{
  uint64_t hash = text_hash(class_name) * 31 + text_hash(member) + question * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 32;
}

static struct rpc_names_entry *slot_of(struct rpc_names *names, uint64_t hash)
{
  return &names->entries[hash % RPC_NAMES_KEPT];
}

static bool knows_names(const struct rpc_authorizer *authorizer, struct text class_name, struct text member,
                        unsigned question, uint64_t hash)
{
  const struct rpc_names_entry *entry = slot_of(authorizer->names, hash);
  return entry->used && entry->hash == hash && entry->question == question &&
         entry->generation == policy_generation(authorizer->policy) &&
         text_equal((struct text){entry->text, entry->class_length}, class_name) &&
         text_equal((struct text){entry->text + entry->class_length, entry->member_length}, member);
}

static void remember_names(const struct rpc_authorizer *authorizer, struct text class_name,
                           struct text member, unsigned question, uint64_t hash)
{
  if (class_name.len > RPC_NAMES_TEXT || member.len > RPC_NAMES_TEXT - class_name.len)
    return;
  struct rpc_names_entry *entry = slot_of(authorizer->names, hash);
  entry->hash = hash;
  entry->generation = policy_generation(authorizer->policy);
  entry->question = (uint16_t)question;
  entry->class_length = (uint16_t)class_name.len;
  entry->member_length = (uint16_t)member.len;
  entry->used = true;
  memcpy(entry->text, class_name.data, class_name.len);
  memcpy(entry->text + class_name.len, member.data, member.len);
}

/* Clients choose the names: in quotes and escaped, none of them looks like another field. by: the supertype that was
 * judged in place of the class; absent: none was. */
static void log_verdict_by(const struct rpc_authorizer *authorizer, const char *operation,
                           struct text class_name, struct text by, struct text member,
                           struct policy_verdict verdict)
{
  char session[RPC_SESSION_NAME_MAX];
  char shown_class[NAME_LOGGED];
  char shown_member[NAME_LOGGED];
  char shown_by[NAME_LOGGED];
  rpc_session_key_describe(authorizer->session, session);
  text_escape(class_name, "", "\"\\", shown_class, sizeof shown_class);
  text_escape(member, "", "\"\\", shown_member, sizeof shown_member);
  text_escape(by, "", "\"\\", shown_by, sizeof shown_by);
  log_info(
      "policy channel=%s session=%s operation=%s class=\"%s\" member=\"%s\" verdict=%s rule=\"%s\"%s%s%s",
      policy_channel_name(rpc_authorizer_channel(authorizer)), session[0] == '\0' ? "-" : session, operation,
      shown_class, shown_member, verdict.allow ? "ALLOW" : "DENY",
      policy_reason(authorizer->policy, verdict.reason), by.data == NULL ? "" : " supertype=\"", shown_by,
      by.data == NULL ? "" : "\"");
}

static void log_verdict(const struct rpc_authorizer *authorizer, const char *operation,
                        struct text class_name, struct text member, struct policy_verdict verdict)
{
  log_verdict_by(authorizer, operation, class_name, TEXT_ABSENT, member, verdict);
}

enum jp_status rpc_authorize_deny(const struct rpc_authorizer *authorizer, struct text class_name,
                                  struct text member, struct arena *arena, struct outcome *outcome)
{
  static const char denial[] = "RPC access denied: %.*s%s%.*s via %s";
  static const char denial_for_lack[] =
      "RPC access denied: %.*s%s%.*s via %s: this peer was started without a policy, so it denies "
      "everything; "
      "its operator allows the public members of classes with --rpc-allow, such as --rpc-allow '%.*s'";
  const char *dot = member.data == NULL ? "" : ".";
  const char *channel = policy_channel_name(rpc_authorizer_channel(authorizer));
  struct text shown_class = arena_shorten(arena, class_name, OUTCOME_NAME_SHOWN);
  struct text shown_member = arena_shorten(arena, member, OUTCOME_NAME_SHOWN);
  if (policy_lacks_rules_for(authorizer->policy, class_name))
    outcome_fail(outcome, arena, FAILURE_DENIED, NULL, denial_for_lack, TEXT_ARGS(shown_class), dot,
                 TEXT_ARGS(shown_member), channel, TEXT_ARGS(shown_class));
  else
    outcome_fail(outcome, arena, FAILURE_DENIED, NULL, denial, TEXT_ARGS(shown_class), dot,
                 TEXT_ARGS(shown_member), channel);
  return JP_DENIED;
}

enum policy_channel rpc_authorizer_channel(const struct rpc_authorizer *authorizer)
{
  return rpc_channels[authorizer->channel].policy;
}

bool rpc_authorizer_may_ask_object(const struct operation *operation)
{
  return operation->kind == OP_CALL && operation->loader == 0 &&
         (operation->has_instance || operation->receiver != NULL);
}

/* False where a rule or a preset denies the public methods of the name on this very class. */
static bool may_be_allowed_by_object(const struct rpc_authorizer *authorizer,
                                     const struct operation *operation, struct text class_name)
{
  const struct policy_query query = {.channel = rpc_authorizer_channel(authorizer),
                                     .category = POLICY_METHOD,
                                     .visibility = POLICY_PUBLIC,
                                     .class_name = class_name,
                                     .member_name = operation->member};
  return operation->kind == OP_CALL && policy_check_object(authorizer->policy, &query).allow;
}

/* The class that Class.getName() gave, or of an array its elements': not parsed, because a request could not write the
 * name of a hidden class. */
static struct op_type read_class_name(struct text name)
{
  struct op_type type = {.base = 'L', .name = name};
  while (text_starts_with(type.name, TEXT("["))) {
    type.name = text_slice(type.name, 1, type.name.len);
    type.dimensions++;
  }
  if (type.dimensions > 0 && text_starts_with(type.name, TEXT("L")) && text_ends_with(type.name, TEXT(";")))
    type.name = text_slice(type.name, 1, type.name.len - 1);
  else if (type.dimensions > 0 && type.name.len == 1)
    type.base = *type.name.data;
  return type;
}

enum jp_status rpc_authorize_names(const struct rpc_authorizer *authorizer, const struct operation *operation,
                                   bool *by_object, struct arena *arena, struct outcome *outcome)
{
  unsigned question = (operation->implies_type ? QUESTION_IMPLIED : 0) | (unsigned)operation->kind << 4 |
                      (unsigned)authorizer->channel;
  uint64_t hash = hash_names(operation->type, operation->member, question);
  if (knows_names(authorizer, operation->type, operation->member, question, hash))
    return JP_OK;
  struct op_type type;
  struct jp_error error;
  enum jp_status status = JP_OK;
  if (operation->implies_type)
    type = read_class_name(operation->type);
  else
    status = op_type_parse_target(operation->type, &type, &error);
  if (status != JP_OK) {
    outcome_fail(outcome, arena, FAILURE_INVALID_PARAMS, NULL, "%s", error.text);
    return status;
  }
  if (type.base == 'L') {
    struct policy_verdict verdict;
    enum policy_early early =
        policy_check_names(authorizer->policy, rpc_authorizer_channel(authorizer),
                           possible_members[operation->kind], type.name, operation->member, &verdict);
    if (early == POLICY_EARLY_DENY) {
      if (by_object != NULL && may_be_allowed_by_object(authorizer, operation, type.name)) {
        *by_object = true;
        return JP_OK;
      }
      if (verdict.log)
        log_verdict(authorizer, operation_names[operation->kind], type.name, operation->member, verdict);
      return rpc_authorize_deny(authorizer, type.name, operation->member, arena, outcome);
    }
  }
  remember_names(authorizer, operation->type, operation->member, question, hash);
  return JP_OK;
}

enum jp_status rpc_authorize_class(const struct rpc_authorizer *authorizer, const struct operation *operation,
                                   struct arena *arena, struct outcome *outcome)
{
  struct op_type type;
  struct jp_error error;
  struct policy_verdict verdict;
  enum jp_status status = op_type_parse_target(operation->type, &type, &error);
  if (status != JP_OK) {
    outcome_fail(outcome, arena, FAILURE_INVALID_PARAMS, NULL, "%s", error.text);
    return status;
  }
  if (type.base != 'L' || policy_check_class(authorizer->policy, rpc_authorizer_channel(authorizer),
                                             USED_MEMBERS, type.name, &verdict) == POLICY_EARLY_ASK)
    return JP_OK;
  if (verdict.log)
    log_verdict(authorizer, "describe", type.name, TEXT("*"), verdict);
  return rpc_authorize_deny(authorizer, type.name, TEXT_ABSENT, arena, outcome);
}

static enum policy_category category_of(enum op_kind operation, enum jvm_member_kind kind)
{
  switch (kind) {
  case JVM_METHOD:
    return POLICY_METHOD;
  case JVM_STATIC_METHOD:
    return POLICY_STATIC_METHOD;
  case JVM_CONSTRUCTOR:
    return POLICY_CONSTRUCTOR;
  case JVM_FIELD:
  case JVM_STATIC_FIELD:
    break;
  }
  return operation == OP_PUT ? POLICY_FIELD_SET : POLICY_FIELD_GET;
}

static enum policy_visibility visibility_of(unsigned modifiers)
{
  if ((modifiers & JVM_ACC_PUBLIC) != 0)
    return POLICY_PUBLIC;
  if ((modifiers & JVM_ACC_PROTECTED) != 0)
    return POLICY_PROTECTED;
  return (modifiers & JVM_ACC_PRIVATE) != 0 ? POLICY_PRIVATE : POLICY_PACKAGE_PRIVATE;
}

/* Arrays of primitives have no class that the policy could be asked about. */
static bool has_class(struct text class_name)
{
  return class_name.data != NULL && !primitive_is_keyword(class_name);
}

/* Asks about a class that only the object shows, not the request. */
static struct policy_verdict check_object(const struct rpc_authorizer *authorizer, struct policy_query query,
                                          struct text class_name, unsigned modifiers)
{
  if (!has_class(class_name))
    return (struct policy_verdict){.allow = true};
  query.class_name = class_name;
  query.visibility = visibility_of(modifiers);
  return policy_check_object(authorizer->policy, &query);
}

static struct policy_query query_of(const struct rpc_authorizer *authorizer, enum op_kind operation,
                                    const struct jvm_target *target)
{
  return (struct policy_query){.channel = rpc_authorizer_channel(authorizer),
                               .category = category_of(operation, target->kind),
                               .visibility = visibility_of(target->modifiers),
                               .class_name = target->named_class,
                               .member_name = target->member};
}

/* The class of the object, and those that declare the member again. */
static struct policy_verdict check_holders(const struct rpc_authorizer *authorizer, struct policy_query query,
                                           const struct jvm_target *target)
{
  struct policy_verdict other = {.allow = true};
  if (!text_equal(target->runtime_class, target->named_class))
    other = check_object(authorizer, query, target->runtime_class, target->modifiers);
  for (size_t i = 0; other.allow && i < target->holder_count; i++)
    other = check_object(authorizer, query, target->holders[i].class_name, target->holders[i].modifiers);
  return other;
}

/* The named class decides; the others can only deny. Of one whose objects are values, only a rule that names it denies. */
static struct policy_verdict evaluate_named(const struct rpc_authorizer *authorizer, enum op_kind operation,
                                            const struct jvm_target *target, bool is_value)
{
  struct policy_query query = query_of(authorizer, operation, target);
  struct policy_verdict verdict = {.allow = true};
  if (has_class(target->named_class))
    verdict =
        is_value ? policy_check_object(authorizer->policy, &query) : policy_check(authorizer->policy, &query);
  if (!verdict.allow)
    return verdict;
  struct policy_verdict other = {.allow = true};
  if (has_class(target->declaring_class) && !text_equal(target->declaring_class, target->named_class)) {
    query.class_name = target->declaring_class;
    other = policy_check_other(authorizer->policy, &query);
  }
  if (other.allow)
    other = check_holders(authorizer, query, target);
  return other.allow ? verdict : other;
}

/* ---- a supertype of the object in place of the named class ---- */

/* jvm_supertype_judge.spares; context is the authorizer */
static bool spares_class(const void *context, const struct jvm_target *on)
{
  const struct rpc_authorizer *authorizer = context;
  return check_object(authorizer, query_of(authorizer, OP_CALL, on), on->named_class, on->modifiers).allow;
}

/* jvm_supertype_judge.allows; context is the authorizer */
static bool allows_supertype(const void *context, const struct jvm_target *on)
{
  return evaluate_named(context, OP_CALL, on, false).allow;
}

/*
 * A method that only the default action, a rule for every class, or deny-jdk-internals denies by the named class. Naming
 * the supertype would run the same code. *by is the supertype, absent where the named class has decided.
 */
static struct policy_verdict evaluate_target(const struct rpc_authorizer *authorizer, enum op_kind operation,
                                             const struct jvm_target *target, bool is_value, struct text *by)
{
  struct policy_verdict verdict = evaluate_named(authorizer, operation, target, is_value);
  struct jvm_target found;
  *by = TEXT_ABSENT;
  if (verdict.allow || operation != OP_CALL || target->lineage == NULL)
    return verdict;
  struct policy_query query = query_of(authorizer, operation, target);
  const struct jvm_supertype_judge judge = {authorizer, spares_class, allows_supertype};
  if (!check_object(authorizer, query, target->declaring_class, target->modifiers).allow ||
      !check_holders(authorizer, query, target).allow || !jvm_target_find_supertype(target, &judge, &found))
    return verdict;
  *by = found.named_class;
  return evaluate_named(authorizer, operation, &found, false);
}

/* A kept verdict: the policy's generation above, three bits for reading and three for writing below, because
 * a field's record may serve both. */
enum { KEPT_KNOWN = 1, KEPT_ALLOW = 2, KEPT_LOG = 4, KEPT_BITS = 3, KEPT_SHIFT = 6 };

static unsigned shift_of(enum op_kind operation)
{
  return operation == OP_PUT ? KEPT_BITS : 0;
}

bool rpc_authorizer_has_allowed(const struct rpc_authorizer *authorizer, const struct operation *operation,
                                const uint64_t *verdicts)
{
  uint64_t kept = verdicts[authorizer->channel];
  unsigned bits = (unsigned)(kept >> shift_of(operation->kind));
  return kept >> KEPT_SHIFT == policy_generation(authorizer->policy) && (bits & KEPT_ALLOW) != 0 &&
         (bits & KEPT_LOG) == 0;
}

/* wants_log: something else of the operation is logged, so that it must be asked about again. */
static enum jp_status authorize_kept(const struct rpc_authorizer *authorizer, enum op_kind operation,
                                     const struct jvm_target *target, bool is_value, bool wants_log,
                                     struct arena *arena, struct outcome *outcome)
{
  uint64_t *kept = &target->verdicts[authorizer->channel];
  uint64_t generation = policy_generation(authorizer->policy);
  unsigned shift = shift_of(operation);
  if (*kept >> KEPT_SHIFT != generation)
    *kept = generation << KEPT_SHIFT;
  unsigned bits = (unsigned)(*kept >> shift);
  bool allow = (bits & KEPT_ALLOW) != 0;
  if ((bits & KEPT_KNOWN) == 0 || (bits & KEPT_LOG) != 0) {
    struct text by;
    struct policy_verdict verdict = evaluate_target(authorizer, operation, target, is_value, &by);
    allow = verdict.allow;
    bool log = verdict.log || wants_log;
    *kept |= (uint64_t)(KEPT_KNOWN | (allow ? KEPT_ALLOW : 0) | (log ? KEPT_LOG : 0)) << shift;
    if (verdict.log)
      log_verdict_by(authorizer, operation_names[operation], target->named_class, by, target->member,
                     verdict);
  }
  return allow ? JP_OK : rpc_authorize_deny(authorizer, target->named_class, target->member, arena, outcome);
}

/* After authorize_types, whose verdicts on the arguments themselves are kept with this one. */
static enum jp_status check_target(void *context, const struct operation *operation,
                                   const struct jvm_target *target, struct arena *arena,
                                   struct outcome *outcome)
{
  const struct rpc_authorizer *authorizer = context;
  return authorize_kept(authorizer, operation->kind, target, false, authorizer->types_are_logged, arena,
                        outcome);
}

enum jp_status rpc_authorize_collection(const struct rpc_authorizer *authorizer, struct arena *arena,
                                        struct outcome *outcome)
{
  const struct policy_query query = {.channel = rpc_authorizer_channel(authorizer),
                                     .category = POLICY_STATIC_METHOD,
                                     .visibility = POLICY_PUBLIC,
                                     .class_name = TEXT("java.lang.System"),
                                     .member_name = TEXT("gc")};
  struct policy_verdict verdict = policy_check(authorizer->policy, &query);
  if (verdict.log)
    log_verdict(authorizer, operation_names[OP_CALL], query.class_name, query.member_name, verdict);
  return verdict.allow ? JP_OK
                       : rpc_authorize_deny(authorizer, query.class_name, query.member_name, arena, outcome);
}

/* ---- what arguments name ---- */

/* Asks about a public member by its names alone. Sets *logged if it has written a line. */
static enum jp_status authorize_public(const struct rpc_authorizer *authorizer, enum policy_category category,
                                       struct text class_name, struct text name, bool is_value, bool *logged,
                                       struct arena *arena, struct outcome *denied)
{
  unsigned question = (is_value ? QUESTION_TYPE : QUESTION_ARGUMENT) | (unsigned)category << 4 |
                      (unsigned)authorizer->channel;
  uint64_t hash = hash_names(class_name, name, question);
  if (!has_class(class_name) || knows_names(authorizer, class_name, name, question, hash))
    return JP_OK;
  struct policy_query query = {.channel = rpc_authorizer_channel(authorizer),
                               .category = category,
                               .visibility = POLICY_PUBLIC,
                               .class_name = class_name,
                               .member_name = name};
  struct policy_verdict verdict =
      is_value ? policy_check_other(authorizer->policy, &query) : policy_check(authorizer->policy, &query);
  if (verdict.log) {
    enum op_kind operation = category == POLICY_CONSTRUCTOR     ? OP_NEW
                             : category == POLICY_STATIC_METHOD ? OP_CALL
                                                                : OP_GET;
    log_verdict(authorizer, operation_names[operation], class_name, name, verdict);
    *logged = true;
  } else if (verdict.allow) {
    remember_names(authorizer, class_name, name, question, hash);
  }
  return verdict.allow ? JP_OK : rpc_authorize_deny(authorizer, class_name, name, arena, denied);
}

static enum jp_status authorize_type(const struct rpc_authorizer *authorizer, struct text class_name,
                                     bool *logged, struct arena *arena, struct outcome *denied)
{
  return authorize_public(authorizer, POLICY_FIELD_GET, class_name, TEXT("class"),
                          value_class_needs_no_rule(class_name), logged, arena, denied);
}

/* A walk over arguments and what is in them. */
struct type_walk {
  struct rpc_authorizer *authorizer;
  struct arena *arena;
  struct outcome *outcome;
  struct text last; /* the elements of a list mostly declare one type */
};

/* A text that is not a type is reported by the code that reads it. */
static enum jp_status authorize_declared(struct type_walk *walk, const struct op_value *value)
{
  struct op_type type;
  if (value->kind == OP_CALLBACK) /* its interface is judged as one that the client implements */
    return JP_OK;
  if (value->type.data == NULL || value->is_told || text_equal(value->type, walk->last))
    return JP_OK;
  walk->last = value->type;
  if (op_type_parse_argument(value->type, &type, NULL) != JP_OK || type.base != 'L')
    return JP_OK;
  return authorize_type(walk->authorizer, type.name, &walk->authorizer->types_are_logged, walk->arena,
                        walk->outcome);
}

static enum jp_status authorize_value(struct type_walk *walk, const struct op_value *value)
{
  enum jp_status status = authorize_declared(walk, value);
  if (value->kind == OP_LIST) {
    for (size_t i = 0; status == JP_OK && i < value->list.count; i++)
      status = authorize_value(walk, &value->list.items[i]);
  } else if (value->kind == OP_MAP) {
    for (size_t i = 0; status == JP_OK && i < value->map.count; i++)
      status = authorize_value(walk, &value->map.entries[i].value);
  }
  return status;
}

/* The types that the instance, the arguments and what is in them declare, each as a FIELD_GET of CLASS.class. In one
 * walk. */
static enum jp_status authorize_types(struct rpc_authorizer *authorizer, const struct operation *operation,
                                      struct arena *arena, struct outcome *outcome)
{
  struct type_walk walk = {.authorizer = authorizer, .arena = arena, .outcome = outcome};
  enum jp_status status = operation->receiver == NULL ? JP_OK : authorize_value(&walk, operation->receiver);
  for (size_t i = 0; status == JP_OK && i < operation->arg_count; i++)
    status = authorize_value(&walk, &operation->args[i]);
  authorizer->types_are_allowed = status == JP_OK;
  return status;
}

enum jp_status rpc_authorize_value(struct rpc_authorizer *authorizer, const struct op_value *value,
                                   struct arena *arena, struct outcome *outcome)
{
  struct type_walk walk = {.authorizer = authorizer, .arena = arena, .outcome = outcome};
  enum jp_status status = authorize_value(&walk, value);
  authorizer->types_are_allowed = status == JP_OK;
  return status;
}

static enum jp_status check_argument(void *context, enum jvm_member_kind kind, struct text class_name,
                                     struct text member, struct arena *arena, struct outcome *denied)
{
  bool logged = false;
  return authorize_public(context, category_of(OP_GET, kind), class_name, member,
                          kind == JVM_CONSTRUCTOR && value_class_is_container(class_name), &logged, arena,
                          denied);
}

/* Asked where the member was found in the cache: its verdict does not cover the types of elements. */
static enum jp_status check_type(void *context, struct text class_name, struct arena *arena,
                                 struct outcome *denied)
{
  const struct rpc_authorizer *authorizer = context;
  bool logged = false;
  return authorizer->types_are_allowed ? JP_OK
                                       : authorize_type(authorizer, class_name, &logged, arena, denied);
}

static enum jp_status check_filling(void *context, const struct jvm_target *target, struct arena *arena,
                                    struct outcome *denied)
{
  return authorize_kept(context, OP_CALL, target, value_class_is_container(target->named_class), false, arena,
                        denied);
}

/* ---- callbacks ---- */

/* The class decides, before it is loaded, where all its methods would be denied. */
static enum jp_status check_interface(void *context, struct text name, struct arena *arena,
                                      struct outcome *denied)
{
  const struct rpc_authorizer *authorizer = context;
  struct policy_verdict verdict;
  if (policy_check_class(authorizer->policy, rpc_authorizer_channel(authorizer), 1u << POLICY_CALLBACK, name,
                         &verdict) == POLICY_EARLY_ASK)
    return JP_OK;
  if (verdict.log)
    log_verdict(authorizer, "callback", name, TEXT("*"), verdict);
  return rpc_authorize_deny(authorizer, name, TEXT_ABSENT, arena, denied);
}

static enum jp_status check_callback(void *context, const struct jvm_target *method, struct arena *arena,
                                     struct outcome *denied)
{
  const struct rpc_authorizer *authorizer = context;
  struct policy_query query = {.channel = rpc_authorizer_channel(authorizer),
                               .category = POLICY_CALLBACK,
                               .visibility = visibility_of(method->modifiers),
                               .class_name = method->named_class,
                               .member_name = method->member};
  struct policy_verdict verdict = policy_check(authorizer->policy, &query);
  if (verdict.allow && !text_equal(method->declaring_class, method->named_class)) {
    query.class_name = method->declaring_class;
    struct policy_verdict other = policy_check_other(authorizer->policy, &query);
    if (!other.allow)
      verdict = other;
  }
  if (verdict.log)
    log_verdict(authorizer, "callback", method->named_class, method->member, verdict);
  return verdict.allow ? JP_OK
                       : rpc_authorize_deny(authorizer, method->named_class, method->member, arena, denied);
}

bool rpc_authorizer_allows(const struct rpc_authorizer *authorizer, enum op_kind operation,
                           const struct jvm_target *member)
{
  struct text by;
  return evaluate_target(authorizer, operation, member, member->is_value, &by).allow;
}

static bool allow_overload(void *context, enum op_kind operation, const struct jvm_target *member)
{
  return rpc_authorizer_allows(context, operation, member);
}

bool rpc_authorizer_knows_overloads(const struct rpc_authorizer *authorizer, struct text class_name,
                                    struct text member)
{
  unsigned question = QUESTION_OVERLOADS | (unsigned)authorizer->channel;
  return knows_names(authorizer, class_name, member, question, hash_names(class_name, member, question));
}

void rpc_authorizer_note_overloads(const struct rpc_authorizer *authorizer, struct text class_name,
                                   struct text member)
{
  unsigned question = QUESTION_OVERLOADS | (unsigned)authorizer->channel;
  remember_names(authorizer, class_name, member, question, hash_names(class_name, member, question));
}

static bool has_allowed(void *context, const struct operation *operation, const uint64_t *verdicts)
{
  return rpc_authorizer_has_allowed(context, operation, verdicts);
}

static enum jp_status check_names(void *context, const struct operation *operation, bool *by_object,
                                  struct arena *arena, struct outcome *denied)
{
  bool *may_ask = rpc_authorizer_may_ask_object(operation) ? by_object : NULL;
  enum jp_status status = rpc_authorize_names(context, operation, may_ask, arena, denied);
  return status == JP_OK ? authorize_types(context, operation, arena, denied) : status;
}

struct jvm_guard rpc_authorizer_guard(struct rpc_authorizer *authorizer)
{
  return (struct jvm_guard){.context = authorizer,
                            .stamp =
                                policy_generation(authorizer->policy) << 3 | (uint64_t)authorizer->channel,
                            .has_allowed = has_allowed,
                            .check_names = check_names,
                            .check_target = check_target,
                            .check = check_argument,
                            .check_type = check_type,
                            .check_filling = check_filling,
                            .allows = allow_overload,
                            .check_interface = check_interface,
                            .check_callback = check_callback};
}

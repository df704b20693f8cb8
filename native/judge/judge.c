#include "judge/judge.h"

#include "base/log.h"
#include "base/primitives.h"
#include "judge/uses.h"
#include "op/type.h"
#include "op/value_classes.h"

#include <assert.h>

/* The channel has four bits in a question about names, and three bits in a stamp. */
_Static_assert(OP_CHANNELS <= 8, "a channel no longer fits beside a policy's generation");

_Static_assert(OP_CHANNELS == 3, "each channel needs its row below");

const enum policy_channel judge_policy_channels[OP_CHANNELS] = {[OP_CHANNEL_WEBSOCKET] = POLICY_WEBSOCKET,
                                                                [OP_CHANNEL_HTTP] = POLICY_HTTP,
                                                                [OP_CHANNEL_ZMQ] = POLICY_ZMQ};

static const char *const operation_names[] = {
    [OP_NEW] = "new", [OP_CALL] = "call",       [OP_GET] = "get",
    [OP_PUT] = "put", [OP_CONTROL] = "control", [OP_META] = "meta",
};

/* The kinds of members that the names of an operation may mean. Whether a method is static is not known
 * before the class is looked up. */
static const unsigned possible_members[] = {
    [OP_NEW] = 1u << POLICY_CONSTRUCTOR,
    [OP_CALL] = 1u << POLICY_METHOD | 1u << POLICY_STATIC_METHOD,
    [OP_GET] = 1u << POLICY_FIELD_GET,
    [OP_PUT] = 1u << POLICY_FIELD_SET,
};

/* The members that a description shows. */
enum {
  USED_MEMBERS = 1u << POLICY_METHOD | 1u << POLICY_STATIC_METHOD | 1u << POLICY_CONSTRUCTOR |
                 1u << POLICY_FIELD_GET | 1u << POLICY_FIELD_SET
};

/* Questions about names that are not the names of an operation. The bits below hold the kind of member and
 * the channel. */
enum {
  QUESTION_ARGUMENT = 0x100,
  QUESTION_TYPE = 0x200,
  QUESTION_OVERLOADS = 0x300,
  QUESTION_IMPLIED = 0x400
};

enum { NAME_LOGGED = 512 }; /* bytes of a name, so that the end of a log line is never cut off */

static uint64_t hash_names(struct text class_name, struct text member, unsigned question)
{
  uint64_t hash = text_hash(class_name) * 31 + text_hash(member) + question * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 32;
}

static struct judge_names_entry *slot_of(struct judge_names *names, uint64_t hash)
{
  return &names->entries[hash % JUDGE_NAMES_KEPT];
}

static bool knows_names(const struct judge *judge, struct text class_name, struct text member,
                        unsigned question, uint64_t hash)
{
  const struct judge_names_entry *entry = slot_of(judge->names, hash);
  return entry->used && entry->hash == hash && entry->question == question &&
         entry->generation == policy_generation(judge->policy) &&
         text_equal((struct text){entry->text, entry->class_length}, class_name) &&
         text_equal((struct text){entry->text + entry->class_length, entry->member_length}, member);
}

static void remember_names(const struct judge *judge, struct text class_name, struct text member,
                           unsigned question, uint64_t hash)
{
  if (class_name.len > JUDGE_NAMES_TEXT || member.len > JUDGE_NAMES_TEXT - class_name.len)
    return;
  struct judge_names_entry *entry = slot_of(judge->names, hash);
  entry->hash = hash;
  entry->generation = policy_generation(judge->policy);
  entry->question = (uint16_t)question;
  entry->class_length = (uint16_t)class_name.len;
  entry->member_length = (uint16_t)member.len;
  entry->used = true;
  memcpy(entry->text, class_name.data, class_name.len);
  memcpy(entry->text + class_name.len, member.data, member.len);
}

/* Clients choose the names. The names are quoted and escaped, so that no name can imitate another field. by:
 * the supertype that was judged instead of the class; absent: the class itself was judged. */
static void log_verdict_by(const struct judge *judge, const char *operation, struct text class_name,
                           struct text by, struct text member, struct policy_verdict verdict)
{
  char session[OP_SESSION_NAME_MAX];
  char shown_class[NAME_LOGGED];
  char shown_member[NAME_LOGGED];
  char shown_by[NAME_LOGGED];
  op_session_key_describe(judge->session, session);
  text_escape(class_name, "", "\"\\", shown_class, sizeof shown_class);
  text_escape(member, "", "\"\\", shown_member, sizeof shown_member);
  text_escape(by, "", "\"\\", shown_by, sizeof shown_by);
  log_info(
      "policy channel=%s session=%s operation=%s class=\"%s\" member=\"%s\" verdict=%s rule=\"%s\"%s%s%s",
      policy_channel_name(judge->policy_channel), session[0] == '\0' ? "-" : session, operation, shown_class,
      shown_member, verdict.allow ? "ALLOW" : "DENY", policy_reason(judge->policy, verdict.reason),
      by.data == NULL ? "" : " supertype=\"", shown_by, by.data == NULL ? "" : "\"");
}

static void log_verdict(const struct judge *judge, const char *operation, struct text class_name,
                        struct text member, struct policy_verdict verdict)
{
  log_verdict_by(judge, operation, class_name, TEXT_ABSENT, member, verdict);
}

enum jp_status judge_deny(const struct judge *judge, struct text class_name, struct text member,
                          struct arena *arena, struct outcome *denied)
{
  static const char denial[] = "RPC access denied: %.*s%s%.*s via %s";
  static const char denial_for_lack[] =
      "RPC access denied: %.*s%s%.*s via %s: this peer was started without a policy, so it denies "
      "everything; "
      "its operator allows the public members of classes with --rpc-allow, such as --rpc-allow '%.*s'";
  const char *dot = member.data == NULL ? "" : ".";
  const char *channel = policy_channel_name(judge->policy_channel);
  struct text shown_class = arena_shorten(arena, class_name, OUTCOME_NAME_SHOWN);
  struct text shown_member = arena_shorten(arena, member, OUTCOME_NAME_SHOWN);
  if (policy_lacks_rules_for(judge->policy, class_name))
    outcome_fail(denied, arena, FAILURE_DENIED, NULL, denial_for_lack, TEXT_ARGS(shown_class), dot,
                 TEXT_ARGS(shown_member), channel, TEXT_ARGS(shown_class));
  else
    outcome_fail(denied, arena, FAILURE_DENIED, NULL, denial, TEXT_ARGS(shown_class), dot,
                 TEXT_ARGS(shown_member), channel);
  return JP_DENIED;
}

enum jp_status judge_deny_changing(struct text class_name, struct text member, struct arena *arena,
                                   struct outcome *denied)
{
  struct text shown_class = arena_shorten(arena, class_name, OUTCOME_NAME_SHOWN);
  struct text shown_member = arena_shorten(arena, member, OUTCOME_NAME_SHOWN);
  outcome_fail(denied, arena, FAILURE_DENIED, NULL,
               "RPC access denied: the request asks for idempotent members only (options.idempotent), and no "
               "list names %.*s.%.*s; the peer's operator names it with --rpc-idempotent '%.*s.%.*s', or in "
               "the list `idempotent` of the policy file",
               TEXT_ARGS(shown_class), TEXT_ARGS(shown_member), TEXT_ARGS(shown_class),
               TEXT_ARGS(shown_member));
  return JP_DENIED;
}

static enum jp_status deny(const struct judge *judge, struct policy_verdict verdict, struct text class_name,
                           struct text member, struct arena *arena, struct outcome *denied)
{
  judge->names->denial = verdict;
  judge->names->has_denial = true;
  return judge_deny(judge, class_name, member, arena, denied);
}

static void note_use(const struct judge *judge, const struct policy_query *query,
                     struct policy_verdict verdict)
{
  if (uses_are_noted(judge->policy))
    uses_note(judge->policy, query, verdict);
}

struct judge_pending {
  struct judge_pending *next;
  struct policy_query query;
  struct policy_verdict verdict;
  unsigned question; /* of the names, which are remembered when the use is noted; 0: they are not */
  uint64_t hash;
  bool
      is_declared; /* an argument declares it, so that it is resolved with the member, whose kept verdict includes it */
};

/* Notes the use when the operation has resolved the name. If memory is short, it is noted at once. */
static void note_use_later(const struct judge *judge, const struct judge_pending *use, struct arena *arena)
{
  struct judge_pending *pending = arena_alloc(arena, sizeof *pending);
  if (pending == NULL) {
    uses_note(judge->policy, &use->query, use->verdict);
    return;
  }
  *pending = *use;
  pending->next = judge->names->pending;
  judge->names->pending = pending;
}

static void note_pending(const struct judge *judge, bool only_declared)
{
  struct judge_pending **link = &judge->names->pending;
  while (*link != NULL) {
    const struct judge_pending *use = *link;
    if (only_declared && !use->is_declared) {
      link = &(*link)->next;
      continue;
    }
    uses_note(judge->policy, &use->query, use->verdict);
    if (use->question != 0)
      remember_names(judge, use->query.class_name, use->query.member_name, use->question, use->hash);
    *link = use->next;
  }
}

void judge_note_uses(const struct judge *judge)
{
  note_pending(judge, false);
}

bool judge_may_ask_object(const struct operation *operation)
{
  return operation->kind == OP_CALL && operation->loader == 0 &&
         (operation->has_instance || operation->receiver != NULL);
}

/* False if a rule or a preset denies the public methods of the name on this very class. */
static bool may_be_allowed_by_object(const struct judge *judge, const struct operation *operation,
                                     struct text class_name)
{
  const struct policy_query query = {.channel = judge->policy_channel,
                                     .category = POLICY_METHOD,
                                     .visibility = POLICY_PUBLIC,
                                     .class_name = class_name,
                                     .member_name = operation->member};
  return operation->kind == OP_CALL && policy_check_object(judge->policy, &query).allow;
}

/* Reads a name from Class.getName(); for an array, `name` of the result is the name of the element class. The
 * name is not parsed like a name in a request, because no request can write the name of a hidden class. */
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

enum jp_status judge_names(const struct judge *judge, const struct operation *operation, bool *by_object,
                           struct arena *arena, struct outcome *denied)
{
  assert(operation->kind <= OP_PUT && possible_members[operation->kind] != 0);
  unsigned question = (operation->implies_type ? QUESTION_IMPLIED : 0) | (unsigned)operation->kind << 4 |
                      (unsigned)judge->channel;
  uint64_t hash = hash_names(operation->type, operation->member, question);
  if (knows_names(judge, operation->type, operation->member, question, hash))
    return JP_OK;
  struct op_type type;
  struct jp_error error;
  enum jp_status status = JP_OK;
  if (operation->implies_type)
    type = read_class_name(operation->type);
  else
    status = op_type_parse_target(operation->type, &type, &error);
  if (status != JP_OK) {
    outcome_fail(denied, arena, FAILURE_INVALID_PARAMS, NULL, "%s", error.text);
    return status;
  }
  if (type.base == 'L') {
    struct policy_verdict verdict;
    enum policy_early early =
        policy_check_names(judge->policy, judge->policy_channel, possible_members[operation->kind], type.name,
                           operation->member, &verdict);
    if (early == POLICY_EARLY_DENY) {
      if (by_object != NULL && may_be_allowed_by_object(judge, operation, type.name)) {
        *by_object = true;
        return JP_OK;
      }
      if (verdict.log)
        log_verdict(judge, operation_names[operation->kind], type.name, operation->member, verdict);
      return deny(judge, verdict, type.name, operation->member, arena, denied);
    }
  }
  remember_names(judge, operation->type, operation->member, question, hash);
  return JP_OK;
}

enum jp_status judge_class(const struct judge *judge, const struct operation *operation, struct arena *arena,
                           struct outcome *denied)
{
  struct op_type type;
  struct jp_error error;
  struct policy_verdict verdict;
  enum jp_status status = op_type_parse_target(operation->type, &type, &error);
  if (status != JP_OK) {
    outcome_fail(denied, arena, FAILURE_INVALID_PARAMS, NULL, "%s", error.text);
    return status;
  }
  if (type.base != 'L')
    return JP_OK;
  if (policy_check_class(judge->policy, judge->policy_channel, USED_MEMBERS, type.name, &verdict) ==
      POLICY_EARLY_ASK) {
    /* A rule that allows a class to be named also allows it to be described. */
    const struct policy_query named = {.channel = judge->policy_channel,
                                       .category = POLICY_FIELD_GET,
                                       .visibility = POLICY_PUBLIC,
                                       .class_name = type.name,
                                       .member_name = TEXT("class")};
    const struct judge_pending use = {.query = named, .verdict = verdict};
    if (uses_are_noted(judge->policy))
      note_use_later(judge, &use, arena);
    return JP_OK;
  }
  if (verdict.log)
    log_verdict(judge, "describe", type.name, TEXT("*"), verdict);
  return deny(judge, verdict, type.name, TEXT_ABSENT, arena, denied);
}

static enum policy_category category_of(enum op_kind operation, enum op_member_kind kind)
{
  switch (kind) {
  case OP_MEMBER_METHOD:
    return POLICY_METHOD;
  case OP_MEMBER_STATIC_METHOD:
    return POLICY_STATIC_METHOD;
  case OP_MEMBER_CONSTRUCTOR:
    return POLICY_CONSTRUCTOR;
  case OP_MEMBER_FIELD:
  case OP_MEMBER_STATIC_FIELD:
    break;
  }
  return operation == OP_PUT ? POLICY_FIELD_SET : POLICY_FIELD_GET;
}

static enum policy_visibility visibility_of(unsigned modifiers)
{
  if ((modifiers & OP_ACC_PUBLIC) != 0)
    return POLICY_PUBLIC;
  if ((modifiers & OP_ACC_PROTECTED) != 0)
    return POLICY_PROTECTED;
  return (modifiers & OP_ACC_PRIVATE) != 0 ? POLICY_PRIVATE : POLICY_PACKAGE_PRIVATE;
}

/* Arrays of primitives have no class for the policy. */
static bool has_class(struct text class_name)
{
  return class_name.data != NULL && !primitive_is_keyword(class_name);
}

/* Judges a class of the object that the request does not name. */
static struct policy_verdict check_object(const struct judge *judge, struct policy_query query,
                                          struct text class_name, unsigned modifiers)
{
  if (!has_class(class_name))
    return (struct policy_verdict){.allow = true};
  query.class_name = class_name;
  query.visibility = visibility_of(modifiers);
  return policy_check_object(judge->policy, &query);
}

static struct policy_query query_of(const struct judge *judge, enum op_kind operation,
                                    const struct judged_member *member)
{
  return (struct policy_query){.channel = judge->policy_channel,
                               .category = category_of(operation, member->kind),
                               .visibility = visibility_of(member->modifiers),
                               .class_name = member->named_class,
                               .member_name = member->member};
}

/* Judges the class of the object, and the classes and interfaces between it and the declaring class that
 * override the member. */
static struct policy_verdict check_holders(const struct judge *judge, struct policy_query query,
                                           const struct judged_member *member)
{
  struct policy_verdict other = {.allow = true};
  if (!text_equal(member->runtime_class, member->named_class))
    other = check_object(judge, query, member->runtime_class, member->modifiers);
  for (size_t i = 0; other.allow && i < member->holder_count; i++)
    other = check_object(judge, query, member->holders[i].class_name, member->holders[i].modifiers);
  return other;
}

/* The verdict on the named class decides; the verdicts on the other classes can only deny. A class whose
 * objects are values is denied only by a rule that names it. */
struct policy_verdict judge_evaluate(const struct judge *judge, enum op_kind operation,
                                     const struct judged_member *member)
{
  assert(operation <= OP_PUT && possible_members[operation] != 0);
  struct policy_query query = query_of(judge, operation, member);
  struct policy_verdict verdict = {.allow = true};
  if (has_class(member->named_class))
    verdict =
        member->is_value ? policy_check_object(judge->policy, &query) : policy_check(judge->policy, &query);
  if (!verdict.allow)
    return verdict;
  struct policy_verdict other = {.allow = true};
  if (has_class(member->declaring_class) && !text_equal(member->declaring_class, member->named_class)) {
    query.class_name = member->declaring_class;
    other = policy_check_other(judge->policy, &query);
  }
  if (other.allow)
    other = check_holders(judge, query, member);
  return other.allow && !other.observed ? verdict : other;
}

/* True if the verdict would allow, too, if the policy did not only observe. */
static bool is_enforced(struct policy_verdict verdict)
{
  return verdict.allow && !verdict.observed;
}

bool judge_may_ask_supertype(const struct judge *judge, enum op_kind operation,
                             const struct judged_member *member)
{
  struct policy_query query = query_of(judge, operation, member);
  return operation == OP_CALL &&
         is_enforced(check_object(judge, query, member->declaring_class, member->modifiers)) &&
         is_enforced(check_holders(judge, query, member));
}

bool judge_spares(const struct judge *judge, const struct judged_member *member)
{
  return is_enforced(
      check_object(judge, query_of(judge, OP_CALL, member), member->named_class, member->modifiers));
}

/* ---- kept verdicts ---- */

static unsigned shift_of(enum op_kind operation)
{
  return operation == OP_PUT ? JUDGE_BITS : 0;
}

bool judge_recall(const struct judge *judge, enum op_kind operation, const struct judged_member *member,
                  bool *allowed)
{
  uint64_t generation = policy_generation(judge->policy);
  uint64_t kept = member->verdicts[judge_verdict_place(judge->channel, generation)];
  unsigned bits = (unsigned)(kept >> shift_of(operation));
  *allowed = (bits & JUDGE_ALLOW) != 0;
  if (kept >> JUDGE_SHIFT != generation || (bits & JUDGE_KNOWN) == 0 || (bits & JUDGE_LOG) != 0)
    return false;
  if (!*allowed) {
    judge->names->denial = judge_kept_verdict(judge, operation, member->verdicts);
    judge->names->has_denial = true;
  }
  return true;
}

/* A reason has half a word: for reading below, for writing above. */
enum { REASON_BITS = 32 };
static const uint32_t reason_is_observed = UINT32_C(1) << 31;

static void keep_reason(uint64_t *kept, enum op_kind operation, struct policy_verdict verdict)
{
  const uint64_t reason = verdict.reason | (verdict.observed ? reason_is_observed : 0);
  const unsigned shift = operation == OP_PUT ? REASON_BITS : 0;
  *kept = (*kept & ~((uint64_t)UINT32_MAX << shift)) | reason << shift;
}

struct policy_verdict judge_kept_verdict(const struct judge *judge, enum op_kind operation,
                                         const uint64_t *verdicts)
{
  const size_t place = judge_verdict_place(judge->channel, policy_generation(judge->policy));
  const unsigned bits = (unsigned)(verdicts[place] >> shift_of(operation));
  const uint32_t kept =
      (uint32_t)(verdicts[JUDGE_VERDICTS + place] >> (operation == OP_PUT ? REASON_BITS : 0));
  return (struct policy_verdict){.allow = (bits & JUDGE_ALLOW) != 0,
                                 .observed = (kept & reason_is_observed) != 0,
                                 .reason = kept & ~reason_is_observed};
}

/* wants_log: the verdict on another part of the operation was logged. The verdict is then not kept as one
 * without a log line, because the operation must be judged again each time. */
static enum jp_status conclude(const struct judge *judge, enum op_kind operation,
                               const struct judged_member *member, struct policy_verdict verdict,
                               struct text by, bool wants_log, struct arena *arena, struct outcome *denied)
{
  assert(operation <= OP_PUT && possible_members[operation] != 0);
  uint64_t generation = policy_generation(judge->policy);
  uint64_t *kept = &member->verdicts[judge_verdict_place(judge->channel, generation)];
  bool log = verdict.log || wants_log;
  if (*kept >> JUDGE_SHIFT != generation)
    *kept = generation << JUDGE_SHIFT;
  *kept |= (uint64_t)(JUDGE_KNOWN | (verdict.allow ? JUDGE_ALLOW : 0) | (log ? JUDGE_LOG : 0))
           << shift_of(operation);
  keep_reason(kept + JUDGE_VERDICTS, operation, verdict);
  if (verdict.log)
    log_verdict_by(judge, operation_names[operation], member->named_class, by, member->member, verdict);
  if (!verdict.allow)
    return deny(judge, verdict, member->named_class, member->member, arena, denied);
  struct policy_query used = query_of(judge, operation, member);
  if (by.data != NULL)
    used.class_name = by;
  if (has_class(used.class_name) && !member->is_value)
    note_use(judge, &used, verdict);
  note_pending(judge, true);
  return JP_OK;
}

enum jp_status judge_conclude(const struct judge *judge, enum op_kind operation,
                              const struct judged_member *member, struct policy_verdict verdict,
                              struct text by, struct arena *arena, struct outcome *denied)
{
  return conclude(judge, operation, member, verdict, by, judge->types_are_logged, arena, denied);
}

static enum jp_status ask_kept(const struct judge *judge, enum op_kind operation,
                               const struct judged_member *member, bool wants_log, struct arena *arena,
                               struct outcome *denied)
{
  bool allowed;
  if (!judge_recall(judge, operation, member, &allowed))
    return conclude(judge, operation, member, judge_evaluate(judge, operation, member), TEXT_ABSENT,
                    wants_log, arena, denied);
  return allowed ? JP_OK : judge_deny(judge, member->named_class, member->member, arena, denied);
}

enum jp_status judge_member(const struct judge *judge, enum op_kind operation,
                            const struct judged_member *member, struct arena *arena, struct outcome *denied)
{
  assert(!member->is_value);
  return ask_kept(judge, operation, member, judge->types_are_logged, arena, denied);
}

enum jp_status judge_filling(const struct judge *judge, const struct judged_member *member,
                             struct arena *arena, struct outcome *denied)
{
  struct judged_member filled = *member;
  filled.is_value = value_class_is_container(member->named_class);
  return ask_kept(judge, OP_CALL, &filled, false, arena, denied);
}

enum jp_status judge_collection(const struct judge *judge, struct arena *arena, struct outcome *denied)
{
  const struct policy_query query = {.channel = judge->policy_channel,
                                     .category = POLICY_STATIC_METHOD,
                                     .visibility = POLICY_PUBLIC,
                                     .class_name = TEXT("java.lang.System"),
                                     .member_name = TEXT("gc")};
  struct policy_verdict verdict = policy_check(judge->policy, &query);
  if (verdict.log)
    log_verdict(judge, operation_names[OP_CALL], query.class_name, query.member_name, verdict);
  if (!verdict.allow)
    return deny(judge, verdict, query.class_name, query.member_name, arena, denied);
  note_use(judge, &query, verdict);
  return JP_OK;
}

/* ---- names in arguments ---- */

/* Judges a public member by its names alone. Sets *logged if it has written a line. */
static enum jp_status ask_public(const struct judge *judge, enum policy_category category,
                                 struct text class_name, struct text name, bool is_value, bool *logged,
                                 struct arena *arena, struct outcome *denied)
{
  unsigned question =
      (is_value ? QUESTION_TYPE : QUESTION_ARGUMENT) | (unsigned)category << 4 | (unsigned)judge->channel;
  uint64_t hash = hash_names(class_name, name, question);
  if (!has_class(class_name) || knows_names(judge, class_name, name, question, hash))
    return JP_OK;
  struct policy_query query = {.channel = judge->policy_channel,
                               .category = category,
                               .visibility = POLICY_PUBLIC,
                               .class_name = class_name,
                               .member_name = name};
  struct policy_verdict verdict =
      is_value ? policy_check_other(judge->policy, &query) : policy_check(judge->policy, &query);
  if (verdict.log) {
    enum op_kind operation = category == POLICY_CONSTRUCTOR     ? OP_NEW
                             : category == POLICY_STATIC_METHOD ? OP_CALL
                                                                : OP_GET;
    log_verdict(judge, operation_names[operation], class_name, name, verdict);
    *logged = true;
  }
  if (!verdict.allow)
    return deny(judge, verdict, class_name, name, arena, denied);
  const struct judge_pending use = {
      .query = query, .verdict = verdict, .question = verdict.log ? 0 : question, .hash = hash};
  if (!is_value && uses_are_noted(judge->policy))
    note_use_later(judge, &use, arena);
  else if (!verdict.log)
    remember_names(judge, class_name, name, question, hash);
  return JP_OK;
}

static enum jp_status ask_type(const struct judge *judge, struct text class_name, bool *logged,
                               struct arena *arena, struct outcome *denied)
{
  return ask_public(judge, POLICY_FIELD_GET, class_name, TEXT("class"), value_class_needs_no_rule(class_name),
                    logged, arena, denied);
}

/* Visits arguments and their elements. */
struct type_walk {
  struct judge *judge;
  struct arena *arena;
  struct outcome *denied;
  struct text last; /* the elements of a list mostly declare one type */
  size_t depth;     /* 0: an argument itself */
};

/* A text that does not name a type is reported by the code that reads the text. */
static enum jp_status ask_declared(struct type_walk *walk, const struct op_value *value)
{
  struct op_type type;
  if (value->kind == OP_CALLBACK) /* its interface is judged as an interface that the client implements */
    return JP_OK;
  if (value->type.data == NULL || value->is_members_type || text_equal(value->type, walk->last))
    return JP_OK;
  walk->last = value->type;
  if (op_type_parse_argument(value->type, &type, NULL) != JP_OK || type.base != 'L')
    return JP_OK;
  const struct judge_pending *before = walk->judge->names->pending;
  const enum jp_status status =
      ask_type(walk->judge, type.name, &walk->judge->types_are_logged, walk->arena, walk->denied);
  if (walk->judge->names->pending != before)
    walk->judge->names->pending->is_declared = walk->depth == 0;
  return status;
}

static enum jp_status ask_value(struct type_walk *walk, const struct op_value *value)
{
  enum jp_status status = ask_declared(walk, value);
  walk->depth++;
  if (value->kind == OP_LIST) {
    for (size_t i = 0; status == JP_OK && i < value->list.count; i++)
      status = ask_value(walk, &value->list.items[i]);
  } else if (value->kind == OP_MAP) {
    for (size_t i = 0; status == JP_OK && i < value->map.count; i++)
      status = ask_value(walk, &value->map.entries[i].value);
  }
  walk->depth--;
  return status;
}

/* Judges the types that the instance, the arguments and their elements declare, each as a FIELD_GET of
 * CLASS.class. Visits each argument once. */
static enum jp_status ask_types(struct judge *judge, const struct operation *operation, struct arena *arena,
                                struct outcome *denied)
{
  struct type_walk walk = {.judge = judge, .arena = arena, .denied = denied};
  enum jp_status status = operation->receiver == NULL ? JP_OK : ask_value(&walk, operation->receiver);
  for (size_t i = 0; status == JP_OK && i < operation->arg_count; i++)
    status = ask_value(&walk, &operation->args[i]);
  judge->types_are_allowed = status == JP_OK;
  return status;
}

enum jp_status judge_value(struct judge *judge, const struct op_value *value, struct arena *arena,
                           struct outcome *denied)
{
  struct type_walk walk = {.judge = judge, .arena = arena, .denied = denied};
  enum jp_status status = ask_value(&walk, value);
  judge->types_are_allowed = status == JP_OK;
  return status;
}

enum jp_status judge_implied(const struct judge *judge, enum op_member_kind kind, struct text class_name,
                             struct text member, struct arena *arena, struct outcome *denied)
{
  bool logged = false;
  return ask_public(judge, category_of(OP_GET, kind), class_name, member,
                    kind == OP_MEMBER_CONSTRUCTOR && value_class_is_container(class_name), &logged, arena,
                    denied);
}

/* The cached verdict on a member does not include the types of the elements in its arguments, so these types
 * are judged here. */
enum jp_status judge_type(const struct judge *judge, struct text class_name, struct arena *arena,
                          struct outcome *denied)
{
  bool logged = false;
  return judge->types_are_allowed ? JP_OK : ask_type(judge, class_name, &logged, arena, denied);
}

/* ---- callbacks ---- */

/* The class is denied before it is loaded if all its methods would be denied. */
enum jp_status judge_interface(const struct judge *judge, struct text name, struct arena *arena,
                               struct outcome *denied)
{
  struct policy_verdict verdict;
  if (policy_check_class(judge->policy, judge->policy_channel, 1u << POLICY_CALLBACK, name, &verdict) ==
      POLICY_EARLY_ASK)
    return JP_OK;
  if (verdict.log)
    log_verdict(judge, "callback", name, TEXT("*"), verdict);
  return deny(judge, verdict, name, TEXT_ABSENT, arena, denied);
}

enum jp_status judge_callback(const struct judge *judge, const struct judged_member *method,
                              struct arena *arena, struct outcome *denied)
{
  struct policy_query query = {.channel = judge->policy_channel,
                               .category = POLICY_CALLBACK,
                               .visibility = visibility_of(method->modifiers),
                               .class_name = method->named_class,
                               .member_name = method->member};
  struct policy_verdict verdict = policy_check(judge->policy, &query);
  if (verdict.allow && !text_equal(method->declaring_class, method->named_class)) {
    query.class_name = method->declaring_class;
    struct policy_verdict other = policy_check_other(judge->policy, &query);
    if (!other.allow || other.observed)
      verdict = other;
  }
  if (verdict.log)
    log_verdict(judge, "callback", method->named_class, method->member, verdict);
  if (!verdict.allow)
    return deny(judge, verdict, method->named_class, method->member, arena, denied);
  query.class_name = method->named_class;
  note_use(judge, &query, verdict);
  return JP_OK;
}

void judge_note_reading(const struct judge *judge, enum op_kind operation, const struct judged_member *member)
{
  const struct policy_query query = query_of(judge, operation, member);
  if (uses_are_noted(judge->policy) && !member->is_value && has_class(query.class_name))
    uses_note(judge->policy, &query, judge_evaluate(judge, operation, member));
}

bool judge_knows_overloads(const struct judge *judge, struct text class_name, struct text member)
{
  unsigned question = QUESTION_OVERLOADS | (unsigned)judge->channel;
  return knows_names(judge, class_name, member, question, hash_names(class_name, member, question));
}

void judge_note_overloads(const struct judge *judge, struct text class_name, struct text member)
{
  unsigned question = QUESTION_OVERLOADS | (unsigned)judge->channel;
  remember_names(judge, class_name, member, question, hash_names(class_name, member, question));
}

enum jp_status judge_operation(struct judge *judge, const struct operation *operation, bool *by_object,
                               struct arena *arena, struct outcome *denied)
{
  bool *may_ask = judge_may_ask_object(operation) ? by_object : NULL;
  enum jp_status status = judge_names(judge, operation, may_ask, arena, denied);
  return status == JP_OK ? ask_types(judge, operation, arena, denied) : status;
}

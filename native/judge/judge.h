#ifndef JPEER_JUDGE_JUDGE_H
#define JPEER_JUDGE_JUDGE_H
/*
 * Judges an operation by the policy (docs/policy.md): first by its names, before any class is looked up, then
 * by the names in its arguments and by the facts of the member. Writes the log lines that the actions
 * LOG_AND_* of rules require.
 *
 * A judge is made for one operation, or for a question during an operation, and is used by the thread that
 * runs the operation. It knows nothing of Java: the caller describes the member. A function that returns a
 * status returns JP_OK, or another status with an OUTCOME_ERROR in *denied.
 *
 * For a member that the thread has resolved before, jvm_resolve asks judge_has_allowed. If that is false, or the
 * member is new, it asks judge_operation, then about arguments and overloads, and about the member last.
 */
#include "base/arena.h"
#include "base/status.h"
#include "op/member.h"
#include "op/operation.h"
#include "op/outcome.h"
#include "op/session_key.h"
#include "policy/policy.h"

enum {
  JUDGE_NAMES_KEPT = 128,
  JUDGE_NAMES_TEXT = 208,
  JUDGE_POLICIES = 4, /* words of a channel: each principal may have a policy of its own */
  JUDGE_VERDICTS = OP_CHANNELS * JUDGE_POLICIES,
  JUDGE_WORDS = 2 * JUDGE_VERDICTS /* the verdicts, then their reasons */
};

/* Names that the policy did not deny when it was last asked: one slot for each hash. Each thread has its own,
 * which is zeroed at the start. */
struct judge_names {
  struct judge_names_entry {
    uint64_t hash;
    uint64_t generation; /* of the policy */
    uint16_t question;
    uint16_t class_length;
    uint16_t member_length;
    bool used;
    char text[JUDGE_NAMES_TEXT]; /* class, then member */
  } entries[JUDGE_NAMES_KEPT];
  /* For the audit, which clears them: the last denial, and the verdict of a call that was run without an outcome. */
  struct policy_verdict denial;
  struct policy_verdict allowance;
  bool has_denial;
  bool has_allowance;
  /* The names that the operation in flight uses if they can be resolved, in the arena of its message. */
  struct judge_pending *pending;
};

/* Made by judge_make. All that it points to is borrowed. */
struct judge {
  const struct policy *policy;
  struct judge_names *names;
  enum op_channel channel;
  enum policy_channel policy_channel;   /* the same channel in the policy's terms */
  const struct op_session_key *session; /* for the log */

  /* Of the operation in flight: */
  bool types_are_allowed; /* all types that its arguments name */
  bool types_are_logged;  /* a verdict on one of these types must be logged */
};

/* The policy's term for each channel. */
extern const enum policy_channel judge_policy_channels[OP_CHANNELS];

/* names: the calling thread's. session: the client's, for the log. policy, names and session must outlive the
 * judge. */
static inline struct judge judge_make(const struct policy *policy, struct judge_names *names,
                                      enum op_channel channel, const struct op_session_key *session)
{
  return (struct judge){.policy = policy,
                        .names = names,
                        .channel = channel,
                        .policy_channel = judge_policy_channels[channel],
                        .session = session};
}

/* Another class that declares the judged member. */
struct judged_holder {
  struct text class_name;
  unsigned modifiers; /* OP_ACC_*, of the member there */
};

/* The facts of a member that the policy judges. */
struct judged_member {
  enum op_member_kind kind;
  unsigned modifiers;      /* OP_ACC_* */
  struct text named_class; /* as the caller named it; for an array its element class or primitive keyword */
  struct text declaring_class; /* where the member is declared */
  struct text runtime_class;   /* the receiver's class (for an array its element); data NULL: no receiver */
  /* For an instance method: the class whose method runs for the receiver, and the classes and interfaces
   * between that class and declaring_class that declare the member. Each is here once; declaring_class is
   * not. */
  const struct judged_holder *holders;
  size_t holder_count;
  struct text member; /* "<init>" for a constructor */
  /* Objects of the named class are values, so that only a rule or preset that names the class denies the
   * member. Set only for members by which the peer reads a result by value (judge_allows), and by
   * judge_filling. Never set for a member that an operation names. */
  bool is_value;
  /* JUDGE_WORDS words that belong to the resolved member and start as 0: judge_member, judge_recall, judge_conclude
   * and judge_filling keep verdicts there. They are dropped with the member, and no other combination of named class,
   * member, kind and runtime class shares them. NULL for all other functions. */
  uint64_t *verdicts;
};

/* The result is never 0. Judges with the same stamp allow and deny the same operations, but may write
 * different log lines. */
static inline uint64_t judge_stamp(const struct judge *judge)
{
  return policy_generation(judge->policy) << 3 | (uint64_t)judge->channel;
}

/* ---- an operation by its names ---- */

/* In judge_operation and judge_names, operation->kind is OP_NEW, OP_CALL, OP_GET or OP_PUT. The same holds
 * for the parameter `operation` of all functions below that judge a member. */

/*
 * Judges the names in the operation and in its arguments, before a class is looked up by them. If the member
 * is denied by its names, and a supertype of its object may allow it, *by_object becomes true and the result
 * is JP_OK. The caller then searches the class among the object's own. If the caller finds a member, it has
 * the member judged. Otherwise it calls judge_operation again with by_object NULL, to get the denial.
 */
enum jp_status judge_operation(struct judge *judge, const struct operation *operation, bool *by_object,
                               struct arena *arena, struct outcome *denied) JP_MUST_CHECK;

/* The part of judge_operation for the names of the class and the member. The name of the class is checked as
 * text first. by_object: as in judge_operation; it must be NULL unless judge_may_ask_object is true for the
 * operation. */
enum jp_status judge_names(const struct judge *judge, const struct operation *operation, bool *by_object,
                           struct arena *arena, struct outcome *denied) JP_MUST_CHECK;
/* True if the operation may be judged by the class of its object, because it has an object and names no class
 * loader. */
bool judge_may_ask_object(const struct operation *operation);

/* For an OP_DESCRIBE: checks the name of the class as text, and asks if the policy may allow the caller any member of
 * the class. */
enum jp_status judge_class(const struct judge *judge, const struct operation *operation, struct arena *arena,
                           struct outcome *denied) JP_MUST_CHECK;

/* For a garbage collection, which is judged as a call of System.gc. */
enum jp_status judge_collection(const struct judge *judge, struct arena *arena,
                                struct outcome *denied) JP_MUST_CHECK;

/* Makes the outcome of a denial, and returns JP_DENIED. member may be absent. */
enum jp_status judge_deny(const struct judge *judge, struct text class_name, struct text member,
                          struct arena *arena, struct outcome *denied) JP_MUST_CHECK;

/* True if the policy names the member idempotent. Says nothing about whether it may be called. */
static inline bool judge_is_idempotent(const struct judge *judge, struct text class_name, struct text member)
{
  return policy_is_idempotent(judge->policy, class_name, member);
}

static inline bool judge_is_idempotent_write(const struct judge *judge, struct text class_name,
                                             struct text field_name)
{
  return policy_names_idempotent_write(judge->policy, class_name, field_name);
}

/* Makes the outcome of a request that is limited to idempotent members (op/operation.h) and means another
 * member. Returns JP_DENIED. */
enum jp_status judge_deny_changing(struct text class_name, struct text member, struct arena *arena,
                                   struct outcome *denied) JP_MUST_CHECK;

/* ---- a resolved member ---- */

/* A kept verdict is one word. The upper bits have the policy's generation. The lower bits have three bits for
 * reads and three for writes, because both kinds of operations may use the same record of a field. */
enum { JUDGE_KNOWN = 1, JUDGE_ALLOW = 2, JUDGE_LOG = 4, JUDGE_BITS = 3, JUDGE_SHIFT = 6 };

/* The index of the word for a channel and a policy of this generation. Policies whose generations differ by a
 * multiple of JUDGE_POLICIES share a word: each replaces the verdicts of the other, and never uses them,
 * because the word has the generation of the policy that wrote it. */
static inline size_t judge_verdict_place(enum op_channel channel, uint64_t generation)
{
  return (size_t)channel * JUDGE_POLICIES + generation % JUDGE_POLICIES;
}

/* True if the policy has allowed this operation on the member before, its names included, and wants no log line for
 * it. */
static inline bool judge_has_allowed(const struct judge *judge, enum op_kind operation,
                                     const uint64_t *verdicts)
{
  uint64_t generation = policy_generation(judge->policy);
  uint64_t kept = verdicts[judge_verdict_place(judge->channel, generation)];
  unsigned bits = (unsigned)(kept >> (operation == OP_PUT ? JUDGE_BITS : 0));
  return kept >> JUDGE_SHIFT == generation && (bits & JUDGE_ALLOW) != 0 && (bits & JUDGE_LOG) == 0;
}

/* The kept verdict, which exists. */
struct policy_verdict judge_kept_verdict(const struct judge *judge, enum op_kind operation,
                                         const uint64_t *verdicts);

/* Judges the operation's member before its class is initialised. Must follow judge_operation: its verdicts on
 * the arguments are kept together with the verdict on the member. Use it for a member without an object, or
 * if no supertype of the object matters. */
enum jp_status judge_member(const struct judge *judge, enum op_kind operation,
                            const struct judged_member *member, struct arena *arena,
                            struct outcome *denied) JP_MUST_CHECK;

/* judge_member in steps, for a caller that knows the object's supertypes. judge_recall is true if a verdict
 * was kept, and sets *allowed to that verdict. Otherwise judge_evaluate and the questions about supertypes
 * decide, and judge_conclude keeps and logs the verdict. by: the supertype that was judged instead of the
 * named class; absent: the named class was judged. */
bool judge_recall(const struct judge *judge, enum op_kind operation, const struct judged_member *member,
                  bool *allowed);
struct policy_verdict judge_evaluate(const struct judge *judge, enum op_kind operation,
                                     const struct judged_member *member);
enum jp_status judge_conclude(const struct judge *judge, enum op_kind operation,
                              const struct judged_member *member, struct policy_verdict verdict,
                              struct text by, struct arena *arena, struct outcome *denied) JP_MUST_CHECK;

/* Whether a supertype of the object may allow a call that judge_evaluate has denied: true for a call that no rule or
 * preset denies on the declaring class, the object's class or another holder. */
bool judge_may_ask_supertype(const struct judge *judge, enum op_kind operation,
                             const struct judged_member *member);
/* True if no rule and no preset denies a call of the member on its named class. The named class is the class
 * of the object, the class in the operation, or a class between these two. */
bool judge_spares(const struct judge *judge, const struct judged_member *member);

/*
 * True if the policy allows the member. Keeps no verdict and writes no log line. It is called in three cases:
 * for each of several overloads, because only allowed overloads are candidates; for a member that cannot be
 * used in the requested way, before the error says so; and for the members by which a result by value is
 * read. Judges all classes of the member, as judge_member does, but no supertype.
 */
static inline bool judge_allows(const struct judge *judge, enum op_kind operation,
                                const struct judged_member *member)
{
  return judge_evaluate(judge, operation, member).allow;
}

/* judge_allows of a policy that is only observed (--policy-mode observe): true if the policy would allow it, too, if it were
 * enforced. */
static inline bool judge_enforces(const struct judge *judge, enum op_kind operation,
                                  const struct judged_member *member)
{
  const struct policy_verdict verdict = judge_evaluate(judge, operation, member);
  return verdict.allow && !verdict.observed;
}

/* Notes that the member is used without being the member of an operation: by reading a result by value (judge/uses.h). */
void judge_note_reading(const struct judge *judge, enum op_kind operation,
                        const struct judged_member *member);

/* A name in an argument is judged before its class is looked up, and may name nothing. judge_note_uses notes those that the
 * operation has used, after they were resolved; judge_drop_uses forgets them, before each operation. */
void judge_note_uses(const struct judge *judge);
static inline void judge_drop_uses(struct judge_names *names)
{
  names->pending = NULL;
}

/* judge_note_overloads remembers for a while that the policy denies no overload of the name;
 * judge_knows_overloads is true during that time. */
bool judge_knows_overloads(const struct judge *judge, struct text class_name, struct text member);
void judge_note_overloads(const struct judge *judge, struct text class_name, struct text member);

/* ---- names in arguments ---- */

/*
 * Judges a public member that an argument uses without naming it: a text for a java.lang.Class (a read of
 * CLASS.class), a text for an enum (a read of the constant), a list or map for a collection class (its constructor
 * "<init>"), a map for an EnumMap (a call of the enum's values). Called before the class is loaded, if the argument
 * alone determines the class. kind is OP_MEMBER_STATIC_FIELD, OP_MEMBER_STATIC_METHOD or OP_MEMBER_CONSTRUCTOR.
 */
enum jp_status judge_implied(const struct judge *judge, enum op_member_kind kind, struct text class_name,
                             struct text member, struct arena *arena, struct outcome *denied) JP_MUST_CHECK;
/* Judges a class that an argument or an element declares as its type, before the class is loaded. JP_OK at once if
 * judge_operation or judge_value has allowed all types of the operation. */
enum jp_status judge_type(const struct judge *judge, struct text class_name, struct arena *arena,
                          struct outcome *denied) JP_MUST_CHECK;
/* Judges the calls of add or put by which the peer fills an object with the elements of a list or map. The
 * verdicts are kept for the object's class. */
enum jp_status judge_filling(const struct judge *judge, const struct judged_member *member,
                             struct arena *arena, struct outcome *denied) JP_MUST_CHECK;
/* Judges the names in a value of a callback's answer by the same rules as names in arguments. */
enum jp_status judge_value(struct judge *judge, const struct op_value *value, struct arena *arena,
                           struct outcome *denied) JP_MUST_CHECK;

/* ---- callbacks ---- */

/* Judges an interface that an OP_CALLBACK names, before the interface is loaded. JP_OK: at least one of its
 * methods may be allowed. */
enum jp_status judge_interface(const struct judge *judge, struct text name, struct arena *arena,
                               struct outcome *denied) JP_MUST_CHECK;
/* Judges a method that would be sent to a callback, before its proxy is made or passed: named_class is the given
 * interface, declaring_class declares the method. */
enum jp_status judge_callback(const struct judge *judge, const struct judged_member *method,
                              struct arena *arena, struct outcome *denied) JP_MUST_CHECK;

#endif

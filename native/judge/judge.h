#ifndef JPEER_JUDGE_JUDGE_H
#define JPEER_JUDGE_JUDGE_H
/*
 * Where the policy is asked about an operation (docs/policy.md): by its names before any class is looked up, by the facts of
 * the member that was found, and about what its arguments name. Writes the lines of LOG_AND_*.
 *
 * A judge is made for one operation, or for a question beside one, and is used on the thread that runs the operation. It
 * knows nothing of Java: the caller says what the member is. A function that returns a status returns JP_OK, or another
 * status with an OUTCOME_ERROR in *denied.
 *
 * For a member that the thread has resolved before, jvm_resolve asks judge_has_allowed. If that is false, or the member is
 * new, it asks judge_operation, then the questions about arguments and overloads, and about the member last.
 */
#include "base/arena.h"
#include "base/status.h"
#include "op/member.h"
#include "op/operation.h"
#include "op/outcome.h"
#include "op/session_key.h"
#include "policy/policy.h"

enum { JUDGE_NAMES_KEPT = 128, JUDGE_NAMES_TEXT = 208 };

/* Names that the policy had nothing against when it was last asked: one slot a hash. A thread has one; begins zeroed. */
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
};

/* Made by judge_make. All that it points to is borrowed. */
struct judge {
  const struct policy *policy;
  struct judge_names *names;
  enum op_channel channel;
  enum policy_channel policy_channel;   /* the same channel as the policy knows it */
  const struct op_session_key *session; /* for the log */

  /* Of the operation in flight: */
  bool types_are_allowed; /* those that its arguments name, all of them */
  bool types_are_logged;  /* the policy wants a line for one */
};

/* What the policy's rules call each channel. */
extern const enum policy_channel judge_policy_channels[OP_CHANNELS];

/* names: of the thread. session: of the client, for the log. All three must outlive the judge. */
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
  /* Objects of the named class are values: only a rule or preset that names the class denies. Set only for the members that
   * a result by value is read with (judge_allows), and by judge_filling itself: no member that an operation names is
   * allowed by it. */
  bool is_value;
  /* OP_CHANNELS words that belong to the resolved member and start as 0: judge_member, judge_recall, judge_conclude and
   * judge_filling keep verdicts there. They are dropped with the member, and no other combination of named class, member,
   * kind and runtime class shares them. NULL for all other functions. */
  uint64_t *verdicts;
};

/* Not 0. Judges of the same stamp allow and deny the same; they may differ in lines for the log. */
static inline uint64_t judge_stamp(const struct judge *judge)
{
  return policy_generation(judge->policy) << 3 | (uint64_t)judge->channel;
}

/* ---- an operation by its names ---- */

/* operation->kind is OP_NEW, OP_CALL, OP_GET or OP_PUT for judge_operation and judge_names, and so is the kind of operation
 * of all questions about a member that was found. */

/*
 * Asks about the names in the operation and in its arguments, before a class is looked up by them. Where the names
 * of the member alone deny it, and a supertype of its object may allow it, *by_object becomes true and the answer is JP_OK.
 * The class is then looked for among the object's own. If a member is found, the member is judged; if none is, the same
 * question is asked again, with by_object NULL, for the denial.
 */
enum jp_status judge_operation(struct judge *judge, const struct operation *operation, bool *by_object,
                               struct arena *arena, struct outcome *denied) JP_MUST_CHECK;

/* The part of judge_operation about the names of the class and the member alone. The name of the class is checked as text
 * first. by_object: as above; NULL unless the operation is, or will be, one for which judge_may_ask_object is true. */
enum jp_status judge_names(const struct judge *judge, const struct operation *operation, bool *by_object,
                           struct arena *arena, struct outcome *denied) JP_MUST_CHECK;
/* Whether a call may be judged by the class of its object: it has one, and names no loader of its own. */
bool judge_may_ask_object(const struct operation *operation);

/* For an OP_DESCRIBE: checks the name of the class as text, and asks if the policy may allow the caller any member of the
 * class. */
enum jp_status judge_class(const struct judge *judge, const struct operation *operation, struct arena *arena,
                           struct outcome *denied) JP_MUST_CHECK;

/* For a collection of the JVM's garbage, which is judged as a call of System.gc. */
enum jp_status judge_collection(const struct judge *judge, struct arena *arena,
                                struct outcome *denied) JP_MUST_CHECK;

/* The outcome of a denial; member may be absent. */
enum jp_status judge_deny(const struct judge *judge, struct text class_name, struct text member,
                          struct arena *arena, struct outcome *denied) JP_MUST_CHECK;

/* ---- a member that was found ---- */

/* A kept verdict: the policy's generation above, three bits for reading and three for writing below, because
 * a field's record may serve both. */
enum { JUDGE_KNOWN = 1, JUDGE_ALLOW = 2, JUDGE_LOG = 4, JUDGE_BITS = 3, JUDGE_SHIFT = 6 };

/* True where the policy has allowed such an operation on the member of these verdicts before, its names too,
 * and wants no line in the log for it. */
static inline bool judge_has_allowed(const struct judge *judge, enum op_kind operation,
                                     const uint64_t *verdicts)
{
  uint64_t kept = verdicts[judge->channel];
  unsigned bits = (unsigned)(kept >> (operation == OP_PUT ? JUDGE_BITS : 0));
  return kept >> JUDGE_SHIFT == policy_generation(judge->policy) && (bits & JUDGE_ALLOW) != 0 &&
         (bits & JUDGE_LOG) == 0;
}

/* Asks about the operation's member before its class is initialised, after judge_operation, whose verdicts on the arguments
 * themselves are kept with this one. For a member without an object, or where no supertype of the object is asked for. */
enum jp_status judge_member(const struct judge *judge, enum op_kind operation,
                            const struct judged_member *member, struct arena *arena,
                            struct outcome *denied) JP_MUST_CHECK;

/* The same question for whoever knows the object's supertypes, in steps. judge_recall is true where the kept verdict is the
 * answer, which is then in *allowed; else judge_evaluate and the questions about supertypes decide, and judge_conclude
 * keeps and logs the verdict. by: the supertype that was judged in place of the named class; absent: none was. */
bool judge_recall(const struct judge *judge, enum op_kind operation, const struct judged_member *member,
                  bool *allowed);
struct policy_verdict judge_evaluate(const struct judge *judge, enum op_kind operation,
                                     const struct judged_member *member);
enum jp_status judge_conclude(const struct judge *judge, enum op_kind operation,
                              const struct judged_member *member, struct policy_verdict verdict,
                              struct text by, struct arena *arena, struct outcome *denied) JP_MUST_CHECK;

/* Whether a supertype of the object may allow what judge_evaluate has denied: true for a call that no rule or preset denies
 * on the declaring class, the object's class or another holder. */
bool judge_may_ask_supertype(const struct judge *judge, enum op_kind operation,
                             const struct judged_member *member);
/* False: a rule or a preset denies a call of the member on its named class, which is the object's class, the class that the
 * operation names, or one between these. */
bool judge_spares(const struct judge *judge, const struct judged_member *member);

/*
 * True where the policy allows the member. For questions that keep no verdict and write no line to the log: about each of
 * several overloads, of which only the allowed are candidates; about a member before the caller learns that it cannot be
 * used in this way; about the members that a result by value is read with. Judges all classes that the member tells, as
 * judge_member does; no supertype is asked for.
 */
static inline bool judge_allows(const struct judge *judge, enum op_kind operation,
                                const struct judged_member *member)
{
  return judge_evaluate(judge, operation, member).allow;
}

/* Remembers for a while that the policy has nothing against any overload of the name. */
bool judge_knows_overloads(const struct judge *judge, struct text class_name, struct text member);
void judge_note_overloads(const struct judge *judge, struct text class_name, struct text member);

/* ---- what arguments name ---- */

/*
 * Asks about a public member that an argument uses without naming the member: a text for a java.lang.Class (a read of
 * CLASS.class), a text for an enum (a read of the constant), a list or map for a collection class (its constructor
 * "<init>"), a map for an EnumMap (a call of the enum's values). Asked before the class is loaded, if the argument alone
 * says which class. kind is OP_MEMBER_STATIC_FIELD, OP_MEMBER_STATIC_METHOD or OP_MEMBER_CONSTRUCTOR.
 */
enum jp_status judge_implied(const struct judge *judge, enum op_member_kind kind, struct text class_name,
                             struct text member, struct arena *arena, struct outcome *denied) JP_MUST_CHECK;
/* Asks about each class that an argument or an element declares as its type, before the class is loaded. JP_OK without a
 * question where judge_operation or judge_value has allowed all types of the operation. */
enum jp_status judge_type(const struct judge *judge, struct text class_name, struct arena *arena,
                          struct outcome *denied) JP_MUST_CHECK;
/* Asks about a list's or map's elements before they go into an object by its add or put. The verdicts are kept for the
 * object's class. */
enum jp_status judge_filling(const struct judge *judge, const struct judged_member *member,
                             struct arena *arena, struct outcome *denied) JP_MUST_CHECK;
/* Judges what a value names, in an answer to a callback, as arguments are judged. */
enum jp_status judge_value(struct judge *judge, const struct op_value *value, struct arena *arena,
                           struct outcome *denied) JP_MUST_CHECK;

/* ---- callbacks ---- */

/* Asks about each interface that an OP_CALLBACK names, before it is loaded: JP_OK where a method of it may be
 * allowed. */
enum jp_status judge_interface(const struct judge *judge, struct text name, struct arena *arena,
                               struct outcome *denied) JP_MUST_CHECK;
/* Asks about each method that a callback would be sent, before its proxy is made or given: named_class is the
 * interface that was given, declaring_class the one that declares the method. */
enum jp_status judge_callback(const struct judge *judge, const struct judged_member *method,
                              struct arena *arena, struct outcome *denied) JP_MUST_CHECK;

#endif

#ifndef JPEER_JUDGE_JUDGE_H
#define JPEER_JUDGE_JUDGE_H
/*
 * Where the policy is asked about an operation (docs/policy.md): by its names before any class is looked up, by the facts of
 * the member that was found, and about what its arguments name. Writes the lines of LOG_AND_*.
 *
 * A judge belongs to one request and is used on the thread that runs the request. It knows nothing of Java: whoever asks
 * says what the member is. A function that returns a status returns JP_OK, or anything else with an OUTCOME_ERROR in
 * *denied.
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
  /* Objects of the named class are values: only a rule or preset that names a class of it denies. */
  bool is_value;
  /* OP_CHANNELS words that belong to the resolved member and start as 0: verdicts are kept there. They are dropped with
   * the member, and no other combination of named class, member, kind and runtime class shares them. NULL where no verdict
   * is kept (judge_allows, judge_evaluate). */
  uint64_t *verdicts;
};

/* Not 0; while the stamp is the same, so are the answers to all questions but those of the log. */
static inline uint64_t judge_stamp(const struct judge *judge)
{
  return policy_generation(judge->policy) << 3 | (uint64_t)judge->channel;
}

/* ---- an operation by its names ---- */

/*
 * Asks about the names in the operation and in its arguments, before a class is looked up by them. Where the names
 * of the member alone deny it, and a supertype of its object may allow it, *by_object becomes true and the answer is JP_OK:
 * the class is then looked for among the object's own, and unless the member that is found is allowed the question is asked
 * again, with by_object NULL, for the denial.
 */
enum jp_status judge_operation(struct judge *judge, const struct operation *operation, bool *by_object,
                               struct arena *arena, struct outcome *denied) JP_MUST_CHECK;

/* The part of judge_operation about the names of the class and the member alone, whose type it checks as text. With
 * by_object given, the caller knows that the operation may be judged by its object (judge_may_ask_object). */
enum jp_status judge_names(const struct judge *judge, const struct operation *operation, bool *by_object,
                           struct arena *arena, struct outcome *denied) JP_MUST_CHECK;
/* Whether a call may be judged by the class of its object: it has one, and names no loader of its own. */
bool judge_may_ask_object(const struct operation *operation);

/* Checks the type of an OP_DESCRIBE as text, and asks whether the caller may use any member of the class, whatever its
 * name. */
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

/* Whether a supertype of its object may allow what judge_evaluate has denied: a call that the declaring class, the
 * object's class and the other holders do not deny. */
bool judge_may_ask_supertype(const struct judge *judge, enum op_kind operation,
                             const struct judged_member *member);
/* False: a rule or a preset denies the call on this class or interface, which is the object's class, the named one or
 * between them. */
bool judge_spares(const struct judge *judge, const struct judged_member *on);

/* Asks about each of several overloads, of which only the allowed are candidates, about a member before the caller
 * learns that it cannot be used in this way, and about the members that a result by value is read with. By the member's
 * named and declaring class, with no line for the log; no supertype is asked for. */
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
 * Asks if an argument uses a member that the operation does not name: a text for a java.lang.Class (a read
 * of CLASS.class), a text for an enum (a read of the constant), a list or map for a collection class (its
 * constructor "<init>"), a map for an EnumMap (a call of the enum's values). Asked before the class is loaded, if the
 * argument alone says which. kind is
 * OP_STATIC_FIELD, OP_STATIC_METHOD or OP_CONSTRUCTOR.
 */
enum jp_status judge_public(const struct judge *judge, enum op_member_kind kind, struct text class_name,
                            struct text member, struct arena *arena, struct outcome *denied) JP_MUST_CHECK;
/* Asks about each class that an argument or an element declares as its type, before the class is loaded. */
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

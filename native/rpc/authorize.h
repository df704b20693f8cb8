#ifndef JPEER_RPC_AUTHORIZE_H
#define JPEER_RPC_AUTHORIZE_H
/*
 * Where the policy is asked about an operation: by its names before any class is looked up, by the facts of
 * the member that was found, and for what its arguments name (docs/policy.md). Writes the lines of LOG_AND_*.
 * Used on the worker's thread alone.
 */
#include "jni/members.h"
#include "policy/policy.h"
#include "rpc/session.h"

enum { RPC_NAMES_KEPT = 128, RPC_NAMES_TEXT = 208 };

/* Names that the policy had nothing against when it was last asked: one slot a hash. */
struct rpc_names {
  struct rpc_names_entry {
    uint64_t hash;
    uint64_t generation; /* of the policy */
    uint16_t question;
    uint16_t class_length;
    uint16_t member_length;
    bool used;
    char text[RPC_NAMES_TEXT]; /* class, then member */
  } entries[RPC_NAMES_KEPT];
};

struct rpc_authorizer {
  const struct policy *policy;
  struct rpc_names *names;
  enum op_channel channel;
  const struct op_session_key *session; /* for the log */

  /* Of the operation in hand: */
  bool types_are_allowed; /* those that its arguments name, all of them */
  bool types_are_logged;  /* the policy wants a line for one */
};

/* The channel as the policy knows it. */
enum policy_channel rpc_authorizer_channel(const struct rpc_authorizer *authorizer);

/* Checks the type of an OP_NEW, OP_CALL, OP_GET or OP_PUT as text, and asks what its names alone decide.
 * Anything but JP_OK leaves an OUTCOME_ERROR. by_object is that of jvm_guard's `check_names`: with it given, an
 * OP_CALL that the names alone deny, and that a supertype of its object may allow, is JP_OK and *by_object true.
 * Whether the operation has an object is up to the caller. */
enum jp_status rpc_authorize_names(const struct rpc_authorizer *authorizer, const struct operation *operation,
                                   bool *by_object, struct arena *arena,
                                   struct outcome *outcome) JP_MUST_CHECK;
/* Whether a call may be judged by the class of its object: it has one, and names no loader of its own. */
bool rpc_authorizer_may_ask_object(const struct operation *operation);

/* Checks the type of an OP_DESCRIBE as text, and asks whether the caller may use any member of the class, whatever its
 * name. Anything but JP_OK leaves an OUTCOME_ERROR. */
enum jp_status rpc_authorize_class(const struct rpc_authorizer *authorizer, const struct operation *operation,
                                   struct arena *arena, struct outcome *outcome) JP_MUST_CHECK;

/*
 * What jvm_guard's `allows` asks, about such a target: by the member's named and declaring class, else by a supertype of
 * its object, with no line for the log.
 */
bool rpc_authorizer_allows(const struct rpc_authorizer *authorizer, enum op_kind operation,
                           const struct jvm_target *member);

/* Judges `control gc` as a call of System.gc. Anything but JP_OK leaves an OUTCOME_ERROR. */
enum jp_status rpc_authorize_collection(const struct rpc_authorizer *authorizer, struct arena *arena,
                                        struct outcome *outcome) JP_MUST_CHECK;

/* Remembers for a while that the policy has nothing against any overload of the name. */
bool rpc_authorizer_knows_overloads(const struct rpc_authorizer *authorizer, struct text class_name,
                                    struct text member);
void rpc_authorizer_note_overloads(const struct rpc_authorizer *authorizer, struct text class_name,
                                   struct text member);

/* The outcome of a denial; member may be absent. */
enum jp_status rpc_authorize_deny(const struct rpc_authorizer *authorizer, struct text class_name,
                                  struct text member, struct arena *arena,
                                  struct outcome *outcome) JP_MUST_CHECK;

/* True where the policy has allowed such an operation on the member of these verdicts before, its names too,
 * and wants no line in the log for it. */
bool rpc_authorizer_has_allowed(const struct rpc_authorizer *authorizer, const struct operation *operation,
                                const uint64_t *verdicts);

/* Judges what a value names, in an answer to a callback, as arguments are judged. Anything but JP_OK leaves an
 * OUTCOME_ERROR. */
enum jp_status rpc_authorize_value(struct rpc_authorizer *authorizer, const struct op_value *value,
                                   struct arena *arena, struct outcome *outcome) JP_MUST_CHECK;

/* What is asked while the operation is resolved and run. Valid as long as the authorizer. */
struct jvm_guard rpc_authorizer_guard(struct rpc_authorizer *authorizer);

#endif

#ifndef JPEER_JNI_MEMBERS_H
#define JPEER_JNI_MEMBERS_H
/*
 * Runs operations on Java members. jvm_resolve finds the member and asks the judge about it, without
 * initialising any class; jvm_invoke runs the member.
 *
 * Call these on the thread's own thread, between jvm_request_begin and jvm_request_end. Everything that an
 * outcome or a target points to lives in the request's arena or in the thread's caches, at least until
 * jvm_request_end.
 */
#include "base/arena.h"
#include "base/status.h"
#include "jni/jvm.h"
#include "jni/objects.h"
#include "judge/judge.h"
#include "op/member.h"
#include "op/operation.h"
#include "op/outcome.h"

struct resolved_member; /* kept in the thread's cache */
struct call_frame;      /* the objects that a request has opened */
struct rpc_callbacks;   /* of jni/callbacks.h */

struct jvm_target {
  struct resolved_member *resolved;
  struct call_frame *frame;
  struct judged_member facts;
};

struct jvm_limits {
  size_t inline_array_max;   /* longest array of primitives, wrappers or Strings that also travels by value */
  size_t stack_frames_max;   /* Java frames in the description of a throwable; 0: none */
  size_t by_value_depth_max; /* levels of arrays, collections and maps in a result by value */
  /* Most digits of a BigInteger or BigDecimal that an argument becomes, its exponent written out, and of a
   * text that is read as a number. */
  size_t number_digits_max;
  size_t assembled_max;        /* bytes of all pieces of objects that are being built, of all clients */
  size_t callback_classes_max; /* classes of proxies that a peer makes; 0: any number */
  bool
      application_loader_only; /* a class that the application's loader does not find is looked for nowhere else */
};

/* What jvm_invoke keeps of a result until its answer is written; begins zeroed. */
struct jvm_result {
  void *object;         /* a local reference; NULL: what came back was no object */
  bool is_global;       /* jvm_result_hold has made it a global one */
  uint64_t epoch;       /* of the session's objects */
  size_t stored_before; /* of request->stored: the refs before this result's */
};

/* The input of jvm_resolve and jvm_invoke; all borrowed. */
struct jvm_request {
  struct jvm_thread *thread;
  struct jvm_objects *objects;
  const struct operation *operation;
  struct arena *arena;
  const struct jvm_limits *limits;
  struct judge *judge;       /* NULL only on the fast paths, whose members need no question */
  struct jvm_stored *stored; /* collects the refs that the result makes; may be NULL */
  bool drops_result; /* nobody will read the result: its object is not stored, and the outcome is void */
  bool
      compat_pal; /* the result is that of the reference alone: no object has a text, and one that cannot travel
                        is an error */
  size_t
      answer_max; /* bytes that the answer may have: of a result that is surely longer nothing is read; 0: any */
  /* Of one that may have to be told as a ref later (jvm_result_become_ref); NULL: it is told as it is. */
  struct jvm_result *result;
  struct rpc_callbacks *callbacks; /* the client's (jni/callbacks.h); NULL: an OP_CALLBACK is refused */
};

/* Opens a frame of local references, and undoes what an earlier call has done to the thread (an interrupt, a
 * context class loader). JP_NO_MEMORY. */
enum jp_status jvm_request_begin(struct jvm_thread *thread) JP_MUST_CHECK;
void jvm_request_end(struct jvm_thread *thread);

/* Class.getName() of the instance of an operation, which has_instance. data NULL leaves an OUTCOME_ERROR: the ref is
 * unknown. */
struct text jvm_instance_class(const struct jvm_request *request, struct outcome *outcome);

/*
 * Resolves an OP_NEW, OP_CALL, OP_GET or OP_PUT, from the thread's cache if it has run such an operation
 * before. Loads the named class and the classes of declared argument types without initialising any, through
 * the loader that the operation names, or as docs/internals/resolution.md says ("A name goes to a class"). Anything but
 * JP_OK leaves an OUTCOME_ERROR in *outcome: the judge denies it, the class, constructor, method or field is not found or is
 * ambiguous, a ref is unknown, or the receiver is not of the type.
 */
enum jp_status jvm_resolve(const struct jvm_request *request, struct jvm_target *target,
                           struct outcome *outcome) JP_MUST_CHECK;

/*
 * Converts the arguments, initialises the class where Java would, checks every object's type, and runs the
 * member. *outcome becomes a value, void or an error. An object that does not travel by value is stored, and
 * the outcome has its ref. A session that is full is an error before the member is run, if its result may need
 * a place there.
 */
void jvm_invoke(const struct jvm_request *request, const struct jvm_target *target, struct outcome *outcome);

/*
 * The answer is too long: *outcome becomes the ref alone of what the request's last jvm_invoke gave, and all else that
 * its result has stored is taken back. False: it gave no object, and *outcome stays. The request has a `result`,
 * and needs no operation.
 */
bool jvm_result_become_ref(const struct jvm_request *request, bool by_value, struct outcome *outcome);
/* The result outlives its request's frame, as where another thread has run the member: before that jvm_request_end. */
void jvm_result_hold(struct jvm_thread *thread, struct jvm_result *result);
/*
 * For an operation that asks for the ref of what Java throws (returns_throwable). jvm_throwable_want is called before it
 * runs, jvm_throwable_tell after it, on the same thread, before jvm_request_end: where *outcome is an error that describes
 * a throwable, this is stored, and its ref is told in *outcome. Without room for it in the session there is no ref.
 */
void jvm_throwable_want(struct jvm_thread *thread);
void jvm_throwable_tell(const struct jvm_request *request, struct outcome *outcome);

/* Releases the String that arguments have shared. On any thread of the JVM, with or without a request. */
void jvm_release_text(struct jvm_thread *thread, struct op_shared_text *text);

/* Lets go of what the request's `result` and `stored` have kept for its answer. Before jvm_request_end. */
void jvm_result_end(const struct jvm_request *request);

#endif

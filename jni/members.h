#ifndef JPEER_JNI_MEMBERS_H
#define JPEER_JNI_MEMBERS_H
/*
 * Runs operations on Java members. jvm_resolve finds the member and asks the judge about it, without
 * initialising any class; jvm_invoke runs the member.
 *
 * Call these functions on the thread's own thread, between jvm_request_begin and jvm_request_end. All data to
 * which an outcome or a target points is in the request's arena or in the thread's caches, and is valid at
 * least until jvm_request_end.
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
struct call_frame;      /* the objects that a request has looked up */
struct rpc_callbacks;   /* of jni/callbacks.h */

struct jvm_target {
  struct resolved_member *resolved;
  struct call_frame *frame;
  struct judged_member facts;
};

struct jvm_limits {
  /* longest array of primitives, wrappers or Strings that is sent by value as well as by ref */
  size_t inline_array_max;
  size_t stack_frames_max;   /* Java frames in the description of a throwable; 0: none */
  size_t by_value_depth_max; /* nesting levels of arrays, collections and maps in a result by value */
  /* Most digits of a BigInteger or BigDecimal argument, with the exponent written out, and of a text that is
   * parsed as a number. */
  size_t number_digits_max;
  size_t assembled_max;        /* total bytes of the pieces of unfinished objects, over all clients */
  size_t callback_classes_max; /* proxy classes that the peer makes; 0: any number */
  /* no other loader is searched for a class that the application's loader does not find */
  bool application_loader_only;
};

/* The result of jvm_invoke, kept until its answer is written; begins zeroed. */
struct jvm_result {
  void *object;         /* a local reference; NULL: the result is not an object */
  bool is_global;       /* jvm_result_hold has made it a global reference */
  uint64_t epoch;       /* of the session's objects */
  size_t stored_before; /* number of refs in request->stored before this result's */
};

/* The input of jvm_resolve and jvm_invoke. All pointers are borrowed. */
struct jvm_request {
  struct jvm_thread *thread;
  struct jvm_objects *objects;
  const struct operation *operation;
  struct arena *arena;
  const struct jvm_limits *limits;
  struct judge *judge;       /* NULL only on the fast paths: their members are already allowed */
  struct jvm_stored *stored; /* collects the refs that the result makes; may be NULL */
  bool drops_result; /* the result will not be read: its object is not stored, and the outcome is void */
  /* --compat pal: the result has the form of the reference implementation, in which objects have no text, and
   * an object that cannot be sent is an error */
  bool compat_pal;
  /* the longest answer in bytes: a result that is certainly longer is not read; 0: no limit */
  size_t answer_max;
  /* For a result that jvm_result_become_ref may have to replace by a ref later; NULL: never replaced. */
  struct jvm_result *result;
  struct rpc_callbacks *callbacks; /* the client's (jni/callbacks.h); NULL: an OP_CALLBACK is an error */
};

/* Opens a frame of local references, and undoes changes that an earlier call has made to the thread (an
 * interrupt, a context class loader). JP_NO_MEMORY. */
enum jp_status jvm_request_begin(struct jvm_thread *thread) JP_MUST_CHECK;
void jvm_request_end(struct jvm_thread *thread);

/* Class.getName() of the operation's instance; the operation has_instance. data NULL leaves an OUTCOME_ERROR:
 * the ref is unknown. */
struct text jvm_instance_class(const struct jvm_request *request, struct outcome *outcome);

/*
 * Resolves an OP_NEW, OP_CALL, OP_GET or OP_PUT; the thread's cache has the operations that it has run
 * before. Loads the named class and the classes of declared argument types without initialising any, through
 * the loader that the operation names, or else as docs/internals/resolution.md says ("A name goes to a
 * class"). Any result except JP_OK leaves an OUTCOME_ERROR in *outcome: the judge denies the member; the
 * class, constructor, method or field is not found or is ambiguous; a ref is unknown; or the receiver is not
 * of the type.
 */
enum jp_status jvm_resolve(const struct jvm_request *request, struct jvm_target *target,
                           struct outcome *outcome) JP_MUST_CHECK;

/*
 * Converts the arguments, initialises the class when Java would, checks every object's type, and runs the
 * member. *outcome becomes a value, void or an error. An object that does not travel by value is stored, and
 * the outcome has its ref. If the session is full and the result may need a slot, the outcome is an error and
 * the member is not run.
 */
void jvm_invoke(const struct jvm_request *request, const struct jvm_target *target, struct outcome *outcome);

/*
 * Replaces a result that is too long for the answer: *outcome becomes only the ref of the object that the
 * request's last jvm_invoke returned, and all other refs of the result are taken off the session. False: the
 * result was not an object, and *outcome is unchanged. The request needs its `result`, but no operation.
 */
bool jvm_result_become_ref(const struct jvm_request *request, bool by_value, struct outcome *outcome);
/* Keeps the result beyond its request's frame, for a member that another thread has run. Call it before that
 * thread's jvm_request_end. */
void jvm_result_hold(struct jvm_thread *thread, struct jvm_result *result);
/*
 * For an operation that asks for the ref of a thrown exception (returns_throwable). Call jvm_throwable_keep
 * before the operation runs, and jvm_throwable_store afterwards, on the same thread, before jvm_request_end.
 * If *outcome is an error that describes a throwable, jvm_throwable_store stores the throwable and adds its
 * ref to *outcome. If the session is full, no ref is made.
 */
void jvm_throwable_keep(struct jvm_thread *thread);
void jvm_throwable_store(const struct jvm_request *request, struct outcome *outcome);

/* Releases the String that several arguments share. On any thread of the JVM, with or without a request. */
void jvm_release_text(struct jvm_thread *thread, struct op_shared_text *text);

/* Releases the Java references that the request's `result` and `stored` hold for its answer. Before
 * jvm_request_end. */
void jvm_result_end(const struct jvm_request *request);

#endif

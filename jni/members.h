#ifndef JPEER_JNI_MEMBERS_H
#define JPEER_JNI_MEMBERS_H
/*
 * Runs operations on Java members. jvm_resolve finds the member and asks the guard about it, without
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
#include "op/operation.h"
#include "op/outcome.h"

enum jvm_member_kind { JVM_METHOD, JVM_STATIC_METHOD, JVM_CONSTRUCTOR, JVM_FIELD, JVM_STATIC_FIELD };

enum { /* JVMS 4.5, 4.6 */
       JVM_ACC_PUBLIC = 0x0001,
       JVM_ACC_PRIVATE = 0x0002,
       JVM_ACC_PROTECTED = 0x0004,
       JVM_ACC_STATIC = 0x0008,
       JVM_ACC_FINAL = 0x0010,
       JVM_ACC_VARARGS = 0x0080
};

struct resolved_member; /* kept in the thread's cache */
struct call_frame;      /* the objects that a request has opened */
struct rpc_callbacks;   /* of jni/callbacks.h */
struct jvm_lineage;     /* of jni/types/selection.h: the method that an object is asked to run */

/* Another class that declares the called member. */
struct jvm_holder {
  struct text class_name;
  unsigned modifiers; /* JVM_ACC_*, of the member there */
};

struct jvm_target {
  struct resolved_member *resolved;
  struct call_frame *frame;
  enum jvm_member_kind kind;
  unsigned modifiers;      /* JVM_ACC_* */
  struct text named_class; /* as the caller named it; for an array its element class or primitive keyword */
  struct text declaring_class; /* where the member is declared */
  struct text runtime_class;   /* the receiver's class (for an array its element); data NULL: no receiver */
  /* For an instance method: the class whose method runs for the receiver, and the classes and interfaces
   * between that class and declaring_class that declare the member. Each is here once; declaring_class is
   * not. */
  const struct jvm_holder *holders;
  size_t holder_count;
  struct text member; /* "<init>" for a constructor */
  /* Objects of the named class are values: only a rule or preset that names a class of it denies. For `allows`. */
  bool is_value;
  /* Of an instance method that an object is asked to run: what jvm_target_find_supertype needs. NULL: a supertype of
   * the object is not asked for. */
  const struct jvm_lineage *lineage;
  /* OP_CHANNELS words that belong to the resolved member and start as 0: the guard keeps its verdicts there.
   * They are dropped with the member, and no other combination of named class, member, kind and runtime class
   * shares them. */
  uint64_t *verdicts;
};

/* How jvm_target_find_supertype asks. */
struct jvm_supertype_judge {
  const void *context;
  /* False: a rule or a preset denies the method on this class or interface, which is the object's class, the named one
   * or between them. */
  bool (*spares)(const void *context, const struct jvm_target *on);
  /* The supertype is named in place of the class. Asked a second time, with its holders, where the first answer is
   * true. */
  bool (*allows)(const void *context, const struct jvm_target *on);
};

/*
 * Finds a supertype of the object that declares the target's method publicly, with the same parameter types, and whose
 * method runs the same code for the object: the first one for which `allows` is true, nearest first. *found is the
 * target with that supertype as its named class; valid as long as the lineage's arena, its verdicts NULL. False: there
 * is none, the target is no public instance method or has no lineage, the object is not of the named class, or `spares` is
 * false for a class.
 */
bool jvm_target_find_supertype(const struct jvm_target *target, const struct jvm_supertype_judge *judge,
                               struct jvm_target *found);

struct jvm_limits {
  size_t inline_array_max;   /* longest array of primitives, wrappers or Strings that also travels by value */
  size_t stack_frames_max;   /* Java frames in the description of a throwable; 0: none */
  size_t by_value_depth_max; /* levels of arrays, collections and maps in a result by value */
  /* Most digits of a BigInteger or BigDecimal that an argument becomes, its exponent written out, and of a
   * text that is read as a number. */
  size_t number_digits_max;
  size_t callback_classes_max; /* classes of proxies that a peer makes; 0: any number */
  bool
      application_loader_only; /* a class that the application's loader does not find is looked for nowhere else */
};

/*
 * Decides what a caller may use. Each function may be NULL, which allows everything. Those that return a
 * status return JP_OK, or anything else with an OUTCOME_ERROR in *denied.
 *
 * For a member that the thread has resolved before, jvm_resolve first asks has_allowed. If that is false, or
 * the member is new, it asks check_names, then the questions about arguments and overloads, then
 * check_target.
 */
struct jvm_guard {
  void *context;
  uint64_t stamp; /* not 0; while it is the same, so are the answers of `allows` */
  /* True where the policy in force has already allowed such an operation, names included, and nothing is to be
   * logged. */
  bool (*has_allowed)(void *context, const struct operation *operation, const uint64_t *verdicts);
  /*
   * Asked about the names in the operation and in its arguments, before a class is looked up by them. Where the names
   * of the member alone deny it, and a supertype of its object may allow it (jvm_target_find_supertype), *by_object
   * becomes true and the answer is JP_OK: the class is then looked for among the object's own, and unless check_target
   * allows what is found the question is asked again, with by_object NULL, for the denial.
   */
  enum jp_status (*check_names)(void *context, const struct operation *operation, bool *by_object,
                                struct arena *arena, struct outcome *denied);
  /* Asked about the member that was found, before its class is initialised. */
  enum jp_status (*check_target)(void *context, const struct operation *operation,
                                 const struct jvm_target *target, struct arena *arena,
                                 struct outcome *denied);
  /*
   * Asked if an argument uses a member that the operation does not name: a text for a java.lang.Class (a read
   * of CLASS.class), a text for an enum (a read of the constant), a list or map for a collection class (its
   * constructor "<init>"), a map for an EnumMap (a call of the enum's values). Asked before the class is loaded, if the
   * argument alone tells. kind is JVM_STATIC_FIELD, JVM_CONSTRUCTOR or JVM_STATIC_METHOD.
   */
  enum jp_status (*check)(void *context, enum jvm_member_kind kind, struct text class_name,
                          struct text member, struct arena *arena, struct outcome *denied);
  /* Asked about each class that an argument or an element declares as its type, before the class is
   * loaded. */
  enum jp_status (*check_type)(void *context, struct text class_name, struct arena *arena,
                               struct outcome *denied);
  /* Asked before a list's or map's elements go into an object by its add or put. The target's verdicts are
   * kept for the object's class. */
  enum jp_status (*check_filling)(void *context, const struct jvm_target *target, struct arena *arena,
                                  struct outcome *denied);
  /* Asked about each of several overloads, of which only the allowed are candidates, about a member before the caller
   * learns that it cannot be used in this way, and about the members that a result by value is read with (judge_reading).
   * The target has no resolved member, no frame and no verdicts; a lineage where there is a receiver. Of an overload it
   * has no runtime class and no holders. */
  bool (*allows)(void *context, enum op_kind operation, const struct jvm_target *member);
  /* Asked about each interface that an OP_CALLBACK names, before it is loaded: JP_OK where a method of it may be
   * allowed. */
  enum jp_status (*check_interface)(void *context, struct text name, struct arena *arena,
                                    struct outcome *denied);
  /* Asked about each method that a callback would be sent, before its proxy is made or given: named_class is the
   * interface that was given, declaring_class the one that declares the method. The target has no resolved member, no
   * frame, no runtime class, no holders and no verdicts. While `stamp` is the same, so is the answer. */
  enum jp_status (*check_callback)(void *context, const struct jvm_target *method, struct arena *arena,
                                   struct outcome *denied);
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
  const struct jvm_guard *guard; /* NULL: everything is allowed */
  struct jvm_stored *stored;     /* collects the refs that the result makes; may be NULL */
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
 * the loader that the operation names, or as docs/architecture.md tells ("A name goes to a class"). Anything but JP_OK leaves an OUTCOME_ERROR in *outcome: the guard denies
 * it, the class, constructor, method or field is not found or is ambiguous, a ref is unknown, or the receiver
 * is not of the type.
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
 * For an operation that asks for the ref of what Java throws (tells_throwable). jvm_throwable_want is called before it
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

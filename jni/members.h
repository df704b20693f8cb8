#ifndef JPEER_JNI_MEMBERS_H
#define JPEER_JNI_MEMBERS_H
/*
 * From an operation to a Java member, and across. jvm_resolve finds the member, asks the guard about it, and
 * initialises nothing; jvm_invoke runs it.
 *
 * All are used on the thread's own thread, between jvm_request_begin and jvm_request_end. Everything that an
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

/* A class that declares a member under the name by which another was called. */
struct jvm_holder {
  struct text class_name;
  unsigned modifiers; /* JVM_ACC_*, of the member there */
};

struct jvm_target {
  struct resolved_member *resolved;
  struct call_frame *frame;
  enum jvm_member_kind kind;
  unsigned modifiers;          /* JVM_ACC_* */
  struct text named_class;     /* what the caller named; of an array its element class or primitive keyword */
  struct text declaring_class; /* where the member is declared */
  struct text runtime_class;   /* the receiver's class (of an array its element); data NULL where there is no
                                  receiver */
  /* Of an instance method: the class whose method runs for the receiver, and the classes and interfaces
   * between it and the declaring one that declare the member; each of them once, the declaring class left
   * out. */
  const struct jvm_holder *holders;
  size_t holder_count;
  struct text member; /* "<init>" for a constructor */
  /* OP_CHANNELS words that belong to the resolved member and start as 0: the guard keeps its verdicts there.
   * They are dropped with the member, and no other combination of named class, member, kind and runtime class
   * shares them. */
  uint64_t *verdicts;
};

struct jvm_limits {
  size_t
      inline_array_max; /* arrays of primitives, wrappers or Strings up to this length also travel by value */
  size_t stack_frames_max;   /* Java frames told of a throwable; 0: none */
  size_t by_value_depth_max; /* arrays, collections and maps inside one another, of a result by value */
  size_t number_digits_max;  /* of a BigInteger or BigDecimal that an argument becomes, its exponent written
                                out,  and of a text that is read as another number */
};

/*
 * Who says what a caller may use. Every function may be NULL: then all is allowed. Those that return a status
 * return JP_OK, or anything else with an OUTCOME_ERROR in *denied.
 *
 * jvm_resolve asks, in this order: has_allowed, of a member that the thread has resolved before; where that is
 * false, check_names, what the arguments and overloads need, and check_target.
 */
struct jvm_guard {
  void *context;
  uint64_t
      stamp; /* tells the answers of `allows` apart: the same ones for as long as it is the same; not 0 */
  /* Whether such an operation was allowed on the member of these verdicts before, its names too. */
  bool (*has_allowed)(void *context, const struct operation *operation, const uint64_t *verdicts);
  /* Asked about the names in the operation and in its arguments, before a class is looked up by them. */
  enum jp_status (*check_names)(void *context, const struct operation *operation, struct arena *arena,
                                struct outcome *denied);
  /* Asked about the member that was found, before its class is initialised. */
  enum jp_status (*check_target)(void *context, const struct operation *operation,
                                 const struct jvm_target *target, struct arena *arena,
                                 struct outcome *denied);
  /*
   * Asked where an argument means a member that the operation's own names do not show: a class
   * ("java.lang.Class" by name: a read of CLASS.class), an enum constant by name (a read of the constant), a
   * collection class that is made from a list or map (its constructor "<init>"). Asked before the class is
   * loaded, as far as the argument's own words tell. kind is JVM_STATIC_FIELD or JVM_CONSTRUCTOR.
   */
  enum jp_status (*check)(void *context, enum jvm_member_kind kind, struct text class_name,
                          struct text member, struct arena *arena, struct outcome *denied);
  /* Asked about each type that an argument or an element declares, before the class is loaded; not about
   * primitives. */
  enum jp_status (*check_type)(void *context, struct text class_name, struct arena *arena,
                               struct outcome *denied);
  /* Asked before a list or map is filled into an object by its add or put. The target's verdicts are kept for
   * the object's class. */
  enum jp_status (*check_filling)(void *context, const struct jvm_target *target, struct arena *arena,
                                  struct outcome *denied);
  /* Asked about each of several overloads: one that is not allowed is no candidate. And about a member before
   * the caller is told what else is wrong with its use. The target has no resolved member, no frame, no
   * runtime class, no holders and no verdicts. */
  bool (*allows)(void *context, enum op_kind operation, const struct jvm_target *member);
};

/* What both steps of one operation are given; everything is borrowed. */
struct jvm_request {
  struct jvm_thread *thread;
  struct jvm_objects *objects;
  const struct operation *operation;
  struct arena *arena;
  const struct jvm_limits *limits;
  const struct jvm_guard *guard; /* NULL: everything is allowed */
  struct jvm_stored *stored;     /* gets the refs that the result makes; NULL: nobody wants to know */
  bool drops_result; /* nobody will read it: nothing is stored for it, and it comes to OUTCOME_VOID */
};

/* Frames local references, and takes back what an earlier call has done to the thread (an interrupt, a
 * context class loader). JP_NO_MEMORY. */
enum jp_status jvm_request_begin(struct jvm_thread *thread) JP_MUST_CHECK;
void jvm_request_end(struct jvm_thread *thread);

/*
 * Resolves OP_NEW, OP_CALL, OP_GET, OP_PUT: looks in the thread's cache for an operation of the same names and
 * types, and else among the class's members. Anything but JP_OK leaves an OUTCOME_ERROR in *outcome: denied by
 * the guard; class, constructor, method or field not found, ambiguous; unknown ref; a receiver that is not of
 * the type. Loads the named class and the classes of declared argument types through the application's class
 * loader, without initialising any.
 */
enum jp_status jvm_resolve(const struct jvm_request *request, struct jvm_target *target,
                           struct outcome *outcome) JP_MUST_CHECK;

/*
 * Converts the arguments, initialises the class where Java would, checks every object's type, runs the
 * member, and fills *outcome with a value (an object that cannot travel is stored in objects and has a ref),
 * void, or an error.
 */
void jvm_invoke(const struct jvm_request *request, const struct jvm_target *target, struct outcome *outcome);

#endif

#ifndef JPEER_JNI_RESOLVE_RESOLVE_H
#define JPEER_JNI_RESOLVE_RESOLVE_H
/*
 * The objects of an operation, and the steps of jvm_resolve that other folders use. Called on the thread that
 * runs the request.
 */
#include "jni/members.h"
#include "jni/types/element_types.h"

#include <jni.h>

/*
 * The objects of one request, from jvm_resolve to jvm_invoke: the receiver, the refs among the arguments, and
 * their class ids. jvm_target points to it. It is allocated in the request's arena, and its references are
 * valid until jvm_request_end.
 */
enum { FEW_ARGUMENTS = 8 };

struct call_frame {
  uint64_t epoch;          /* of the session's objects when the operation began */
  jobject receiver;        /* local; NULL: no receiver, or not made yet */
  uint32_t receiver_class; /* its class id; 0: no receiver */
  jobject loader;          /* local: the loader that the operation names; NULL: none */
  uint32_t loader_number;  /* of jni/loaders; 0: none */
  uint32_t unknown_ref;    /* the ref that the session does not have */
  jobject *objects;        /* local: of each argument that is an OP_REF; NULL for the others */
  uint32_t *classes;       /* their class ids; 0 for the others */
  uint64_t stamp;          /* of the request's judge */
  uint64_t hash;           /* of the operation's key, set by member_cache_find */
  bool has_references;     /* looking up or resolving has made local references */
  bool has_unused;         /* an argument was built from pieces, and this is its first use */

  /* For up to FEW_ARGUMENTS arguments. */
  struct {
    jobject objects[FEW_ARGUMENTS];
    uint32_t classes[FEW_ARGUMENTS];
    jvalue values[FEW_ARGUMENTS];
  } few;
};

/*
 * Makes the receiver from the value that the operation has in place of a ref. The value is converted like an
 * argument: this asks the judge, and may run code of the receiver's class. Called after judge_operation.
 * False: an OUTCOME_ERROR says why.
 */
bool call_frame_make_receiver(const struct jvm_request *request, struct call_frame *frame,
                              struct outcome *outcome) JP_MUST_CHECK;

/* The class that an operation names, without a member. */
struct jvm_class;

/*
 * Finds the class as jvm_resolve does: by the loader that the operation names, among the supertypes of the
 * instance's class, or by the usual search; with only_ancestors, only among the instance's class and
 * supertypes. The caller has asked the judge about the names. The class remains loaded until jvm_request_end.
 * *receiver_class becomes the class of the instance; NULL: the operation has no instance. Returns NULL if
 * there is no class. *outcome is then an OUTCOME_ERROR; with only_ancestors it is unchanged if no ancestor
 * has the name.
 */
struct jvm_class *resolve_named_class(const struct jvm_request *request, bool only_ancestors,
                                      struct jvm_class **receiver_class, struct outcome *outcome);

/*
 * Converts a value to a type by the rules of a put. The value is the only argument of the request's
 * operation, which is an OP_PUT. Asks the judge about the types that the value names. elements: declared
 * element types; NULL: none. beside: a class whose loader is asked first; may be NULL. An object is a local
 * reference of the request's frame. False leaves an OUTCOME_ERROR.
 */
bool resolve_value(const struct jvm_request *request, struct jvm_type *type,
                   const struct element_types *elements, const struct jvm_class *beside, jvalue *out,
                   struct outcome *outcome);

#endif

#ifndef JPEER_JNI_RESOLVE_RESOLVE_H
#define JPEER_JNI_RESOLVE_RESOLVE_H
/*
 * What an operation has opened on its way to a member, and parts of that way for other folders. jvm_resolve is the whole of
 * it. On the thread's own thread.
 */
#include "jni/members.h"
#include "jni/types/element_types.h"

#include <jni.h>

/*
 * What one request has opened on its way from jvm_resolve to jvm_invoke: the receiver, the objects of the
 * refs among its arguments, and their class ids. jvm_target points to it. It lives in the request's arena,
 * its references until jvm_request_end.
 */
enum { FEW_ARGUMENTS = 8 };

struct call_frame {
  uint64_t epoch;          /* of the session's objects, when the operation began */
  jobject receiver;        /* local; NULL: there is none, or it is not made yet */
  uint32_t receiver_class; /* its class id; 0: there is none */
  jobject loader;          /* local: the one that the operation names; NULL: none */
  uint32_t loader_number;  /* of jni/loaders; 0: there is none */
  uint32_t unknown_ref;    /* where opening has not found an object */
  jobject *objects;        /* local: of each argument that is an OP_REF; NULL for the others */
  uint32_t *classes;       /* their class ids; 0 for the others */
  uint64_t stamp;          /* of the request's judge */
  uint64_t hash;           /* of the operation's key, set by member_cache_find */
  bool has_references;     /* opening or resolving made local ones */
  bool has_unused;         /* an argument was built of pieces, and this is its first use */

  /* Where there are no more arguments than these. */
  struct {
    jobject objects[FEW_ARGUMENTS];
    uint32_t classes[FEW_ARGUMENTS];
    jvalue values[FEW_ARGUMENTS];
  } few;
};

/*
 * Makes the receiver of an operation that gives it as a value, as an argument is made: asks the judge, and may
 * run code of its class. After judge_operation. False: an OUTCOME_ERROR tells why.
 */
bool call_frame_make_receiver(const struct jvm_request *request, struct call_frame *frame,
                              struct outcome *outcome) JP_MUST_CHECK;

/* The class that an operation names, without a member of it. */
struct jvm_class;

/*
 * Finds the class as jvm_resolve does: by the loader that the operation names, above the class of its instance, or
 * wherever names are looked for; with only_ancestors nowhere but above the class of its instance. The caller has asked
 * the judge about the names. The class stays loaded until jvm_request_end. *receiver_class is the instance's; NULL:
 * there is none. NULL leaves an OUTCOME_ERROR in *outcome, or nothing where only_ancestors are looked at.
 */
struct jvm_class *resolve_named_class(const struct jvm_request *request, bool only_ancestors,
                                      struct jvm_class **receiver_class, struct outcome *outcome);

/*
 * A value becomes what a type holds, by the rules of a put. Converts the one argument of the request's operation, which is an OP_PUT, and asks the judge about the types that it
 * names. elements: what is declared of a collection's elements; NULL: nothing. beside: a class whose loader is asked
 * first; may be NULL. An object is a local reference of the request's frame. False leaves an OUTCOME_ERROR.
 */
bool resolve_value(const struct jvm_request *request, struct jvm_type *type,
                   const struct element_types *elements, const struct jvm_class *beside, jvalue *out,
                   struct outcome *outcome);

#endif

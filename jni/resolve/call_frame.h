#ifndef JPEER_JNI_RESOLVE_CALL_FRAME_H
#define JPEER_JNI_RESOLVE_CALL_FRAME_H
/*
 * What one request has opened on its way from jvm_resolve to jvm_invoke: the receiver, the objects of the
 * refs among its arguments, and their class ids. jvm_target points to it. It lives in the request's arena,
 * its references until jvm_request_end. On the thread's own thread.
 */
#include "jni/members.h"

#include <jni.h>

enum { FEW_ARGUMENTS = 8 };

struct call_frame {
  uint64_t epoch;          /* of the session's objects, when the operation began */
  jobject receiver;        /* local; NULL: there is none, or it is not made yet */
  uint32_t receiver_class; /* its class id; 0: there is none */
  jobject loader;          /* local: the one that the operation names; NULL: none */
  uint32_t loader_number;  /* of jni/loaders; 0: there is none */
  uint32_t unknown_ref;    /* where call_frame_open has not found an object */
  jobject *objects;        /* local: of each argument that is an OP_REF; NULL for the others */
  uint32_t *classes;       /* their class ids; 0 for the others */
  uint64_t stamp;          /* of the request's guard */
  uint64_t hash;           /* of the operation's key, set by member_cache_find */
  bool has_references;     /* opening or resolving made local ones */

  /* Where there are no more arguments than these. */
  struct {
    jobject objects[FEW_ARGUMENTS];
    uint32_t classes[FEW_ARGUMENTS];
    jvalue values[FEW_ARGUMENTS];
  } few;
};

/*
 * Opens the receiver, the loader and the arguments that are refs. JP_NOT_FOUND: the session has no object
 * unknown_ref. JP_INVALID: the loader is none. JP_NO_MEMORY: memory is short, and *frame may be NULL.
 */
enum jp_status call_frame_open(const struct jvm_request *request, struct call_frame **frame) JP_MUST_CHECK;

/*
 * Makes the receiver of an operation that gives it as a value, as an argument is made: asks the guard, and may
 * run code of its class. After guard->check_names. False: an OUTCOME_ERROR tells why.
 */
bool call_frame_make_receiver(const struct jvm_request *request, struct call_frame *frame,
                              struct outcome *outcome) JP_MUST_CHECK;

#endif

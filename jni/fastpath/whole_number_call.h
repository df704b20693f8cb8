#ifndef JPEER_JNI_FASTPATH_WHOLE_NUMBER_CALL_H
#define JPEER_JNI_FASTPATH_WHOLE_NUMBER_CALL_H
/*
 * Calls whose arguments are whole numbers and whose result is a whole number or nothing, as most calls in a
 * loop are. jvm_resolve has found the member and jvm_invoke has run it once; a struct jvm_whole_number_call
 * keeps what later calls need, and they skip everything that such a member has no use for. For
 * rpc/fastpath and rpc/colfer/known_messages.c; without them, all calls go through jvm_resolve and jvm_invoke.
 *
 * All functions are used on the thread's own thread.
 */
#include "jni/members.h"

/* Plain data, valid for the thread that made it. member NULL: no call is kept. */
struct jvm_whole_number_call {
  struct resolved_member *member;
  uint64_t serial; /* of the thread's cache of members: another serial means that the member may be gone */
  char result;     /* letter of a whole number, or V */
};

/*
 * Keeps the call of a member that an operation has just reached (struct jvm_target), before jvm_request_end.
 * False where the general path has to run such operations.
 */
bool jvm_whole_number_call_keep(const struct jvm_thread *thread, struct resolved_member *member,
                                const struct operation *operation, struct jvm_whole_number_call *call);

/* The member's verdicts (struct jvm_target). NULL: no call is kept, or the member may be gone. May be called
 * before jvm_request_begin. */
const uint64_t *jvm_whole_number_call_verdicts(const struct jvm_thread *thread,
                                               const struct jvm_whole_number_call *call);

enum jvm_whole_number {
  JVM_WHOLE_NUMBER_UNFIT, /* nothing was run: the operation has to go the general path */
  JVM_WHOLE_NUMBER_VOID,
  JVM_WHOLE_NUMBER_RESULT, /* *result */
  JVM_WHOLE_NUMBER_THREW   /* jvm_whole_number_call_fail says what, and has to be called */
};

/*
 * Runs the request's operation, which is like the one that was kept but for its numbers and its instance.
 * The caller has checked the verdicts just before. The request's judge is not asked: a whole number names
 * nothing. Between jvm_request_begin and jvm_request_end.
 */
enum jvm_whole_number jvm_whole_number_call_run(const struct jvm_request *request,
                                                const struct jvm_whole_number_call *call,
                                                int64_t *result) JP_MUST_CHECK;

/* Takes what a call threw: *outcome becomes an OUTCOME_ERROR, valid until jvm_request_end. */
void jvm_whole_number_call_fail(const struct jvm_request *request, struct outcome *outcome);

#endif

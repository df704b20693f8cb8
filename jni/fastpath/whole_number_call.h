#ifndef JPEER_JNI_FASTPATH_WHOLE_NUMBER_CALL_H
#define JPEER_JNI_FASTPATH_WHOLE_NUMBER_CALL_H
/*
 * A short way for calls whose arguments are whole numbers and whose result is a whole number or void, like
 * most calls in a loop. The first such call goes the general way, through jvm_resolve and jvm_invoke. A
 * struct jvm_whole_number_call keeps what later calls need, so that these calls skip every step that the
 * member does not need. For rpc/fastpath and rpc/colfer/known_messages.c; without these functions, all calls
 * use jvm_resolve and jvm_invoke.
 *
 * All functions are used on the thread's own thread.
 */
#include "jni/members.h"

/* Plain data, valid on the thread that made it. member NULL: no call is kept. */
struct jvm_whole_number_call {
  struct resolved_member *member;
  uint64_t
      serial; /* of the thread's cache of members: if the cache has another serial, the member may be freed */
  char result; /* letter of a whole number, or V */
};

/*
 * Keeps the call of the member (struct jvm_target) that an operation has just run, before jvm_request_end.
 * False if the general path must run the operations of this member.
 */
bool jvm_whole_number_call_keep(const struct jvm_thread *thread, struct resolved_member *member,
                                const struct operation *operation, struct jvm_whole_number_call *call);

/* The member's verdicts (struct jvm_target). NULL: no call is kept, or the member may be freed. May be called
 * before jvm_request_begin. */
const uint64_t *jvm_whole_number_call_verdicts(const struct jvm_thread *thread,
                                               const struct jvm_whole_number_call *call);

enum jvm_whole_number {
  JVM_WHOLE_NUMBER_UNFIT, /* nothing was run: use the general path for the operation */
  JVM_WHOLE_NUMBER_VOID,
  JVM_WHOLE_NUMBER_RESULT, /* *result is set */
  JVM_WHOLE_NUMBER_THREW   /* call jvm_whole_number_call_fail, which makes the outcome */
};

/*
 * Runs the request's operation, which differs from the kept call only in its numbers and its instance. Before
 * this, the caller must have checked the member's verdicts. The request's judge is not asked, because a whole
 * number names no class. Between jvm_request_begin and jvm_request_end.
 */
enum jvm_whole_number jvm_whole_number_call_run(const struct jvm_request *request,
                                                const struct jvm_whole_number_call *call,
                                                int64_t *result) JP_MUST_CHECK;

/* Clears the pending exception: *outcome becomes an OUTCOME_ERROR, valid until jvm_request_end. */
void jvm_whole_number_call_fail(const struct jvm_request *request, struct outcome *outcome);

#endif

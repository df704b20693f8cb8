#ifndef JPEER_TESTS_UNIT_JNI_MEMBERS_CASES_H
#define JPEER_TESTS_UNIT_JNI_MEMBERS_CASES_H
/*
 * Runs operations, written as JSON-RPC params, against a session's objects, and compares each outcome as one
 * line of text:
 *
 *   void                                 int 8               java.lang.String "text"
 *   [1,{"ref":N}]                        (by value: only the JSON; N is any whole number)
 *   java.lang.String null                fixtures.User ref   [I [1,2] ref
 *   -32602 argument 0: 300: out of       (errors: the beginning of code, throwable's type and message)
 *   -32000 java.lang.ArithmeticException: / by zero
 *
 *   -32601 T: several of them [a, b]     (the error names the loaders in brackets)
 *
 * In params, $name is replaced by the ref that an earlier case kept under that name, and ' by ".
 */
#include "judge/judge.h"
#include "tests/unit/unit.h"

#include "jni/members.h"
#include "jni/runtime/machine.h"

struct members_case {
  const char *method; /* "new", "call", "get", "put", "jpeer.fetch" */
  const char *params;
  const char *wanted;
  const char *keep; /* keeps the result's ref under this name; NULL: no */
};

struct members_session {
  struct jvm_thread *thread;
  struct jvm_objects *objects;
  struct jvm_limits limits;
  struct policy *policy; /* allows everything; owned */
  struct judge_names names;
  struct judge judge;            /* by that policy */
  bool by_value;                 /* of every operation */
  uint32_t loader;               /* of every operation */
  bool element_types;            /* the same */
  size_t answer_max;             /* of struct jvm_request */
  size_t room;                   /* of every fetch, for the text of its elements; 0: plenty */
  void (*notify_run)(bool runs); /* called before and after an operation runs; NULL: not called */
  struct jvm_stored stored;
  struct arena arena;
  struct {
    const char *name;
    uint32_t ref;
  } kept[32];
  size_t kept_count;
};

void members_session_init(struct members_session *session, struct jvm_thread *thread);
void members_session_fini(struct members_session *session);

/* The session of the tests, on their thread; the functions are its cmocka fixtures. */
extern struct members_session session;
int members_open(void **state);
int members_close(void **state);

/* Runs cases in that session, prints the differences, and fails the test if any outcome differs. */
void members_check_all(const struct members_case *cases, size_t count);
void members_check(const char *method, const char *params, const char *wanted, const char *keep);

/* The outcome of one operation, valid until the next. */
struct text members_run(struct members_session *session, const char *method, const char *params,
                        uint32_t *ref);
uint32_t members_ref(const char *name);

#endif

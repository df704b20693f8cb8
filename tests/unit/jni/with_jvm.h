#ifndef JPEER_TESTS_UNIT_JNI_WITH_JVM_H
#define JPEER_TESTS_UNIT_JNI_WITH_JVM_H
/*
 * Runs tests inside a JVM. One JVM for each process: each test file that needs a JVM is its own executable,
 * which JVM_MAIN ends.
 *
 * The JVM is in JAVA_HOME; JPEER_TEST_JVM_OPTIONS has further options, separated by blanks. The class path
 * has the test's own Java classes (tests/unit/jni/java).
 */
#include "jni/jvm.h"

/* UNIT_MAIN_WITH in a JVM. */
#define JVM_MAIN(setup, teardown)                                                                            \
  static int run_unit_tests(__attribute__((unused)) struct jvm *jvm,                                         \
                            __attribute__((unused)) struct jvm_thread *thread)                               \
  {                                                                                                          \
    return UNIT_RUN(setup, teardown);                                                                        \
  }                                                                                                          \
  int main(void)                                                                                             \
  {                                                                                                          \
    return with_jvm(run_unit_tests);                                                                         \
  }

/* The JVM and the thread of the tests. */
extern struct jvm *the_jvm;
extern struct jvm_thread *the_thread;

/* run is called on a thread of the peer (jvm_spawn). Returns the process's exit status: failure also if the
 * thread had more local references than it had reserved (tests/ledger/reference_ledger.h). */
int with_jvm(int (*run)(struct jvm *jvm, struct jvm_thread *thread));
/* The same as with_jvm, without counting references: for measurements, because counting costs a few
 * nanoseconds for each JNI call. */
int with_jvm_uncounted(int (*run)(struct jvm *jvm, struct jvm_thread *thread));

#endif

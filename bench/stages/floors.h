#ifndef JPEER_TESTS_BENCH_STAGES_FLOORS_H
#define JPEER_TESTS_BENCH_STAGES_FLOORS_H
/*
 * The cost of the JVM's part of each workload: the JNI calls that it needs, with prepared values; for `ints`
 * also the cost of only parsing the numbers. Call on the thread of the env.
 */
#include "workloads.h"

#include <jni.h>

struct floors {
  JNIEnv *env;
  jclass calculator;
  jclass arguments;
  jmethodID add;
  jmethodID accumulate;
  jmethodID construct;
  jmethodID echo;
  jmethodID sum;
  jfieldID result;
  jobject object;
  jchar *units; /* of the echoed text */
  jsize unit_count;
  jchar *room; /* for the result */
  struct buffer numbers;
  jint ints[STAGES_NUMBERS];
};

/* False if Java throws. Released with floors_fini. */
bool floors_init(struct floors *floors, JNIEnv *env);
void floors_fini(struct floors *floors);

typedef void floor_run(struct floors *floors, uint64_t iterations);

/* NULL: the workload does not call Java. */
floor_run *floor_of_jni(enum workload_id id);
/* NULL: the workload's floor is floor_of_jni. */
floor_run *floor_with_parse(enum workload_id id);

#endif

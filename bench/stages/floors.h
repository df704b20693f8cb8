#ifndef JPEER_TESTS_BENCH_STAGES_FLOORS_H
#define JPEER_TESTS_BENCH_STAGES_FLOORS_H
/*
 * What each workload costs where nothing but the JVM is asked: the JNI calls that it cannot do without, from
 * values that are there already; and for `ints` the same with a bare parse of the numbers before it. On the
 * thread of the env.
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
  jchar *room; /* for what comes back */
  struct buffer numbers;
  jint ints[STAGES_NUMBERS];
};

/* False where Java throws. Released with floors_fini. */
bool floors_init(struct floors *floors, JNIEnv *env);
void floors_fini(struct floors *floors);

typedef void floor_run(struct floors *floors, uint64_t iterations);

/* NULL: the workload asks nothing of Java. */
floor_run *floor_of_jni(enum workload_id id);
/* NULL: the floor is that of JNI. */
floor_run *floor_with_parse(enum workload_id id);

#endif

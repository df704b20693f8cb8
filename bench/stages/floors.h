#ifndef JPEER_TESTS_BENCH_STAGES_FLOORS_H
#define JPEER_TESTS_BENCH_STAGES_FLOORS_H
/*
 * The floors of each workload: only the JNI calls that the workload needs, with prepared values. For `ints`
 * there is a further floor that also parses the numbers. Call these functions on the thread of the env.
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
  jchar *units; /* the echoed text */
  jsize unit_count;
  jchar *room; /* room for the result */
  struct buffer numbers;
  jint ints[STAGES_NUMBERS];
};

/* Returns false if Java throws. The caller releases floors with floors_fini. */
bool floors_init(struct floors *floors, JNIEnv *env);
void floors_fini(struct floors *floors);

typedef void floor_run(struct floors *floors, uint64_t iterations);

/* Returns NULL if the workload does not call Java. */
floor_run *floor_of_jni(enum workload_id id);
/* Returns NULL if the workload parses no numbers: its only floor is floor_of_jni. */
floor_run *floor_with_parse(enum workload_id id);

#endif

#ifndef JPEER_BENCH_WORKLOAD_BINARY_H
#define JPEER_BENCH_WORKLOAD_BINARY_H
/* The steps of the workloads that send binary messages: the calls, and their encoding as bytes with holes. */
#include "binary_message.h"
#include "workload.h"

struct workload_value {
  const char *type;
  const char *value; /* JSON; a hole, or a body with the text around it */
};

/* A call of a static method. */
struct workload_call {
  const char *class_name;
  const char *method;
  struct workload_value args[BINARY_ARGS_MAX]; /* type NULL: no more */
  struct workload_value result;
};

/* Makes both messages of the call: the encoder runs once, and the bytes of a call are then divided into words
 * and holes, like a text. False if memory is short. */
bool workload_call_parse(const struct workload_call *call, struct workload_text *request,
                         struct workload_text *answer) JP_MUST_CHECK;

#endif

#ifndef JPEER_TESTS_BENCH_STAGES_WORKLOADS_H
#define JPEER_TESTS_BENCH_STAGES_WORKLOADS_H
/*
 * The calls with which the stages are measured, as rows of JSON with holes. $o is the receiver's ref, $t a
 * text of 1 KiB with characters of one to four bytes, $n a thousand numbers, and $s the sum of these numbers.
 * The rows are constant. One thread.
 */
#include "base/buffer.h"
#include "binary_message.h"

#include <stdbool.h>
#include <stdint.h>

enum { STAGES_NUMBERS = 1000 };

enum workload_id {
  WORKLOAD_PING,
  WORKLOAD_ADD,
  WORKLOAD_INSTANCE,
  WORKLOAD_GET,
  WORKLOAD_PUT,
  WORKLOAD_NEW_DELETE,
  WORKLOAD_ECHO,
  WORKLOAD_INTS,
  WORKLOAD_ADD_BINARY,
  WORKLOAD_INSTANCE_BINARY,
  WORKLOAD_ECHO_BINARY,
  WORKLOAD_INTS_BINARY,
  WORKLOADS
};

/* A type, and a value as JSON with holes. type is NULL if there is no value. */
struct workload_value {
  const char *type;
  const char *value;
};

/* The member that a binary message calls. */
struct workload_call {
  const char *class_name;
  const char *method;
  bool has_receiver;
  struct workload_value args[BINARY_ARGS_MAX];
  struct workload_value result; /* the result of the first call */
};

struct workload {
  const char *name;
  const char *what;
  const char *request;
  /* The answer to the first request. The answer of WORKLOAD_NEW_DELETE ends before the ref. */
  const char *answer;
  unsigned iteration_share; /* a round has `iterations` (measure.h) divided by this */
  /* binary messages instead of request and answer; NULL: request and answer are JSON */
  const struct workload_call *call;
};

extern const struct workload workloads[WORKLOADS];

/* Appends the text with its holes filled. */
void workload_fill(const char *source, uint32_t receiver, struct buffer *out);

/* Appends the workload's request, and its first answer. */
void workload_write_request(const struct workload *workload, uint32_t receiver, struct buffer *out);
void workload_write_answer(const struct workload *workload, uint32_t receiver, struct buffer *out);
/* Appends a `new` request that creates the receiver. */
void workload_write_new(const struct workload *workload, struct buffer *out);

#endif

#ifndef JPEER_TESTS_UNIT_RPC_PARAMS_BENCH_H
#define JPEER_TESTS_UNIT_RPC_PARAMS_BENCH_H
/* Decodes the params of requests, for tests that compare what they mean. */
#include "base/buffer.h"
#include "op/operation.h"
#include "op/outcome.h"

enum { PARAMS_DIGITS_MAX = 10000, PARAMS_CALLBACK_LIMIT = 404 /* an ID that is not taken */ };

struct params_bench {
  struct arena arena;
  struct operation operation;
  struct outcome outcome; /* the error */
  struct buffer shown;
  bool refuses_callbacks; /* as a client's transport does that can only be answered */
  size_t callbacks;       /* that the params gave */
};

struct params_request {
  const char *method;
  const char *params; /* NULL: none */
  const char *wanted; /* as show_operation writes it */
};

struct params_error {
  const char *method;
  const char *params;
  enum outcome_failure failure;
  const char *message;
};

struct params_bench *params_bench_create(void);
void params_bench_destroy(struct params_bench *bench);

/* Fills in the operation or the outcome. */
enum jp_status params_decode(struct params_bench *bench, const char *method, const char *params);
void params_check_requests(struct params_bench *bench, const struct params_request *cases, size_t count);
void params_check_errors(struct params_bench *bench, const struct params_error *cases, size_t count);

/* One argument, as that of a new and as the value of a put; then one that is refused behind another. */
void params_check_argument(struct params_bench *bench, const char *argument, const char *wanted);
void params_check_wrong_argument(struct params_bench *bench, const char *argument, const char *message);

#endif

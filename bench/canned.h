#ifndef JPEER_BENCH_CANNED_H
#define JPEER_BENCH_CANNED_H
/*
 * A workload's prepared answers, which the floors serve. To choose an answer, canned_answer reads only the
 * request's id and, if the workload has several requests, the words after the id. The answers do not change
 * once they are made, so any thread may use them.
 */
#include "workload.h"

struct canned_step {
  unsigned id_hole; /* the index of the id's hole in the request */
  size_t id_at;     /* where the id's digits begin in each request */
  struct workload_text request;
  struct workload_text answer;
};

struct canned {
  unsigned count;
  struct canned_step
      steps[1 + WORKLOAD_STEPS_MAX]; /* first the setup, if the workload has one, then its steps */
};

/* Returns false if no workload has that name, or its text is wrong. In both cases the caller frees with
 * canned_fini. */
bool canned_init(struct canned *canned, const char *workload) JP_MUST_CHECK;
void canned_fini(struct canned *canned);
/* Appends the answer to the message. Appends nothing if the workload does not have this message. */
void canned_answer(const struct canned *canned, struct text message, struct buffer *out);

#endif

#ifndef JPEER_RPC_FASTPATH_ANSWER_TEMPLATE_H
#define JPEER_RPC_FASTPATH_ANSWER_TEMPLATE_H
/*
 * The text of a shape's answers: all of it but the id and the whole number. Plain data; any one thread.
 */
#include "rpc/fastpath/fastpath.h"

/* Copies have constant sizes, so that the compiler inlines them. */
enum {
  ANSWER_STEP = 16,
  ANSWER_BEFORE_ID_MAX = 2 * ANSWER_STEP,
  ANSWER_AFTER_ID_MAX = 6 * ANSWER_STEP,
  ANSWER_AFTER_NUMBER_MAX = ANSWER_STEP
};

/* Begins as zero: an answer is written by copying whole parts, the unused bytes of which are then written over. */
struct answer_template {
  size_t before_id_length;
  size_t after_id_length;
  size_t after_number_length;
  bool has_number;
  char before_id[ANSWER_BEFORE_ID_MAX];
  char after_id[ANSWER_AFTER_ID_MAX];
  char after_number[ANSWER_AFTER_NUMBER_MAX];
};

/* Copies what an answer consists of. False where it is too long; the template is unusable then. */
bool answer_template_fill(struct answer_template *template, const struct rpc_written_answer *written);

/* The length that no answer to a request of that id passes. */
size_t answer_template_length_max(const struct answer_template *template, size_t id_length);

/* Appends an answer; number is not used where the template has none. A failed allocation leaves
 * out->failed. */
void answer_template_write(const struct answer_template *template, struct text id, int64_t number,
                           struct buffer *out);

#endif

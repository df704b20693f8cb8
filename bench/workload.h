#ifndef JPEER_BENCH_WORKLOAD_H
#define JPEER_BENCH_WORKLOAD_H
/*
 * Requests and expected answers, as rows of text with holes: a new workload is a new row.
 *
 * A call is one or more steps. Each step is a request and its answer; the next request is sent when the
 * previous request is answered. A batch is one call, too; the row has the texts of one element of the batch.
 * Requests and answers may have these holes:
 *   $i  the request's id: the number of the connection times 10^9, and a count
 *   $a $b $s  two operands that are computed from the id, and their sum
 *   $n  the number of this step's answers on this connection so far, plus 1
 *   $o  the object that the connection's setup made
 *   $r  the object of this call: from the answer to an earlier step
 *   $t  a number that is known only from the answer, such as a timestamp: any number matches
 *   $p  the number of the connection
 *   $u  a text that is known only from the answer, such as a random id: any text matches
 *   $k  in a batch: the place of the element, two digits
 *   $E and other capitals: the bodies of body.h
 * In an answer, $r (and in a setup's answer $o) matches any number if the object is not known yet, and the number
 * is kept.
 *
 * A step that is a binary message has a call instead of its texts (workload_binary.h).
 *
 * Pure functions over the caller's memory; one thread.
 */
#include "base/buffer.h"
#include "base/status.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

enum { WORKLOAD_STEPS_MAX = 2, WORKLOAD_BATCH_MAX = 100 };

struct workload_call;

struct workload_step {
  const char *request;
  const char *answer;
  const struct workload_call
      *call; /* of a binary message, in place of both texts; NULL: the step has texts */
};

static inline bool workload_step_exists(const struct workload_step *step)
{
  return step->request != NULL || step->call != NULL;
}

struct workload_row {
  const char *name;
  const char *what;
  struct workload_step setup; /* sent once for each connection; may be absent */
  bool keeps_session;         /* HTTP: every request names its session */
  unsigned batch;             /* elements in each batch; 0: the calls are not batches */
  struct workload_step steps[WORKLOAD_STEPS_MAX];
};

extern const struct workload_row workload_rows[];
extern const unsigned workload_row_count;
/* Rows of binary messages, which only ZeroMQ carries. */
extern const struct workload_row workload_binary_rows[];
extern const unsigned workload_binary_row_count;
/* Rows of the rivals' protocols. */
extern const struct workload_row workload_rival_rows[];
extern const unsigned workload_rival_row_count;

const struct workload_row *workload_find(const char *name); /* NULL: no row has this name */

struct workload_hole {
  size_t at; /* in the words */
  char kind;
  unsigned char width; /* the number is padded with zeros to this many digits; 0: not padded */
  bool is_counted;     /* one byte with the length of the content is written before the content */
};

/* A row's text: its words, with bodies and batches made, and the places of its holes. */
struct workload_text {
  bool is_binary;
  struct buffer words;
  struct workload_hole *holes;
  unsigned hole_count;
};

/* Makes a batch whose elements are `batch` copies of the text (at most WORKLOAD_BATCH_MAX), or, with 0, the text alone.
 * False if the text has an unknown hole, or memory is short. Free with workload_text_fini in both cases. */
bool workload_text_parse(struct workload_text *text, const char *source, unsigned batch) JP_MUST_CHECK;
/* Parses both texts of a step, with the same rules. */
bool workload_step_parse(const struct workload_step *step, unsigned batch, struct workload_text *request,
                         struct workload_text *answer) JP_MUST_CHECK;
void workload_text_fini(struct workload_text *text); /* a text of zero bytes is allowed */
/* Returns the words before the hole of that index, borrowed from the text. With the index hole_count it
 * returns the words after the last hole. */
struct text workload_text_part(const struct workload_text *text, unsigned index);

/* Returns the place of the id's first digit, which is the same in all messages of the text, and sets *hole to
 * the index of the id's hole. Returns SIZE_MAX if the text has no id. */
size_t workload_id_at(const struct workload_text *text, unsigned *hole);

/* The content of the holes. */
struct workload_facts {
  uint64_t id;
  uint64_t count;
  uint64_t receiver; /* 0: not known */
  uint64_t object;   /* 0: not known */
  uint64_t time;     /* $t of the last answer that has matched */
  bool canned;       /* the answers' sums are always WORKLOAD_CANNED_SUM */
};

enum {
  WORKLOAD_CANNED_SUM = 100000,
  WORKLOAD_IDS_PER_CONNECTION = 1000000000, /* the number of a connection is the id divided by this */
};

void workload_write(const struct workload_text *text, const struct workload_facts *facts, struct buffer *out);
/* True if answer is the text with its holes filled; values that are not known yet are stored in facts. */
bool workload_match(const struct workload_text *text, struct workload_facts *facts,
                    struct text answer) JP_MUST_CHECK;

#endif

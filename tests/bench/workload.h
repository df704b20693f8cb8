#ifndef JPEER_BENCH_WORKLOAD_H
#define JPEER_BENCH_WORKLOAD_H
/*
 * What is asked and what must be answered, as rows of text with holes: a new workload is a new row.
 *
 * A call is one or more steps, each a request and its answer; the next step is sent when the one before is
 * answered. Holes, in requests and answers alike:
 *   $i  the request's id: the number of the connection times 10^9, and a count
 *   $a $b $s  two operands that follow from the id, and their sum
 *   $n  how often this step has been answered on this connection, from 1
 *   $o  the object that the connection's setup made
 *   $r  the object of this call: what the answer to an earlier step held there
 *   $t  any number, each time: the answer alone knows it, like its time
 * In an answer, $o (of a setup) and $r take any number and keep it where they are not known yet.
 *
 * Pure functions over the caller's memory; one thread.
 */
#include "base/buffer.h"
#include "base/status.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

enum { WORKLOAD_STEPS_MAX = 2, WORKLOAD_HOLES_MAX = 8 };

struct workload_step {
  const char *request;
  const char *answer;
};

struct workload_row {
  const char *name;
  const char *what;
  struct workload_step setup; /* asked once a connection; request NULL: nothing to set up */
  bool keeps_session;         /* HTTP: every request names its session */
  struct workload_step steps[WORKLOAD_STEPS_MAX];
};

extern const struct workload_row workload_rows[];
extern const unsigned workload_row_count;
/* Those of the rivals' protocols. */
extern const struct workload_row workload_rival_rows[];
extern const unsigned workload_rival_row_count;

const struct workload_row *workload_find(const char *name); /* NULL where there is none */

/* A row's text, cut at its holes. */
struct workload_text {
  unsigned hole_count;
  struct text parts[WORKLOAD_HOLES_MAX + 1];
  char holes[WORKLOAD_HOLES_MAX];
};

/* False where the text has more holes than there is room for, or one that is unknown. source is borrowed. */
bool workload_text_parse(struct workload_text *text, const char *source) JP_MUST_CHECK;

/* What fills the holes. */
struct workload_facts {
  uint64_t id;
  uint64_t count;
  uint64_t receiver; /* 0: not known */
  uint64_t object;   /* 0: not known */
  uint64_t time;     /* that of the answer matched last */
  bool canned;       /* the answers' sums are WORKLOAD_CANNED_SUM, whatever was asked */
};

enum { WORKLOAD_CANNED_SUM = 8 };

void workload_write(const struct workload_text *text, const struct workload_facts *facts, struct buffer *out);
/* True where answer is the text with its holes filled; what is not known yet is put into facts. */
bool workload_match(const struct workload_text *text, struct workload_facts *facts,
                    struct text answer) JP_MUST_CHECK;

#endif

#ifndef JPEER_CLIENT_CHAIN_H
#define JPEER_CLIENT_CHAIN_H
/*
 * The inside of a chain: chain.c adds steps, chain_send.c sends them. One thread at a time.
 *
 * A step is written when it is added, because its arguments are borrowed. The ids of its request and of those
 * that it names are known when the chain is sent: places of the text where they go are noted.
 */
#include "client/client_state.h"

/* Where the id of a request goes in a step's text. */
struct chain_hole {
  size_t at;        /* in chain->text */
  struct text name; /* of the step that it names, in the arena; absent: the step's own id */
};

struct chain_step {
  struct text name;  /* in the arena; absent: nothing names it */
  bool is_told;      /* its answer has its result; else what it makes ends with the batch */
  const char *type;  /* of its object, where that is known; in the arena; NULL: it is not */
  struct text what;  /* "java.util.ArrayList.add": for messages; in the arena */
  size_t first_hole; /* in chain->holes */
  size_t start;      /* in chain->text */
  bool has_options;  /* the text ends with them */
  enum answer_form form;
};

struct chain_answer {
  struct text name;
  struct jp_answer *answer; /* owned */
};

struct jp_chain {
  struct jp_client *client;
  struct arena arena; /* names and classes; reset when the chain is sent */
  struct buffer text; /* the steps, one behind the other */
  struct chain_step *steps;
  size_t step_count;
  size_t step_capacity;
  struct chain_hole *holes;
  size_t hole_count;
  size_t hole_capacity;

  struct message_refs refs;       /* of the steps, which are of one epoch */
  struct callback_list callbacks; /* that the steps give */
  bool is_nested;                 /* a step names a call of Java by its own options */

  /* What the next steps are on. */
  struct jp_argument target;
  const char *target_type; /* in the arena; NULL: the target's own class is meant */

  /* The first fault of a step; JP_CLIENT_OK: none. */
  struct jp_client_error fault;

  /* Of the last send; the names are in an arena of their own. */
  struct chain_answer *answers;
  size_t answer_count;
  struct arena answer_arena;
  const struct jp_answer *failure; /* the error that the send has failed with; NULL: none */
  struct jp_answer *failure_owned; /* the same, of a step without a name; else NULL */
};

/* Forgets the steps. */
void chain_clear(struct jp_chain *chain);
/* JP_CLIENT_STALE: the steps name objects of an epoch that has ended. Under the lock, or for a first look without it. */
enum jp_client_status chain_check_epoch(const struct jp_chain *chain,
                                        struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* Frees the answers of the last send. */
void chain_clear_answers(struct jp_chain *chain);

#endif

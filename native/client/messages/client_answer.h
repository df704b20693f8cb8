#ifndef JPEER_CLIENT_MESSAGES_CLIENT_ANSWER_H
#define JPEER_CLIENT_MESSAGES_CLIENT_ANSWER_H
/*
 * Answers as programs see them; answer_json.h and answer_binary.h fill them. An answer is reused and keeps
 * its memory, so that answers with a scalar allocate nothing. One owner, one thread at a time.
 */
#include "client/messages/client_error.h"

#include "base/arena.h"
#include "base/buffer.h"
#include "jpeer/client.h"

/* Counts received refs. Each occurrence of a ref in an answer is one sent reference. */
struct answer_refs {
  /* Counts one more sent reference of the ref, and returns a handle that the answer owns; NULL: no memory.
   * type may be empty. */
  struct jp_ref *(*receive)(struct answer_refs *refs, uint32_t number, struct text type);
};

struct jp_answer {
  enum jp_answer_kind kind;
  union {
    bool boolean;
    int64_t integer;
    double number;
  } scalar;
  const char *type;    /* NUL-terminated; in `arena`, or static */
  struct jp_text text; /* in `arena`; data NULL: none */
  struct jp_json json; /* in `bytes`; absent: none */
  struct text outs;    /* the JSON of `outs`, in `arena`; data NULL: none */
  struct jp_ref *ref;  /* owned; NULL: none */
  int64_t callback_id; /* the callback that is the ref's object; 0: none */
  uint64_t callback_client;
  struct jp_ref **inner_refs; /* refs inside `json` that jp_answer_take_ref can return; owned; NULL: taken */
  size_t inner_ref_count;
  size_t inner_ref_capacity;
  size_t next_inner_ref; /* where jp_answer_take_ref starts to search: after the last ref that it returned */
  int code;              /* of an error */
  const char *message;
  /* what the peer lacks, as capability_find_lacking finds it; static; NULL: the answer is no such error */
  const char *lacking;
  const char *lack; /* the same as a sentence, in `arena`; NULL: not such an error, or no memory */
  const struct jp_throwable *throwable; /* in `arena` */
  struct buffer bytes;
  struct arena arena;
  /* Called by jp_answer_free to keep the cleared answer for reuse; NULL: the answer is destroyed. */
  void (*recycle)(void *owner, struct jp_answer *answer);
  void *owner;
  struct jp_answer *next; /* in its owner's list of free answers */
};

struct jp_answer *answer_create(void); /* NULL: no memory */
void answer_destroy(struct jp_answer *answer);
/* Releases its handles, and keeps its memory. */
void answer_clear(struct jp_answer *answer);

/* ---- for readers of messages ---- */

/* Copies the text into the answer's arena, NUL-terminated. data NULL: no memory. */
struct text answer_keep_text(struct jp_answer *answer, struct text t);
/* Sets the type. False: no memory. */
bool answer_set_type(struct jp_answer *answer, struct text type);
/* Sets the kind from Java's text of the value. For a primitive, a wrapper or a String, sets the scalar, too.
 * False: the text is not a value of that type. */
bool answer_set_value(struct jp_answer *answer, struct text type, struct text value);
/* Sets the kind and the handle. False: no memory. */
bool answer_set_ref(struct jp_answer *answer, uint32_t number, struct text type, struct answer_refs *refs);
enum jp_client_status answer_fail_memory(struct jp_client_error *error);

#endif

#ifndef JPEER_CLIENT_MESSAGES_CLIENT_ANSWER_H
#define JPEER_CLIENT_MESSAGES_CLIENT_ANSWER_H
/*
 * Answers, as programs have them; answer_json.h and answer_binary.h fill them with what came. An answer is reused: it keeps
 * its memory from one reading to the next, so that those of scalars allocate nothing. One owner, one thread at a time.
 */
#include "client/messages/client_error.h"

#include "base/arena.h"
#include "base/buffer.h"
#include "jpeer/client.h"

/* Who keeps count of refs. Each occurrence of a ref in an answer is one telling. */
struct answer_refs {
  /* A handle for one more telling of that ref, which the answer owns; NULL: no memory. type may be empty. */
  struct jp_ref *(*told)(struct answer_refs *refs, uint32_t number, struct text type);
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
  int64_t callback_id; /* that the object of the ref is; 0: none */
  uint64_t callback_client;
  struct jp_ref **told; /* those inside `json` that jp_answer_take_ref gives away; owned, NULL where it has */
  size_t told_count;
  size_t told_capacity;
  size_t
      next_told; /* where jp_answer_take_ref begins to search: after the place of the ref that it gave last */
  int code;      /* of an error */
  const char *message;
  const struct jp_throwable *throwable; /* in `arena` */
  struct buffer bytes;
  struct arena arena;
  /* How jp_answer_free gives it back; NULL: it is destroyed. */
  void (*give_back)(void *owner, struct jp_answer *answer);
  void *owner;
  struct jp_answer *next; /* in its owner's list of free ones */
};

struct jp_answer *answer_create(void); /* NULL: no memory */
void answer_destroy(struct jp_answer *answer);
/* Releases its handles and keeps its memory. */
void answer_clear(struct jp_answer *answer);

/* ---- for those who fill it ---- */

/* A copy in the answer's arena, followed by a NUL. data NULL: no memory. */
struct text answer_keep_text(struct jp_answer *answer, struct text t);
/* Sets the type. False: no memory. */
bool answer_set_type(struct jp_answer *answer, struct text type);
/* Sets the kind, and the scalar where the type is a primitive, a wrapper or String, from the text that Java's
 * value has. False: the text is no value of that type. */
bool answer_set_value(struct jp_answer *answer, struct text type, struct text value);
/* Makes the answer's handle. False: no memory. */
bool answer_set_ref(struct jp_answer *answer, uint32_t number, struct text type, struct answer_refs *refs);
enum jp_client_status answer_fail_memory(struct jp_client_error *error);

#endif

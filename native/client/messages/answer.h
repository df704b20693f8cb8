#ifndef JPEER_CLIENT_MESSAGES_ANSWER_H
#define JPEER_CLIENT_MESSAGES_ANSWER_H
/*
 * Bytes to answers. An answer is reused: it keeps its memory from one reading to the next, so that those of scalars
 * allocate nothing. One owner, one thread at a time.
 */
#include "jpeer/client.h"

#include "base/arena.h"
#include "base/buffer.h"

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
  const char *type;     /* NUL-terminated; in `bytes`, or static */
  struct jp_text text;  /* in `bytes`; data NULL: none */
  struct jp_json json;  /* in `bytes`; absent: none */
  bool is_base64;       /* text is packed elements */
  struct jp_ref *ref;   /* owned; NULL: none */
  struct jp_ref **told; /* of JP_ANSWER_JSON and of errors: those that jp_answer_take_ref may give; owned */
  size_t told_count;
  size_t told_capacity;
  int code; /* of an error */
  const char *message;
  const struct jp_throwable *throwable; /* in `arena` */
  struct buffer bytes;                  /* a copy of what the answer points into */
  struct arena arena;
  /* How jp_answer_free gives it back; NULL: it is freed. */
  void (*give_back)(void *owner, struct jp_answer *answer);
  void *owner;
  struct jp_answer *next; /* in its owner's list of free ones */
};

struct jp_answer *answer_create(void); /* NULL: no memory */
void answer_destroy(struct jp_answer *answer);
/* Releases its handles and keeps its memory. */
void answer_clear(struct jp_answer *answer);

/* What the result of a request is to be read as. */
enum answer_form {
  ANSWER_ENVELOPE, /* {"void":..., "value":{...}} */
  ANSWER_PLAIN     /* JSON_KIND of its own: jpeer.fetch, own names, rpc.discover */
};

/* What a message says, found in one pass; spans are borrowed from the message. */
struct answer_message {
  struct text id; /* the JSON of the id; data NULL: none, or null */
  bool is_error;
  struct text body; /* the result, or the error */
};

/*
 * Reads a message that came: each answer of it (one, or those of a batch) goes to `answer`, in order. A message that has
 * a `method` goes to `request` instead (NULL: it is no answer). JP_CLIENT_PROTOCOL: the message is none of JSON-RPC 2.0;
 * error says where. Else what a function has returned that was not JP_CLIENT_OK.
 */
struct answer_reader {
  enum jp_client_status (*answer)(struct answer_reader *reader, const struct answer_message *message,
                                  struct jp_client_error *error);
  enum jp_client_status (*request)(struct answer_reader *reader, struct text message,
                                   struct jp_client_error *error);
};

enum jp_client_status answers_read_json(struct text message, struct answer_reader *reader,
                                        struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* Fills a cleared answer. JP_CLIENT_PROTOCOL: the body is not what the form says. */
enum jp_client_status answer_fill_json(struct jp_answer *answer, const struct answer_message *message,
                                       enum answer_form form, struct answer_refs *refs,
                                       struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

/* The id of the request that a binary reply answers, borrowed; data NULL: it names none. JP_CLIENT_PROTOCOL. */
enum jp_client_status answer_find_binary_id(struct text message, struct text *id,
                                            struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
enum jp_client_status answer_fill_binary(struct jp_answer *answer, struct text message,
                                         struct answer_refs *refs,
                                         struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

#endif

#ifndef JPEER_CLIENT_MESSAGES_ANSWER_H
#define JPEER_CLIENT_MESSAGES_ANSWER_H
/*
 * Bytes to answers. An answer is reused: it keeps its memory from one reading to the next, so that those of
 * scalars allocate nothing. One owner, one thread at a time.
 */
#include "client/messages/client_error.h"

#include "base/arena.h"
#include "base/buffer.h"
#include "jpeer/client.h"
#include "json/reader.h"

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
  const char *type;     /* NUL-terminated; in `arena`, or static */
  struct jp_text text;  /* in `arena`; data NULL: none */
  struct jp_json json;  /* in `bytes`; absent: none */
  struct jp_ref *ref;   /* owned; NULL: none */
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

/* What the result of a request is read as. */
enum answer_form {
  ANSWER_ENVELOPE, /* {"void":..., "value":{...}} */
  ANSWER_ELEMENTS, /* the same, with the option `elements`: the text of an array may tell refs */
  ANSWER_PLAIN,    /* JSON, in which an object {"ref":N} names an object: of jpeer.fetch and own names */
  ANSWER_DOCUMENT  /* JSON that only speaks of refs: of rpc.discover, jpeer.describe */
};

enum answer_form answer_form_of(const struct jp_request *request);

/* An answer inside its message; borrowed. */
struct answer_message {
  struct text id; /* the JSON of the id; data NULL: none, or null */
  bool is_error;
  struct json_value body; /* the result, or the error */
};

/* Whom a message is told to, in the order of its answers. What one of them returns ends the reading, unless
 * it is JP_CLIENT_OK. */
struct answer_reader {
  enum jp_client_status (*answer)(struct answer_reader *reader, const struct answer_message *message,
                                  struct jp_client_error *error);
  /* A message that asks something of the client; it has a `method`. */
  enum jp_client_status (*request)(struct answer_reader *reader, struct json_value message,
                                   struct jp_client_error *error);
};

/* Reads a message: one answer, or a batch of them. JP_CLIENT_PROTOCOL: it is none of JSON-RPC 2.0; error says
 * where. */
enum jp_client_status answers_read_json(struct text message, struct answer_reader *reader,
                                        struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* Fills a cleared answer. JP_CLIENT_PROTOCOL: the body is not what the form says. JP_CLIENT_NO_MEMORY. */
enum jp_client_status answer_fill_json(struct jp_answer *answer, const struct answer_message *message,
                                       enum answer_form form, struct answer_refs *refs,
                                       struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* Fills a cleared answer with one value, {"type":..., "null":..., "value":..., "ref":...}. As above. */
enum jp_client_status answer_fill_value_json(struct jp_answer *answer, struct json_value value,
                                             struct answer_refs *refs,
                                             struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

/* The id of the request that a binary reply answers, borrowed; data NULL: it names none.
 * JP_CLIENT_PROTOCOL. */
enum jp_client_status answer_find_binary_id(struct text message, struct text *id,
                                            struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
enum jp_client_status answer_fill_binary(struct jp_answer *answer, struct text message,
                                         struct answer_refs *refs,
                                         struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

#endif

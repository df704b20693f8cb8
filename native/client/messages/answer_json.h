#ifndef JPEER_CLIENT_MESSAGES_ANSWER_JSON_H
#define JPEER_CLIENT_MESSAGES_ANSWER_JSON_H
/* Reads received messages of JSON-RPC into answers. Any thread; an answer belongs to one thread at a time. */
#include "client/messages/client_answer.h"
#include "json/reader.h"

/* The form of a request's result. */
enum answer_form {
  ANSWER_ENVELOPE, /* {"void":..., "value":{...}} */
  ANSWER_ELEMENTS, /* the same as ANSWER_ENVELOPE, for a request with the option `elements`: the text of an
                    * array may contain refs */
  ANSWER_PLAIN,    /* JSON in which an object {"ref":N} is a ref: jpeer.fetch and own names of members */
  ANSWER_DOCUMENT  /* JSON in which {"ref":N} is only text: rpc.discover, jpeer.describe */
};

enum answer_form answer_form_of(const struct jp_request *request);

/* An answer inside its message; borrowed. */
struct answer_message {
  struct text id; /* the JSON of the id; data NULL: none, or null */
  bool is_error;
  struct json_value body; /* the result or the error */
  struct text outs;       /* the JSON of `outs`; data NULL: none */
};

/* Receives the answers of a message, in order. If a function fails, reading ends with its failure. */
struct answer_reader {
  enum jp_client_status (*answer)(struct answer_reader *reader, const struct answer_message *message,
                                  struct jp_client_error *error);
  /* A request or notification of the peer; it has a `method`. */
  enum jp_client_status (*request)(struct answer_reader *reader, struct json_value message,
                                   struct jp_client_error *error);
};

/* Reads a message: one answer, or a batch of answers. JP_CLIENT_PROTOCOL: the message is not valid JSON-RPC
 * 2.0, and the error says where. */
enum jp_client_status answers_read_json(struct text message, struct answer_reader *reader,
                                        struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* Fills a cleared answer. JP_CLIENT_PROTOCOL: the body does not have the form. JP_CLIENT_NO_MEMORY. */
enum jp_client_status answer_fill_json(struct jp_answer *answer, const struct answer_message *message,
                                       enum answer_form form, struct answer_refs *refs,
                                       struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* Fills a cleared answer with one value, {"type":..., "null":..., "value":..., "ref":...}. Fails as
 * answer_fill_json. */
enum jp_client_status answer_fill_value_json(struct jp_answer *answer, struct json_value value,
                                             struct answer_refs *refs,
                                             struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

/* ---- the usual answer ---- Most calls have an answer with a value and no ref, in the exact bytes that the
 * peer writes. Such an answer is compared with these bytes and not parsed as JSON, because parsing takes a
 * quarter of the time that a client needs for a pipelined call. */

/* Borrowed from the message. */
struct usual_answer {
  struct text id;
  struct text type;
  struct text value;
};

/* False: the message is not a usual answer; use answers_read_json. */
bool answer_read_usual(struct text message, struct usual_answer *usual);
/* Fills a cleared answer, as answer_fill_json does for ANSWER_ENVELOPE. */
enum jp_client_status answer_fill_usual(struct jp_answer *answer, const struct usual_answer *usual,
                                        struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

#endif

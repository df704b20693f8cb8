#ifndef JPEER_CLIENT_MESSAGES_ANSWER_JSON_H
#define JPEER_CLIENT_MESSAGES_ANSWER_JSON_H
/* Messages of JSON-RPC that came, to answers. Any thread; each answer belongs to one. */
#include "client/messages/client_answer.h"
#include "json/reader.h"

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
  struct text outs;       /* the JSON of `outs`; data NULL: none */
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

/* ---- the usual answer ----
 *
 * The answer that most calls get: a value without a ref, written as the peer writes it. It is compared with
 * what the peer writes around id, type and value, and not read as JSON, which takes a quarter of a client's
 * own time of a pipelined call.
 */

/* Borrowed from the message. */
struct usual_answer {
  struct text id;
  struct text type;
  struct text value;
};

/* False: it is another answer, or none; answers_read_json tells. */
bool answer_read_usual(struct text message, struct usual_answer *usual);
/* Fills a cleared answer, as answer_fill_json does with ANSWER_ENVELOPE. */
enum jp_client_status answer_fill_usual(struct jp_answer *answer, const struct usual_answer *usual,
                                        struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

#endif

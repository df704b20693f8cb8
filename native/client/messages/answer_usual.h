#ifndef JPEER_CLIENT_MESSAGES_ANSWER_USUAL_H
#define JPEER_CLIENT_MESSAGES_ANSWER_USUAL_H
/*
 * The answer that most calls get: a value without a ref, written as the peer writes it. It is compared with
 * what the peer writes around id, type and value, and not read as JSON, which takes a quarter of a client's
 * own time of a pipelined call. Pure functions, any thread.
 */
#include "client/messages/answer.h"

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

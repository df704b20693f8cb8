#ifndef JPEER_CLIENT_MESSAGES_ANSWER_BINARY_H
#define JPEER_CLIENT_MESSAGES_ANSWER_BINARY_H
/* Binary replies to answers. Any thread; each answer belongs to one. */
#include "client/messages/client_answer.h"

/* The id of the request that a binary reply answers, borrowed; data NULL: it names none.
 * JP_CLIENT_PROTOCOL. */
enum jp_client_status answer_find_binary_id(struct text message, struct text *id,
                                            struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
enum jp_client_status answer_fill_binary(struct jp_answer *answer, struct text message,
                                         struct answer_refs *refs,
                                         struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

#endif

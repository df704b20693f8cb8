#ifndef JPEER_CLIENT_MESSAGES_ANSWER_BINARY_H
#define JPEER_CLIENT_MESSAGES_ANSWER_BINARY_H
/* Reads binary replies into answers. Any thread; an answer belongs to one thread at a time. */
#include "client/messages/client_answer.h"

/* The id of the request that a binary reply answers, borrowed; data NULL: none. JP_CLIENT_PROTOCOL. */
enum jp_client_status answer_find_binary_id(struct text message, struct text *id,
                                            struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
enum jp_client_status answer_fill_binary(struct jp_answer *answer, struct text message,
                                         struct answer_refs *refs,
                                         struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

#endif

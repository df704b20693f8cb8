#ifndef JPEER_CLIENT_MESSAGES_ANSWER_PARTS_H
#define JPEER_CLIENT_MESSAGES_ANSWER_PARTS_H
/* What the readers of JSON and of binary messages share. On the answer's thread. */
#include "client/messages/answer.h"

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

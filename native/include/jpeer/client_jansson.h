#ifndef JPEER_PUBLIC_CLIENT_JANSSON_H
#define JPEER_PUBLIC_CLIENT_JANSSON_H
/*
 * libjpeer-client with jansson's trees: requests as trees, to change them or to send them over another
 * transport, and answers as trees. Link libjpeer-client-jansson in addition to libjpeer-client. Any thread.
 */
#include <jansson.h>
#include <jpeer/client.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The request as a JSON-RPC 2.0 message; the caller owns it. id: a JSON string or integer, borrowed; NULL: a
 * notification. NULL: *error says why; jansson supports no suffixes of numbers (1.5f in jp_json_argument) and
 * no lone surrogates.
 */
JP_API json_t *jp_request_tree(const struct jp_request *request, const json_t *id,
                               struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* jp_answer_json as a tree; the caller owns it. NULL: the answer has no JSON, or jansson cannot represent
 * it. */
JP_API json_t *jp_answer_tree(const struct jp_answer *answer) JP_CLIENT_MUST_CHECK;
/*
 * Like jp_answer_take_ref, for trees: the handle for an object {"ref": N} of jp_answer_tree. The caller
 * releases the handle. NULL: the object has another form.
 */
JP_API struct jp_ref *jp_answer_take_ref_tree(struct jp_answer *answer,
                                              const json_t *value) JP_CLIENT_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif

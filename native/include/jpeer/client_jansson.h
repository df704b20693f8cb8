#ifndef JPEER_PUBLIC_CLIENT_JANSSON_H
#define JPEER_PUBLIC_CLIENT_JANSSON_H
/*
 * libjpeer-client with jansson's trees: requests as trees, for who changes them or sends them himself, and answers as
 * trees, for who walks them. Link libjpeer-client-jansson beside libjpeer-client. Any thread.
 */
#include <jansson.h>
#include <jpeer/client.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The request as a JSON-RPC 2.0 message; a reference of the caller's. id: a JSON string or integer, borrowed; NULL: it is
 * a notification. NULL: the error says why; jansson holds no suffixes of numbers (1.5f in jp_json_argument) and no lone
 * surrogates.
 */
JP_API json_t *jp_request_tree(const struct jp_request *request, const json_t *id,
                               struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* jp_answer_json as a tree; a reference of the caller's. NULL: the answer has no JSON, or jansson cannot hold it. */
JP_API json_t *jp_answer_tree(const struct jp_answer *answer) JP_CLIENT_MUST_CHECK;
/*
 * The handle of an object {"ref": N} of jp_answer_tree, which the caller releases: jp_answer_take_ref for trees. NULL: it
 * is none.
 */
JP_API struct jp_ref *jp_answer_take_ref_tree(struct jp_answer *answer,
                                              const json_t *value) JP_CLIENT_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif

#include "client/messages/request_text.h"

#include "json/reader.h"
#include "json/writer.h"

enum { DEPTH_MAX = 1000 }; /* the peer has a limit of its own */

/* As answer_form_of, by the request's name. */
static enum answer_form form_of(struct json_value method, bool has_elements)
{
  static const struct text enveloped[] = {TEXT("new"), TEXT("call"),    TEXT("get"),
                                          TEXT("put"), TEXT("control"), TEXT("meta")};
  static const struct text documents[] = {TEXT("rpc."), TEXT("system."), TEXT("jpeer.describe")};
  struct text name = text_slice(method.span, 1, method.span.len - 1);
  for (size_t i = 0; i < sizeof enveloped / sizeof enveloped[0]; i++) {
    if (json_key_is(name, enveloped[i]))
      return has_elements ? ANSWER_ELEMENTS : ANSWER_ENVELOPE;
  }
  for (size_t i = 0; i < sizeof documents / sizeof documents[0]; i++) {
    if (text_starts_with(name, documents[i]))
      return ANSWER_DOCUMENT;
  }
  return ANSWER_PLAIN;
}

enum { METHOD, PARAMS, OPTIONS, MEMBERS };

enum jp_client_status request_text_read(struct text text, struct request_text *request,
                                        struct jp_client_error *error)
{
  static const struct text names[] = {TEXT("method"), TEXT("params"), TEXT("options")};
  static const struct text option_names[] = {TEXT("within"), TEXT("elements")};
  const struct json_limits limits = {.max_depth = DEPTH_MAX};
  struct json_fault fault;
  struct json_members members;
  struct json_members options = {0};
  if (json_validate(text, limits, TEXT("params"), &fault) != JP_OK)
    return client_fail(error, JP_CLIENT_INVALID, "the request is no JSON: %s at byte %zu", fault.reason,
                       fault.offset);
  struct json_value root = json_root(text);
  if (root.kind != JSON_KIND_OBJECT)
    return client_fail(error, JP_CLIENT_INVALID, "the request is no JSON object");
  json_members_collect(root, names, MEMBERS, &members);
  if (!members.has[METHOD] || members.value[METHOD].kind != JSON_KIND_STRING)
    return client_fail(error, JP_CLIENT_INVALID, "the request has no method");
  *request = (struct request_text){.method = members.value[METHOD].span};
  if (members.has[PARAMS])
    request->params = members.value[PARAMS].span;
  if (members.has[OPTIONS] && members.value[OPTIONS].kind != JSON_KIND_OBJECT)
    return client_fail(error, JP_CLIENT_INVALID, "the request's options are no object");
  if (members.has[OPTIONS] && json_count(members.value[OPTIONS]) > 0) {
    request->options = members.value[OPTIONS].span;
    json_members_collect(members.value[OPTIONS], option_names, 2, &options);
  }
  request->has_within = options.has[0];
  request->form = form_of(members.value[METHOD], options.has[1] && options.value[1].kind == JSON_KIND_TRUE);
  return JP_CLIENT_OK;
}

void request_text_write(const struct request_text *request, const struct message_json *how,
                        struct buffer *out)
{
  BUFFER_LITERAL(out, "{\"jsonrpc\":\"2.0\",\"id\":");
  buffer_append_text(out, how->id);
  if (how->peer_id.data != NULL) {
    BUFFER_LITERAL(out, ",\"peer-id\":");
    json_write_string(out, how->peer_id);
  }
  BUFFER_LITERAL(out, ",\"method\":");
  buffer_append_text(out, request->method);
  if (request->params.data != NULL) {
    BUFFER_LITERAL(out, ",\"params\":");
    buffer_append_text(out, request->params);
  }
  if (request->options.data != NULL) {
    BUFFER_LITERAL(out, ",\"options\":");
    buffer_append_text(out, request->options);
  }
  buffer_append_char(out, '}');
  if (how->within.len > 0 && !request->has_within)
    message_add_within(out, request->options.data != NULL, how->within);
}

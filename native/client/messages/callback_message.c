#include "client/messages/callback_message.h"

#include "base/number.h"
#include "client/messages/argument_json.h"
#include "json/reader.h"
#include "json/writer.h"

/* ---- reading ---- */

static enum jp_client_status fail_protocol(struct jp_client_error *error, const char *what)
{
  return client_fail(error, JP_CLIENT_PROTOCOL, "the peer calls the client wrongly: %s", what);
}

/* Reads an integer that is at least 1. */
static bool read_count(struct json_value json, uint64_t *count)
{
  struct number number;
  if (json.kind != JSON_KIND_NUMBER)
    return false;
  number_read(json.span, &number);
  *count = (uint64_t)number.integer;
  return number.fits && number.integer > 0;
}

static bool are_strings(struct json_value array, size_t *count)
{
  struct json_cursor cursor = json_enter(array);
  struct json_value element;
  for (*count = 0; json_next_element(&cursor, &element); ++*count) {
    if (element.kind != JSON_KIND_STRING)
      return false;
  }
  return true;
}

enum { CALLBACK, INTERFACE, METHOD, PARAMETERS, ARGS, NEEDED_MEMBERS, ORIGIN = NEEDED_MEMBERS, CALL_MEMBERS };

static enum jp_client_status read_call(struct text id, struct json_value params,
                                       struct callback_reader *reader, struct jp_client_error *error)
{
  static const struct text names[] = {TEXT("callback"),   TEXT("interface"), TEXT("method"),
                                      TEXT("parameters"), TEXT("args"),      TEXT("origin")};
  static const enum json_kind kinds[] = {JSON_KIND_NUMBER, JSON_KIND_STRING, JSON_KIND_STRING,
                                         JSON_KIND_ARRAY, JSON_KIND_ARRAY};
  struct json_members members;
  uint64_t callback;
  size_t parameter_count;
  json_members_collect(params, names, CALL_MEMBERS, &members);
  for (int i = 0; i < NEEDED_MEMBERS; i++) {
    if (!members.has[i] || members.value[i].kind != kinds[i])
      return client_fail(error, JP_CLIENT_PROTOCOL, "the peer calls the client wrongly: %.*s is %s",
                         TEXT_ARGS(names[i]),
                         members.has[i] ? json_kind_name(members.value[i].kind) : "missing");
  }
  struct callback_call call = {.id = id,
                               .interface = members.value[INTERFACE],
                               .method = members.value[METHOD],
                               .parameters = members.value[PARAMETERS],
                               .args = members.value[ARGS],
                               .has_origin = members.has[ORIGIN],
                               .origin = members.value[ORIGIN],
                               .arg_count = json_count(members.value[ARGS])};
  if (!read_count(members.value[CALLBACK], &callback))
    return fail_protocol(error, "callback is no id");
  if (!are_strings(call.parameters, &parameter_count) || parameter_count != call.arg_count)
    return fail_protocol(error, "parameters are not as many strings as args");
  if (call.has_origin && call.origin.kind != JSON_KIND_STRING)
    return fail_protocol(error, "origin is no string");
  call.callback = (int64_t)callback;
  return reader->called(reader, &call, error);
}

static enum jp_client_status read_release(struct json_value release, struct callback_reader *reader,
                                          struct jp_client_error *error)
{
  static const struct text names[] = {TEXT("callback"), TEXT("given")};
  struct json_members members;
  uint64_t callback, given;
  if (release.kind != JSON_KIND_OBJECT)
    return fail_protocol(error, "a release is no object");
  json_members_collect(release, names, 2, &members);
  if (!members.has[0] || !read_count(members.value[0], &callback))
    return fail_protocol(error, "callback is no id");
  if (!members.has[1] || !read_count(members.value[1], &given))
    return fail_protocol(error, "given is no count");
  return reader->released(reader, (int64_t)callback, given, error);
}

static enum jp_client_status read_releases(struct json_value params, struct callback_reader *reader,
                                           struct jp_client_error *error)
{
  static const struct text names[] = {TEXT("callbacks")};
  struct json_members members;
  struct json_value release;
  enum jp_client_status status = JP_CLIENT_OK;
  json_members_collect(params, names, 1, &members);
  if (!members.has[0] || members.value[0].kind != JSON_KIND_ARRAY)
    return fail_protocol(error, "callbacks is no array");
  struct json_cursor cursor = json_enter(members.value[0]);
  while (status == JP_CLIENT_OK && json_next_element(&cursor, &release))
    status = read_release(release, reader, error);
  return status;
}

static bool is_method(struct json_value method, struct text name)
{
  return method.kind == JSON_KIND_STRING &&
         json_key_is(text_slice(method.span, 1, method.span.len - 1), name);
}

enum jp_client_status callback_read_json(struct json_value message, struct callback_reader *reader,
                                         struct jp_client_error *error)
{
  enum { ID, NAME, PARAMS, MEMBERS };
  static const struct text names[] = {TEXT("id"), TEXT("method"), TEXT("params")};
  struct json_members members;
  json_members_collect(message, names, MEMBERS, &members);
  bool is_call = is_method(members.value[NAME], TEXT("callback"));
  if (!is_call && !is_method(members.value[NAME], TEXT("callback_released")))
    return client_fail(error, JP_CLIENT_PROTOCOL, "the peer sends an unknown request: %.*s",
                       TEXT_ARGS(text_cut(message.span, 500)));
  if (!members.has[PARAMS] || members.value[PARAMS].kind != JSON_KIND_OBJECT)
    return fail_protocol(error, "params is no object");
  if (members.has[ID] && (!is_call || members.value[ID].kind != JSON_KIND_STRING))
    return fail_protocol(error, "its id is none");
  return is_call ? read_call(members.has[ID] ? members.value[ID].span : TEXT_ABSENT, members.value[PARAMS],
                             reader, error)
                 : read_releases(members.value[PARAMS], reader, error);
}

/* ---- copying ---- */

static const char *keep_string(struct json_value string, struct arena *arena)
{
  struct text text = json_read_string(string, arena);
  char *kept = text.data == NULL ? NULL : arena_alloc(arena, text.len + 1);
  if (kept == NULL)
    return NULL;
  if (text.len > 0)
    memcpy(kept, text.data, text.len);
  kept[text.len] = '\0';
  return kept;
}

bool callback_keep_texts(const struct callback_call *call, struct arena *arena, struct callback_texts *texts)
{
  const struct json_value id = {.kind = JSON_KIND_STRING, .span = call->id};
  struct json_cursor cursor = json_enter(call->parameters);
  struct json_value parameter;
  bool good = true;
  *texts =
      (struct callback_texts){.id = call->id.data == NULL ? NULL : keep_string(id, arena),
                              .interface = keep_string(call->interface, arena),
                              .method = keep_string(call->method, arena),
                              .parameters = arena_alloc(arena, call->arg_count * sizeof *texts->parameters)};
  if (texts->parameters == NULL)
    return false;
  for (size_t i = 0; good && json_next_element(&cursor, &parameter); i++) {
    texts->parameters[i] = keep_string(parameter, arena);
    good = texts->parameters[i] != NULL;
  }
  texts->origin = call->has_origin ? keep_string(call->origin, arena) : NULL;
  return good && texts->interface != NULL && texts->method != NULL &&
         (call->id.data == NULL || texts->id != NULL) && (!call->has_origin || texts->origin != NULL);
}

enum jp_client_status callback_fill_arguments(const struct callback_call *call, struct jp_answer *const *args,
                                              struct answer_refs *refs, struct jp_client_error *error)
{
  struct json_cursor cursor = json_enter(call->args);
  struct json_value arg;
  enum jp_client_status status = JP_CLIENT_OK;
  for (size_t i = 0; status == JP_CLIENT_OK && json_next_element(&cursor, &arg); i++) {
    status = arg.kind == JSON_KIND_OBJECT ? answer_fill_value_json(args[i], arg, refs, error)
                                          : fail_protocol(error, "an argument is no object");
  }
  return status;
}

/* ---- writing ---- */

static void write_names(struct argument_writer *writer, const char *const *names, const char *what)
{
  buffer_append_char(writer->out, '[');
  for (size_t i = 0; names[i] != NULL; i++) {
    if (i > 0)
      buffer_append_char(writer->out, ',');
    argument_write_name(writer, names[i], what);
  }
  buffer_append_char(writer->out, ']');
}

/* Refuses a configuration of a callback that the peer does not accept (docs/callbacks.md). Otherwise the peer
 * would refuse every argument with this callback. */
static enum jp_client_status check_form(const struct jp_callback_config *config,
                                        struct jp_client_error *error)
{
  enum { ARITY_MAX = 255 };
  if (config->interfaces != NULL && config->interfaces[0] == NULL)
    return client_fail(error, JP_CLIENT_INVALID, "interfaces is empty; NULL: the parameter's type");
  if (config->overrides != NULL && config->overrides[0] == NULL)
    return client_fail(error, JP_CLIENT_INVALID, "overrides is empty; NULL: none");
  if (config->has_arity && (config->arity < 0 || config->arity > ARITY_MAX))
    return client_fail(error, JP_CLIENT_INVALID, "arity is not from 0 to %d", ARITY_MAX);
  if (config->oneway && config->borrow)
    return client_fail(error, JP_CLIENT_INVALID,
                       "borrow is not for oneway callbacks, whose calls have no answer");
  return JP_CLIENT_OK;
}

enum jp_client_status callback_write_form(const struct jp_callback_config *config, struct buffer *interfaces,
                                          struct buffer *facts, struct jp_client_error *error)
{
  struct argument_writer writer = {.out = interfaces, .error = error};
  enum jp_client_status status = check_form(config, error);
  if (status != JP_CLIENT_OK)
    return status;
  if (config->interfaces != NULL)
    write_names(&writer, config->interfaces, "the name of an interface");
  writer.out = facts;
  if (config->has_arity)
    buffer_printf(facts, ",\"arity\":%d", config->arity);
  if (config->overrides != NULL) {
    BUFFER_LITERAL(facts, ",\"overrides\":");
    write_names(&writer, config->overrides, "the name of an override");
  }
  if (config->oneway)
    BUFFER_LITERAL(facts, ",\"oneway\":true");
  if (config->borrow)
    BUFFER_LITERAL(facts, ",\"borrow\":true");
  if (config->by_origin)
    BUFFER_LITERAL(facts, ",\"origin\":true");
  if (writer.status == JP_CLIENT_OK && (interfaces->failed || facts->failed))
    return client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a callback");
  return writer.status;
}

static void write_head(struct buffer *out, struct text id)
{
  BUFFER_LITERAL(out, "{\"jsonrpc\":\"2.0\",\"id\":");
  buffer_append_text(out, id);
}

static enum jp_client_status end_answer(const struct argument_writer *writer)
{
  buffer_append_char(writer->out, '}');
  if (writer->status == JP_CLIENT_OK && writer->out->failed)
    return client_fail(writer->error, JP_CLIENT_NO_MEMORY, "no memory for an answer");
  return writer->status;
}

enum jp_client_status callback_write_result(struct text id, const struct jp_argument *value,
                                            struct message_callbacks *callbacks, struct message_refs *refs,
                                            struct buffer *out, struct jp_client_error *error)
{
  static const struct jp_argument none = {.kind = JP_ARGUMENT_NULL};
  struct argument_writer writer = {.out = out, .callbacks = callbacks, .refs = refs, .error = error};
  write_head(out, id);
  BUFFER_LITERAL(out, ",\"result\":");
  argument_write_json(&writer, value == NULL ? &none : value);
  return end_answer(&writer);
}

static void write_frame(struct argument_writer *writer, const struct jp_thrown_frame *frame)
{
  BUFFER_LITERAL(writer->out, "{\"class\":");
  argument_write_text(writer, jp_text_of(frame->class_name));
  BUFFER_LITERAL(writer->out, ",\"method\":");
  argument_write_text(writer, jp_text_of(frame->method));
  if (frame->file != NULL) {
    BUFFER_LITERAL(writer->out, ",\"file\":");
    argument_write_text(writer, jp_text_of(frame->file));
  }
  if (frame->line >= 0) {
    BUFFER_LITERAL(writer->out, ",\"line\":");
    json_write_integer(writer->out, frame->line);
  }
  buffer_append_char(writer->out, '}');
}

/* Writes members of an error's data. The first member has no comma. */
static void write_thrown(struct argument_writer *writer, const struct jp_thrown *thrown)
{
  struct buffer *out = writer->out;
  if (thrown->object != NULL) {
    BUFFER_LITERAL(out, "\"ref\":");
    json_write_integer(out, jp_ref_number(thrown->object));
  } else if (thrown->type != NULL) {
    BUFFER_LITERAL(out, "\"throwable_type\":");
    argument_write_name(writer, thrown->type, "the class of the throwable");
  } else {
    BUFFER_LITERAL(out, "\"throwable_type\":null");
  }
  if (thrown->object == NULL && thrown->message != NULL) {
    BUFFER_LITERAL(out, ",\"message\":");
    argument_write_text(writer, jp_text_of(thrown->message));
  }
  for (size_t i = 0; i < thrown->frame_count; i++) {
    buffer_append_text(out, i == 0 ? TEXT(",\"stack_trace\":[") : TEXT(","));
    write_frame(writer, &thrown->frames[i]);
  }
  if (thrown->frame_count > 0)
    buffer_append_char(out, ']');
}

static void write_data(struct argument_writer *writer, const struct jp_thrown *thrown)
{
  size_t depth = 0;
  if (thrown->object == NULL && thrown->type == NULL && thrown->frame_count == 0 && thrown->cause == NULL)
    return;
  BUFFER_LITERAL(writer->out, ",\"data\":{");
  write_thrown(writer, thrown);
  for (; thrown->cause != NULL; thrown = thrown->cause, depth++) {
    BUFFER_LITERAL(writer->out, ",\"cause\":{");
    write_thrown(writer, thrown->cause);
  }
  for (; depth > 0; depth--)
    buffer_append_char(writer->out, '}');
  buffer_append_char(writer->out, '}');
}

enum jp_client_status callback_write_failure(struct text id, const struct callback_failure *failure,
                                             struct buffer *out, struct jp_client_error *error)
{
  struct argument_writer writer = {.out = out, .error = error};
  write_head(out, id);
  BUFFER_LITERAL(out, ",\"error\":{\"code\":");
  json_write_integer(out, failure->code);
  BUFFER_LITERAL(out, ",\"message\":");
  argument_write_text(&writer, jp_text_of(failure->thrown.message == NULL ? "" : failure->thrown.message));
  write_data(&writer, &failure->thrown);
  buffer_append_char(out, '}');
  return end_answer(&writer);
}

#include "client/messages/request_json.h"

#include "jpeer/client.h"
#include "json/reader.h"
#include "json/writer.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- members of objects ---- */

/* The members of an object that is being written. */
struct open_object {
  struct buffer *out;
  bool has_any;
};

/* Precedes a member's value; the first member omits the comma. */
#define MEMBER(key) TEXT(",\"" key "\":")

/* Inlined, so that constant openings are copied as constants. */
__attribute__((always_inline)) static inline void begin_member(struct open_object *members,
                                                               struct text opening)
{
  if (members->has_any)
    buffer_append(members->out, opening.data, opening.len);
  else
    buffer_append(members->out, opening.data + 1, opening.len - 1);
  members->has_any = true;
}

static void write_arguments(struct argument_writer *writer, const struct jp_request *request)
{
  buffer_append_char(writer->out, '[');
  for (size_t i = 0; i < request->arg_count && writer->status == JP_CLIENT_OK; i++) {
    if (i > 0)
      buffer_append_char(writer->out, ',');
    argument_write_json(writer, &request->args[i]);
    if (writer->status != JP_CLIENT_OK)
      client_error_prefix(writer->error, "argument %zu: ", i);
  }
  buffer_append_char(writer->out, ']');
}

/* ---- the params of each operation ---- */

static void write_type(struct argument_writer *writer, const struct jp_request *request,
                       struct open_object *members)
{
  begin_member(members, MEMBER("type"));
  argument_write_name(writer, request->type, "the class");
}

/* If there is an instance and no type, the instance's own class is the target. */
static void write_target_type(struct argument_writer *writer, const struct jp_request *request,
                              struct open_object *members)
{
  if (request->type != NULL || request->instance.kind == JP_ARGUMENT_NONE)
    write_type(writer, request, members);
}

static void write_instance(struct argument_writer *writer, const struct jp_request *request,
                           struct open_object *members)
{
  if (request->instance.kind == JP_ARGUMENT_NONE || writer->status != JP_CLIENT_OK)
    return;
  begin_member(members, MEMBER("instance"));
  argument_write_instance(writer, &request->instance);
  if (writer->status != JP_CLIENT_OK)
    client_error_prefix(writer->error, "instance: ");
}

static void write_args(struct argument_writer *writer, const struct jp_request *request,
                       struct open_object *members)
{
  if (request->arg_count == 0)
    return;
  begin_member(members, MEMBER("args"));
  write_arguments(writer, request);
}

static void write_new(struct argument_writer *writer, const struct jp_request *request,
                      struct open_object *members)
{
  write_type(writer, request, members);
  write_args(writer, request, members);
}

static void write_call(struct argument_writer *writer, const struct jp_request *request,
                       struct open_object *members)
{
  write_target_type(writer, request, members);
  begin_member(members, MEMBER("method"));
  argument_write_name(writer, request->member, "the method");
  write_instance(writer, request, members);
  write_args(writer, request, members);
}

static void write_get(struct argument_writer *writer, const struct jp_request *request,
                      struct open_object *members)
{
  write_target_type(writer, request, members);
  begin_member(members, MEMBER("field"));
  argument_write_name(writer, request->member, "the field");
  write_instance(writer, request, members);
}

static void write_put(struct argument_writer *writer, const struct jp_request *request,
                      struct open_object *members)
{
  static const struct jp_argument missing = {.kind = JP_ARGUMENT_NONE};
  write_get(writer, request, members);
  begin_member(members, MEMBER("value"));
  argument_write_json(writer, request->arg_count == 1 ? request->args : &missing);
  if (writer->status != JP_CLIENT_OK)
    client_error_prefix(writer->error, "value: ");
}

static void write_control(struct argument_writer *writer, const struct jp_request *request,
                          struct open_object *members)
{
  begin_member(members, MEMBER("method"));
  argument_write_name(writer, request->member, "the method");
  write_args(writer, request, members);
}

static void write_flag(struct open_object *args, const char *name, bool value)
{
  buffer_append_text(args->out, args->has_any ? TEXT(",") : TEXT(""));
  buffer_printf(args->out, "{\"name\":\"%s\",\"type\":\"boolean\",\"value\":%s}", name,
                value ? "true" : "false");
  args->has_any = true;
}

static void write_prefixes(struct argument_writer *writer, struct open_object *args, const char *name,
                           const char *const *items)
{
  if (items == NULL)
    return;
  buffer_append_text(args->out, args->has_any ? TEXT(",") : TEXT(""));
  buffer_printf(args->out, "{\"name\":\"%s\",\"type\":\"java.lang.String[]\",\"value\":[", name);
  for (size_t i = 0; items[i] != NULL; i++) {
    if (i > 0)
      buffer_append_char(args->out, ',');
    argument_write_text(writer, jp_text_of(items[i]));
  }
  BUFFER_LITERAL(args->out, "]}");
  args->has_any = true;
}

static void write_meta(struct argument_writer *writer, const struct jp_request *request,
                       struct open_object *members)
{
  struct open_object args = {.out = writer->out};
  begin_member(members, MEMBER("method"));
  argument_write_name(writer, request->member, "the service");
  begin_member(members, MEMBER("args"));
  buffer_append_char(writer->out, '[');
  if (request->prefix != NULL) {
    BUFFER_LITERAL(writer->out, "{\"name\":\"prefix\",\"value\":");
    argument_write_text(writer, jp_text_of(request->prefix));
    BUFFER_LITERAL(writer->out, "},{\"name\":\"max\",\"value\":");
    json_write_integer(writer->out, request->max);
    BUFFER_LITERAL(writer->out, "}]");
    return;
  }
  write_flag(&args, "compress_encode", request->compress);
  write_flag(&args, "merge_ancestry", request->merge_ancestry);
  write_prefixes(writer, &args, "exclude_prefixes", request->exclude_prefixes);
  write_prefixes(writer, &args, "include_classes", request->include_classes);
  buffer_append_char(writer->out, ']');
}

/* For jpeer.fetch and jpeer.describe, which have an instance, but no `type`. */
static void write_subject(struct argument_writer *writer, const struct jp_request *request,
                          struct open_object *members)
{
  begin_member(members, MEMBER("instance"));
  if (argument_is_object(&request->instance))
    argument_write_instance(writer, &request->instance);
  else
    argument_write_json(writer, &request->instance);
  if (writer->status != JP_CLIENT_OK)
    client_error_prefix(writer->error, "instance: ");
}

static void write_describe(struct argument_writer *writer, const struct jp_request *request,
                           struct open_object *members)
{
  if (request->type != NULL)
    write_type(writer, request, members);
  else
    write_subject(writer, request, members);
  if (request->members_only) {
    begin_member(members, MEMBER("members_only"));
    BUFFER_LITERAL(writer->out, "true");
  }
}

static void write_fetch(struct argument_writer *writer, const struct jp_request *request,
                        struct open_object *members)
{
  write_subject(writer, request, members);
  begin_member(members, MEMBER("max"));
  json_write_integer(writer->out, request->max);
  if (request->from == 0)
    return;
  begin_member(members, MEMBER("from"));
  json_write_integer(writer->out, request->from);
}

static void write_columns(struct argument_writer *writer, const struct jp_request *request,
                          struct open_object *members)
{
  write_fetch(writer, request, members);
  if (request->params.data == NULL)
    return;
  begin_member(members, MEMBER("columns"));
  argument_write_raw(writer, request->params, "columns");
}

/* Each argument is a column: a map, whose entries are its members. */
static void write_rows(struct argument_writer *writer, const struct jp_request *request,
                       struct open_object *members)
{
  write_subject(writer, request, members);
  begin_member(members, MEMBER("rows"));
  json_write_integer(writer->out, request->max);
  if (request->from != 0) {
    begin_member(members, MEMBER("from"));
    json_write_integer(writer->out, request->from);
  }
  if (request->type != NULL) {
    begin_member(members, MEMBER("type"));
    argument_write_name(writer, request->type, "the class of a row");
  }
  begin_member(members, MEMBER("columns"));
  buffer_append_char(writer->out, '[');
  for (size_t i = 0; i < request->arg_count && writer->status == JP_CLIENT_OK; i++) {
    const struct jp_argument *column = &request->args[i];
    if (column->kind != JP_ARGUMENT_MAP) {
      writer->status =
          client_fail(writer->error, JP_CLIENT_INVALID, "column %zu is no map of its members", i);
      return;
    }
    buffer_append_text(writer->out, i > 0 ? TEXT(",{") : TEXT("{"));
    for (size_t j = 0; j < column->as.map.count && writer->status == JP_CLIENT_OK; j++) {
      const struct jp_entry *entry = &column->as.map.entries[j];
      if (j > 0)
        buffer_append_char(writer->out, ',');
      argument_write_text(writer, entry->key);
      buffer_append_char(writer->out, ':');
      argument_write_value(writer, &entry->value);
    }
    buffer_append_char(writer->out, '}');
    if (writer->status != JP_CLIENT_OK)
      client_error_prefix(writer->error, "column %zu: ", i);
  }
  buffer_append_char(writer->out, ']');
}

/* Writes the piece's members, and the ref of the object that the piece continues. */
static void write_assemble(struct argument_writer *writer, const struct jp_request *request,
                           struct open_object *members)
{
  const struct jp_argument *piece = request->args;
  if (request->arg_count != 1 || piece->type == NULL || argument_is_object(piece)) {
    writer->status = client_fail(writer->error, JP_CLIENT_INVALID,
                                 "jpeer.assemble needs one argument, a value with a type");
    return;
  }
  begin_member(members, MEMBER("type"));
  argument_write_name(writer, piece->type, "the type of a piece");
  begin_member(members, MEMBER("value"));
  argument_write_value(writer, piece);
  if (piece->kind == JP_ARGUMENT_ARRAY) {
    begin_member(members, MEMBER("encoding"));
    BUFFER_LITERAL(writer->out, "\"base64\"");
  }
  if (request->instance.kind == JP_ARGUMENT_NONE || writer->status != JP_CLIENT_OK)
    return;
  begin_member(members, MEMBER("ref"));
  argument_write_instance(writer, &request->instance);
}

/* A row for each operation except JP_METHOD, whose name and params the caller gives. */
static const struct {
  struct text method;
  void (*write)(struct argument_writer *writer, const struct jp_request *request,
                struct open_object *members);
} operations[] = {
    [JP_NEW] = {TEXT("new"), write_new},
    [JP_CALL] = {TEXT("call"), write_call},
    [JP_GET] = {TEXT("get"), write_get},
    [JP_PUT] = {TEXT("put"), write_put},
    [JP_CONTROL] = {TEXT("control"), write_control},
    [JP_META] = {TEXT("meta"), write_meta},
    [JP_FETCH] = {TEXT("jpeer.fetch"), write_fetch},
    [JP_DESCRIBE] = {TEXT("jpeer.describe"), write_describe},
    [JP_ASSEMBLE] = {TEXT("jpeer.assemble"), write_assemble},
    [JP_COLUMNS] = {TEXT("jpeer.columns"), write_columns},
    [JP_ROWS] = {TEXT("jpeer.rows"), write_rows},
};

static void write_params(struct argument_writer *writer, const struct jp_request *request,
                         struct open_object *message)
{
  struct open_object members = {.out = writer->out};
  begin_member(message, MEMBER("method"));
  json_write_string(writer->out, operations[request->operation].method);
  begin_member(message, MEMBER("params"));
  buffer_append_char(writer->out, '{');
  operations[request->operation].write(writer, request, &members);
  buffer_append_char(writer->out, '}');
}

static void write_method(struct argument_writer *writer, const struct jp_request *request,
                         struct open_object *message)
{
  begin_member(message, MEMBER("method"));
  argument_write_name(writer, request->member, "the method");
  if (request->params.data == NULL)
    return;
  begin_member(message, MEMBER("params"));
  argument_write_raw(writer, request->params, "params");
}

/* ---- options ---- */

/* An empty text from the caller means that the request is not nested, although the thread runs a callback. */
static struct text within_of(const struct jp_options *options, const struct message_json *how)
{
  return options == NULL || options->within == NULL ? how->within : text_of(options->within);
}

static bool has_options(const struct jp_options *options, const struct message_json *how)
{
  return how->is_dropped || within_of(options, how).len > 0 ||
         (options != NULL &&
          (options->loader.kind != JP_ARGUMENT_NONE || options->base64 || options->array_value_max != 0 ||
           options->elements || options->longs_as_text || options->types || options->throwables ||
           options->idempotent || options->thread_affinity != NULL));
}

static void write_given_options(struct argument_writer *writer, const struct jp_options *options,
                                struct open_object *members)
{
  if (options->loader.kind != JP_ARGUMENT_NONE) {
    begin_member(members, MEMBER("loader"));
    argument_write_instance(writer, &options->loader);
  }
  if (options->base64) {
    begin_member(members, MEMBER("encoding"));
    BUFFER_LITERAL(writer->out, "\"base64\"");
  }
  if (options->array_value_max != 0) {
    begin_member(members, MEMBER("array_value_max"));
    json_write_integer(writer->out, options->array_value_max);
  }
  if (options->elements) {
    begin_member(members, MEMBER("elements"));
    BUFFER_LITERAL(writer->out, "true");
  }
  if (options->longs_as_text) {
    begin_member(members, MEMBER("longs"));
    BUFFER_LITERAL(writer->out, "\"text\"");
  }
  if (options->types) {
    begin_member(members, MEMBER("types"));
    BUFFER_LITERAL(writer->out, "true");
  }
  if (options->throwables) {
    begin_member(members, MEMBER("throwables"));
    BUFFER_LITERAL(writer->out, "true");
  }
  if (options->idempotent) {
    begin_member(members, MEMBER("idempotent"));
    BUFFER_LITERAL(writer->out, "true");
  }
  if (options->thread_affinity != NULL) {
    begin_member(members, MEMBER("threadAffinity"));
    argument_write_text(writer, jp_text_of(options->thread_affinity));
  }
}

static void write_options(struct argument_writer *writer, const struct jp_options *options,
                          const struct message_json *how, struct open_object *message)
{
  if (!has_options(options, how))
    return;
  struct text within = within_of(options, how);
  struct open_object members = {.out = writer->out};
  begin_member(message, MEMBER("options"));
  buffer_append_char(writer->out, '{');
  if (options != NULL)
    write_given_options(writer, options, &members);
  if (within.len > 0) {
    begin_member(&members, MEMBER("within"));
    argument_write_text(writer, (struct jp_text){within.data, within.len});
  }
  if (how->is_dropped) {
    begin_member(&members, MEMBER("keep"));
    BUFFER_LITERAL(writer->out, "false");
  }
  buffer_append_char(writer->out, '}');
}

/* ---- messages ---- */

void message_format_epoch(uint64_t epoch, char out[MESSAGE_EPOCH_LENGTH + 1])
{
  snprintf(out, MESSAGE_EPOCH_LENGTH + 1, "%016" PRIx64, epoch);
}

static void write_epoch(struct buffer *out, uint64_t epoch, struct open_object *message)
{
  char digits[MESSAGE_EPOCH_LENGTH + 1];
  message_format_epoch(epoch, digits);
  begin_member(message, MEMBER("epoch"));
  json_write_string(out, text_of(digits));
}

/* Writes the id, and the session's UUID if the transport has no other place for it. */
static void write_head(struct buffer *out, struct text id, struct text peer_id, struct open_object *message)
{
  BUFFER_LITERAL(out, "{\"jsonrpc\":\"2.0\"");
  message->has_any = true;
  if (id.data != NULL) {
    begin_member(message, MEMBER("id"));
    buffer_append_text(out, id);
  }
  if (peer_id.data != NULL) {
    begin_member(message, MEMBER("peer-id"));
    json_write_string(out, peer_id);
  }
}

bool message_has_options(const struct jp_request *request, const struct message_json *how)
{
  return has_options(request->options, how);
}

/* Options are the last member of a message without an epoch. */
void message_add_within(struct buffer *out, bool has_options, struct text within)
{
  if (out->failed)
    return;
  buffer_truncate(out, out->len - (has_options ? 2 : 1));
  buffer_append_text(out, has_options ? TEXT(",\"within\":") : TEXT(",\"options\":{\"within\":"));
  json_write_string(out, within);
  BUFFER_LITERAL(out, "}}");
}

enum jp_client_status message_write_json(const struct jp_request *request, const struct message_json *how,
                                         struct buffer *out, struct jp_client_error *error)
{
  struct argument_writer writer = {
      .out = out, .names = how->names, .callbacks = how->callbacks, .refs = how->refs, .error = error};
  struct open_object message = {.out = out};
  if (request->arg_count > 0 && request->args == NULL)
    return client_fail(error, JP_CLIENT_INVALID, "the arguments are missing");
  if (request->options != NULL && request->options->size < sizeof(struct jp_options))
    return client_fail(error, JP_CLIENT_INVALID, "options: size is not sizeof(struct jp_options)");
  if ((size_t)request->operation > JP_ROWS)
    return client_fail(error, JP_CLIENT_INVALID, "there is no operation %d", (int)request->operation);
  write_head(out, how->id, how->peer_id, &message);
  if (request->operation == JP_METHOD)
    write_method(&writer, request, &message);
  else
    write_params(&writer, request, &message);
  if (writer.status == JP_CLIENT_OK)
    write_options(&writer, request->options, how, &message);
  if (how->has_epoch && how->refs != NULL && how->refs->are_named)
    write_epoch(out, how->refs->epoch, &message);
  buffer_append_char(out, '}');
  if (writer.status == JP_CLIENT_OK && out->failed)
    return client_fail(error, JP_CLIENT_NO_MEMORY, "out of memory");
  return writer.status;
}

void message_write_release_json(const struct message_release *releases, size_t count, struct text peer_id,
                                struct text within, uint64_t epoch, struct buffer *out)
{
  struct open_object message = {.out = out};
  write_head(out, TEXT_ABSENT, peer_id, &message);
  if (epoch != 0)
    write_epoch(out, epoch, &message);
  BUFFER_LITERAL(out, ",\"method\":\"control\",\"params\":{\"method\":\"delete_object\",\"args\":[");
  for (size_t i = 0; i < count; i++) {
    buffer_append_text(out, i > 0 ? TEXT(",{\"ref\":") : TEXT("{\"ref\":"));
    json_write_integer(out, releases[i].ref);
    BUFFER_LITERAL(out, ",\"told\":");
    json_write_integer(out, releases[i].sent_count);
    buffer_append_char(out, '}');
  }
  BUFFER_LITERAL(out, "]}}");
  if (within.data != NULL)
    message_add_within(out, false, within);
}

/* ---- for programs with a transport of their own ---- */

void message_write_control_text(struct text name, struct text value, struct buffer *out)
{
  BUFFER_LITERAL(out, "{\"name\":");
  json_write_string(out, name);
  BUFFER_LITERAL(out, ",\"value\":");
  json_write_string(out, value);
  buffer_append_char(out, '}');
}

enum jp_client_status jp_request_write_json(const struct jp_request *request, struct jp_text id,
                                            struct jp_json_writer *writer, struct jp_client_error *error)
{
  struct buffer out;
  const struct message_json how = {.id = {id.data, id.len}};
  struct jp_json value;
  /* The peer would answer a request with any other id as if the request had no id. */
  if (id.data != NULL && (jp_json_parse(id, 1, &value, NULL) != JP_JSONRPC_OK ||
                          (value.kind != JP_JSON_STRING && value.kind != JP_JSON_NUMBER)))
    return client_fail(error, JP_CLIENT_INVALID, "an id is a JSON string or number: \"%.*s\"",
                       id.len < 100 ? (int)id.len : 100, id.data);
  buffer_init(&out);
  enum jp_client_status status = message_write_json(request, &how, &out, error);
  if (status == JP_CLIENT_OK)
    jp_json_write_raw(writer, (struct jp_text){out.data, out.len});
  buffer_fini(&out);
  return status;
}

/* ---- requests given as JSON ---- */

enum { DEPTH_MAX = 1000 }; /* the peer has a limit of its own */

/* Returns the form of the answer, as answer_form_of does, from the name of the method. */
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

enum { METHOD, PARAMS, OPTIONS, EPOCH, REQUEST_MEMBERS };

/* True if the params may contain a ref. True for every ref whose keys are written without escapes. */
static bool may_name_refs(struct text params)
{
  static const struct text keys[] = {TEXT("\"instance\""), TEXT("\"ref\"")};
  for (size_t i = 0; params.data != NULL && i < sizeof keys / sizeof keys[0]; i++) {
    if (memmem(params.data, params.len, keys[i].data, keys[i].len) != NULL)
      return true;
  }
  return false;
}

enum jp_client_status request_text_read(struct text text, struct request_text *request,
                                        struct jp_client_error *error)
{
  static const struct text names[] = {TEXT("method"), TEXT("params"), TEXT("options"), TEXT("epoch")};
  static const struct text option_names[] = {TEXT("within"), TEXT("elements"), TEXT("idempotent")};
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
  json_members_collect(root, names, REQUEST_MEMBERS, &members);
  if (!members.has[METHOD] || members.value[METHOD].kind != JSON_KIND_STRING)
    return client_fail(error, JP_CLIENT_INVALID, "the request has no method");
  *request = (struct request_text){.method = members.value[METHOD].span};
  if (members.has[PARAMS])
    request->params = members.value[PARAMS].span;
  if (members.has[EPOCH])
    request->epoch = members.value[EPOCH].span;
  request->may_name_refs = may_name_refs(request->params);
  if (members.has[OPTIONS] && members.value[OPTIONS].kind != JSON_KIND_OBJECT)
    return client_fail(error, JP_CLIENT_INVALID, "the request's options are no object");
  if (members.has[OPTIONS] && json_count(members.value[OPTIONS]) > 0) {
    request->options = members.value[OPTIONS].span;
    json_members_collect(members.value[OPTIONS], option_names, 3, &options);
  }
  request->has_within = options.has[0];
  request->is_idempotent = options.has[2] && options.value[2].kind == JSON_KIND_TRUE;
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
  if (how->has_epoch && how->refs->are_named)
    write_epoch(out, how->refs->epoch, &(struct open_object){.out = out, .has_any = true});
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

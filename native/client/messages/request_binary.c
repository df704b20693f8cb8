#include "client/messages/request_binary.h"

#include "client/messages/request_json.h"
#include "colfer/messages.h"
#include "jpeer/client.h"

/* A message that is being written: its structs are in the arena, and borrow the request's texts. */
struct binary_writer {
  const struct jp_request *request;
  struct arena *arena;
  struct buffer *values; /* the JSON of the arguments, one after the other */
  struct jp_client_error *error;
  enum jp_client_status status; /* the first fault */
};

static void fail_writer(struct binary_writer *writer, enum jp_client_status status, const char *text)
{
  if (writer->status == JP_CLIENT_OK)
    writer->status = client_fail(writer->error, status, "%s", text);
}

static void *allocate_items(struct binary_writer *writer, size_t count, size_t size)
{
  void *made = arena_calloc(writer->arena, count, size);
  if (made == NULL)
    fail_writer(writer, JP_CLIENT_NO_MEMORY, "out of memory");
  return made;
}

static struct text read_name(struct binary_writer *writer, const char *name, const char *fault)
{
  struct text text = name == NULL ? TEXT("") : text_of(name);
  if (text.len == 0)
    fail_writer(writer, JP_CLIENT_INVALID, fault);
  else if (text_valid_utf8(text) != text.len)
    fail_writer(writer, JP_CLIENT_INVALID, "a name is not UTF-8");
  return text;
}

static struct colfer_class *make_class(struct binary_writer *writer, const char *name, const char *fault)
{
  struct colfer_class *class = allocate_items(writer, 1, sizeof *class);
  if (class != NULL)
    class->name = read_name(writer, name, fault);
  return class;
}

/* ---- arguments ---- */

static uint32_t ref_of(const struct jp_argument *argument)
{
  if (argument->kind == JP_ARGUMENT_REF_NUMBER)
    return argument->as.ref_number;
  return argument->kind == JP_ARGUMENT_REF && argument->as.ref != NULL ? jp_ref_number(argument->as.ref) : 0;
}

static void fill_obj(struct binary_writer *writer, struct colfer_obj *obj, const struct jp_argument *argument)
{
  if (argument->type != NULL)
    obj->clazz = make_class(writer, argument->type, "the type of an argument is empty");
  obj->is_null = argument->kind == JP_ARGUMENT_NULL;
  if (obj->is_null || writer->status != JP_CLIENT_OK)
    return;
  if (argument->kind == JP_ARGUMENT_NAMED) {
    fail_writer(writer, JP_CLIENT_UNSUPPORTED, "binary messages have no batches, and so no named results");
  } else if (argument_is_object(argument)) {
    obj->ref = ref_of(argument);
    if (obj->ref == 0)
      fail_writer(writer, JP_CLIENT_INVALID, "an object is NULL; jp_null makes a null");
  } else {
    /* Records only the length of the text: writer->values may move until all arguments are written. */
    struct argument_writer json = {.out = writer->values, .error = writer->error, .without_base64 = true};
    size_t start = writer->values->len;
    argument_write_value(&json, argument);
    if (json.status != JP_CLIENT_OK)
      writer->status = json.status;
    obj->value = (struct text){NULL, writer->values->len - start};
  }
}

static void set_values(struct binary_writer *writer, struct colfer_obj_list *list)
{
  const char *at = writer->values->data;
  for (size_t i = 0; i < list->count; i++) {
    struct text *value = &list->items[i].value;
    if (value->len == 0)
      continue;
    value->data = at;
    at += value->len;
  }
}

static struct colfer_obj_list make_args(struct binary_writer *writer)
{
  const struct jp_request *request = writer->request;
  struct colfer_obj_list list = {NULL, request->arg_count};
  if (list.count == 0)
    return list;
  if (list.count > COLFER_LIST_MAX) {
    fail_writer(writer, JP_CLIENT_INVALID, "more than 65,536 arguments");
    return list;
  }
  list.items = allocate_items(writer, list.count, sizeof *list.items);
  for (size_t i = 0; i < list.count && writer->status == JP_CLIENT_OK; i++) {
    fill_obj(writer, &list.items[i], &request->args[i]);
    if (writer->status != JP_CLIENT_OK)
      client_error_prefix(writer->error, "argument %zu: ", i);
  }
  if (writer->values->failed)
    fail_writer(writer, JP_CLIENT_NO_MEMORY, "out of memory");
  if (writer->status == JP_CLIENT_OK)
    set_values(writer, &list);
  return list;
}

/* ---- operations ---- */

static bool is_static(const struct binary_writer *writer)
{
  return writer->request->instance.kind == JP_ARGUMENT_NONE;
}

static uint32_t read_instance(struct binary_writer *writer)
{
  const struct jp_argument *instance = &writer->request->instance;
  if (instance->kind == JP_ARGUMENT_NAMED || !argument_is_object(instance))
    fail_writer(writer, JP_CLIENT_UNSUPPORTED, "in a binary message an instance is an object of the peer");
  else if (ref_of(instance) == 0)
    fail_writer(writer, JP_CLIENT_INVALID, "instance: an object is NULL");
  return ref_of(instance);
}

static struct colfer_class *make_target(struct binary_writer *writer)
{
  /* If there is an instance and no type, the instance's own class is the target. */
  if (writer->request->type == NULL && !is_static(writer))
    return NULL;
  return make_class(writer, writer->request->type, "the class is missing");
}

static enum colfer_message_kind fill_new(struct binary_writer *writer, struct colfer_exec_message *exec)
{
  exec->constructor_call = allocate_items(writer, 1, sizeof *exec->constructor_call);
  if (exec->constructor_call != NULL)
    *exec->constructor_call =
        (struct colfer_constructor_call){.clazz = make_target(writer), .args = make_args(writer)};
  return COLFER_CALLS_CONSTRUCTOR;
}

static enum colfer_message_kind fill_call(struct binary_writer *writer, struct colfer_exec_message *exec)
{
  struct text name = read_name(writer, writer->request->member, "the method is missing");
  if (is_static(writer)) {
    exec->class_method_call = allocate_items(writer, 1, sizeof *exec->class_method_call);
    if (exec->class_method_call != NULL)
      *exec->class_method_call = (struct colfer_class_method_call){
          .clazz = make_target(writer), .name = name, .args = make_args(writer)};
    return COLFER_CALLS_CLASS_METHOD;
  }
  exec->instance_method_call = allocate_items(writer, 1, sizeof *exec->instance_method_call);
  if (exec->instance_method_call != NULL)
    *exec->instance_method_call = (struct colfer_instance_method_call){.clazz = make_target(writer),
                                                                       .name = name,
                                                                       .object_ref = read_instance(writer),
                                                                       .args = make_args(writer)};
  return COLFER_CALLS_INSTANCE_METHOD;
}

static struct colfer_field *make_field(struct binary_writer *writer)
{
  struct colfer_field *field = allocate_items(writer, 1, sizeof *field);
  if (field != NULL)
    field->name = read_name(writer, writer->request->member, "the field is missing");
  return field;
}

static enum colfer_message_kind fill_get(struct binary_writer *writer, struct colfer_exec_message *exec)
{
  if (is_static(writer)) {
    exec->static_field_get = allocate_items(writer, 1, sizeof *exec->static_field_get);
    if (exec->static_field_get != NULL)
      *exec->static_field_get =
          (struct colfer_static_field_get){.clazz = make_target(writer), .field = make_field(writer)};
    return COLFER_GETS_STATIC;
  }
  exec->instance_field_get = allocate_items(writer, 1, sizeof *exec->instance_field_get);
  if (exec->instance_field_get != NULL)
    *exec->instance_field_get = (struct colfer_instance_field_get){
        .clazz = make_target(writer), .object_ref = read_instance(writer), .field = make_field(writer)};
  return COLFER_GETS_FIELD;
}

/* Makes the value of an object. If the object is a ref, sets *ref and returns NULL. */
static struct colfer_obj *make_value(struct binary_writer *writer, uint32_t *ref)
{
  if (writer->request->arg_count != 1) {
    fail_writer(writer, JP_CLIENT_INVALID, "the value is missing");
    return NULL;
  }
  struct colfer_obj *value = make_args(writer).items;
  *ref = value == NULL ? 0 : value->ref;
  return *ref == 0 ? value : NULL;
}

static enum colfer_message_kind fill_put(struct binary_writer *writer, struct colfer_exec_message *exec)
{
  uint32_t ref = 0;
  struct colfer_obj *value = make_value(writer, &ref);
  if (is_static(writer)) {
    exec->static_field_put = allocate_items(writer, 1, sizeof *exec->static_field_put);
    if (exec->static_field_put != NULL)
      *exec->static_field_put = (struct colfer_static_field_put){.clazz = make_target(writer),
                                                                 .field = make_field(writer),
                                                                 .value_object = value,
                                                                 .value_object_ref = ref};
    return COLFER_PUTS_STATIC;
  }
  exec->instance_field_put = allocate_items(writer, 1, sizeof *exec->instance_field_put);
  if (exec->instance_field_put != NULL)
    *exec->instance_field_put = (struct colfer_instance_field_put){.clazz = make_target(writer),
                                                                   .object_ref = read_instance(writer),
                                                                   .field = make_field(writer),
                                                                   .value_object = value,
                                                                   .value_object_ref = ref};
  return COLFER_PUTS_FIELD;
}

static enum colfer_message_kind (*const operations[])(struct binary_writer *writer,
                                                      struct colfer_exec_message *exec) = {
    [JP_NEW] = fill_new, [JP_CALL] = fill_call, [JP_GET] = fill_get, [JP_PUT] = fill_put};

/* ---- options ---- */

/* A binary message can only express thread_affinity. */
static void fill_options(struct binary_writer *writer, struct colfer_exec_message *exec)
{
  const struct jp_options *options = writer->request->options;
  if (options == NULL)
    return;
  if (options->loader.kind != JP_ARGUMENT_NONE || options->base64 || options->array_value_max != 0 ||
      options->elements || options->longs_as_text || options->within != NULL || options->idempotent)
    fail_writer(writer, JP_CLIENT_UNSUPPORTED, "binary messages have no options but thread_affinity");
  if (options->thread_affinity != NULL)
    exec->thread_affinity = read_name(writer, options->thread_affinity, "thread_affinity is empty");
}

/* ---- messages ---- */

static struct text session_of(const struct message_binary *how)
{
  return (struct text){(const char *)how->session, how->session == NULL ? 0 : 16};
}

static void write_exec(struct binary_writer *writer, const struct message_binary *how, struct buffer *out)
{
  struct colfer_exec_message exec = {.peer_uuid = session_of(how), .message_id = how->id};
  struct colfer_message message = {.exec_message = &exec};
  message.message_type = (uint8_t)operations[writer->request->operation](writer, &exec);
  fill_options(writer, &exec);
  if (writer->status == JP_CLIENT_OK)
    colfer_encode(&colfer_message_type, &message, out);
}

static int find_command(const char *name)
{
  static const char *const names[] = {[COLFER_DELETE_OBJECT] = "delete_object",
                                      [COLFER_DELETE_SESSION] = "delete_session",
                                      [COLFER_GC] = "gc",
                                      [COLFER_PING] = "ping"};
  for (int i = COLFER_DELETE_OBJECT; i <= COLFER_PING; i++) {
    if (name != NULL && strcmp(name, names[i]) == 0)
      return i;
  }
  return 0;
}

static void write_control(struct binary_writer *writer, const struct message_binary *how, struct buffer *out)
{
  int command = find_command(writer->request->member);
  if (command == 0)
    fail_writer(writer, JP_CLIENT_UNSUPPORTED, "binary messages have no such control method");
  struct colfer_control_message control = {.from_peer = session_of(how),
                                           .message_id = how->id,
                                           .command = (uint8_t)command,
                                           .params = make_args(writer)};
  const struct colfer_message message = {.message_type = COLFER_CONTROL_REQUEST, .control_message = &control};
  if (writer->status == JP_CLIENT_OK)
    colfer_encode(&colfer_message_type, &message, out);
}

/* Writes the arguments of fetch_classes_info by position. */
static void write_meta(struct binary_writer *writer, const struct message_binary *how, struct buffer *out)
{
  const struct jp_request *request = writer->request;
  const char *const *lists[] = {request->exclude_prefixes, request->include_classes};
  struct jp_argument args[4] = {jp_boolean(request->compress), jp_boolean(request->merge_ancestry)};
  for (size_t i = 0; i < 2; i++) {
    size_t count = 0;
    while (lists[i] != NULL && lists[i][count] != NULL)
      count++;
    struct jp_argument *items = allocate_items(writer, count + 1, sizeof *items);
    for (size_t k = 0; items != NULL && k < count; k++)
      items[k] = (struct jp_argument){.kind = JP_ARGUMENT_TEXT, .as = {.text = jp_text_of(lists[i][k])}};
    args[2 + i] = lists[i] == NULL ? jp_null(NULL) : jp_list(NULL, items, count);
  }
  struct jp_request positional = {.args = args, .arg_count = 4};
  writer->request = &positional;
  struct colfer_meta_message meta = {.from_peer = session_of(how),
                                     .message_id = how->id,
                                     .service = COLFER_FETCH_CLASSES_INFO,
                                     .params = make_args(writer)};
  writer->request = request;
  const struct colfer_message message = {.message_type = COLFER_META_REQUEST, .meta_message = &meta};
  if (writer->status == JP_CLIENT_OK)
    colfer_encode(&colfer_message_type, &message, out);
}

enum jp_client_status message_write_binary(const struct jp_request *request, const struct message_binary *how,
                                           struct buffer *out, struct jp_client_error *error)
{
  struct binary_writer writer = {
      .request = request, .arena = how->arena, .values = how->scratch, .error = error};
  buffer_clear(how->scratch);
  if (request->arg_count > 0 && request->args == NULL)
    return client_fail(error, JP_CLIENT_INVALID, "the arguments are missing");
  if (request->operation == JP_META && request->prefix != NULL)
    fail_writer(&writer, JP_CLIENT_UNSUPPORTED, "binary messages have no list_names");
  else if (request->operation == JP_META)
    write_meta(&writer, how, out);
  else if (request->operation == JP_CONTROL)
    write_control(&writer, how, out);
  else if ((size_t)request->operation < sizeof operations / sizeof operations[0])
    write_exec(&writer, how, out);
  else
    fail_writer(&writer, JP_CLIENT_UNSUPPORTED,
                "binary messages have no jpeer.fetch, jpeer.describe and own names");
  if (writer.status == JP_CLIENT_OK && out->failed)
    return client_fail(error, JP_CLIENT_NO_MEMORY, "out of memory");
  return writer.status;
}

void message_write_release_binary(const struct message_release *releases, size_t count,
                                  const struct message_binary *how, struct buffer *out)
{
  struct colfer_obj *refs = arena_calloc(how->arena, count, sizeof *refs);
  if (refs == NULL) {
    out->failed = true;
    return;
  }
  for (size_t i = 0; i < count; i++)
    refs[i].ref = releases[i].ref;
  struct colfer_control_message control = {.from_peer = session_of(how),
                                           .message_id = how->id,
                                           .command = COLFER_DELETE_OBJECT,
                                           .params = {refs, count}};
  const struct colfer_message message = {.message_type = COLFER_CONTROL_REQUEST, .control_message = &control};
  colfer_encode(&colfer_message_type, &message, out);
}

enum jp_client_status jp_request_write_binary(const struct jp_request *request, const uint8_t session[16],
                                              const char *message_id, void *out, size_t size, size_t *length,
                                              struct jp_client_error *error)
{
  struct arena arena;
  struct buffer written, scratch;
  const struct message_binary how = {.session = session,
                                     .id = message_id == NULL ? TEXT("") : text_of(message_id),
                                     .arena = &arena,
                                     .scratch = &scratch};
  arena_init(&arena);
  buffer_init(&written);
  buffer_init(&scratch);
  enum jp_client_status status = message_write_binary(request, &how, &written, error);
  if (status == JP_CLIENT_OK) {
    *length = written.len;
    if (written.len <= size)
      memcpy(out, written.data, written.len);
  }
  buffer_fini(&scratch);
  buffer_fini(&written);
  arena_fini(&arena);
  return status;
}

#include "client/messages/answer_binary.h"

#include "colfer/messages.h"
#include "json/reader.h"

static enum jp_client_status fail_protocol(struct jp_client_error *error, const char *what)
{
  return client_fail(error, JP_CLIENT_PROTOCOL, "this is no reply: %s", what);
}

static enum jp_client_status decode_message(struct text bytes, struct arena *arena,
                                            struct colfer_message *message, struct jp_client_error *error)
{
  struct jp_error fault;
  enum jp_status status = colfer_decode(&colfer_message_type, bytes, arena, message, &fault);
  if (status == JP_OK)
    return JP_CLIENT_OK;
  return status == JP_NO_MEMORY ? answer_fail_memory(error) : fail_protocol(error, fault.text);
}

enum jp_client_status answer_find_binary_id(struct text message, struct text *id,
                                            struct jp_client_error *error)
{
  struct arena arena;
  struct colfer_message read;
  *id = TEXT_ABSENT;
  arena_init(&arena);
  enum jp_client_status status = decode_message(message, &arena, &read, error);
  if (status == JP_CLIENT_OK) {
    if (read.exec_message != NULL)
      *id = read.exec_message->response_to_id;
    else if (read.control_message != NULL)
      *id = read.control_message->response_to_id;
    else if (read.meta_message != NULL)
      *id = read.meta_message->response_to_id;
    if (id->len == 0)
      *id = TEXT_ABSENT;
  }
  arena_fini(&arena);
  return status;
}

/* ---- values ---- */

/* The text of a value in JSON: a string without its quotes, and any other value unchanged. */
static bool read_value(struct jp_answer *answer, struct text json, struct text *value)
{
  const struct json_limits limits = {.max_depth = 300};
  struct json_fault fault;
  *value = json;
  if (json_validate(json, limits, TEXT_ABSENT, &fault) != JP_OK)
    return false;
  struct json_value root = json_root(json);
  if (root.kind == JSON_KIND_STRING)
    *value = json_read_string(root, &answer->arena);
  return value->data != NULL;
}

static enum jp_client_status fill_object(struct jp_answer *answer, const struct colfer_obj *obj,
                                         struct answer_refs *refs, struct jp_client_error *error)
{
  struct text type = obj->clazz == NULL ? TEXT("") : obj->clazz->name;
  struct text value;
  if (!answer_set_type(answer, type))
    return answer_fail_memory(error);
  answer->kind = obj->is_null ? JP_ANSWER_NULL : JP_ANSWER_OBJECT;
  if (obj->is_null)
    return JP_CLIENT_OK;
  if (obj->value.len > 0 &&
      (!read_value(answer, obj->value, &value) || !answer_set_value(answer, type, value)))
    return fail_protocol(error, "its value is none of its type");
  if (obj->value.len == 0 && obj->ref == 0)
    return fail_protocol(error, "its object has neither value nor ref");
  if (obj->ref != 0 && !answer_set_ref(answer, obj->ref, type, refs))
    return answer_fail_memory(error);
  return JP_CLIENT_OK;
}

/* ---- errors ---- */

enum { CODE_SERVER = -32000, CODE_DENIED = -32001, CODE_INVALID = -32602, CODE_NOT_FOUND = -32601 };

/* The JSON-RPC codes for these types (docs/binary.md, "Errors"). */
static int code_of(struct text type)
{
  static const struct {
    struct text type;
    int code;
  } codes[] = {
      {TEXT("io.quasient.pal.core.rpc.policy.RpcAccessDeniedException"), CODE_DENIED},
      {TEXT("java.lang.ClassNotFoundException"), CODE_NOT_FOUND},
      {TEXT("java.lang.NoSuchMethodException"), CODE_NOT_FOUND},
      {TEXT("java.lang.NoSuchFieldException"), CODE_NOT_FOUND},
  };
  for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
    if (text_equal(type, codes[i].type))
      return codes[i].code;
  }
  return CODE_SERVER;
}

static const char *message_of(int code)
{
  return code == CODE_DENIED      ? "RPC access denied"
         : code == CODE_NOT_FOUND ? "Method not found"
         : code == CODE_INVALID   ? "Invalid params"
                                  : "Server error";
}

static const char *keep_string(struct jp_answer *answer, struct text t, bool *good)
{
  const char *kept = t.len == 0 ? NULL : answer_keep_text(answer, t).data;
  *good = *good && (t.len == 0 || kept != NULL);
  return kept;
}

static bool keep_throwable(struct jp_answer *answer, const struct colfer_throwable *read,
                           const struct jp_throwable **place)
{
  bool good = true;
  for (; good && read != NULL; read = read->cause) {
    struct jp_throwable *throwable = arena_calloc(&answer->arena, 1, sizeof *throwable);
    size_t count = read->stack_trace_elements.count;
    const char **frames = arena_calloc(&answer->arena, count + 1, sizeof *frames);
    if (throwable == NULL || frames == NULL)
      return false;
    for (size_t i = 0; i < count; i++) {
      frames[i] = keep_string(answer, read->stack_trace_elements.items[i], &good);
      if (frames[i] == NULL)
        frames[i] = "";
    }
    *throwable = (struct jp_throwable){.type = keep_string(answer, read->type, &good),
                                       .message = keep_string(answer, read->message, &good),
                                       .stack = frames,
                                       .stack_count = count};
    *place = throwable;
    place = &throwable->cause;
  }
  return good;
}

static enum jp_client_status fill_error(struct jp_answer *answer, int code,
                                        const struct colfer_throwable *throwable,
                                        struct jp_client_error *error)
{
  static const struct jp_throwable none = {0};
  answer->kind = JP_ANSWER_ERROR;
  answer->code = code;
  answer->message = message_of(code);
  answer->throwable = &none;
  return keep_throwable(answer, throwable, &answer->throwable) ? JP_CLIENT_OK : answer_fail_memory(error);
}

/* Reads the error of a control or meta message. Such an error has no throwable. */
static enum jp_client_status fill_status(struct jp_answer *answer, uint8_t status, struct text body,
                                         struct jp_client_error *error)
{
  int code = status == COLFER_STATUS_UNAUTHORIZED  ? CODE_DENIED
             : status == COLFER_STATUS_UNSUPPORTED ? CODE_NOT_FOUND
                                                   : CODE_SERVER;
  struct colfer_throwable thrown = {.message = body};
  return fill_error(answer, code, &thrown, error);
}

/* ---- replies ---- */

static enum jp_client_status fill_exec(struct jp_answer *answer, const struct colfer_exec_message *exec,
                                       struct answer_refs *refs, struct jp_client_error *error)
{
  if (exec->raised_throwable != NULL && exec->raised_throwable->throwable != NULL) {
    const struct colfer_throwable *throwable = exec->raised_throwable->throwable;
    return fill_error(answer, code_of(throwable->type), throwable, error);
  }
  answer->kind = JP_ANSWER_VOID;
  if (exec->static_field_put_done != NULL || exec->instance_field_put_done != NULL)
    return JP_CLIENT_OK;
  if (exec->return_value == NULL)
    return fail_protocol(error, "it has no result");
  if (exec->return_value->is_void)
    return JP_CLIENT_OK;
  if (exec->return_value->object == NULL)
    return fail_protocol(error, "its result has no object");
  return fill_object(answer, exec->return_value->object, refs, error);
}

static enum jp_client_status fill_meta(struct jp_answer *answer, const struct colfer_meta_message *meta,
                                       struct jp_client_error *error)
{
  if (meta->status != COLFER_STATUS_OK)
    return fill_status(answer, meta->status, meta->body, error);
  if (!answer_set_type(answer, TEXT("java.lang.String")) ||
      !answer_set_value(answer, TEXT("java.lang.String"), meta->body) || answer->text.data == NULL)
    return answer_fail_memory(error);
  return JP_CLIENT_OK;
}

enum jp_client_status answer_fill_binary(struct jp_answer *answer, struct text message,
                                         struct answer_refs *refs, struct jp_client_error *error)
{
  struct colfer_message read;
  enum jp_client_status status = decode_message(message, &answer->arena, &read, error);
  if (status != JP_CLIENT_OK)
    return status;
  if (read.exec_message != NULL)
    return fill_exec(answer, read.exec_message, refs, error);
  if (read.meta_message != NULL)
    return fill_meta(answer, read.meta_message, error);
  if (read.control_message == NULL)
    return fail_protocol(error, "it answers nothing");
  if (read.control_message->status == COLFER_STATUS_OK)
    return JP_CLIENT_OK;
  return fill_status(answer, read.control_message->status, read.control_message->body, error);
}

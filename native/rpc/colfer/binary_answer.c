/* Writes a binary answer: from an outcome to structs and bytes, with a new id. */
#include "rpc/colfer/binary_answer.h"

#include "rpc/values/value_write.h"

/* ---- ids ---- */

enum { COUNTING = 12 /* hexadecimal digits of an id that count up */ };

void rpc_colfer_ids_init(struct rpc_colfer_ids *ids)
{
  struct uuid random;
  uuid_random(&random);
  uuid_format(&random, ids->text);
  memset(ids->text + UUID_TEXT_LENGTH - COUNTING, '0', COUNTING);
}

struct text rpc_colfer_ids_next(struct rpc_colfer_ids *ids)
{
  char *digit = ids->text + UUID_TEXT_LENGTH - 1;
  const char *first = ids->text + UUID_TEXT_LENGTH - COUNTING;
  for (;; digit--) {
    *digit = *digit == '9' ? 'a' : *digit == 'f' ? '0' : (char)(*digit + 1);
    if (*digit != '0' || digit == first)
      break; /* a void result has no value */
  }
  return (struct text){ids->text, UUID_TEXT_LENGTH};
}

/* ---- texts ---- */

/* A binary text is UTF-8: a lone surrogate is replaced by U+FFFD, which has the same length in bytes. */
static struct text make_utf8(struct arena *arena, struct text t)
{
  static const struct text replacement = TEXT("\xEF\xBF\xBD");
  size_t valid = text_valid_utf8(t);
  if (valid == t.len)
    return t;
  char *copy = arena_alloc(arena, t.len);
  if (copy == NULL)
    return text_slice(t, 0, valid);
  memcpy(copy, t.data, t.len);
  while (valid + replacement.len <= t.len) {
    memcpy(copy + valid, replacement.data, replacement.len);
    valid += replacement.len;
    valid += text_valid_utf8((struct text){copy + valid, t.len - valid});
  }
  return (struct text){copy, valid};
}

static struct colfer_texts make_all_utf8(struct arena *arena, struct text *items, size_t count)
{
  struct colfer_texts texts = {items, count < COLFER_LIST_MAX ? count : COLFER_LIST_MAX};
  for (size_t i = 0; i < texts.count; i++)
    items[i] = make_utf8(arena, items[i]);
  return texts;
}

/* ---- the member that was reached ---- */

struct described_member {
  struct colfer_class clazz;
  struct colfer_constructor constructor;
  struct colfer_method method;
  struct colfer_field field;
  struct colfer_reflectable reflectable;
};

static bool is_reached(const struct rpc_colfer_answer *answer)
{
  return answer->from != NULL && answer->from->class_name.data != NULL;
}

static struct colfer_field *describe_field(struct described_member *described,
                                           const struct rpc_colfer_answer *answer)
{
  described->clazz.name = make_utf8(answer->arena, answer->from->class_name);
  described->field = (struct colfer_field){.clazz = &described->clazz,
                                           .name = make_utf8(answer->arena, answer->from->member),
                                           .modifiers = answer->from->modifiers};
  return &described->field;
}

/* NULL: no member was reached. */
static struct colfer_reflectable *describe_member(struct described_member *described,
                                                  const struct rpc_colfer_answer *answer)
{
  const struct rpc_reached_member *from = answer->from;
  if (!is_reached(answer))
    return NULL;
  described->reflectable = (struct colfer_reflectable){0};
  if (from->is_field) {
    described->reflectable.field = describe_field(described, answer);
    return &described->reflectable;
  }
  described->clazz.name = make_utf8(answer->arena, from->class_name);
  if (text_equal(from->member, TEXT("<init>"))) {
    described->constructor.clazz = &described->clazz;
    described->reflectable.constructor = &described->constructor;
  } else {
    described->method = (struct colfer_method){.clazz = &described->clazz,
                                               .name = make_utf8(answer->arena, from->member),
                                               .modifiers = from->modifiers};
    described->reflectable.method = &described->method;
  }
  return &described->reflectable;
}

/* ---- exec messages ---- */

static void write_exec(struct buffer *out, enum colfer_message_kind type, struct colfer_exec_message *exec,
                       const struct rpc_colfer_answer *answer)
{
  exec->message_id = answer->id;
  exec->response_to_id = answer->request_id;
  const struct colfer_message message = {.message_type = (uint8_t)type, .exec_message = exec};
  colfer_encode(&colfer_message_type, &message, out);
}

static void fill_obj(struct colfer_obj *obj, struct colfer_class *clazz, struct buffer *out,
                     const struct outcome *outcome, const struct rpc_colfer_answer *answer)
{
  clazz->name = make_utf8(answer->arena, outcome->type);
  *obj = (struct colfer_obj){.clazz = clazz, .ref = outcome->ref, .is_null = outcome->is_null};
  if (!outcome->has_value)
    return;
  buffer_clear(answer->scratch);
  rpc_value_write(answer->scratch, &outcome->value);
  obj->value = buffer_text(answer->scratch);
  if (answer->scratch->failed)
    out->failed = true;
}

static void write_returned(struct buffer *out, const struct outcome *outcome,
                           const struct rpc_colfer_answer *answer)
{
  struct colfer_obj object;
  struct colfer_class clazz;
  struct described_member from;
  struct colfer_return_value returned = {.is_void = outcome->kind == OUTCOME_VOID,
                                         .from = describe_member(&from, answer)};
  if (!returned.is_void) {
    fill_obj(&object, &clazz, out, outcome, answer);
    returned.object = &object;
  }
  struct colfer_exec_message exec = {.return_value = &returned};
  write_exec(out, COLFER_RETURNS, &exec, answer);
}

static void write_static_put(struct buffer *out, const struct rpc_colfer_answer *answer)
{
  struct described_member field;
  struct colfer_static_field_put_done done = {.field = describe_field(&field, answer),
                                              .static_field_put_id = answer->request_id};
  struct colfer_exec_message exec = {.static_field_put_done = &done};
  write_exec(out, COLFER_PUT_STATIC_DONE, &exec, answer);
}

static void write_instance_put(struct buffer *out, const struct rpc_colfer_answer *answer)
{
  struct described_member field;
  struct colfer_instance_field_put_done done = {.field = describe_field(&field, answer),
                                                .instance_field_put_id = answer->request_id};
  struct colfer_exec_message exec = {.instance_field_put_done = &done};
  write_exec(out, COLFER_PUT_FIELD_DONE, &exec, answer);
}

/* The throwable's type for a failure without a Java throwable. */
static struct text throwable_type(const struct outcome *outcome)
{
  static const struct text types[] = {
      [FAILURE_INVALID_REQUEST] = TEXT("java.lang.IllegalArgumentException"),
      [FAILURE_INVALID_PARAMS] = TEXT("java.lang.IllegalArgumentException"),
      [FAILURE_NOT_FOUND] = TEXT("java.lang.NoSuchMethodException"),
      [FAILURE_SERVER] = TEXT("java.lang.IllegalStateException"),
      [FAILURE_DENIED] = TEXT("io.quasient.pal.core.rpc.policy.RpcAccessDeniedException"),
      [FAILURE_INTERNAL] = TEXT("java.lang.InternalError"),
      [FAILURE_NOT_SAFE] = TEXT("java.lang.IllegalStateException"),
  };
  bool has_own = outcome->throwable_type.data != NULL && outcome->failure != FAILURE_DENIED;
  return has_own ? outcome->throwable_type : types[outcome->failure];
}

/* The causes, in the arena; the list ends early if memory is short. */
static struct colfer_throwable *describe_causes(const struct outcome_throwable *cause, struct arena *arena)
{
  struct colfer_throwable *first = NULL;
  struct colfer_throwable **next = &first;
  for (; cause != NULL; cause = cause->cause) {
    struct colfer_throwable *described = arena_alloc(arena, sizeof *described);
    if (described == NULL)
      break;
    *described = (struct colfer_throwable){.type = make_utf8(arena, cause->type),
                                           .message = make_utf8(arena, cause->message),
                                           .stack_trace_elements =
                                               make_all_utf8(arena, cause->frames, cause->frame_count)};
    *next = described;
    next = &described->cause;
  }
  return first;
}

static void write_raised(struct buffer *out, const struct outcome *outcome,
                         const struct rpc_colfer_answer *answer)
{
  struct arena *arena = answer->arena;
  struct described_member from;
  struct colfer_throwable throwable = {.type = make_utf8(arena, throwable_type(outcome)),
                                       .message = make_utf8(arena, outcome->message)};
  struct colfer_raised_throwable raised = {.from = describe_member(&from, answer), .throwable = &throwable};
  if (is_reached(answer))
    raised.modifiers = answer->from->modifiers;
  const struct outcome_throwable *thrown = outcome->throwable;
  if (thrown != NULL) {
    throwable.stack_trace_elements = make_all_utf8(arena, thrown->frames, thrown->frame_count);
    throwable.cause = describe_causes(thrown->cause, arena);
  }
  struct colfer_exec_message exec = {.raised_throwable = &raised};
  write_exec(out, COLFER_THROWS, &exec, answer);
}

static void write_exec_answer(struct buffer *out, const struct outcome *outcome,
                              const struct rpc_colfer_answer *answer)
{
  if (outcome->kind == OUTCOME_ERROR)
    write_raised(out, outcome, answer);
  else if (answer->asked == COLFER_PUTS_STATIC)
    write_static_put(out, answer);
  else if (answer->asked == COLFER_PUTS_FIELD)
    write_instance_put(out, answer);
  else
    write_returned(out, outcome, answer);
}

/* ---- control and metadata ---- */

static enum colfer_status status_of(const struct outcome *outcome)
{
  if (outcome->kind != OUTCOME_ERROR)
    return COLFER_STATUS_OK;
  if (outcome->failure == FAILURE_DENIED)
    return COLFER_STATUS_UNAUTHORIZED;
  if (outcome->is_unknown_ref)
    return COLFER_STATUS_NO_SUCH_OBJECT;
  bool is_unsupported = text_equal(outcome->status, TEXT("UNSUPPORTED"));
  return is_unsupported ? COLFER_STATUS_UNSUPPORTED : COLFER_STATUS_ERROR;
}

static void write_control_answer(struct buffer *out, const struct outcome *outcome,
                                 const struct rpc_colfer_answer *answer)
{
  struct colfer_control_message control = {.message_id = answer->id,
                                           .response_to_id = answer->request_id,
                                           .command = answer->command,
                                           .status = (uint8_t)status_of(outcome)};
  if (outcome->kind == OUTCOME_ERROR)
    control.body = make_utf8(answer->arena, outcome->message);
  const struct colfer_message message = {.message_type = COLFER_CONTROL_RESPONSE,
                                         .control_message = &control};
  colfer_encode(&colfer_message_type, &message, out);
}

static void write_meta_answer(struct buffer *out, const struct outcome *outcome,
                              const struct rpc_colfer_answer *answer)
{
  struct colfer_meta_message meta = {.message_id = answer->id,
                                     .response_to_id = answer->request_id,
                                     .service = answer->command,
                                     .status = (uint8_t)status_of(outcome)};
  if (outcome->kind == OUTCOME_ERROR)
    meta.body = make_utf8(answer->arena, outcome->message);
  else if (outcome->kind == OUTCOME_BODY)
    meta.body = buffer_text(answer->scratch);
  const struct colfer_message message = {.message_type = COLFER_META_RESPONSE, .meta_message = &meta};
  colfer_encode(&colfer_message_type, &message, out);
}

struct rpc_colfer_answer rpc_colfer_answer_to(const struct rpc_colfer_request *request)
{
  const struct colfer_message *message = &request->message;
  struct rpc_colfer_answer answer = {
      .part = request->part, .asked = message->message_type, .request_id = request->id};
  if (request->part == RPC_COLFER_CONTROL && message->control_message != NULL)
    answer.command = message->control_message->command;
  else if (request->part == RPC_COLFER_META && message->meta_message != NULL)
    answer.command = message->meta_message->service;
  return answer;
}

void rpc_colfer_answer_write(struct buffer *out, const struct outcome *outcome,
                             const struct rpc_colfer_answer *answer)
{
  static void (*const writers[RPC_COLFER_PARTS])(struct buffer *, const struct outcome *,
                                                 const struct rpc_colfer_answer *) = {
      [RPC_COLFER_EXEC] = write_exec_answer,
      [RPC_COLFER_CONTROL] = write_control_answer,
      [RPC_COLFER_META] = write_meta_answer,
  };
  writers[answer->part](out, outcome, answer);
}

#include "rpc/fastpath/shape_cache.h"

#include "base/number.h"
#include "rpc/jsonrpc/procedures.h"
#include "rpc/values/value_read.h"
#include "json/integers.h"
#include "json/object_members.h"

/* After so many messages that fitted nothing, one in so many is looked at: others pay next to nothing. */
enum { MISSES_MAX = 64, MISSES_STEP = 16 };

/* ---- fitting a message ---- */

static bool take_text(struct text *rest, const char *wanted, size_t length)
{
  if (rest->len < length || !text_equal_bytes(rest->data, wanted, length))
    return false;
  *rest = text_slice(*rest, length, rest->len);
  return true;
}

static size_t hole_length(const struct rpc_hole *hole, struct text rest)
{
  return hole->is_string ? json_plain_string_at(rest) : number_at(rest);
}

static bool fill(struct rpc_shape *shape, const struct rpc_hole *hole, struct text span)
{
  struct json_value value = {.kind = hole->is_string ? JSON_KIND_STRING : JSON_KIND_NUMBER, .span = span};
  switch (hole->kind) {
  case RPC_HOLE_ID:
    shape->request.id = span;
    return hole->is_string || !number_has_suffix(span);
  case RPC_HOLE_INSTANCE:
    return rpc_ref_read(value, &shape->operation.instance);
  default:
    return rpc_scalar_fill(&shape->args[hole->arg], value);
  }
}

static bool set_ref(uint32_t *ref, int64_t integer)
{
  *ref = (uint32_t)integer;
  return integer >= 1 && integer <= RPC_REF_MAX;
}

/* The same for a whole number that has been read already. */
static bool fill_integer(struct rpc_shape *shape, const struct rpc_hole *hole, struct text span,
                         int64_t integer)
{
  struct op_value *arg = &shape->args[hole->arg];
  switch (hole->kind) {
  case RPC_HOLE_ID:
    shape->request.id = span;
    return true;
  case RPC_HOLE_INSTANCE:
    return set_ref(&shape->operation.instance, integer);
  default:
    break;
  }
  if (arg->kind == OP_REF)
    return set_ref(&arg->ref, integer);
  rpc_scalar_fill_integer(arg, integer);
  return true;
}

static bool take_integer(struct rpc_shape *shape, const struct rpc_hole *hole, struct text *rest)
{
  int64_t integer;
  size_t length = json_plain_integer_at(*rest, &integer);
  if (length == 0 || !fill_integer(shape, hole, (struct text){rest->data, length}, integer))
    return false;
  *rest = text_slice(*rest, length, rest->len);
  return true;
}

/* Anything but a plain whole number; on its own, so that reading those needs no room for it. */
static __attribute__((noinline)) bool take_other(struct rpc_shape *shape, const struct rpc_hole *hole,
                                                 struct text *rest, struct arena *arena)
{
  if (hole->kind == RPC_HOLE_LIST)
    return rpc_list_take(rest, &shape->lists[hole->list], arena, &shape->args[hole->arg]);
  size_t length = hole_length(hole, *rest);
  if (length == 0 || !fill(shape, hole, (struct text){rest->data, length}))
    return false;
  *rest = text_slice(*rest, length, rest->len);
  return true;
}

/* Takes what is in the hole from the beginning of rest. False where it is wrong there; that is said by who
 * reads the message in full. */
static bool take_hole(struct rpc_shape *shape, const struct rpc_hole *hole, struct text *rest,
                      struct arena *arena)
{
  bool may_be_integer = !hole->is_string && hole->kind != RPC_HOLE_LIST;
  return (may_be_integer && take_integer(shape, hole, rest)) || take_other(shape, hole, rest, arena);
}

/* Takes the shape from the beginning of rest. What is in the holes of one that does not fit after all is of
 * no use to anyone: it is filled anew by the next message. */
static bool take_shape(struct rpc_shape *shape, struct text *rest, struct arena *arena)
{
  size_t at = 0;
  if (shape->length == 0) /* its holes may be those of a message that could not be kept */
    return false;
  for (size_t i = 0; i < shape->hole_count; i++) {
    const struct rpc_hole *hole = &shape->holes[i];
    if (!take_text(rest, shape->text + at, hole->at - at) || !take_hole(shape, hole, rest, arena))
      return false;
    at = hole->at;
  }
  return take_text(rest, shape->text + at, shape->length - at);
}

/* A long list is not to be taken for nothing: what is behind it all is looked at before. */
static bool has_end_of(const struct rpc_shape *shape, struct text message)
{
  size_t at = shape->holes[shape->hole_count - 1].at;
  if (shape->length < at) /* it could not be kept */
    return false;
  return text_ends_with(message, text_slice((struct text){shape->text, shape->length}, at, shape->length));
}

static bool is_skipped(const struct rpc_repeats *repeats)
{
  return repeats->misses > MISSES_MAX && repeats->misses % MISSES_STEP != 0;
}

static struct rpc_shape *find(struct rpc_repeats *repeats, struct text text, bool is_whole,
                              struct arena *arena, size_t *length)
{
  for (size_t i = 0; i < RPC_SHAPES && !is_skipped(repeats); i++) {
    size_t at = (repeats->last + i) % RPC_SHAPES;
    struct rpc_shape *shape = &repeats->shapes[at];
    struct text rest = text;
    struct arena_mark mark = arena_mark(arena);
    if (is_whole && shape->list_count > 0 && !has_end_of(shape, text))
      continue;
    if (!take_shape(shape, &rest, arena) || (is_whole && rest.len > 0)) {
      arena_rewind(arena, mark);
      continue;
    }
    *length = text.len - rest.len;
    shape->request.arena = arena;
    repeats->last = at;
    repeats->misses = 0;
    return shape;
  }
  repeats->misses++;
  return NULL;
}

struct rpc_shape *rpc_repeats_find(struct rpc_repeats *repeats, struct text message, struct arena *arena)
{
  size_t length;
  return find(repeats, message, true, arena, &length);
}

struct rpc_shape *rpc_repeats_find_first(struct rpc_repeats *repeats, struct text text, struct arena *arena,
                                         size_t *length)
{
  return find(repeats, text, false, arena, length);
}

/* ---- keeping a shape ---- */

struct keeping {
  struct rpc_shape *shape;
  struct text message;
  size_t taken; /* bytes of the message that are in the text, or in holes */
};

/* Copies the message up to `to` into the text. */
static bool copy_text(struct keeping *keeping, size_t to)
{
  struct rpc_shape *shape = keeping->shape;
  if (to < keeping->taken || to - keeping->taken > RPC_SHAPE_TEXT_MAX - shape->length)
    return false;
  memcpy(shape->text + shape->length, keeping->message.data + keeping->taken, to - keeping->taken);
  shape->length += to - keeping->taken;
  keeping->taken = to;
  return true;
}

static size_t offset_of(const struct keeping *keeping, struct text span)
{
  return (size_t)(span.data - keeping->message.data);
}

static bool note_hole(struct keeping *keeping, enum rpc_hole_kind kind, size_t arg, struct text span)
{
  struct rpc_shape *shape = keeping->shape;
  if (shape->hole_count == RPC_SHAPE_HOLES)
    return false;
  /* In order of the text: the few that there are, sorted as they come. */
  size_t i = shape->hole_count++;
  for (; i > 0 && shape->holes[i - 1].at > offset_of(keeping, span); i--)
    shape->holes[i] = shape->holes[i - 1];
  shape->holes[i] = (struct rpc_hole){.kind = kind,
                                      .is_string = *span.data == '"',
                                      .at = offset_of(keeping, span),
                                      .length = span.len,
                                      .arg = arg,
                                      .list = kind == RPC_HOLE_LIST ? shape->list_count++ : 0};
  return true;
}

static bool note_list(struct keeping *keeping, size_t i, struct json_value list)
{
  struct rpc_shape *shape = keeping->shape;
  struct text scalars;
  if (list.kind != JSON_KIND_ARRAY || shape->list_count == RPC_SHAPE_LISTS ||
      !rpc_list_find_form(list, shape->args[i].list.items, &shape->lists[shape->list_count], &scalars))
    return false;
  return note_hole(keeping, RPC_HOLE_LIST, i, scalars);
}

static bool note_argument(struct keeping *keeping, size_t i, struct json_value argument)
{
  switch (keeping->shape->args[i].kind) {
  case OP_NULL:
  case OP_BOOLEAN:
    return true; /* part of the text */
  case OP_INTEGER:
  case OP_BIG_INTEGER:
  case OP_FLOAT:
  case OP_DOUBLE:
  case OP_TEXT:
  case OP_REF:
    break;
  case OP_LIST:
    return note_list(keeping, i, rpc_scalar_of(argument));
  default:
    return false;
  }
  struct json_value scalar = rpc_scalar_of(argument);
  return rpc_scalar_is_plain(scalar) && note_hole(keeping, RPC_HOLE_ARGUMENT, i, scalar.span);
}

static bool note_arguments(struct keeping *keeping, const struct json_members *members)
{
  const struct operation *operation = &keeping->shape->operation;
  if (operation->kind == OP_PUT)
    return note_argument(keeping, 0, members->value[RPC_PARAM_VALUE]);
  if (operation->arg_count == 0)
    return true;
  struct json_cursor cursor = json_enter(members->value[RPC_PARAM_ARGS]);
  struct json_value argument;
  for (size_t i = 0; json_next_element(&cursor, &argument); i++) {
    if (!note_argument(keeping, i, argument))
      return false;
  }
  return true;
}

static bool note_holes(struct keeping *keeping)
{
  const struct jsonrpc_request *request = &keeping->shape->request;
  struct json_members members;
  json_members_collect(request->params, rpc_param_names, RPC_OPERATION_PARAMS, &members);
  if (request->id.data != NULL && rpc_scalar_is_plain(json_root(request->id)) &&
      !note_hole(keeping, RPC_HOLE_ID, 0, request->id))
    return false;
  if (keeping->shape->operation.has_instance &&
      !note_hole(keeping, RPC_HOLE_INSTANCE, 0, members.value[RPC_PARAM_INSTANCE].span))
    return false;
  return note_arguments(keeping, &members);
}

static bool copy_message(struct keeping *keeping)
{
  struct rpc_shape *shape = keeping->shape;
  for (size_t i = 0; i < shape->hole_count; i++) {
    struct rpc_hole *hole = &shape->holes[i];
    size_t from = hole->at;
    if (!copy_text(keeping, from))
      return false;
    hole->at = shape->length;
    keeping->taken += hole->length;
  }
  return copy_text(keeping, keeping->message.len);
}

/* Copies what stands between elements behind the message's text. */
static bool copy_betweens(struct rpc_shape *shape)
{
  size_t at = shape->length;
  for (size_t i = 0; i < shape->list_count; i++) {
    struct text *between = &shape->lists[i].between;
    if (between->len > RPC_SHAPE_TEXT_MAX - at)
      return false;
    if (between->len > 0)
      memcpy(shape->text + at, between->data, between->len);
    between->data = shape->text + at;
    at += between->len;
  }
  return true;
}

/* Finds a text of the message in the shape's. False where it is not there: an escape has put it into the
 * arena. */
static bool move(const struct rpc_shape *shape, struct text *t)
{
  if (t->data == NULL)
    return true;
  t->data = memmem(shape->text, shape->length, t->data, t->len);
  return t->data != NULL;
}

static bool has_id_hole(const struct rpc_shape *shape)
{
  bool found = false;
  for (size_t i = 0; i < shape->hole_count; i++)
    found = found || shape->holes[i].kind == RPC_HOLE_ID;
  return found;
}

static bool move_texts(struct rpc_shape *shape)
{
  struct operation *operation = &shape->operation;
  struct jsonrpc_request *request = &shape->request;
  bool moved = (has_id_hole(shape) || move(shape, &request->id)) && move(shape, &request->method) &&
               move(shape, &request->peer_id) && move(shape, &operation->type) &&
               (operation->kind == OP_NEW || move(shape, &operation->member));
  for (size_t i = 0; moved && i < operation->arg_count; i++) {
    shape->args[i].literal = TEXT_ABSENT; /* a hole's: filled each time */
    moved = move(shape, &shape->args[i].type);
  }
  for (size_t i = 0; moved && i < shape->list_count; i++) {
    shape->lists[i].element.literal = TEXT_ABSENT;
    moved = move(shape, &shape->lists[i].element.type);
  }
  return moved;
}

static size_t count_brackets(struct text text)
{
  size_t count = 0;
  for (size_t i = 0; i < text.len; i++)
    count += text.data[i] == '{' || text.data[i] == '[';
  return count;
}

static bool is_kept_kind(const struct operation *operation)
{
  return operation->kind != OP_META && operation->arg_count <= RPC_SHAPE_ARGS;
}

void rpc_repeats_keep(struct rpc_repeats *repeats, struct text message, const struct jsonrpc_request *request,
                      const struct operation *operation)
{
  if (is_skipped(repeats) || request->version != JSONRPC_2_0 || !is_kept_kind(operation))
    return;
  struct rpc_shape *shape = &repeats->shapes[repeats->oldest];
  struct keeping keeping = {.shape = shape, .message = message};
  shape->length = 0;
  shape->hole_count = 0;
  shape->list_count = 0;
  shape->request = *request;
  shape->operation = *operation;
  shape->operation.args = shape->args;
  shape->operation.memo = &shape->memo;
  shape->memo = (struct op_memo){0};
  shape->answer.found = NULL;
  if (operation->arg_count > 0)
    memcpy(shape->args, operation->args, operation->arg_count * sizeof *operation->args);
  if (!note_holes(&keeping) || !copy_message(&keeping) || !copy_betweens(shape) || !move_texts(shape)) {
    shape->length = 0;
    return;
  }
  shape->brackets = count_brackets((struct text){shape->text, shape->length});
  /* Points into a message that is about to go; a decoded request needs neither. */
  shape->request.params = (struct json_value){.kind = JSON_KIND_OBJECT, .span = TEXT("{}")};
  repeats->last = repeats->oldest;
  repeats->oldest = (repeats->oldest + 1) % RPC_SHAPES;
}

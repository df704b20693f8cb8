#include "rpc/fastpath/shape_cache.h"

#include "base/number.h"
#include "rpc/run.h"
#include "rpc/values/value_read.h"
#include "json/integers.h"
#include "json/reader.h"

#include <stdlib.h>

/* After this many texts in a row that fit no shape, only one in MISSES_STEP is examined. So texts that never
 * repeat cost little. */
enum { MISSES_MAX = 64, MISSES_STEP = 16 };

enum { LIST_FIRST_ROOM = 16 };

/* ---- scalars ---- */

/* The number or string of an argument: the argument itself, or a member of it. */
static struct json_value scalar_of(struct json_value argument)
{
  static const struct text names[] = {TEXT("value"), TEXT("ref")};
  struct json_members members;
  if (argument.kind != JSON_KIND_OBJECT)
    return argument;
  json_members_collect(argument, names, 2, &members);
  return members.has[1] ? members.value[1] : members.value[0];
}

/* True if a hole may replace the scalar. */
static bool fits_hole(struct json_value scalar)
{
  return scalar.kind == JSON_KIND_NUMBER ||
         (scalar.kind == JSON_KIND_STRING && json_unescaped_string_at(scalar.span) == scalar.span.len);
}

/* True if a hole may replace the scalar of this value. A number that was written as a text (the encoding
 * "number") does not fit, because fill_scalar does not read it. */
static bool fits_hole_of(const struct op_value *value, struct json_value scalar)
{
  bool is_number = op_value_is_number(value);
  return fits_hole(scalar) && (!is_number || scalar.kind == JSON_KIND_NUMBER);
}

/* Sets a value from the scalar, according to the value's kind. False if the kind is OP_REF and the scalar is
 * not a ref, or if a number is too long. */
static bool fill_scalar(struct op_value *value, struct json_value scalar)
{
  switch (value->kind) {
  case OP_REF:
    return rpc_ref_read(scalar, &value->ref);
  case OP_TEXT:
    value->text = text_slice(scalar.span, 1, scalar.span.len - 1);
    return true;
  default:
    if (scalar.span.len > SHAPE_NUMBER_LENGTH_MAX)
      return false;
    rpc_number_read(scalar, value);
    return true;
  }
}

/* ---- lists: what the elements of a list have in common ---- */

/* The three parts of an element's text. */
struct element {
  struct text before;
  struct text scalar;
  struct text after;
};

static struct text slice_between(const char *from, const char *to)
{
  return (struct text){from, (size_t)(to - from)};
}

static const char *end_of(struct text t)
{
  return t.data + t.len;
}

static bool cut_element(struct json_value json, const struct op_value *item, struct element *element)
{
  if (!op_value_is_number(item) && item->kind != OP_TEXT && item->kind != OP_REF)
    return false;
  struct json_value scalar = scalar_of(json);
  if (!fits_hole_of(item, scalar))
    return false;
  element->before = slice_between(json.span.data, scalar.span.data);
  element->scalar = scalar.span;
  element->after = slice_between(end_of(scalar.span), end_of(json.span));
  return true;
}

/* Finds the text that is common to the elements of a list; items are the elements that were read; the result
 * borrows from the list's text. *scalars becomes the text from the first scalar to the last. False: the
 * elements differ, or the list is empty. */
static bool find_list(struct json_value list, const struct op_value *items, struct shape_list *found,
                      struct text *scalars)
{
  struct json_cursor cursor = json_enter(list);
  struct json_value json;
  struct element first;
  struct element last;
  if (!json_next_element(&cursor, &json) || !cut_element(json, &items[0], &first))
    return false;
  *found = (struct shape_list){.is_string = *first.scalar.data == '"', .element = items[0]};
  last = first;
  for (size_t i = 1; json_next_element(&cursor, &json); i++) {
    struct element next;
    if (!cut_element(json, &items[i], &next) || !text_equal(first.before, next.before) ||
        !text_equal(first.after, next.after) || (*first.scalar.data == '"') != (*next.scalar.data == '"'))
      return false;
    struct text between = slice_between(end_of(last.scalar), next.scalar.data);
    if (i == 1)
      found->between = between;
    if (!text_equal(between, found->between))
      return false;
    last = next;
  }
  *scalars = slice_between(first.scalar.data, end_of(last.scalar));
  return true;
}

/* Like fill_scalar, for a plain whole number that has been read already; value is not an OP_REF. */
static void fill_integer(struct op_value *value, int64_t integer)
{
  value->kind = OP_INTEGER;
  value->suffix = 0;
  value->literal = TEXT_ABSENT;
  value->integer = integer;
}

/* ---- reading a list ---- */

static bool consume_scalar(struct text *rest, bool is_string, struct op_value *value)
{
  int64_t integer;
  size_t length = is_string || value->kind == OP_REF ? 0 : json_bare_integer_at(*rest, &integer);
  if (length > 0) {
    fill_integer(value, integer);
  } else {
    length = is_string ? json_unescaped_string_at(*rest) : number_at(*rest);
    struct json_value scalar = {.kind = is_string ? JSON_KIND_STRING : JSON_KIND_NUMBER,
                                .span = text_slice(*rest, 0, length)};
    if (length == 0 || !fill_scalar(value, scalar))
      return false;
  }
  *rest = text_slice(*rest, length, rest->len);
  return true;
}

static bool make_room(struct arena *arena, struct op_value *list, size_t room)
{
  struct op_value *grown = arena_alloc(arena, room * sizeof *grown);
  if (grown == NULL)
    return false;
  if (list->list.count > 0)
    memcpy(grown, list->list.items, list->list.count * sizeof *grown);
  list->list.items = grown;
  return true;
}

/* Reads all scalars, and the text between them, from the beginning of rest. The items are in the arena. False
 * if a scalar does not fit, or memory is short. */
static bool consume_list(struct text *rest, struct shape_list *shape, struct arena *arena,
                         struct op_value *list)
{
  size_t room = shape->last_count > LIST_FIRST_ROOM ? shape->last_count : LIST_FIRST_ROOM;
  size_t most = rest->len / 2 + 1; /* each element has a comma, so two bytes at least */
  if (room > most)
    room = most;
  bool has_next;
  list->list.count = 0;
  if (!make_room(arena, list, room))
    return false;
  do {
    if (list->list.count == room && !make_room(arena, list, room *= 2))
      return false;
    struct op_value *item = &list->list.items[list->list.count++];
    *item = shape->element;
    if (list->list.count > SHAPE_LIST_ITEMS_MAX || !consume_scalar(rest, shape->is_string, item))
      return false;
    has_next = shape->between.len > 0 && text_starts_with(*rest, shape->between);
    if (has_next)
      *rest = text_slice(*rest, shape->between.len, rest->len);
  } while (has_next);
  shape->last_count = list->list.count;
  return true;
}

/* ---- fitting a text ---- */

static bool consume_text(struct text *rest, const char *wanted, size_t length)
{
  if (rest->len < length || !text_equal_bytes(rest->data, wanted, length))
    return false;
  *rest = text_slice(*rest, length, rest->len);
  return true;
}

static bool fill_hole(struct shape *shape, const struct shape_hole *hole, struct text span)
{
  struct json_value value = {.kind = hole->is_string ? JSON_KIND_STRING : JSON_KIND_NUMBER, .span = span};
  switch (hole->kind) {
  case HOLE_ID:
    shape->request.id = span;
    return hole->is_string || !number_has_suffix(span);
  case HOLE_INSTANCE:
    return rpc_ref_read(value, &shape->request.operation.instance);
  case HOLE_CALLBACK: /* not a plain whole number */
    return false;
  default:
    return fill_scalar(&shape->args[hole->arg], value);
  }
}

static bool set_ref(uint32_t *ref, int64_t integer)
{
  *ref = (uint32_t)integer;
  return integer >= 1 && integer <= RPC_REF_MAX;
}

/* Like fill_hole, for a whole number that has been read already. */
static bool fill_hole_integer(struct shape *shape, const struct shape_hole *hole, struct text span,
                              int64_t integer)
{
  struct op_value *arg = &shape->args[hole->arg];
  switch (hole->kind) {
  case HOLE_ID:
    shape->request.id = span;
    return true;
  case HOLE_INSTANCE:
    return set_ref(&shape->request.operation.instance, integer);
  case HOLE_CALLBACK:
    shape->callback.id = shape->request.callback = integer;
    return integer >= 1;
  default:
    break;
  }
  if (arg->kind == OP_REF)
    return set_ref(&arg->ref, integer);
  fill_integer(arg, integer);
  return true;
}

static bool consume_integer(struct shape *shape, const struct shape_hole *hole, struct text *rest)
{
  int64_t integer;
  size_t length = json_bare_integer_at(*rest, &integer);
  if (length == 0 || !fill_hole_integer(shape, hole, (struct text){rest->data, length}, integer))
    return false;
  *rest = text_slice(*rest, length, rest->len);
  return true;
}

/* Consumes the content of a hole that is not a plain whole number. The function is not inlined, so that
 * reading plain whole numbers needs no stack for it. */
static __attribute__((noinline)) bool consume_other(struct shape *shape, const struct shape_hole *hole,
                                                    struct text *rest, struct arena *arena)
{
  if (hole->kind == HOLE_LIST)
    return consume_list(rest, &shape->lists[hole->list], arena, &shape->args[hole->arg]);
  size_t length = hole->is_string ? json_unescaped_string_at(*rest) : number_at(*rest);
  if (length == 0 || !fill_hole(shape, hole, (struct text){rest->data, length}))
    return false;
  *rest = text_slice(*rest, length, rest->len);
  return true;
}

/* Reads the beginning of *rest if it fits the shape, and advances *rest. Otherwise the holes contain garbage until
 * another text fills them. */
static bool consume_shape(struct shape *shape, struct text *rest, struct arena *arena)
{
  size_t at = 0;
  /* the shape is empty; its holes may belong to a text that could not be kept */
  if (shape->length == 0)
    return false;
  for (size_t i = 0; i < shape->hole_count; i++) {
    const struct shape_hole *hole = &shape->holes[i];
    if (!consume_text(rest, shape->text + at, hole->at - at))
      return false;
    /* If the content of a hole is invalid, the text does not fit, and the general path reports the error. */
    bool may_be_integer = !hole->is_string && hole->kind != HOLE_LIST;
    if (!(may_be_integer && consume_integer(shape, hole, rest)) && !consume_other(shape, hole, rest, arena))
      return false;
    at = hole->at;
  }
  return consume_text(rest, shape->text + at, shape->length - at);
}

/* True if the text ends like the shape. This is checked first, so that a long list is not read in vain. */
static bool has_end_of(const struct shape *shape, struct text whole)
{
  size_t at = shape->holes[shape->hole_count - 1].at;
  if (shape->length < at) /* the text of the shape could not be kept */
    return false;
  return text_ends_with(whole, text_slice((struct text){shape->text, shape->length}, at, shape->length));
}

static bool is_skipped(const struct rpc_fastpath *fastpath)
{
  return fastpath->misses > MISSES_MAX && fastpath->misses % MISSES_STEP != 0;
}

static bool fits_shape(struct shape *shape, struct text text, bool is_whole, struct arena *arena,
                       struct text *rest)
{
  struct arena_mark mark = arena_mark(arena);
  *rest = text;
  if (is_whole && shape->list_count > 0 && !has_end_of(shape, text))
    return false;
  if (consume_shape(shape, rest, arena) && (!is_whole || rest->len == 0))
    return true;
  arena_rewind(arena, mark);
  return false;
}

struct rpc_cached_request *rpc_fastpath_find(struct rpc_fastpath *fastpath, struct text text,
                                             struct arena *arena, size_t *length)
{
  if (fastpath == NULL)
    return NULL;
  for (size_t i = 0; i < SHAPES && !is_skipped(fastpath); i++) {
    size_t at = (fastpath->last + i) % SHAPES;
    struct shape *shape = &fastpath->shapes[at];
    struct text rest;
    if (!fits_shape(shape, text, length == NULL, arena, &rest))
      continue;
    if (length != NULL)
      *length = text.len - rest.len;
    fastpath->last = at;
    fastpath->misses = 0;
    return &shape->request;
  }
  fastpath->misses++;
  return NULL;
}

/* ---- keeping a shape ---- */

struct keeping {
  struct shape *shape;
  struct text message; /* the request's text */
  size_t taken;        /* bytes of the message that are in the shape's text, or in holes */
};

/* Copies the message up to `to` into the shape's text. */
static bool copy_text(struct keeping *keeping, size_t to)
{
  struct shape *shape = keeping->shape;
  if (to < keeping->taken || to - keeping->taken > SHAPE_TEXT_MAX - shape->length)
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

static bool add_hole(struct keeping *keeping, enum hole_kind kind, size_t arg, struct text span)
{
  struct shape *shape = keeping->shape;
  if (shape->hole_count == SHAPE_HOLES)
    return false;
  /* Holes are sorted by their places in the text. */
  size_t i = shape->hole_count++;
  for (; i > 0 && shape->holes[i - 1].at > offset_of(keeping, span); i--)
    shape->holes[i] = shape->holes[i - 1];
  shape->holes[i] = (struct shape_hole){.kind = kind,
                                        .is_string = *span.data == '"',
                                        .at = offset_of(keeping, span),
                                        .length = span.len,
                                        .arg = arg,
                                        .list = kind == HOLE_LIST ? shape->list_count++ : 0};
  return true;
}

static bool add_list(struct keeping *keeping, size_t i, struct json_value list)
{
  struct shape *shape = keeping->shape;
  struct text scalars;
  if (list.kind != JSON_KIND_ARRAY || shape->list_count == SHAPE_LISTS ||
      !find_list(list, shape->args[i].list.items, &shape->lists[shape->list_count], &scalars))
    return false;
  return add_hole(keeping, HOLE_LIST, i, scalars);
}

/* A hole for the callback's ID; its other facts are part of the text. */
static bool add_callback(struct keeping *keeping, size_t i, struct json_value argument)
{
  static const struct text names[] = {TEXT("callback")};
  struct shape *shape = keeping->shape;
  const struct op_callback *callback = shape->args[i].callback;
  struct json_members members;
  if (shape->request.callback != 0 || callback->interface_count > 0 || callback->override_count > 0)
    return false;
  json_members_collect(scalar_of(argument), names, 1, &members);
  shape->callback = *callback;
  shape->args[i].callback = &shape->callback;
  shape->request.callback = callback->id;
  return members.has[0] && add_hole(keeping, HOLE_CALLBACK, i, members.value[0].span);
}

static bool add_argument(struct keeping *keeping, size_t i, struct json_value argument)
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
    return keeping->shape->args[i].out == OP_OUT_NONE && add_list(keeping, i, scalar_of(argument));
  case OP_CALLBACK:
    return add_callback(keeping, i, argument);
  default:
    return false;
  }
  struct json_value scalar = scalar_of(argument);
  return fits_hole_of(&keeping->shape->args[i], scalar) && add_hole(keeping, HOLE_ARGUMENT, i, scalar.span);
}

static bool add_arguments(struct keeping *keeping, struct text arguments)
{
  const struct operation *operation = &keeping->shape->request.operation;
  if (operation->kind == OP_PUT)
    return add_argument(keeping, 0, json_root(arguments));
  if (operation->arg_count == 0)
    return true;
  struct json_cursor cursor = json_enter(json_root(arguments));
  struct json_value argument;
  for (size_t i = 0; json_next_element(&cursor, &argument); i++) {
    if (!add_argument(keeping, i, argument))
      return false;
  }
  return true;
}

static bool copy_message(struct keeping *keeping)
{
  struct shape *shape = keeping->shape;
  for (size_t i = 0; i < shape->hole_count; i++) {
    struct shape_hole *hole = &shape->holes[i];
    size_t from = hole->at;
    if (!copy_text(keeping, from))
      return false;
    hole->at = shape->length;
    keeping->taken += hole->length;
  }
  return copy_text(keeping, keeping->message.len);
}

/* Appends the texts between the elements of lists to the shape's own text. */
static bool copy_betweens(struct shape *shape)
{
  size_t at = shape->length;
  for (size_t i = 0; i < shape->list_count; i++) {
    struct text *between = &shape->lists[i].between;
    if (between->len > SHAPE_TEXT_MAX - at)
      return false;
    if (between->len > 0)
      memcpy(shape->text + at, between->data, between->len);
    between->data = shape->text + at;
    at += between->len;
  }
  return true;
}

/* Changes a text that is borrowed from the message to the same text in the shape. False if the text is not in
 * the shape: it had escapes, and was decoded into the arena. */
static bool rebase_text(const struct shape *shape, struct text *t)
{
  if (t->data == NULL)
    return true;
  t->data = memmem(shape->text, shape->length, t->data, t->len);
  return t->data != NULL;
}

static bool rebase_texts(struct shape *shape)
{
  struct rpc_cached_request *request = &shape->request;
  struct operation *operation = &request->operation;
  bool has_id_hole = false;
  for (size_t i = 0; i < shape->hole_count; i++)
    has_id_hole = has_id_hole || shape->holes[i].kind == HOLE_ID;
  bool rebased = (has_id_hole || rebase_text(shape, &request->id)) && rebase_text(shape, &request->peer_id) &&
                 rebase_text(shape, &request->epoch) && rebase_text(shape, &operation->type) &&
                 (operation->kind == OP_NEW || rebase_text(shape, &operation->member));
  for (size_t i = 0; rebased && i < operation->arg_count; i++) {
    shape->args[i].literal = TEXT_ABSENT; /* each request fills the hole of this literal */
    rebased = rebase_text(shape, &shape->args[i].type);
  }
  for (size_t i = 0; rebased && i < shape->list_count; i++) {
    shape->lists[i].element.literal = TEXT_ABSENT;
    rebased = rebase_text(shape, &shape->lists[i].element.type);
  }
  return rebased;
}

static bool is_cacheable(const struct operation *operation)
{
  /* Without a type, objects of different classes may mean different members. */
  if (operation->kind == OP_CONTROL ? operation->command_text.data != NULL : operation->type.data == NULL)
    return false;
  return operation->kind < OP_META && operation->receiver == NULL && operation->piece == NULL &&
         operation->arg_count <= SHAPE_ARGS;
}

static bool fill_shape(struct shape *shape, const struct rpc_read_request *read)
{
  struct keeping keeping = {.shape = shape, .message = read->text};
  struct rpc_value_places places = {.instance = TEXT_ABSENT, .arguments = TEXT_ABSENT};
  shape->length = 0;
  shape->hole_count = 0;
  shape->list_count = 0;
  shape->path.call.member = NULL;
  shape->request = (struct rpc_cached_request){.id = read->id,
                                               .peer_id = read->peer_id,
                                               .epoch = read->epoch,
                                               .is_notification = read->is_notification,
                                               .operation = *read->operation};
  shape->request.operation.args = shape->args;
  if (read->operation->arg_count > 0)
    memcpy(shape->args, read->operation->args, read->operation->arg_count * sizeof *shape->args);
  read->find_places(read->message, read->operation, &places);
  if (read->id.data != NULL && fits_hole(json_root(read->id)) && !add_hole(&keeping, HOLE_ID, 0, read->id))
    return false;
  if (read->operation->has_instance && !add_hole(&keeping, HOLE_INSTANCE, 0, places.instance))
    return false;
  return add_arguments(&keeping, places.arguments) && copy_message(&keeping) && copy_betweens(shape) &&
         rebase_texts(shape);
}

void rpc_fastpath_keep(struct rpc_fastpath **fastpath, const struct rpc_read_request *read)
{
  if (*fastpath == NULL)
    *fastpath = calloc(1, sizeof **fastpath);
  struct rpc_fastpath *kept = *fastpath;
  if (kept == NULL || is_skipped(kept) || !is_cacheable(read->operation))
    return;
  struct shape *shape = &kept->shapes[kept->oldest];
  if (!fill_shape(shape, read)) {
    shape->length = 0;
    return;
  }
  shape->request.depth = 0; /* at most the number of brackets */
  for (size_t i = 0; i < shape->length; i++)
    shape->request.depth += shape->text[i] == '{' || shape->text[i] == '[';
  kept->last = kept->oldest;
  kept->oldest = (kept->oldest + 1) % SHAPES;
}

/* ---- serving a request ---- */

bool rpc_fastpath_serve(struct rpc_cached_request *request, const struct rpc_cached_call *call)
{
  struct shape *shape = (struct shape *)(void *)request; /* its first member */
  if (whole_number_path_serve(&shape->path, request, call))
    return true;
  struct rpc_written_answer written = {.member = NULL};
  bool has_answer = call->answer(call->context, request, NULL, &written);
  if (written.member != NULL)
    whole_number_path_keep(&shape->path, call, &request->operation, &written);
  return has_answer;
}

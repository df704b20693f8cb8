#include "rpc/fastpath/shape_list.h"

#include "base/number.h"
#include "rpc/values/value_read.h"
#include "json/integers.h"
#include "json/reader.h"

enum { FIRST_ROOM = 16 };

struct json_value shape_scalar_of(struct json_value argument)
{
  static const struct text names[] = {TEXT("value"), TEXT("ref")};
  struct json_members members;
  if (argument.kind != JSON_KIND_OBJECT)
    return argument;
  json_members_collect(argument, names, 2, &members);
  return members.has[1] ? members.value[1] : members.value[0];
}

bool shape_scalar_fits_hole(struct json_value scalar)
{
  return scalar.kind == JSON_KIND_NUMBER ||
         (scalar.kind == JSON_KIND_STRING && json_unescaped_string_at(scalar.span) == scalar.span.len);
}

bool shape_scalar_fill(struct op_value *value, struct json_value scalar)
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

/* ---- what the elements of a list have in common ---- */

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

static bool is_scalar(const struct op_value *item)
{
  return op_value_is_number(item) || item->kind == OP_TEXT || item->kind == OP_REF;
}

static bool cut_element(struct json_value json, const struct op_value *item, struct element *element)
{
  if (!is_scalar(item))
    return false;
  struct json_value scalar = shape_scalar_of(json);
  if (!shape_scalar_fits_hole(scalar))
    return false;
  element->before = slice_between(json.span.data, scalar.span.data);
  element->scalar = scalar.span;
  element->after = slice_between(end_of(scalar.span), end_of(json.span));
  return true;
}

static bool is_like(const struct element *a, const struct element *b)
{
  return text_equal(a->before, b->before) && text_equal(a->after, b->after) &&
         (*a->scalar.data == '"') == (*b->scalar.data == '"');
}

bool shape_list_find(struct json_value list, const struct op_value *items, struct shape_list *found,
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
    if (!cut_element(json, &items[i], &next) || !is_like(&first, &next))
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

/* ---- taking a list ---- */

static bool take_scalar(struct text *rest, bool is_string, struct op_value *value)
{
  int64_t integer;
  size_t length = is_string || value->kind == OP_REF ? 0 : json_bare_integer_at(*rest, &integer);
  if (length > 0) {
    shape_scalar_fill_integer(value, integer);
  } else {
    length = is_string ? json_unescaped_string_at(*rest) : number_at(*rest);
    struct json_value scalar = {.kind = is_string ? JSON_KIND_STRING : JSON_KIND_NUMBER,
                                .span = text_slice(*rest, 0, length)};
    if (length == 0 || !shape_scalar_fill(value, scalar))
      return false;
  }
  *rest = text_slice(*rest, length, rest->len);
  return true;
}

static bool take_between(struct text *rest, struct text between)
{
  if (between.len == 0 || !text_starts_with(*rest, between))
    return false;
  *rest = text_slice(*rest, between.len, rest->len);
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

bool shape_list_take(struct text *rest, struct shape_list *shape, struct arena *arena, struct op_value *list)
{
  size_t room = shape->last_count > FIRST_ROOM ? shape->last_count : FIRST_ROOM;
  size_t most = rest->len / 2 + 1; /* an element, and a comma */
  if (room > most)
    room = most;
  list->list.count = 0;
  if (!make_room(arena, list, room))
    return false;
  do {
    if (list->list.count == room && !make_room(arena, list, room *= 2))
      return false;
    struct op_value *item = &list->list.items[list->list.count++];
    *item = shape->element;
    if (list->list.count > SHAPE_LIST_ITEMS_MAX || !take_scalar(rest, shape->is_string, item))
      return false;
  } while (take_between(rest, shape->between));
  shape->last_count = list->list.count;
  return true;
}

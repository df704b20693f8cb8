#include "colfer/wire.h"

#include <endian.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

/* Functions that read start at the given place and return the place after the bytes that they read, or NULL. */
struct reader {
  const uint8_t *begin;
  const uint8_t *end;
  struct arena *arena;
  /* Valid only after a failure: */
  enum jp_status status;
  size_t place;
  size_t path_start; /* the path is put together from its end, while the functions return */
  bool path_is_cut;
  char path[256];
  char reason[160];
};

static size_t bytes_left(const struct reader *r, const uint8_t *at)
{
  return (size_t)(r->end - at);
}

__attribute__((cold, noinline, format(printf, 3, 4))) static const uint8_t *
refuse_bytes(struct reader *r, const uint8_t *at, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  text_format_va(r->reason, sizeof r->reason, format, args);
  va_end(args);
  r->status = JP_INVALID;
  r->place = (size_t)(at - r->begin);
  r->path_start = sizeof r->path;
  r->path_is_cut = false;
  return NULL;
}

__attribute__((cold, noinline)) static const uint8_t *refuse_memory(struct reader *r, const uint8_t *at)
{
  refuse_bytes(r, at, "no memory");
  r->status = JP_NO_MEMORY;
  return NULL;
}

__attribute__((cold, noinline)) static const uint8_t *refuse_depth(struct reader *r, const uint8_t *at)
{
  return refuse_bytes(r, at, "more than %d structs inside one another", COLFER_DEPTH_MAX);
}

__attribute__((cold, noinline)) static const uint8_t *refuse_end(struct reader *r)
{
  return refuse_bytes(r, r->end, "the message ends here");
}

/* Prepends a part to the path. The beginning of a path that is too long is left out. */
__attribute__((cold, noinline)) static void add_to_path(struct reader *r, const char *part, const char *link)
{
  static const char dots[] = {'.', '.', '.'};
  size_t part_length = strlen(part);
  size_t link_length = r->path_start == sizeof r->path ? 0 : strlen(link);
  if (r->path_is_cut)
    return;
  if (part_length + link_length > r->path_start) {
    r->path_start -= r->path_start < sizeof dots ? r->path_start : sizeof dots;
    memcpy(r->path + r->path_start, dots, sizeof dots);
    r->path_is_cut = true;
    return;
  }
  r->path_start -= part_length + link_length;
  memcpy(r->path + r->path_start, part, part_length);
  memcpy(r->path + r->path_start + part_length, link, link_length);
}

__attribute__((cold, noinline)) static void add_element_to_path(struct reader *r, size_t element)
{
  char part[32];
  snprintf(part, sizeof part, "[%zu]", element);
  add_to_path(r, part, ".");
}

__attribute__((cold, noinline)) static void add_member_to_path(struct reader *r, const char *name)
{
  bool list = r->path_start < sizeof r->path && r->path[r->path_start] == '[';
  add_to_path(r, name, list ? "" : ".");
}

static const uint8_t *read_long_varint(struct reader *r, const uint8_t *at, uint64_t max, uint64_t *value)
{
  size_t length_max = max > UINT32_MAX ? COLFER_VARINT64_MAX : COLFER_VARINT32_MAX;
  uint64_t number = 0;
  bool more = true;
  size_t length = 0;
  for (; more && length < length_max; length++) {
    if (length == bytes_left(r, at))
      return refuse_end(r);
    more = (at[length] & 0x80) != 0 && length + 1 < COLFER_VARINT64_MAX;
    number |= (uint64_t)(more ? at[length] & 0x7f : at[length]) << (7 * length);
  }
  if (more)
    return refuse_bytes(r, at, "a number of more than %zu bytes", length_max);
  if (number > max)
    return refuse_bytes(r, at, "%ju is too large a number", (uintmax_t)number);
  *value = number;
  return at + length;
}

/* Reads a number of at most max; max is at least 127. */
static inline const uint8_t *read_varint(struct reader *r, const uint8_t *at, uint64_t max, uint64_t *value)
{
  if (at == r->end || *at >= 0x80)
    return read_long_varint(r, at, max, value);
  *value = *at;
  return at + 1;
}

static const uint8_t *read_uint8(struct reader *r, const uint8_t *at, uint8_t *value)
{
  if (at == r->end)
    return refuse_end(r);
  *value = *at;
  return at + 1;
}

static const uint8_t *read_uint32(struct reader *r, const uint8_t *at, bool fixed, uint32_t *value)
{
  if (fixed) {
    if (bytes_left(r, at) < COLFER_FIXED32_SIZE)
      return refuse_end(r);
    uint32_t number;
    memcpy(&number, at, sizeof number);
    *value = be32toh(number);
    return at + sizeof number;
  }
  uint64_t number = 0;
  at = read_varint(r, at, UINT32_MAX, &number);
  *value = (uint32_t)number;
  return at;
}

static const uint8_t *read_uint64(struct reader *r, const uint8_t *at, bool fixed, uint64_t *value)
{
  if (!fixed)
    return read_varint(r, at, UINT64_MAX, value);
  if (bytes_left(r, at) < COLFER_FIXED64_SIZE)
    return refuse_end(r);
  uint64_t number;
  memcpy(&number, at, sizeof number);
  *value = be64toh(number);
  return at + sizeof number;
}

/* max is the greatest number of the type; the least number is -max - 1. */
static const uint8_t *read_signed(struct reader *r, const uint8_t *at, bool negative, uint64_t max,
                                  int64_t *value)
{
  uint64_t number = 0;
  at = read_varint(r, at, max + negative, &number);
  *value = (int64_t)(negative ? UINT64_C(0) - number : number);
  return at;
}

static const uint8_t *read_int32(struct reader *r, const uint8_t *at, bool negative, int32_t *value)
{
  int64_t number = 0;
  at = read_signed(r, at, negative, INT32_MAX, &number);
  *value = (int32_t)number;
  return at;
}

static inline const uint8_t *read_binary(struct reader *r, const uint8_t *at, struct text *value)
{
  uint64_t length = 0;
  const uint8_t *bytes = read_varint(r, at, UINT32_MAX, &length);
  if (bytes == NULL)
    return NULL;
  if (length > bytes_left(r, bytes))
    return refuse_bytes(r, at, "%ju bytes, and %zu are left", (uintmax_t)length, bytes_left(r, bytes));
  *value = (struct text){(const char *)bytes, (size_t)length};
  return bytes + length;
}

/* True if the text is ASCII and short: it has at most eight bytes, and at least eight bytes of the input
 * remain from its beginning on. Most texts of a call are ASCII and short. */
static inline bool is_short_ascii(const struct reader *r, struct text text)
{
  uint64_t word;
  const uint8_t *bytes = (const uint8_t *)text.data;
  if (text.len == 0 || text.len > sizeof word || bytes_left(r, bytes) < sizeof word)
    return false;
  memcpy(&word, bytes, sizeof word);
  uint64_t of_text = le64toh(word) << (8 * (sizeof word - text.len));
  return (of_text & 0x8080808080808080u) == 0;
}

static inline const uint8_t *read_text(struct reader *r, const uint8_t *at, struct text *value)
{
  struct text text = {0};
  const uint8_t *after = read_binary(r, at, &text);
  if (after == NULL)
    return NULL;
  size_t valid = is_short_ascii(r, text) ? text.len : text_valid_utf8(text);
  if (valid < text.len)
    return refuse_bytes(r, (const uint8_t *)text.data + valid, "the text is not UTF-8 here");
  *value = text;
  return after;
}

/* Reads the count of a list. Each element has at least one byte, so the count is at most the number of bytes
 * that remain. */
static const uint8_t *read_count(struct reader *r, const uint8_t *at, size_t *count)
{
  uint64_t number = 0;
  const uint8_t *after = read_varint(r, at, UINT32_MAX, &number);
  if (after == NULL)
    return NULL;
  if (number > COLFER_LIST_MAX)
    return refuse_bytes(r, at, "%ju elements; a list has at most %d", (uintmax_t)number, COLFER_LIST_MAX);
  if (number > bytes_left(r, after))
    return refuse_bytes(r, at, "%ju elements, and %zu bytes are left", (uintmax_t)number,
                        bytes_left(r, after));
  *count = (size_t)number;
  return after;
}

static const uint8_t *read_texts(struct reader *r, const uint8_t *at, struct colfer_texts *list)
{
  size_t count = 0;
  const uint8_t *next = read_count(r, at, &count);
  if (next == NULL || count == 0)
    return next;
  list->items = arena_alloc(r->arena, count * sizeof *list->items);
  if (list->items == NULL)
    return refuse_memory(r, at);
  while (list->count < count) {
    next = read_text(r, next, &list->items[list->count]);
    if (next == NULL) {
      add_element_to_path(r, list->count);
      return NULL;
    }
    list->count++;
  }
  return next;
}

static const uint8_t *read_struct(struct reader *r, const struct colfer_type *type, const uint8_t *at,
                                  size_t depth, void *value);

static const uint8_t *read_structs(struct reader *r, const struct colfer_type *type, const uint8_t *at,
                                   size_t depth, void *member)
{
  size_t count = 0;
  const uint8_t *next = read_count(r, at, &count);
  if (next == NULL || count == 0)
    return next;
  if (depth == COLFER_DEPTH_MAX)
    return refuse_depth(r, at);
  struct colfer_structs list = {arena_alloc(r->arena, count * type->size), 0};
  if (list.items == NULL)
    return refuse_memory(r, at);
  for (; list.count < count; list.count++) {
    next = read_struct(r, type, next, depth + 1, (char *)list.items + list.count * type->size);
    if (next == NULL) {
      add_element_to_path(r, list.count);
      break;
    }
  }
  memcpy(member, &list, sizeof list);
  return next;
}

static const uint8_t *read_nested(struct reader *r, const struct colfer_type *type, const uint8_t *at,
                                  size_t depth, void *member)
{
  if (depth == COLFER_DEPTH_MAX)
    return refuse_depth(r, at);
  void *value = arena_alloc(r->arena, type->size);
  if (value == NULL)
    return refuse_memory(r, at);
  memcpy(member, &value, sizeof value);
  return read_struct(r, type, at, depth + 1, value);
}

static inline const uint8_t *read_member(struct reader *r, const struct colfer_member *member,
                                         const uint8_t *at, size_t depth, void *value)
{
  bool flagged = (at[-1] & COLFER_FLAG) != 0;
  if (flagged && (member->kind < COLFER_UINT32 || member->kind > COLFER_INT64))
    return refuse_bytes(r, at - 1, "its header is 0x%02x", at[-1]);
  switch (member->kind) {
  case COLFER_BOOL:
    *(bool *)value = true;
    return at;
  case COLFER_UINT8:
    return read_uint8(r, at, value);
  case COLFER_UINT32:
    return read_uint32(r, at, flagged, value);
  case COLFER_UINT64:
    return read_uint64(r, at, flagged, value);
  case COLFER_INT32:
    return read_int32(r, at, flagged, value);
  case COLFER_INT64:
    return read_signed(r, at, flagged, INT64_MAX, value);
  case COLFER_TEXT:
    return read_text(r, at, value);
  case COLFER_BINARY:
    return read_binary(r, at, value);
  case COLFER_STRUCT:
    return read_nested(r, member->type, at, depth, value);
  case COLFER_TEXTS:
    return read_texts(r, at, value);
  case COLFER_STRUCTS:
    return read_structs(r, member->type, at, depth, value);
  }
  __builtin_unreachable();
}

/* depth counts the structs that contain this struct, and this struct itself. */
static const uint8_t *read_struct(struct reader *r, const struct colfer_type *type, const uint8_t *at,
                                  size_t depth, void *value)
{
  memset(value, 0, type->size);
  for (size_t next_index = 0;;) {
    if (at == r->end)
      return refuse_end(r);
    uint8_t header = *at++;
    if (header == COLFER_END)
      return at;
    size_t index = header & (COLFER_FLAG - 1);
    if (index >= type->member_count)
      return refuse_bytes(r, at - 1, "%s has no field %zu", type->name, index);
    const struct colfer_member *member = &type->members[index];
    if (index < next_index)
      return refuse_bytes(r, at - 1, "%s is out of order", member->name);
    next_index = index + 1;
    at = read_member(r, member, at, depth, (char *)value + member->offset);
    if (at == NULL) {
      add_member_to_path(r, member->name);
      return NULL;
    }
  }
}

enum jp_status colfer_decode(const struct colfer_type *type, struct text bytes, struct arena *arena,
                             void *value, struct jp_error *error)
{
  struct reader r;
  r.begin = (const uint8_t *)bytes.data;
  r.end = r.begin + bytes.len;
  r.arena = arena;
  const uint8_t *after = read_struct(&r, type, r.begin, 1, value);
  if (after == r.end && after != NULL)
    return JP_OK;
  if (after != NULL)
    refuse_bytes(&r, after, "%zu bytes after the end", bytes_left(&r, after));
  if (r.path_start == sizeof r.path)
    add_to_path(&r, type->name, "");
  return jp_fail(error, r.status, "%.*s, byte %zu: %s", (int)(sizeof r.path - r.path_start),
                 r.path + r.path_start, r.place, r.reason);
}

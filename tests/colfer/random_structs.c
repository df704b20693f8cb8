#include "random_structs.h"

#include <stdbool.h>
#include <stdlib.h>

enum { DEPTH_MAX = 30 };

#define ONE_OF(r, table) (table)[next_below((r), sizeof(table) / sizeof *(table))]

static const uint64_t telling_numbers[] = {
    1,          0x7f,       0x80,       (1 << 21) - 1,    1 << 21,    INT32_MAX,
    UINT32_MAX, 1ULL << 32, 1ULL << 48, (1ULL << 49) - 1, 1ULL << 49, UINT64_MAX};
static const size_t telling_lengths[] = {1, 126, 127, 128, 129, 300};
static const size_t rare_lengths[] = {16383, 16384, 70000};
static const size_t rare_counts[] = {127, 128, 300};
static const uint32_t last_code_points[] = {0x7f, 0x7ff, 0xffff, 0x10ffff};

/* splitmix64 */
static uint64_t next_number(struct randomness *r)
{
  uint64_t x = r->state += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

static size_t next_below(struct randomness *r, size_t bound)
{
  return next_number(r) % bound;
}

static uint64_t make_number(struct randomness *r)
{
  return next_below(r, 2) == 0 ? ONE_OF(r, telling_numbers) : next_number(r) >> next_below(r, 64);
}

static void *allocate(struct randomness *r, size_t count, size_t size)
{
  void *memory = arena_calloc(r->arena, count, size);
  if (memory == NULL)
    abort();
  return memory;
}

static size_t make_length(struct randomness *r)
{
  if (next_below(r, 2000) == 0)
    return ONE_OF(r, rare_lengths);
  return next_below(r, 4) == 0 ? ONE_OF(r, telling_lengths) : next_below(r, 20);
}

static struct text make_binary(struct randomness *r)
{
  size_t length = make_length(r);
  char *bytes = allocate(r, length, 1);
  for (size_t i = 0; i < length; i++)
    bytes[i] = (char)next_number(r);
  return (struct text){bytes, length};
}

static size_t write_code_point(uint32_t point, char *at)
{
  if (point < 0x80) {
    at[0] = (char)point;
    return 1;
  }
  size_t length = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  static const unsigned char marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
  for (size_t i = length - 1; i > 0; i--, point >>= 6)
    at[i] = (char)(0x80 | (point & 0x3f));
  at[0] = (char)(marks[length] | point);
  return length;
}

static struct text make_text(struct randomness *r)
{
  enum { CHARACTER_MAX = 4 };
  size_t length = make_length(r);
  uint32_t last = ONE_OF(r, last_code_points);
  char *bytes = allocate(r, length + CHARACTER_MAX, 1);
  size_t used = 0;
  while (used < length) {
    uint32_t point = (uint32_t)next_below(r, (size_t)last + 1);
    bool surrogate = point >= 0xd800 && point <= 0xdfff;
    if (!surrogate)
      used += write_code_point(point, bytes + used);
  }
  return (struct text){bytes, used};
}

static size_t make_count(struct randomness *r, size_t depth)
{
  if (depth >= DEPTH_MAX)
    return 0;
  return next_below(r, 500) == 0 ? ONE_OF(r, rare_counts) : 1 + next_below(r, 4);
}

static void fill_struct(struct randomness *r, const struct colfer_type *type, size_t depth, char *value);

static struct colfer_texts make_texts(struct randomness *r, size_t depth)
{
  size_t count = make_count(r, depth);
  struct colfer_texts list = {allocate(r, count, sizeof *list.items), count};
  for (size_t i = 0; i < count; i++)
    list.items[i] = make_text(r);
  return list;
}

static struct colfer_structs make_structs(struct randomness *r, const struct colfer_type *type, size_t depth)
{
  size_t count = make_count(r, depth);
  struct colfer_structs list = {allocate(r, count, type->size), count};
  for (size_t i = 0; i < count; i++)
    fill_struct(r, type, depth + 1, (char *)list.items + i * type->size);
  return list;
}

static void *make_nested(struct randomness *r, const struct colfer_type *type, size_t depth)
{
  if (depth >= DEPTH_MAX)
    return NULL;
  void *value = allocate(r, 1, type->size);
  fill_struct(r, type, depth + 1, value);
  return value;
}

static void fill_member(struct randomness *r, const struct colfer_member *member, size_t depth, void *at)
{
  /* Copied, because the member's own type is a pointer to its struct. */
  void *nested;
  struct colfer_structs structs;
  switch (member->kind) {
  case COLFER_BOOL:
    *(bool *)at = true;
    break;
  case COLFER_UINT8:
    *(uint8_t *)at = (uint8_t)next_number(r);
    break;
  case COLFER_UINT32:
  case COLFER_INT32:
    *(uint32_t *)at = (uint32_t)make_number(r);
    break;
  case COLFER_UINT64:
  case COLFER_INT64:
    *(uint64_t *)at = make_number(r);
    break;
  case COLFER_TEXT:
    *(struct text *)at = make_text(r);
    break;
  case COLFER_BINARY:
    *(struct text *)at = make_binary(r);
    break;
  case COLFER_STRUCT:
    nested = make_nested(r, member->type, depth);
    memcpy(at, &nested, sizeof nested);
    break;
  case COLFER_TEXTS:
    *(struct colfer_texts *)at = make_texts(r, depth);
    break;
  case COLFER_STRUCTS:
    structs = make_structs(r, member->type, depth);
    memcpy(at, &structs, sizeof structs);
    break;
  }
}

static void fill_struct(struct randomness *r, const struct colfer_type *type, size_t depth, char *value)
{
  memset(value, 0, type->size);
  for (size_t i = 0; i < type->member_count; i++) {
    if (next_below(r, 2) == 0)
      fill_member(r, &type->members[i], depth, value + type->members[i].offset);
  }
}

void make_random_struct(struct randomness *randomness, const struct colfer_type *type, void *value)
{
  fill_struct(randomness, type, 0, value);
}

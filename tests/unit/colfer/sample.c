#include "tests/unit/colfer/sample.h"

#include <stdlib.h>

#define ADDRESS(name, fields) &colfer_##name##_type,
const struct colfer_type *const sample_types[] = {COLFER_STRUCTS_OF_MESSAGES(ADDRESS)};
const size_t sample_type_count = sizeof sample_types / sizeof sample_types[0];

enum { LIST = 2 };

static void *allocate(struct arena *arena, size_t count, size_t size)
{
  void *memory = arena_calloc(arena, count, size);
  if (memory == NULL)
    abort();
  return memory;
}

static void fill_struct(const struct colfer_type *type, const struct colfer_type *outer, struct arena *arena,
                        void *value);

static void fill_member(const struct colfer_member *member, const struct colfer_type *owner,
                        const struct colfer_type *outer, struct arena *arena, void *value)
{
  if (member->type == owner && owner == outer)
    return;
  switch (member->kind) {
  case COLFER_BOOL:
    *(bool *)value = true;
    break;
  case COLFER_UINT8:
    *(uint8_t *)value = 200;
    break;
  case COLFER_UINT32:
    *(uint32_t *)value = 1000;
    break;
  case COLFER_UINT64:
    *(uint64_t *)value = UINT64_MAX - 1;
    break;
  case COLFER_INT32:
    *(int32_t *)value = -1000;
    break;
  case COLFER_INT64:
    *(int64_t *)value = INT64_MIN;
    break;
  case COLFER_TEXT:
  case COLFER_BINARY:
    *(struct text *)value = text_of(member->name);
    break;
  case COLFER_STRUCT: {
    void *inner = allocate(arena, 1, member->type->size);
    fill_struct(member->type, owner, arena, inner);
    memcpy(value, &inner, sizeof inner);
    break;
  }
  case COLFER_TEXTS: {
    struct colfer_texts texts = {allocate(arena, LIST, sizeof *texts.items), LIST};
    texts.items[0] = TEXT("\xE2\x82\xAC");
    memcpy(value, &texts, sizeof texts);
    break;
  }
  case COLFER_STRUCTS: {
    struct colfer_structs list = {allocate(arena, LIST, member->type->size), LIST};
    fill_struct(member->type, owner, arena, list.items);
    memcpy(value, &list, sizeof list);
    break;
  }
  }
}

static void fill_struct(const struct colfer_type *type, const struct colfer_type *outer, struct arena *arena,
                        void *value)
{
  for (size_t i = 0; i < type->member_count; i++) {
    const struct colfer_member *member = &type->members[i];
    fill_member(member, type, outer, arena, (char *)value + member->offset);
  }
}

void *sample_struct(const struct colfer_type *type, struct arena *arena)
{
  void *value = allocate(arena, 1, type->size);
  fill_struct(type, NULL, arena, value);
  return value;
}

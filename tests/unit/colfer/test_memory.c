/* Memory is short: each allocation of the reader and of the writer fails once. */
#include "colfer/messages.h"

#include "tests/unit/unit.h"

/* ---- a struct of any type with a value in every one of its fields, made by its table ---- */

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

/* Makes a message whose inner structs, lists of two elements and texts are in the arena. A struct that may
 * contain itself does so once. */
static void *sample_struct(const struct colfer_type *type, struct arena *arena)
{
  void *value = allocate(arena, 1, type->size);
  fill_struct(type, NULL, arena, value);
  return value;
}

/* ---- */

/* NOLINTBEGIN(bugprone-reserved-identifier): the names that ld --wrap gives. */
void *__real_arena_alloc(struct arena *arena, size_t size);
void *__wrap_arena_alloc(struct arena *arena, size_t size);
char *__real_buffer_grow(struct buffer *buffer, size_t extra);
char *__wrap_buffer_grow(struct buffer *buffer, size_t extra);

static size_t allocations_left = SIZE_MAX;

void *__wrap_arena_alloc(struct arena *arena, size_t size)
{
  if (allocations_left == 0)
    return NULL;
  allocations_left--;
  return __real_arena_alloc(arena, size);
}

char *__wrap_buffer_grow(struct buffer *buffer, size_t extra)
{
  if (allocations_left == 0) {
    buffer->failed = true;
    return NULL;
  }
  allocations_left--;
  return __real_buffer_grow(buffer, extra);
}

/* NOLINTEND(bugprone-reserved-identifier) */

static enum jp_status decode_with(size_t allocations, struct text bytes, struct jp_error *error)
{
  struct arena arena;
  arena_init(&arena);
  struct colfer_message message;
  allocations_left = allocations;
  enum jp_status status = colfer_decode(&colfer_message_type, bytes, &arena, &message, error);
  allocations_left = SIZE_MAX;
  arena_fini(&arena);
  return status;
}

UNIT_TEST(decodes_or_says_that_memory_is_short)
{
  struct arena arena;
  arena_init(&arena);
  struct buffer bytes;
  buffer_init(&bytes);
  colfer_encode(&colfer_message_type, sample_struct(&colfer_message_type, &arena), &bytes);
  struct jp_error error;
  size_t allocations = 0;
  enum jp_status status;
  while ((status = decode_with(allocations, buffer_text(&bytes), &error)) == JP_NO_MEMORY) {
    assert_non_null(strstr(error.text, ": no memory"));
    allocations++;
  }
  assert_int_equal(status, JP_OK);
  assert_true(allocations > 50); /* a message with everything in it */
  buffer_fini(&bytes);
  arena_fini(&arena);
}

UNIT_TEST(encodes_or_leaves_the_buffer_failed)
{
  struct arena arena;
  arena_init(&arena);
  const struct colfer_message *message = sample_struct(&colfer_message_type, &arena);
  size_t allocations = 0;
  for (bool failed = true; failed; allocations++) {
    struct buffer out;
    buffer_init(&out);
    allocations_left = allocations;
    colfer_encode(&colfer_message_type, message, &out);
    allocations_left = SIZE_MAX;
    failed = out.failed;
    assert_true(failed || out.len > 0);
    buffer_fini(&out);
  }
  assert_true(allocations > 3);
  arena_fini(&arena);
}

UNIT_MAIN

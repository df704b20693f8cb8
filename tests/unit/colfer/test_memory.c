/* What happens where memory is short: each allocation of the reader and of the writer fails once. */
#include "tests/unit/colfer/sample.h"

#include "tests/unit/unit.h"

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

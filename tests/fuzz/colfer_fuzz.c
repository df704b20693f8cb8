/*
 * The reader of binary messages: the input is a message, and also a struct with a field of each kind. What was read is
 * written, in no more bytes than it came in, and read once more: that has to give the same, byte for byte and as shown.
 */
#include "colfer/messages.h"
#include "tests/unit/colfer/kinds.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A struct that was read, as it is written and shown. */
struct forms {
  struct buffer bytes;
  struct buffer printed;
};

static void require(bool holds, const char *what)
{
  if (holds)
    return;
  fprintf(stderr, "%s\n", what);
  abort();
}

static void require_same(const struct buffer *a, const struct buffer *b, const char *what)
{
  require(!a->failed && !b->failed && text_equal(buffer_text(a), buffer_text(b)), what);
}

/* Reads the struct and makes its forms, also of the part that stands before a mistake. */
static enum jp_status read_forms(const struct colfer_type *type, struct text bytes, struct arena *arena,
                                 struct forms *forms)
{
  struct jp_error error = {0};
  void *value = arena_alloc(arena, type->size);
  require(value != NULL, "no memory");
  enum jp_status status = colfer_decode(type, bytes, arena, value, &error);
  require(status == JP_OK || (status == JP_INVALID && error.text[0] != '\0'), "a mistake without a reason");
  buffer_init(&forms->bytes);
  buffer_init(&forms->printed);
  colfer_encode(type, value, &forms->bytes);
  colfer_print(type, value, &forms->printed);
  return status;
}

static void free_forms(struct forms *forms)
{
  buffer_fini(&forms->bytes);
  buffer_fini(&forms->printed);
}

static void read_twice(const struct colfer_type *type, struct text bytes)
{
  struct arena arena;
  arena_init(&arena);
  struct forms first;
  struct forms second;
  if (read_forms(type, bytes, &arena, &first) == JP_OK)
    require(first.bytes.len <= bytes.len, "what was read is written longer");
  enum jp_status again = read_forms(type, buffer_text(&first.bytes), &arena, &second);
  require(again == JP_OK, "what was written cannot be read");
  require_same(&first.bytes, &second.bytes, "the second time other bytes are written");
  require_same(&first.printed, &second.printed, "the second time other values are shown");
  free_forms(&first);
  free_forms(&second);
  arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct text bytes = {(const char *)data, size};
  read_twice(&colfer_message_type, bytes);
  read_twice(&kinds_type, bytes);
  return 0;
}

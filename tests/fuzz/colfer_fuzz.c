/*
 * The reader of binary messages: the input is a message, and also a struct with a field of each kind. The struct is
 * written again, in no more bytes than the input, and read once more: both have to be equal, byte for byte and as
 * shown.
 */
#include "colfer/messages.h"
#include "tests/support/colfer_print.h"
#include "tests/unit/colfer/kinds.h"

#include "tests/fuzz/fuzz.h"

/* A struct in its written and its printed form. */
struct forms {
  struct buffer bytes;
  struct buffer printed;
};

static void require_same(const struct buffer *a, const struct buffer *b)
{
  require(!a->failed && !b->failed && text_equal(buffer_text(a), buffer_text(b)));
}

/* Reads the struct and makes its forms, also of the part before a fault. */
static enum jp_status read_forms(const struct colfer_type *type, struct text bytes, struct arena *arena,
                                 struct forms *forms)
{
  struct jp_error error = {0};
  void *value = arena_alloc(arena, type->size);
  require(value != NULL);
  enum jp_status status = colfer_decode(type, bytes, arena, value, &error);
  require(status == JP_OK || (status == JP_INVALID && error.text[0] != '\0'));
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
    require(first.bytes.len <= bytes.len);
  enum jp_status again = read_forms(type, buffer_text(&first.bytes), &arena, &second);
  require(again == JP_OK);
  require_same(&first.bytes, &second.bytes);
  require_same(&first.printed, &second.printed);
  free_forms(&first);
  free_forms(&second);
  arena_fini(&arena);
}

FUZZ_TARGET(bytes)
{
  read_twice(&colfer_message_type, bytes);
  read_twice(&kinds_type, bytes);
}

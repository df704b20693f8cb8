/* Any bytes as a principals file: it is read, or the error has a place; a token that is added to a file is found there. */
#include "principal/principal_token.h"

#include "tests/fuzz/fuzz.h"

static void check_document(const struct principal_document *document)
{
  require(document->entry_count >= 1);
  for (size_t i = 0; i < document->listed_count; i++) {
    const struct principal_listed *listed = &document->listed[i];
    require(listed->entry < document->entry_count && listed->kind != PRINCIPAL_BY_NOTHING &&
            listed->line >= 1);
  }
}

static void add_token(struct text input, const char *name)
{
  struct buffer out;
  struct jp_error error = {0};
  buffer_init(&out);
  enum jp_status status = principal_token_insert(
      input, "f", name, "sha256:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", &out,
      &error);
  require(status == JP_OK ? out.len > input.len : status == JP_INVALID);
  buffer_fini(&out);
}

FUZZ_TARGET(input)
{
  struct arena arena;
  struct principal_document document;
  struct jp_error error = {0};
  arena_init(&arena);
  if (principal_file_parse(input, "f", &arena, &document, &error) == JP_OK) {
    check_document(&document);
    add_token(input, document.entries[document.entry_count - 1].name);
  } else {
    require(error.status == JP_INVALID && strncmp(error.text, "f:", 2) == 0);
  }
  arena_fini(&arena);
}

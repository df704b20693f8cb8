/* The peer's codec as a program, for tests/colfer/run.py: reads samples and writes its verdicts. */
#include "base/arena.h"
#include "base/buffer.h"
#include "colfer/messages.h"

#include "frames.h"

#include <stdlib.h>

#define colfer_cl_init_call_type colfer_clinit_call_type

static const struct {
  const char *name; /* the name in the schema */
  const struct colfer_type *type;
} rows[] = {
#define ROW(in_schema, name) {#in_schema, &colfer_##name##_type},
    STRUCTS(ROW)
#undef ROW
};

static const struct colfer_type *find_type(const char *name)
{
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (strcmp(name, rows[i].name) == 0)
      return rows[i].type;
  }
  fprintf(stderr, "no struct is called %s\n", name);
  exit(1);
}

static void serve(const struct sample *sample, struct arena *arena, struct buffer *out)
{
  const struct colfer_type *type = find_type(sample->name);
  struct text bytes = {(const char *)sample->bytes, sample->size};
  void *value = malloc(type->size); /* the exact size, so that a table with a wrong offset is found */
  struct jp_error error;
  if (value == NULL)
    abort();
  if (colfer_decode(type, bytes, arena, value, &error) == JP_OK) {
    colfer_encode(type, value, out);
    frames_write_verdict(stdout, true, out->data, out->len);
  } else {
    frames_write_verdict(stdout, false, error.text, strlen(error.text));
  }
  free(value);
}

int main(void)
{
  struct arena arena;
  struct buffer out;
  struct sample sample;
  arena_init(&arena);
  buffer_init(&out);
  while (frames_read_sample(stdin, &sample)) {
    serve(&sample, &arena, &out);
    fflush(stdout);
    free(sample.bytes);
    if (out.failed)
      abort();
    arena_reset(&arena);
    buffer_clear(&out);
  }
  arena_fini(&arena);
  buffer_fini(&out);
  return ferror(stdout) || fflush(stdout) != 0;
}

/* The peer's codec as a program, for tests/colfer/run.py: reads samples and writes its verdicts. */
#include "base/arena.h"
#include "base/buffer.h"
#include "colfer/messages.h"

#include "frames.h"

#include <stdlib.h>

#define colfer_cl_init_call_type colfer_clinit_call_type

static const struct {
  const char *name; /* as the schema has it */
  const struct colfer_type *type;
} rows[] = {
#define ROW(in_schema, name) {#in_schema, &colfer_##name##_type},
    STRUCTS(ROW)
#undef ROW
};

enum { ROW_COUNT = sizeof rows / sizeof *rows };

struct codec {
  struct arena arena;
  struct buffer out;
};

/* Memory of a struct's size exactly, so that a table with a wrong offset is found. */
static void *allocate_value(const struct colfer_type *type)
{
  void *value = malloc(type->size);
  if (value == NULL)
    abort();
  return value;
}

static const struct colfer_type *find_type(const char *name)
{
  for (size_t i = 0; i < ROW_COUNT; i++) {
    if (strcmp(name, rows[i].name) == 0)
      return rows[i].type;
  }
  fprintf(stderr, "no struct is called %s\n", name);
  exit(1);
}

static void serve(struct codec *codec, const struct sample *sample)
{
  const struct colfer_type *type = find_type(sample->name);
  struct text bytes = {(const char *)sample->bytes, sample->size};
  void *value = allocate_value(type);
  struct jp_error error;
  if (colfer_decode(type, bytes, &codec->arena, value, &error) == JP_OK) {
    colfer_encode(type, value, &codec->out);
    frames_write_verdict(stdout, true, codec->out.data, codec->out.len);
  } else {
    frames_write_verdict(stdout, false, error.text, strlen(error.text));
  }
  free(value);
}

static void reset_codec(struct codec *codec)
{
  if (codec->out.failed)
    abort();
  arena_reset(&codec->arena);
  buffer_clear(&codec->out);
}

static void serve_samples(struct codec *codec)
{
  struct sample sample;
  while (frames_read_sample(stdin, &sample)) {
    serve(codec, &sample);
    fflush(stdout);
    free(sample.bytes);
    reset_codec(codec);
  }
}

int main(void)
{
  struct codec codec;
  arena_init(&codec.arena);
  buffer_init(&codec.out);
  serve_samples(&codec);
  arena_fini(&codec.arena);
  buffer_fini(&codec.out);
  return ferror(stdout) || fflush(stdout) != 0;
}

/*
 * The codec in C that Colfer's compiler generated, as a program: reads samples, and writes its verdicts.
 *
 * The generated code allocates and never frees, so it is compiled with the functions malloc and calloc of
 * this file. Their memory is freed after each sample: cc -Dmalloc=sample_malloc -Dcalloc=sample_calloc -c
 * Colfer.c
 */
#include "Colfer.h"
#include "frames.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct block {
  struct block *next;
  max_align_t memory[];
};

static struct block *blocks; /* of the current sample */

void *sample_calloc(size_t count, size_t size);
void *sample_malloc(size_t size);

void *sample_calloc(size_t count, size_t size)
{
  struct block *block = calloc(1, sizeof *block + count * size);
  if (block == NULL)
    abort();
  block->next = blocks;
  blocks = block;
  return block->memory;
}

void *sample_malloc(size_t size)
{
  return sample_calloc(1, size);
}

static void free_blocks(void)
{
  while (blocks != NULL) {
    struct block *next = blocks->next;
    free(blocks);
    blocks = next;
  }
}

/* Each writes its verdict. */
#define DEFINE_SERVE(in_schema, name)                                                                        \
  static void serve_##name(const struct sample *sample)                                                      \
  {                                                                                                          \
    jpeer_##name value = {0};                                                                                \
    size_t read = jpeer_##name##_unmarshal(&value, sample->bytes, sample->size);                             \
    if (read == 0 || read != sample->size) {                                                                 \
      const char *complaint = read == 0 ? strerror(errno) : "bytes after the struct";                        \
      frames_write_verdict(stdout, false, complaint, strlen(complaint));                                     \
      return;                                                                                                \
    }                                                                                                        \
    size_t size = jpeer_##name##_marshal_len(&value);                                                        \
    void *bytes = sample_malloc(size);                                                                       \
    frames_write_verdict(stdout, true, bytes, jpeer_##name##_marshal(&value, bytes));                        \
  }
STRUCTS(DEFINE_SERVE)

static const struct {
  const char *name;
  void (*serve)(const struct sample *sample);
} rows[] = {
#define ROW(in_schema, name) {#in_schema, serve_##name},
    STRUCTS(ROW)
#undef ROW
};

static void serve(const struct sample *sample)
{
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (strcmp(sample->name, rows[i].name) == 0) {
      rows[i].serve(sample);
      return;
    }
  }
  fprintf(stderr, "no struct is called %s\n", sample->name);
  exit(1);
}

int main(void)
{
  struct sample sample;
  while (frames_read_sample(stdin, &sample)) {
    serve(&sample);
    fflush(stdout);
    free(sample.bytes);
    free_blocks();
  }
  return 0;
}

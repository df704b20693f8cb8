#include "frames.h"

#include <stdlib.h>
#include <string.h>

static void read_all(FILE *file, void *bytes, size_t size)
{
  if (fread(bytes, 1, size, file) != size) {
    fputs("a frame ends too early\n", stderr);
    exit(1);
  }
}

static size_t read_count(FILE *file)
{
  uint8_t bytes[4];
  read_all(file, bytes, sizeof bytes);
  return (size_t)bytes[0] << 24 | (size_t)bytes[1] << 16 | (size_t)bytes[2] << 8 | bytes[3];
}

bool frames_read_sample(FILE *file, struct sample *sample)
{
  int length = getc(file);
  if (length == EOF)
    return false;
  read_all(file, sample->name, (size_t)length);
  sample->name[length] = '\0';
  sample->size = read_count(file);
  sample->bytes = malloc(sample->size);
  if (sample->bytes == NULL && sample->size != 0)
    abort();
  read_all(file, sample->bytes, sample->size);
  return true;
}

static void write_counted(FILE *file, const void *bytes, size_t size)
{
  const uint8_t count[] = {(uint8_t)(size >> 24), (uint8_t)(size >> 16), (uint8_t)(size >> 8), (uint8_t)size};
  fwrite(count, 1, sizeof count, file);
  if (size != 0)
    fwrite(bytes, 1, size, file);
}

void frames_write_verdict(FILE *file, bool accepted, const void *bytes, size_t size)
{
  putc(accepted, file);
  write_counted(file, bytes, size);
}

#include "body.h"

#include "base/base64.h"

#include <stdlib.h>

enum { TEXT_SIZE = 1024, INT_COUNT = 1000, BYTE_COUNT = 1 << 20, LIST_COUNT = 100, LETTER_COUNT = 1 << 20 };

static void append_text(struct buffer *out)
{
  static const struct text phrase = TEXT("Grüße, мир! 漢字かな 𝄞😀 ");
  size_t end = out->len + TEXT_SIZE;
  while (end - out->len >= phrase.len)
    buffer_append_text(out, phrase);
  while (out->len < end && !out->failed)
    buffer_append_char(out, '.');
}

static void append_ints(struct buffer *out)
{
  for (int i = 0; i < INT_COUNT; i++)
    buffer_printf(out, "%s%d", i == 0 ? "" : ",", i * 7919 % 200001 - 100000);
}

static void append_bytes(struct buffer *out)
{
  uint8_t *bytes = malloc(BYTE_COUNT);
  if (bytes == NULL) {
    out->failed = true;
    return;
  }
  for (unsigned i = 0; i < BYTE_COUNT; i++)
    bytes[i] = (uint8_t)(i * 7 + (i >> 8) * 3);
  base64_encode(out, bytes, BYTE_COUNT);
  free(bytes);
}

static void append_list(struct buffer *out)
{
  for (int i = 0; i < LIST_COUNT; i++)
    buffer_printf(out, "%s{\"type\":\"java.lang.Integer\",\"value\":%d}", i == 0 ? "" : ",", i);
}

static void append_letters(struct buffer *out)
{
  char *letters = malloc(LETTER_COUNT);
  if (letters == NULL) {
    out->failed = true;
    return;
  }
  memset(letters, 'x', LETTER_COUNT);
  buffer_append(out, letters, LETTER_COUNT);
  free(letters);
}

static const struct body_row {
  char name;
  void (*append)(struct buffer *out);
} body_rows[] = {
    {'E', append_text}, {'J', append_ints}, {'B', append_bytes}, {'L', append_list}, {'X', append_letters}};

bool body_append(struct buffer *out, char name)
{
  for (size_t i = 0; i < sizeof(body_rows) / sizeof(body_rows[0]); i++) {
    if (body_rows[i].name == name) {
      body_rows[i].append(out);
      return true;
    }
  }
  return false;
}

#include "base/base64.h"

#include <limits.h>
#include <openssl/evp.h>

void base64_encode(struct buffer *out, const uint8_t *bytes, size_t count)
{
  enum { STEP = 3 * 1024 * 1024 }; /* EVP_EncodeBlock counts in int */
  while (count > 0) {
    size_t step = count < STEP ? count : STEP;
    size_t room = (step + 2) / 3 * 4;
    char *to = buffer_reserve(out, room + 1); /* it also writes a NUL */
    if (to == NULL)
      return;
    EVP_EncodeBlock((unsigned char *)to, bytes, (int)step);
    out->len += room;
    bytes += step;
    count -= step;
  }
}

size_t base64_decoded_max(struct text t)
{
  return t.len / 4 * 3;
}

static int digit_value(char c)
{
  if (c >= 'A' && c <= 'Z')
    return c - 'A';
  if (c >= 'a' && c <= 'z')
    return c - 'a' + 26;
  if (c >= '0' && c <= '9')
    return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

enum jp_status base64_decode(struct text t, uint8_t *out, size_t *count)
{
  /* EVP_DecodeBlock skips white space and accepts stray padding: the letters are checked here first. */
  size_t padding = 0;
  *count = 0;
  if (t.len == 0)
    return JP_OK;
  if (t.len % 4 != 0 || t.len > INT_MAX)
    return JP_INVALID;
  while (padding < 2 && t.data[t.len - 1 - padding] == '=')
    padding++;
  for (size_t i = 0; i < t.len - padding; i++) {
    if (digit_value(t.data[i]) < 0)
      return JP_INVALID;
  }
  int spare = padding == 1 ? 0x03 : padding == 2 ? 0x0F : 0;
  if ((digit_value(t.data[t.len - 1 - padding]) & spare) != 0)
    return JP_INVALID;
  int decoded = EVP_DecodeBlock(out, (const unsigned char *)t.data, (int)t.len);
  if (decoded < 0)
    return JP_INVALID;
  *count = (size_t)decoded - padding;
  return JP_OK;
}

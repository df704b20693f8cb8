/* In the place of native/base/base64_wide.c: a processor that has nothing of the kind. */
#include "base/base64_wide.h"

size_t base64_decode_wide(struct text t, uint8_t *out)
{
  (void)t;
  (void)out;
  return 0;
}

size_t base64_encode_wide(const uint8_t *bytes, size_t count, char *out)
{
  (void)bytes;
  (void)count;
  (void)out;
  return 0;
}

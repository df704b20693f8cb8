#include "base/uuid.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

void uuid_random(struct uuid *uuid)
{
  size_t done = 0;
  while (done < sizeof uuid->bytes) {
    ssize_t got = getrandom(uuid->bytes + done, sizeof uuid->bytes - done, 0);
    if (got < 0 && errno != EINTR)
      abort(); /* the kernel has no randomness, and a session name that can be guessed would be worse */
    if (got > 0)
      done += (size_t)got;
  }
  uuid->bytes[6] = (uint8_t)((uuid->bytes[6] & 0x0F) | 0x40);
  uuid->bytes[8] = (uint8_t)((uuid->bytes[8] & 0x3F) | 0x80);
}

static int hex_digit(char c)
{
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return -1;
}

static bool is_dash_place(size_t i)
{
  return i == 8 || i == 13 || i == 18 || i == 23;
}

bool uuid_parse(struct text t, struct uuid *uuid)
{
  if (t.len != UUID_TEXT_LENGTH)
    return false;
  size_t byte = 0;
  for (size_t i = 0; i < t.len;) {
    if (is_dash_place(i)) {
      if (t.data[i] != '-')
        return false;
      i++;
      continue;
    }
    int high = hex_digit(t.data[i]);
    int low = hex_digit(t.data[i + 1]);
    if (high < 0 || low < 0)
      return false;
    uuid->bytes[byte++] = (uint8_t)(high << 4 | low);
    i += 2;
  }
  return true;
}

void uuid_format(const struct uuid *uuid, char out[UUID_TEXT_LENGTH + 1])
{
  static const char digits[] = "0123456789abcdef";
  size_t n = 0;
  for (size_t i = 0; i < sizeof uuid->bytes; i++) {
    if (is_dash_place(n))
      out[n++] = '-';
    out[n++] = digits[uuid->bytes[i] >> 4];
    out[n++] = digits[uuid->bytes[i] & 15];
  }
  out[n] = '\0';
}

bool uuid_equal(const struct uuid *a, const struct uuid *b)
{
  return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

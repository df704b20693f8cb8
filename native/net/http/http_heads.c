#include "net/http/http_heads.h"

#include <stdlib.h>

enum { HEADS = 4, HEAD_SIZE = 1024, DIGITS_MAX = 9 };

struct known {
  const struct http_site *site;
  size_t before; /* bytes before the digits of Content-Length; 0: no head is kept here */
  size_t after;  /* bytes after the digits */
  struct http_terms terms;
  char bytes[HEAD_SIZE]; /* both parts */
};

struct http_heads {
  unsigned last;     /* the index of the last head that was found; compared first */
  unsigned replaced; /* the index of the last head that was replaced */
  struct known known[HEADS];
};

struct http_heads *http_heads_create(void)
{
  return calloc(1, sizeof(struct http_heads));
}

void http_heads_destroy(struct http_heads *heads)
{
  free(heads);
}

void http_heads_keep(struct http_heads *heads, const struct http_site *site, struct text head,
                     const struct http_request *request, const struct http_route_result *route)
{
  struct text digits = request->fields[HTTP_FIELD_CONTENT_LENGTH];
  bool may_be_kept = route->action == HTTP_SERVE && !route->continues &&
                     request->framing != HTTP_FRAMING_CHUNKS && request->length > 0 &&
                     request->fields[HTTP_FIELD_AUTHORIZATION].data == NULL;
  if (!may_be_kept || head.len - digits.len > HEAD_SIZE)
    return;
  heads->replaced = (heads->replaced + 1) % HEADS;
  struct known *known = &heads->known[heads->replaced];
  known->site = site;
  known->before = (size_t)(digits.data - head.data);
  known->after = head.len - known->before - digits.len;
  memcpy(known->bytes, head.data, known->before);
  memcpy(known->bytes + known->before, digits.data + digits.len, known->after);
  known->terms = route->terms;
}

/* Returns the number of digits at the begin of t; 0: none, or too many. */
static size_t read_digits(struct text t, size_t *number)
{
  size_t count = 0;
  *number = 0;
  for (; count < t.len && t.data[count] >= '0' && t.data[count] <= '9'; count++) {
    if (count == DIGITS_MAX)
      return 0;
    *number = *number * 10 + (size_t)(t.data[count] - '0');
  }
  return count;
}

/* If input begins with the known head, returns the length of that head, else 0. The bytes after the digits never begin
 * with a digit, because all digits were cut out of the kept head. */
static size_t match_head(const struct known *known, struct text input, size_t *length)
{
  if (known->before == 0 || input.len < known->before || memcmp(input.data, known->bytes, known->before) != 0)
    return 0;
  struct text rest = text_slice(input, known->before, input.len);
  size_t digits = read_digits(rest, length);
  if (digits == 0 || rest.len - digits < known->after ||
      memcmp(rest.data + digits, known->bytes + known->before, known->after) != 0)
    return 0;
  return known->before + digits + known->after;
}

const struct http_terms *http_heads_find(struct http_heads *heads, const struct http_site *site,
                                         struct text input, size_t head_max, size_t message_max, size_t *used,
                                         size_t *length)
{
  for (unsigned i = 0; i < HEADS; i++) {
    unsigned at = (heads->last + i) % HEADS;
    *used = heads->known[at].site == site ? match_head(&heads->known[at], input, length) : 0;
    if (*used == 0)
      continue;
    heads->last = at;
    return *used > head_max || *length == 0 || *length > message_max ? NULL : &heads->known[at].terms;
  }
  return NULL;
}

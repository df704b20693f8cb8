#include "net/http/http_query.h"

#include "json/writer.h"

#include <stdlib.h>

struct pair {
  struct text name;
  struct text value;
  bool is_written;
};

/* Decoded text is never longer than its escapes, so a buffer of the length of the query is large enough. */
struct decoder {
  char *next;
  const char *fault;
};

static int parse_hex_digit(char c)
{
  if (c >= '0' && c <= '9')
    return c - '0';
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* RFC 3986, 2.1; in a query + is a space. */
static struct text decode_escapes(struct decoder *decoder, struct text raw, bool is_query)
{
  char *start = decoder->next;
  for (size_t i = 0; i < raw.len; i++) {
    char c = raw.data[i];
    if (c == '%') {
      int high = i + 2 < raw.len ? parse_hex_digit(raw.data[i + 1]) : -1;
      int low = i + 2 < raw.len ? parse_hex_digit(raw.data[i + 2]) : -1;
      if (high < 0 || low < 0) {
        decoder->fault = "a percent sign begins no escape";
        return TEXT("");
      }
      c = (char)(high << 4 | low);
      i += 2;
    } else if (c == '+' && is_query) {
      c = ' ';
    }
    *decoder->next++ = c;
  }
  struct text decoded = {start, (size_t)(decoder->next - start)};
  if (text_valid_utf8(decoded) != decoded.len)
    decoder->fault = "the target is no UTF-8";
  return decoded;
}

/* Removes the next piece between ampersands from *rest; false at the end. */
static bool next_piece(struct text *rest, struct text *piece)
{
  if (rest->len == 0)
    return false;
  const char *end = memchr(rest->data, '&', rest->len);
  size_t length = end == NULL ? rest->len : (size_t)(end - rest->data);
  *piece = text_slice(*rest, 0, length);
  *rest = text_slice(*rest, end == NULL ? length : length + 1, rest->len);
  return true;
}

static void read_pair(struct decoder *decoder, struct text piece, struct pair *pair)
{
  const char *sign = memchr(piece.data, '=', piece.len);
  size_t length = sign == NULL ? piece.len : (size_t)(sign - piece.data);
  *pair =
      (struct pair){.name = decode_escapes(decoder, text_slice(piece, 0, length), true), .value = TEXT("")};
  if (sign != NULL)
    pair->value = decode_escapes(decoder, text_slice(piece, length + 1, piece.len), true);
  if (pair->name.len == 0 && decoder->fault == NULL)
    decoder->fault = "a parameter without a name";
}

static size_t read_pairs(struct decoder *decoder, struct text query, struct pair *pairs)
{
  size_t count = 0;
  struct text piece;
  while (decoder->fault == NULL && next_piece(&query, &piece)) {
    if (piece.len == 0)
      continue;
    if (count == HTTP_QUERY_PARAMS_MAX)
      decoder->fault = "more than 1000 parameters";
    else
      read_pair(decoder, piece, &pairs[count++]);
  }
  return count;
}

/* Writes the values of one name: a string, or an array of several strings (draft, 6.3.1). */
static void write_values(struct buffer *message, struct pair *pairs, size_t first, size_t count)
{
  size_t written = 0;
  size_t start = message->len;
  buffer_append_char(message, '[');
  for (size_t i = first; i < count; i++) {
    if (!text_equal(pairs[i].name, pairs[first].name))
      continue;
    if (written++ > 0)
      buffer_append_char(message, ',');
    json_write_string(message, pairs[i].value);
    pairs[i].is_written = true;
  }
  if (written > 1) {
    buffer_append_char(message, ']');
    return;
  }
  if (message->failed)
    return;
  buffer_truncate(message, start);
  json_write_string(message, pairs[first].value);
}

static void write_params(struct buffer *message, struct pair *pairs, size_t count)
{
  BUFFER_LITERAL(message, ",\"params\":{");
  for (size_t i = 0; i < count; i++) {
    if (pairs[i].is_written)
      continue;
    if (i > 0)
      buffer_append_char(message, ',');
    json_write_string(message, pairs[i].name);
    buffer_append_char(message, ':');
    write_values(message, pairs, i, count);
  }
  buffer_append_char(message, '}');
}

static size_t count_pairs(struct text query)
{
  size_t count = query.len > 0;
  for (size_t i = 0; i < query.len && count <= HTTP_QUERY_PARAMS_MAX; i++)
    count += query.data[i] == '&';
  return count < HTTP_QUERY_PARAMS_MAX ? count : HTTP_QUERY_PARAMS_MAX;
}

const char *http_query_to_call(struct text procedure, struct text query, struct buffer *message)
{
  if (query.data == NULL)
    query = TEXT("");
  const char *fault = NULL;
  char *bytes = malloc(procedure.len + query.len + 1);
  struct pair *pairs = calloc(count_pairs(query) + 1, sizeof *pairs);
  if (bytes == NULL || pairs == NULL) {
    message->failed = true;
    goto out;
  }
  struct decoder decoder = {.next = bytes};
  struct text name = decode_escapes(&decoder, procedure, false);
  size_t count = decoder.fault == NULL ? read_pairs(&decoder, query, pairs) : 0;
  fault = decoder.fault;
  if (fault != NULL)
    goto out;
  BUFFER_LITERAL(message, "{\"version\":\"1.1\",\"method\":");
  json_write_string(message, name);
  if (count > 0)
    write_params(message, pairs, count);
  buffer_append_char(message, '}');
out:
  free(bytes);
  free(pairs);
  return fault;
}

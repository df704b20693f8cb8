#include "net/http/http_parser.h"

#include "net/connection/long_message.h"

#include "base/http_syntax.h"

#include <assert.h>
#include <string.h>

static const struct {
  struct text name;
  enum http_field field;
} FIELDS[] = {
    {TEXT("host"), HTTP_FIELD_HOST},
    {TEXT("content-length"), HTTP_FIELD_CONTENT_LENGTH},
    {TEXT("transfer-encoding"), HTTP_FIELD_TRANSFER_ENCODING},
    {TEXT("content-type"), HTTP_FIELD_CONTENT_TYPE},
    {TEXT("content-encoding"), HTTP_FIELD_CONTENT_ENCODING},
    {TEXT("expect"), HTTP_FIELD_EXPECT},
    {TEXT("origin"), HTTP_FIELD_ORIGIN},
    {TEXT("peer-id"), HTTP_FIELD_PEER_ID},
    {TEXT("jpeer-epoch"), HTTP_FIELD_EPOCH},
    {TEXT("sec-websocket-key"), HTTP_FIELD_WS_KEY},
    {TEXT("sec-websocket-version"), HTTP_FIELD_WS_VERSION},
    {TEXT("sec-websocket-protocol"), HTTP_FIELD_WS_PROTOCOL},
    {TEXT("authorization"), HTTP_FIELD_AUTHORIZATION},
    {TEXT("connection"), HTTP_FIELD_CONNECTION},
    {TEXT("upgrade"), HTTP_FIELD_UPGRADE},
    {TEXT("accept"), HTTP_FIELD_ACCEPT},
    {TEXT("access-control-request-method"), HTTP_FIELD_CORS_METHOD},
    {TEXT("access-control-request-private-network"), HTTP_FIELD_CORS_PRIVATE_NETWORK},
    {TEXT("sec-fetch-site"), HTTP_FIELD_SEC_FETCH_SITE},
};

static int refuse(struct http_parser *parser, int status, const char *reason)
{
  if (parser->status == 0) {
    parser->status = status;
    parser->reason = reason;
  }
  return HPE_USER;
}

static enum http_progress fail_with(struct http_parser *parser, int status, const char *reason)
{
  refuse(parser, status, reason);
  return HTTP_FAILED;
}

struct text http_trim(struct text t)
{
  while (t.len > 0 && (t.data[0] == ' ' || t.data[0] == '\t'))
    t = text_slice(t, 1, t.len);
  while (t.len > 0 && (t.data[t.len - 1] == ' ' || t.data[t.len - 1] == '\t'))
    t.len--;
  return t;
}

/* --- callbacks of llhttp --- */

/* llhttp may report one text in pieces, which are adjacent in the input. */
static void extend_text(struct text *text, const char *at, size_t length)
{
  if (text->data != NULL && text->data + text->len == at)
    text->len += length;
  else
    *text = (struct text){at, length};
}

static int on_url(llhttp_t *llhttp, const char *at, size_t length)
{
  struct http_parser *parser = llhttp->data;
  extend_text(&parser->request->target, at, length);
  return 0;
}

static int on_field(llhttp_t *llhttp, const char *at, size_t length)
{
  struct http_parser *parser = llhttp->data;
  extend_text(&parser->name, at, length);
  return 0;
}

static int on_value(llhttp_t *llhttp, const char *at, size_t length)
{
  struct http_parser *parser = llhttp->data;
  extend_text(&parser->value, at, length);
  return 0;
}

static int on_value_complete(llhttp_t *llhttp)
{
  struct http_parser *parser = llhttp->data;
  struct http_request *request = parser->request;
  struct text name = parser->name;
  struct text value = parser->value.data == NULL ? TEXT("") : http_trim(parser->value);
  parser->name = parser->value = TEXT_ABSENT;
  for (size_t i = 0; i < sizeof FIELDS / sizeof FIELDS[0]; i++) {
    if (name.len != FIELDS[i].name.len || !text_equal_ignore_case(name, FIELDS[i].name))
      continue;
    struct text *field = &request->fields[FIELDS[i].field];
    if (field->data == NULL)
      *field = value;
    else if (FIELDS[i].field < HTTP_FIELD_ONCE)
      return refuse(parser, 400, "a header field is given twice that may be given once");
    else if (FIELDS[i].field == HTTP_FIELD_ACCEPT)
      *field = TEXT("*/*"); /* a client that excludes JSON does so in one field */
    break;
  }
  return 0;
}

/* Pauses between head and body, so that the head can be routed before the body is read. */
static int on_headers_complete(llhttp_t *llhttp)
{
  (void)llhttp;
  return HPE_PAUSED;
}

/* Appends bytes to the body. announced: the least length of the body so far. False: parser has the refusal. */
static bool append_body(struct http_parser *parser, const char *at, size_t length, uint64_t announced)
{
  switch (long_message_judge(announced, parser->body_max)) {
  case MESSAGE_ENDLESS:
    refuse(parser, 413, "the message is longer than 64 times message-max");
    return false;
  case MESSAGE_TOO_LONG:
    if (!parser->is_too_long)
      long_message_cut(parser->body);
    parser->is_too_long = true;
    break;
  case MESSAGE_FITS:
    break;
  }
  parser->received += length;
  buffer_append(parser->body, at, parser->is_too_long ? long_message_kept(parser->body, length) : length);
  if (parser->body->failed)
    refuse(parser, 503, "no memory for the message");
  return !parser->body->failed;
}

static int on_body(llhttp_t *llhttp, const char *at, size_t length)
{
  struct http_parser *parser = llhttp->data;
  return append_body(parser, at, length, parser->received + length) ? 0 : HPE_USER;
}

/* Pauses after the last chunk, because the trailer section is read without llhttp. */
static int on_chunk_header(llhttp_t *llhttp)
{
  struct http_parser *parser = llhttp->data;
  uint64_t length = llhttp->content_length < INT64_MAX ? llhttp->content_length : INT64_MAX;
  if (!append_body(parser, NULL, 0, parser->received + length))
    return HPE_USER;
  return llhttp->content_length == 0 ? HPE_PAUSED : 0;
}

/* Pauses before the line of the next chunk. */
static int on_chunk_complete(llhttp_t *llhttp)
{
  struct http_parser *parser = llhttp->data;
  parser->chunk_line = CHUNK_SIZE;
  return HPE_PAUSED;
}

void http_parser_init(struct http_parser *parser)
{
  *parser = (struct http_parser){0};
}

static void init_llhttp(struct http_parser *parser)
{
  static const llhttp_settings_t settings = {
      .on_url = on_url,
      .on_header_field = on_field,
      .on_header_value = on_value,
      .on_header_value_complete = on_value_complete,
      .on_headers_complete = on_headers_complete,
      .on_body = on_body,
      .on_chunk_header = on_chunk_header,
      .on_chunk_complete = on_chunk_complete,
  };
  llhttp_init(&parser->llhttp, HTTP_REQUEST, &settings);
  parser->llhttp.data = parser;
  parser->chunk_line = CHUNK_SIZE;
}

/* --- the head --- */

/* Returns the length of the head with its empty line; 0: the empty line was not received yet. */
static size_t find_head_end(struct text input, size_t *scanned)
{
  size_t from = *scanned > 3 ? *scanned - 3 : 0;
  const char *end = memmem(input.data + from, input.len - from, "\r\n\r\n", 4);
  *scanned = input.len;
  return end == NULL ? 0 : (size_t)(end - input.data) + 4;
}

/* RFC 9112, 2.2: a server ignores empty lines before a request line. */
static size_t count_empty_lines(struct text input)
{
  enum { AT_MOST = 4 };
  size_t skipped = 0;
  while (skipped < (size_t)AT_MOST * 2 && input.len - skipped >= 2 && input.data[skipped] == '\r' &&
         input.data[skipped + 1] == '\n')
    skipped += 2;
  return skipped;
}

/* line: without its CR LF. A name of token characters must precede the colon (RFC 9112, 5.1). */
static const char *check_field_line(struct text line)
{
  if (line.data[0] == ' ' || line.data[0] == '\t')
    return "a header line is folded";
  const char *colon = memchr(line.data, ':', line.len);
  if (colon == NULL || colon == line.data)
    return "a header line has no name";
  for (const char *c = line.data; c < colon; c++) {
    if (!http_is_token_char((unsigned char)*c))
      return "a header name has a character that is not allowed";
  }
  return NULL;
}

static const char *check_characters(struct text line)
{
  for (size_t i = 0; i < line.len; i++) {
    if (!http_is_text_char((unsigned char)line.data[i]))
      return "a control character in the request's head";
  }
  return NULL;
}

/* RFC 9112, 3: method SP target SP version. */
static const char *check_request_line(struct text line)
{
  enum { VERSION_LENGTH = 8 };
  size_t method = 0;
  while (method < line.len && http_is_token_char((unsigned char)line.data[method]))
    method++;
  size_t target = method + 1;
  while (target < line.len && (unsigned char)line.data[target] > ' ' &&
         (unsigned char)line.data[target] < 0x7f)
    target++;
  if (method == 0 || target <= method + 1 || target + 1 + VERSION_LENGTH != line.len ||
      line.data[method] != ' ' || line.data[target] != ' ')
    return "a request line is METHOD TARGET VERSION";
  const char *version = line.data + target + 1;
  if (memcmp(version, "HTTP/", 5) != 0 || version[6] != '.')
    return "a request line ends in HTTP/1.1 or HTTP/1.0";
  return NULL;
}

static enum http_progress check_line(struct http_parser *parser, struct text line, bool is_first)
{
  const char *problem = check_characters(line);
  if (problem == NULL)
    problem = is_first ? check_request_line(line) : check_field_line(line);
  if (problem != NULL)
    return fail_with(parser, 400, problem);
  if (is_first && !text_ends_with(line, TEXT("HTTP/1.1")) && !text_ends_with(line, TEXT("HTTP/1.0")))
    return fail_with(parser, 505, "HTTP/1.0 and HTTP/1.1 are spoken here");
  return HTTP_DONE;
}

/* head ends in CR LF CR LF. */
static enum http_progress check_head(struct http_parser *parser, struct text head)
{
  enum http_progress progress = HTTP_DONE;
  size_t at = 0;
  while (progress == HTTP_DONE && at < head.len - 2) {
    const char *lf = memchr(head.data + at, '\n', head.len - at);
    size_t end = (size_t)(lf - head.data);
    if (end == at || head.data[end - 1] != '\r')
      return fail_with(parser, 400, "a line does not end in CR LF");
    progress = check_line(parser, text_slice(head, at, end - 1), at == 0);
    at = end + 1;
  }
  return progress;
}

/* Digits alone (RFC 9110, 8.6). */
static enum http_progress parse_length(struct http_parser *parser, struct text digits, uint64_t *length)
{
  if (digits.len == 0)
    return fail_with(parser, 400, "a length that is no number");
  for (size_t i = 0; i < digits.len; i++) {
    unsigned digit = (unsigned char)digits.data[i] - (unsigned)'0';
    if (digit > 9)
      return fail_with(parser, 400, "a length that is no number");
    if (__builtin_mul_overflow(*length, 10, length) || __builtin_add_overflow(*length, digit, length))
      return fail_with(parser, 413, "a length that is too large");
  }
  return HTTP_DONE;
}

/* RFC 9112, 6.1 to 6.3. Refuses all that two parsers could interpret differently. */
static enum http_progress check_framing(struct http_parser *parser, struct http_request *request)
{
  struct text coding = request->fields[HTTP_FIELD_TRANSFER_ENCODING];
  struct text length = request->fields[HTTP_FIELD_CONTENT_LENGTH];
  const bool is_chunked = coding.data != NULL;
  const bool has_length = length.data != NULL;
  parser->framing = is_chunked ? HTTP_FRAMING_CHUNKS : has_length ? HTTP_FRAMING_LENGTH : HTTP_FRAMING_NONE;
  request->framing = parser->framing;
  if (request->is_1_1 && request->fields[HTTP_FIELD_HOST].data == NULL)
    return fail_with(parser, 400, "no Host");
  if (is_chunked && has_length)
    return fail_with(parser, 400, "both a length and a transfer coding");
  if (is_chunked && !request->is_1_1)
    return fail_with(parser, 400, "a transfer coding in HTTP/1.0");
  if (is_chunked && !text_equal_ignore_case(coding, TEXT("chunked")))
    return fail_with(parser, 400, "a transfer coding other than chunked");
  return has_length ? parse_length(parser, length, &request->length) : HTTP_DONE;
}

enum http_progress http_read_head(struct http_parser *parser, struct text input, size_t head_max,
                                  size_t *scanned, size_t *used, struct http_request *request)
{
  parser->trailer_left = head_max;
  size_t skipped = count_empty_lines(input);
  struct text from_line = text_slice(input, skipped, input.len);
  size_t unscanned = *scanned > skipped ? *scanned - skipped : 0;
  size_t length = from_line.len == 0 ? 0 : find_head_end(from_line, &unscanned);
  *scanned = input.len;
  if (length > head_max || (length == 0 && from_line.len >= head_max))
    return fail_with(parser, 431, "the request's head is too long");
  if (length == 0)
    return HTTP_NEEDS_INPUT;

  struct text head = text_slice(from_line, 0, length);
  if (check_head(parser, head) != HTTP_DONE)
    return HTTP_FAILED;
  *request = (struct http_request){0};
  parser->request = request;
  init_llhttp(parser);
  llhttp_errno_t code = llhttp_execute(&parser->llhttp, head.data, head.len);
  parser->request = NULL;
  if (code != HPE_PAUSED && parser->status != 0)
    return HTTP_FAILED;
  if (code != HPE_PAUSED) /* the request line has passed check_request_line */
    return llhttp_get_errno(&parser->llhttp) == HPE_INVALID_METHOD
               ? fail_with(parser, 501, "an unknown method")
               : fail_with(parser, 400, "the request cannot be read");
  request->method = (llhttp_method_t)parser->llhttp.method;
  request->is_1_1 = parser->llhttp.http_minor == 1;
  request->keep_alive = request->is_1_1 && llhttp_should_keep_alive(&parser->llhttp);
  request->has_upgrade = (parser->llhttp.flags & F_UPGRADE) && (parser->llhttp.flags & F_CONNECTION_UPGRADE);
  *used = skipped + length;
  enum http_progress progress = check_framing(parser, request);
  parser->length_left = request->length;
  return progress;
}

/* --- the body --- */

void http_expect_body(struct http_parser *parser, uint64_t length)
{
  parser->framing = HTTP_FRAMING_LENGTH;
  parser->length_left = length;
}

static enum http_progress read_piece(struct http_parser *parser, struct text input, size_t body_max,
                                     size_t *used, struct buffer *body)
{
  *used = input.len < parser->length_left ? input.len : (size_t)parser->length_left;
  parser->body = body;
  parser->body_max = body_max;
  bool is_consumed = append_body(parser, input.data, *used, parser->received + parser->length_left);
  parser->body = NULL;
  if (!is_consumed)
    return HTTP_FAILED;
  parser->length_left -= *used;
  return parser->length_left == 0 ? HTTP_DONE : HTTP_NEEDS_INPUT;
}

/* Returns the state after one more byte of the trailer section (RFC 9112, 7.1.2); TRAILER_NONE: the byte is not
 * allowed. */
static enum http_trailer step_trailer(enum http_trailer at, unsigned char c)
{
  switch (at) {
  case TRAILER_LINE:
    return c == '\r' ? TRAILER_LAST_LF : http_is_token_char(c) ? TRAILER_NAME : TRAILER_NONE;
  case TRAILER_NAME:
    return c == ':' ? TRAILER_VALUE : http_is_token_char(c) ? TRAILER_NAME : TRAILER_NONE;
  case TRAILER_VALUE:
    return c == '\r' ? TRAILER_LF : http_is_text_char(c) ? TRAILER_VALUE : TRAILER_NONE;
  case TRAILER_LF:
    return c == '\n' ? TRAILER_LINE : TRAILER_NONE;
  case TRAILER_LAST_LF:
    return c == '\n' ? TRAILER_END : TRAILER_NONE;
  default:
    return TRAILER_NONE;
  }
}

/* Drops all trailer fields. None has a meaning for the peer, and fields that would change the framing or the routing
 * must be ignored (RFC 9110, 6.5.1). */
static enum http_progress read_trailer(struct http_parser *parser, struct text input, size_t *used)
{
  for (size_t i = 0; i < input.len; i++) {
    if (parser->trailer_left-- == 0)
      return fail_with(parser, 431, "the trailer fields are too long");
    parser->trailer = step_trailer(parser->trailer, (unsigned char)input.data[i]);
    if (parser->trailer == TRAILER_NONE)
      return fail_with(parser, 400, "the trailer fields cannot be read");
    if (parser->trailer == TRAILER_END) {
      *used += i + 1;
      return HTTP_DONE;
    }
  }
  *used += input.len;
  return HTTP_NEEDS_INPUT;
}

/* Reads the extensions of a chunk, up to the end of its line, which llhttp must not see. */
static enum http_progress read_extensions(struct http_parser *parser, struct text input, size_t *used)
{
  enum { EXTENSIONS_MAX = 4096 };
  while (*used < input.len) {
    parser->chunk_line = chunk_line_step(parser->chunk_line, (unsigned char)input.data[*used]);
    if (parser->chunk_line == CHUNK_LLHTTP)
      return HTTP_DONE;
    if (parser->chunk_line == CHUNK_WRONG)
      return fail_with(parser, 400, "the extensions of a chunk cannot be read");
    if (++parser->overhead > EXTENSIONS_MAX)
      return fail_with(parser, 400, "too many chunk extensions");
    (*used)++;
  }
  return HTTP_NEEDS_INPUT;
}

/* Lets llhttp read the next part of the input: the digits of a size, or all remaining bytes. */
static llhttp_errno_t run_llhttp(struct http_parser *parser, struct text input, size_t *used)
{
  size_t end = *used;
  if (parser->chunk_line == CHUNK_LLHTTP)
    end = input.len;
  else
    while (end < input.len && http_is_hex_digit(input.data[end]))
      end++;
  if (llhttp_get_errno(&parser->llhttp) == HPE_PAUSED)
    llhttp_resume(&parser->llhttp);
  llhttp_errno_t code = llhttp_execute(&parser->llhttp, input.data + *used, end - *used);
  *used = code == HPE_PAUSED ? (size_t)(llhttp_get_error_pos(&parser->llhttp) - input.data) : end;
  return code;
}

static enum http_progress read_chunks(struct http_parser *parser, struct text input, size_t *used)
{
  while (*used < input.len) {
    enum http_progress progress = HTTP_DONE;
    llhttp_errno_t code = HPE_OK;
    if (parser->chunk_line <= CHUNK_SIZE)
      code = run_llhttp(parser, input, used);
    if (code == HPE_PAUSED && parser->chunk_line == CHUNK_LLHTTP)
      return HTTP_DONE; /* the last chunk's line */
    if (code != HPE_OK && code != HPE_PAUSED)
      return fail_with(parser, 400, "the request's body cannot be read");
    if (code == HPE_OK && parser->chunk_line != CHUNK_LLHTTP)
      progress = read_extensions(parser, input, used);
    if (progress == HTTP_FAILED)
      return progress;
  }
  return HTTP_NEEDS_INPUT;
}

enum http_progress http_read_body(struct http_parser *parser, struct text input, size_t body_max,
                                  size_t *used, struct buffer *body)
{
  *used = 0;
  if (parser->framing != HTTP_FRAMING_CHUNKS)
    return read_piece(parser, input, body_max, used, body);
  if (parser->trailer != TRAILER_NONE)
    return read_trailer(parser, input, used);
  parser->body = body;
  parser->body_max = body_max;
  enum http_progress progress = read_chunks(parser, input, used);
  parser->body = NULL;
  if (progress != HTTP_DONE)
    return progress;
  parser->trailer = TRAILER_LINE;
  return read_trailer(parser, text_slice(input, *used, input.len), used);
}

#include "client/transports/http_responses.h"

#include "base/http_syntax.h"
#include "base/transitions.h"
#include "client/messages/client_error.h"

#include <string.h>

enum { HEAD_MAX = 64 * 1024, KEPT_MAX = 64 * 1024, LINE_MAX_SHOWN = 500 };

static const uint16_t http_reader_transitions[] = {
    [HTTP_READER_BETWEEN] = TO(HTTP_READER_INSIDE),
    [HTTP_READER_INSIDE] = TO(HTTP_READER_WHOLE) | TO(HTTP_READER_BETWEEN),
    [HTTP_READER_WHOLE] = TO(HTTP_READER_BETWEEN),
};

static void set_reader_state(struct http_reader *reader, enum http_reader_state to)
{
  ASSERT_TRANSITION(http_reader_transitions, reader->state, to);
  reader->state = to;
}

static struct http_reader *reader_of(llhttp_t *llhttp)
{
  return llhttp->data;
}

static int set_fault(struct http_reader *reader, enum jp_client_status fault, const char *why)
{
  reader->fault = fault;
  reader->why = why;
  return HPE_USER;
}

/* ---- the head ---- */

static int count_head(struct http_reader *reader, size_t length)
{
  reader->head_size += length;
  return reader->head_size <= HEAD_MAX
             ? 0
             : set_fault(reader, JP_CLIENT_LIMIT, "the head of a response is too long");
}

static int on_begin(llhttp_t *llhttp)
{
  struct http_reader *reader = reader_of(llhttp);
  buffer_clear(&reader->name);
  buffer_clear(&reader->type);
  buffer_clear(&reader->epoch);
  buffer_clear(&reader->pieces);
  buffer_trim(&reader->pieces, KEPT_MAX);
  reader->span = TEXT_ABSENT;
  reader->head_size = 0;
  reader->words_length = 0;
  reader->value = NULL;
  reader->has_type = false;
  reader->has_epoch = false;
  set_reader_state(reader, HTTP_READER_INSIDE);
  reader->chunk_line = CHUNK_LLHTTP;
  return 0;
}

static int on_status(llhttp_t *llhttp, const char *at, size_t length)
{
  struct http_reader *reader = reader_of(llhttp);
  size_t room = sizeof reader->words - reader->words_length;
  size_t count = length < room ? length : room;
  memcpy(reader->words + reader->words_length, at, count);
  reader->words_length += count;
  return count_head(reader, length);
}

static int on_field(llhttp_t *llhttp, const char *at, size_t length)
{
  struct http_reader *reader = reader_of(llhttp);
  buffer_append(&reader->name, at, length);
  return count_head(reader, length);
}

/* True if the field has that name and was not read before. If a field occurs twice, the first value
 * counts. */
static bool is_first_field(const struct http_reader *reader, struct text name, bool *has_field)
{
  if (*has_field || !text_equal_ignore_case(buffer_text(&reader->name), name))
    return false;
  *has_field = true;
  return true;
}

/* The fields of a trailer do not belong to the response. */
static int on_field_complete(llhttp_t *llhttp)
{
  struct http_reader *reader = reader_of(llhttp);
  bool is_trailer = (llhttp->flags & F_TRAILING) != 0;
  reader->value = NULL;
  if (!is_trailer && is_first_field(reader, TEXT("content-type"), &reader->has_type))
    reader->value = &reader->type;
  else if (!is_trailer && is_first_field(reader, TEXT("jpeer-epoch"), &reader->has_epoch))
    reader->value = &reader->epoch;
  buffer_clear(&reader->name);
  return 0;
}

static int on_value(llhttp_t *llhttp, const char *at, size_t length)
{
  struct http_reader *reader = reader_of(llhttp);
  if (reader->value != NULL)
    buffer_append(reader->value, at, length);
  return count_head(reader, length);
}

/* ---- the body ---- */

static int check_body(struct http_reader *reader, uint64_t more)
{
  if (more <= reader->body_max - reader->pieces.len - reader->span.len)
    return 0;
  return set_fault(reader, JP_CLIENT_LIMIT, NULL);
}

/* Pauses llhttp at the beginning of a chunk's line. */
static int begin_chunk(struct http_reader *reader)
{
  reader->chunk_line = CHUNK_SIZE;
  return HPE_PAUSED;
}

static int on_head_complete(llhttp_t *llhttp)
{
  if ((llhttp->flags & F_CONTENT_LENGTH) != 0)
    return check_body(reader_of(llhttp), llhttp->content_length);
  return (llhttp->flags & F_CHUNKED) != 0 ? begin_chunk(reader_of(llhttp)) : 0;
}

/* Trailers may follow the last chunk; llhttp reads them. */
static int on_chunk_complete(llhttp_t *llhttp)
{
  return (llhttp->flags & F_TRAILING) != 0 ? 0 : begin_chunk(reader_of(llhttp));
}

/* Copies the piece of the body that is still in the input. */
static int keep_span(struct http_reader *reader)
{
  buffer_append_text(&reader->pieces, reader->span);
  reader->span = TEXT_ABSENT;
  return reader->pieces.failed ? set_fault(reader, JP_CLIENT_NO_MEMORY, "no memory for a received message")
                               : 0;
}

/* Most bodies are in one piece. Such a body is never copied. */
static int on_body(llhttp_t *llhttp, const char *at, size_t length)
{
  struct http_reader *reader = reader_of(llhttp);
  int failed = check_body(reader, length);
  if (failed == 0 && reader->span.data != NULL)
    failed = keep_span(reader);
  reader->span = (struct text){at, length};
  return failed;
}

static int on_complete(llhttp_t *llhttp)
{
  enum { FINAL_FROM = 200 };
  struct http_reader *reader = reader_of(llhttp);
  if (llhttp->status_code < FINAL_FROM) {
    set_reader_state(reader, HTTP_READER_BETWEEN);
    return llhttp->status_code == 101
               ? set_fault(reader, JP_CLIENT_PROTOCOL, "a change of protocols that nobody asked for")
               : 0; /* an interim response; the final response follows (RFC 9110, 15.2) */
  }
  set_reader_state(reader, HTTP_READER_WHOLE);
  reader->is_last = llhttp_should_keep_alive(llhttp) == 0;
  return HPE_PAUSED;
}

/* ---- reading ---- */

void http_reader_init(struct http_reader *reader, size_t body_max)
{
  static const llhttp_settings_t settings = {
      .on_message_begin = on_begin,
      .on_status = on_status,
      .on_header_field = on_field,
      .on_header_field_complete = on_field_complete,
      .on_header_value = on_value,
      .on_headers_complete = on_head_complete,
      .on_chunk_complete = on_chunk_complete,
      .on_body = on_body,
      .on_message_complete = on_complete,
  };
  *reader = (struct http_reader){.body_max = body_max};
  llhttp_init(&reader->llhttp, HTTP_RESPONSE, &settings);
  reader->llhttp.data = reader;
}

void http_reader_fini(struct http_reader *reader)
{
  buffer_fini(&reader->name);
  buffer_fini(&reader->type);
  buffer_fini(&reader->epoch);
  buffer_fini(&reader->pieces);
}

static enum jp_client_status fail_reader(const struct http_reader *reader, struct jp_client_error *error)
{
  if (reader->fault == JP_CLIENT_OK)
    return client_fail(error, JP_CLIENT_PROTOCOL, "the peer answers with no HTTP response: %s",
                       llhttp_get_error_reason(&reader->llhttp));
  if (reader->why == NULL)
    return client_fail(error, JP_CLIENT_LIMIT, "an answer is longer than message_max, %zu bytes",
                       reader->body_max);
  return client_fail(error, reader->fault, "%s", reader->why);
}

static bool is_json(struct text type)
{
  const char *end = type.len == 0 ? NULL : memchr(type.data, ';', type.len);
  size_t length = end == NULL ? type.len : (size_t)(end - type.data);
  while (length > 0 && (type.data[length - 1] == ' ' || type.data[length - 1] == '\t'))
    length--;
  return length > 0 && text_equal_ignore_case(text_slice(type, 0, length), TEXT("application/json"));
}

static enum jp_client_status return_response(struct http_reader *reader, struct http_response *response,
                                             struct jp_client_error *error)
{
  if (reader->pieces.len > 0 && keep_span(reader) != 0)
    return fail_reader(reader, error);
  struct text body = reader->pieces.len > 0 ? buffer_text(&reader->pieces) : reader->span;
  if (reader->name.failed || reader->type.failed || reader->epoch.failed)
    return client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a received message");
  *response = (struct http_response){.status = reader->llhttp.status_code,
                                     .is_json = is_json(buffer_text(&reader->type)),
                                     .is_last = reader->is_last,
                                     .epoch = buffer_text(&reader->epoch),
                                     .body = body.data == NULL ? TEXT("") : body};
  set_reader_state(reader, HTTP_READER_BETWEEN);
  llhttp_resume(&reader->llhttp);
  return JP_CLIENT_OK;
}

/* Feeds llhttp the next part of the input: the digits of a chunk's size, or all input. */
static enum llhttp_errno feed_llhttp(struct http_reader *reader, struct text input, size_t *at)
{
  size_t end = input.len;
  if (reader->chunk_line > CHUNK_SIZE)
    return HPE_OK;
  if (reader->chunk_line == CHUNK_SIZE)
    for (end = *at; end < input.len && http_is_hex_digit(input.data[end]);)
      end++;
  if (llhttp_get_errno(&reader->llhttp) == HPE_PAUSED)
    llhttp_resume(&reader->llhttp);
  enum llhttp_errno result = llhttp_execute(&reader->llhttp, input.data + *at, end - *at);
  *at = result == HPE_PAUSED ? (size_t)(llhttp_get_error_pos(&reader->llhttp) - input.data) : end;
  return result;
}

/* Skips the extensions of a chunk, up to the end of its line. */
static enum llhttp_errno read_extensions(struct http_reader *reader, struct text input, size_t *at)
{
  for (; *at < input.len; ++*at) {
    reader->chunk_line = chunk_line_step(reader->chunk_line, (unsigned char)input.data[*at]);
    if (reader->chunk_line == CHUNK_LLHTTP)
      return HPE_OK;
    if (reader->chunk_line == CHUNK_WRONG)
      return (enum llhttp_errno)set_fault(
          reader, JP_CLIENT_PROTOCOL,
          "the peer answers with no HTTP response: a chunk extension that cannot be read");
    if (count_head(reader, 1) != 0)
      return HPE_USER;
  }
  return HPE_OK;
}

enum jp_client_status http_reader_read(struct http_reader *reader, struct text input, size_t *used,
                                       struct http_response *response, bool *is_whole,
                                       struct jp_client_error *error)
{
  enum llhttp_errno result = HPE_OK;
  size_t at = 0;
  do {
    result = feed_llhttp(reader, input, &at);
    if (result == HPE_OK && reader->chunk_line != CHUNK_LLHTTP)
      result = read_extensions(reader, input, &at);
  } while (at < input.len && reader->state != HTTP_READER_WHOLE &&
           (result == HPE_OK || result == HPE_PAUSED));
  *is_whole = result == HPE_PAUSED && reader->state == HTTP_READER_WHOLE;
  *used = *is_whole ? at : input.len;
  if (result == HPE_PAUSED && !*is_whole)
    result = HPE_OK; /* the next input begins with a chunk */
  if (*is_whole)
    return return_response(reader, response, error);
  if (result != HPE_OK || keep_span(reader) != 0)
    return fail_reader(reader, error);
  return JP_CLIENT_OK;
}

enum jp_client_status http_reader_end(struct http_reader *reader, struct http_response *response,
                                      bool *is_whole, struct jp_client_error *error)
{
  *is_whole = false;
  if (reader->state != HTTP_READER_INSIDE)
    return JP_CLIENT_OK;
  enum llhttp_errno result = llhttp_finish(&reader->llhttp);
  *is_whole = result == HPE_PAUSED && reader->state == HTTP_READER_WHOLE;
  if (*is_whole)
    return return_response(reader, response, error);
  return client_fail(error, JP_CLIENT_CLOSED, "the peer has closed the connection inside an answer");
}

void http_reader_describe(const struct http_reader *reader, const struct http_response *response,
                          struct buffer *out)
{
  struct text line = response->body;
  const char *end = line.len == 0 ? NULL : memchr(line.data, '\n', line.len);
  line.len = end == NULL ? line.len : (size_t)(end - line.data);
  line = text_cut(line, LINE_MAX_SHOWN);
  buffer_printf(out, "%d %.*s", response->status, (int)reader->words_length, reader->words);
  if (line.len > 0)
    buffer_printf(out, ": %.*s", TEXT_ARGS(line));
}

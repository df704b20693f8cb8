/*
 * Requests as the server reads them: the bytes at once and in two pieces must have the same result, each accepted
 * request is judged and its body read, and no more bytes are used than there are. A recognised head must mean the
 * same as a parsed one. Without principals no token is read; with them a token is a part of the head, and a head with
 * Authorization is never recognised.
 */
#include "net/http/http_heads.h"

#include "tests/fuzz/fuzz.h"

enum { HEAD_MAX = 4096, BODY_MAX = 4096, REQUESTS_MAX = 16 };

struct reading {
  struct http_parser parser;
  struct http_request request;
  struct http_route_result route;
  struct http_heads *heads;
  struct buffer body;
  size_t at; /* of the bytes that were used */
  size_t scanned;
  bool has_head;
  int requests;
  int status; /* of the failure; 0: none */
};

static void begin(struct reading *reading)
{
  http_parser_init(&reading->parser);
  buffer_clear(&reading->body);
  reading->scanned = 0;
  reading->has_head = false;
}

static struct http_site site = {.is_loopback = true, .host = TEXT("peer"), .prefix = TEXT("/rpc")};

/* used: 0 where the head was refused, or is not whole. */
static void recognize(struct reading *reading, struct text input, size_t used)
{
  const struct http_request *request = &reading->request;
  const struct http_route_result *route = &reading->route;
  size_t known;
  size_t length;
  const struct http_terms *terms =
      http_heads_find(reading->heads, &site, input, HEAD_MAX, BODY_MAX, &known, &length);
  if (terms == NULL)
    return;
  require(request->fields[HTTP_FIELD_AUTHORIZATION].data == NULL);
  require(known == used && route->action == HTTP_SERVE && !route->continues &&
          request->framing != HTTP_FRAMING_CHUNKS && length == request->length &&
          terms->mode.is_1_1 == request->is_1_1 && terms->mode.keeps_alive == request->keep_alive &&
          terms->refuses_json == route->terms.refuses_json &&
          terms->mode.origin == route->terms.mode.origin && terms->has_peer_id == route->terms.has_peer_id &&
          uuid_equal(&terms->peer_id, &route->terms.peer_id) && terms->has_epoch == route->terms.has_epoch &&
          strcmp(terms->epoch, route->terms.epoch) == 0);
}

static void check_token(struct text head, const struct http_route_result *route)
{
  struct text token = route->token;
  if (token.data == NULL)
    return;
  require(site.has_principals || route->action == HTTP_UPGRADE || route->action == HTTP_RESPOND);
  require(token.len > 0 && token.data >= head.data && token.data + token.len <= head.data + head.len);
  for (size_t i = 0; i < token.len; i++)
    require(token.data[i] != '\r' && token.data[i] != '\n' && token.data[i] != '\0');
}

static enum http_progress read_head(struct reading *reading, struct text input)
{
  static struct web_origins *origins;
  struct jp_error error;
  require(origins != NULL || web_origins_create(TEXT("https://app.test"), &origins, &error) == JP_OK);
  site.origins = origins;
  size_t used = 0;
  enum http_progress progress =
      http_read_head(&reading->parser, input, HEAD_MAX, &reading->scanned, &used, &reading->request);
  if (progress != HTTP_DONE) {
    recognize(reading, input, 0);
    return progress;
  }
  require(used > 0 && used <= input.len);
  http_route(&reading->request, &site, BODY_MAX, &reading->route);
  require(reading->route.action != HTTP_RESPOND || reading->route.response.status >= 200);
  check_token(text_slice(input, 0, used), &reading->route);
  recognize(reading, input, used);
  http_heads_keep(reading->heads, &site, text_slice(input, 0, used), &reading->request, &reading->route);
  recognize(reading, input, used);
  reading->at += used;
  reading->has_head = true;
  return progress;
}

static enum http_progress read_body(struct reading *reading, struct text input)
{
  size_t used = 0;
  if (!http_has_body(&reading->request))
    return HTTP_DONE;
  if (input.len == 0)
    return HTTP_NEEDS_INPUT;
  enum http_progress progress = http_read_body(&reading->parser, input, BODY_MAX, &used, &reading->body);
  require(used <= input.len && reading->body.len <= BODY_MAX);
  reading->at += used;
  return progress;
}

/* Reads all requests that the first `length` bytes have. */
static void read_on(struct reading *reading, const char *bytes, size_t length)
{
  while (reading->status == 0 && reading->requests < REQUESTS_MAX && reading->at < length) {
    struct text input = {bytes + reading->at, length - reading->at};
    enum http_progress progress = reading->has_head ? HTTP_DONE : read_head(reading, input);
    if (progress == HTTP_DONE)
      progress = read_body(reading, (struct text){bytes + reading->at, length - reading->at});
    if (progress == HTTP_FAILED)
      reading->status = reading->parser.status;
    if (progress != HTTP_DONE)
      return;
    reading->requests++;
    begin(reading);
  }
}

static void read_pieces(struct reading *reading, struct text input, size_t cut)
{
  *reading = (struct reading){.heads = http_heads_create()};
  begin(reading);
  read_on(reading, input.data, cut);
  read_on(reading, input.data, input.len);
  buffer_fini(&reading->body);
  http_heads_destroy(reading->heads);
}

static void compare(struct text input)
{
  struct reading whole;
  struct reading pieces;
  read_pieces(&whole, input, input.len);
  read_pieces(&pieces, input, (uint8_t)input.data[input.len - 1] % input.len);
  require(whole.requests == pieces.requests && whole.status == pieces.status);
}

FUZZ_TARGET(input)
{
  if (input.len == 0)
    return;
  site.has_principals = false;
  compare(input);
  site.has_principals = true;
  compare(input);
}

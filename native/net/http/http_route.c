#include "net/http/http_route.h"

#include "base/base64.h"
#include "net/connection/long_message.h"

#include <arpa/inet.h>
#include <string.h>

#define OTHER_ORIGINS "web pages of other origins are not served: --allow-origin names exceptions"

#define ALLOW_POST "POST, OPTIONS"
#define ALLOW_GET  "GET, HEAD, OPTIONS"
#define ALLOW_ALL  "GET, HEAD, POST, OPTIONS" /* for OPTIONS * */

static bool is_absent(struct text t)
{
  return t.data == NULL;
}

static void respond_with(struct http_route_result *route, int status, const char *reason)
{
  route->action = HTTP_RESPOND;
  route->response = (struct http_status_response){.status = status, .reason = reason};
}

static void refuse_method(struct http_route_result *route, const char *allow, const char *reason)
{
  respond_with(route, 405, reason);
  route->response.allow = allow;
}

/* Responds to OPTIONS, and to the preflight that a browser sends before a page's request (Fetch standard, 3.2.2). */
static void list_methods(const struct http_request *request, struct http_route_result *route,
                         const char *allow)
{
  struct text network = request->fields[HTTP_FIELD_CORS_PRIVATE_NETWORK];
  respond_with(route, 204, NULL);
  route->response.allow = allow;
  route->response.is_preflight =
      route->terms.mode.origin != NULL && !is_absent(request->fields[HTTP_FIELD_CORS_METHOD]);
  route->response.grants_private_network =
      route->response.is_preflight && !is_absent(network) && text_equal_ignore_case(network, TEXT("true"));
}

/* --- names of hosts --- */

struct authority {
  struct text host; /* without the brackets of an IPv6 literal */
  struct text port; /* data NULL: none */
  bool is_literal;  /* [::1] */
};

static bool is_host_char(unsigned char c)
{
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c != '\0' && strchr("-._~!$&'()*+,;=%", c) != NULL);
}

static bool is_port(struct text t)
{
  for (size_t i = 0; i < t.len; i++) {
    if (t.data[i] < '0' || t.data[i] > '9')
      return false;
  }
  return t.len <= 5;
}

/* RFC 3986, 3.2: host [":" port], with nothing before an "@". */
static bool parse_authority(struct text t, struct authority *authority)
{
  *authority = (struct authority){.port = TEXT_ABSENT};
  size_t end = 0;
  if (t.len > 0 && t.data[0] == '[') {
    const char *bracket = memchr(t.data, ']', t.len);
    if (bracket == NULL)
      return false;
    end = (size_t)(bracket - t.data) + 1;
    authority->host = text_slice(t, 1, end - 1);
    authority->is_literal = true;
  } else {
    while (end < t.len && is_host_char((unsigned char)t.data[end]))
      end++;
    authority->host = text_slice(t, 0, end);
  }
  if (end < t.len) {
    if (t.data[end] != ':')
      return false;
    authority->port = text_slice(t, end + 1, t.len);
  }
  return authority->host.len > 0 && (is_absent(authority->port) || is_port(authority->port));
}

static bool is_address(const struct authority *authority)
{
  char text[INET6_ADDRSTRLEN];
  unsigned char bytes[sizeof(struct in6_addr)];
  if (authority->host.len >= sizeof text)
    return false;
  memcpy(text, authority->host.data, authority->host.len);
  text[authority->host.len] = '\0';
  return inet_pton(authority->is_literal ? AF_INET6 : AF_INET, text, bytes) == 1;
}

/* RFC 6761, 6.3: localhost and the names below it. */
static bool is_trusted_name(const struct authority *authority, const struct http_site *site)
{
  struct text host = authority->host;
  struct text below = TEXT(".localhost");
  if (is_address(authority) || text_equal_ignore_case(host, TEXT("localhost")))
    return true;
  if (host.len > below.len && text_equal_ignore_case(text_slice(host, host.len - below.len, host.len), below))
    return true;
  return site->host.data != NULL && text_equal_ignore_case(host, site->host);
}

static struct text default_port(bool is_https)
{
  return is_https ? TEXT("443") : TEXT("80");
}

/* An origin without a port has the port of its scheme, and a Host without a port that of the site. */
static bool is_same_port(struct text origin_port, bool is_https, struct text host_port, bool has_tls)
{
  struct text a = is_absent(origin_port) ? default_port(is_https) : origin_port;
  struct text b = is_absent(host_port) ? default_port(has_tls) : host_port;
  return text_equal(a, b);
}

/* In front of a site without TLS there may be a proxy with TLS. No page of a site with TLS has come in the clear. */
static bool is_same_origin(struct text origin, const struct authority *host, bool has_tls)
{
  struct text rest;
  bool is_https = text_starts_with(origin, TEXT("https://"));
  if (is_https)
    rest = text_slice(origin, sizeof "https://" - 1, origin.len);
  else if (!has_tls && text_starts_with(origin, TEXT("http://")))
    rest = text_slice(origin, sizeof "http://" - 1, origin.len);
  else
    return false;
  struct authority from;
  return parse_authority(rest, &from) && from.is_literal == host->is_literal &&
         text_equal_ignore_case(from.host, host->host) &&
         is_same_port(from.port, is_https, host->port, has_tls);
}

/* --- targets --- */

/* True if the query has a parameter that people write by mistake instead of the header peer-id. */
static bool names_session(struct text query)
{
  static const struct text names[] = {TEXT("peer-id="), TEXT("peer_id="), TEXT("peerId=")};
  while (query.data != NULL && query.len > 0) {
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
      if (query.len >= names[i].len && text_equal_ignore_case(text_slice(query, 0, names[i].len), names[i]))
        return true;
    }
    const char *next = memchr(query.data, '&', query.len);
    query = next == NULL ? TEXT("") : text_slice(query, (size_t)(next + 1 - query.data), query.len);
  }
  return false;
}

/* Returns the path of an origin-form or absolute-form target (RFC 9112, 3.2); data NULL: the target has neither form.
 * The authority of an absolute form replaces Host. */
static struct text parse_target(struct text target, bool has_tls, struct text *authority, struct text *query)
{
  struct text scheme = has_tls ? TEXT("https://") : TEXT("http://");
  if (target.len > scheme.len && text_equal_ignore_case(text_slice(target, 0, scheme.len), scheme)) {
    struct text rest = text_slice(target, scheme.len, target.len);
    size_t end = 0;
    while (end < rest.len && rest.data[end] != '/' && rest.data[end] != '?')
      end++;
    *authority = text_slice(rest, 0, end);
    target = end == rest.len ? TEXT("/") : text_slice(rest, end, rest.len);
  }
  if (target.len == 0 || target.data[0] != '/' || memchr(target.data, '#', target.len) != NULL)
    return TEXT_ABSENT;
  const char *mark = memchr(target.data, '?', target.len);
  if (mark == NULL)
    return target;
  size_t end = (size_t)(mark - target.data);
  *query = text_slice(target, end + 1, target.len);
  return text_slice(target, 0, end);
}

/* The peer's own paths (docs/jsonrpc-1.1.md, "GET"), and a path that browsers request by themselves. */
static bool is_reserved(struct text path)
{
  static const struct text reserved[] = {TEXT("/openrpc.json"), TEXT("/healthz"), TEXT("/metrics"),
                                         TEXT("/console"),      TEXT("/help"),    TEXT("/favicon.ico")};
  for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++) {
    if (text_equal(path, reserved[i]))
      return true;
  }
  return false;
}

/* Returns the part of the path after the service's path; data NULL: it is not a path of the service. */
static struct text find_procedure(struct text path, const struct http_site *site)
{
  struct text prefix = site->prefix;
  if (prefix.len > 1 && path.len > prefix.len && text_starts_with(path, prefix) &&
      path.data[prefix.len] == '/')
    return text_slice(path, prefix.len + 1, path.len);
  return is_reserved(path) ? TEXT_ABSENT : text_slice(path, 1, path.len);
}

/* --- Accept --- */

/* Returns how specifically a media range includes application/json: from 0 (not at all) to 3 (by name; RFC 9110,
 * 12.5.1). */
static int rate_media_range(struct text range)
{
  static const struct text ranges[] = {TEXT("*/*"), TEXT("application/*"), TEXT("application/json")};
  for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
    if (text_equal_ignore_case(range, ranges[i]))
      return (int)i + 1;
  }
  return 0;
}

/* Returns the index of the first separator outside of quoted strings (RFC 9110, 5.6.4); the length of t: there is
 * none. */
static size_t find_separator(struct text t, char separator)
{
  bool is_quoted = false;
  for (size_t i = 0; i < t.len; i++) {
    if (t.data[i] == '"')
      is_quoted = !is_quoted;
    else if (t.data[i] == '\\' && is_quoted)
      i++;
    else if (t.data[i] == separator && !is_quoted)
      return i;
  }
  return t.len;
}

/* Removes the part before the separator, and the separator, from *rest. Returns the part without white space around
 * it. */
static struct text split_at(struct text *rest, char separator)
{
  size_t length = find_separator(*rest, separator);
  struct text piece = http_trim(text_slice(*rest, 0, length));
  *rest = text_slice(*rest, length == rest->len ? length : length + 1, rest->len);
  return piece;
}

/* "q=0", "q=0.000" */
static bool is_zero_weight(struct text parameter)
{
  if (parameter.len < 3 || !text_equal_ignore_case(text_slice(parameter, 0, 2), TEXT("q=")))
    return false;
  for (size_t i = 2; i < parameter.len; i++) {
    if (parameter.data[i] != '0' && parameter.data[i] != '.')
      return false;
  }
  return true;
}

/* True if Accept does not include application/json. The most specific range decides. */
static bool excludes_json(struct text accept)
{
  if (is_absent(accept) || accept.len == 0)
    return false;
  int best = 0;
  bool is_accepted = false;
  while (accept.len > 0) {
    struct text item = split_at(&accept, ',');
    int fit = rate_media_range(split_at(&item, ';'));
    bool is_refused = false;
    while (item.len > 0)
      is_refused = is_zero_weight(split_at(&item, ';')) || is_refused;
    if (fit > best || (fit == best && fit > 0 && !is_refused)) {
      best = fit;
      is_accepted = !is_refused;
    }
  }
  return !is_accepted;
}

/* --- routes --- */

/* True for a charset other than UTF-8 (RFC 8259, 8.1). */
static bool is_other_charset(struct text parameter)
{
  struct text name = split_at(&parameter, '=');
  if (!text_equal_ignore_case(name, TEXT("charset")))
    return false;
  bool is_quoted = parameter.len >= 2 && parameter.data[0] == '"' && parameter.data[parameter.len - 1] == '"';
  struct text value = is_quoted ? text_slice(parameter, 1, parameter.len - 1) : parameter;
  return !text_equal_ignore_case(value, TEXT("utf-8"));
}

/* Checks a Content-Type. Parameters other than the charset are ignored. */
static bool is_json(struct text type)
{
  static const struct text types[] = {TEXT("application/json"), TEXT("application/json-rpc"),
                                      TEXT("application/jsonrequest")};
  bool is_known = false;
  if (is_absent(type))
    return false;
  struct text name = split_at(&type, ';');
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
    is_known = text_equal_ignore_case(name, types[i]) || is_known;
  while (is_known && type.len > 0)
    is_known = !is_other_charset(split_at(&type, ';'));
  return is_known;
}

/* True if the list has the token (RFC 9110, 5.6.1). */
static bool has_token(struct text list, struct text token)
{
  size_t at = 0;
  while (at < list.len) {
    size_t end = at;
    while (end < list.len && list.data[end] != ',')
      end++;
    if (text_equal_ignore_case(http_trim(text_slice(list, at, end)), token))
      return true;
    at = end + 1;
  }
  return false;
}

static bool is_ws_key(struct text key)
{
  uint8_t nonce[18];
  size_t count;
  return key.data != NULL && key.len == 24 && base64_decode(key, nonce, &count) == JP_OK && count == 16;
}

/* The scheme is not case-sensitive (RFC 9110, 11.1). False: it is none with a token. */
static bool read_bearer(struct text field, struct text *token)
{
  const struct text scheme = TEXT("bearer ");
  if (field.len <= scheme.len || !text_equal_ignore_case(text_slice(field, 0, scheme.len), scheme))
    return false;
  *token = http_trim(text_slice(field, scheme.len, field.len));
  return token->len > 0;
}

/* Reads the offered subprotocols (RFC 6455, 11.3.4). */
static void read_protocols(struct text offered, struct http_route_result *route)
{
  const struct text mark = TEXT("jpeer.token.");
  while (offered.len > 0) {
    struct text item = split_at(&offered, ',');
    if (text_equal(item, TEXT("jpeer")))
      route->names_protocol = true;
    if (!text_starts_with(item, mark) || item.len == mark.len)
      continue;
    if (!is_absent(route->token)) {
      respond_with(route, 400, "a request has one token");
      return;
    }
    route->token = text_slice(item, mark.len, item.len);
  }
  if (!route->names_protocol)
    respond_with(route, 400, "the subprotocol of this server is jpeer, which the request does not offer");
}

/* RFC 6455, 4.2.1 */
static void route_handshake(const struct http_request *request, struct http_route_result *route)
{
  struct text version = request->fields[HTTP_FIELD_WS_VERSION];
  if (!request->is_1_1 || !request->has_upgrade)
    respond_with(route, 400, "a WebSocket handshake needs HTTP/1.1 and \"Connection: Upgrade\"");
  else if (is_absent(version))
    respond_with(route, 400, "a WebSocket handshake needs Sec-WebSocket-Version");
  else if (!text_equal(version, TEXT("13")))
    respond_with(route, 426, "the WebSocket version is 13");
  else if (!is_ws_key(request->fields[HTTP_FIELD_WS_KEY]))
    respond_with(route, 400, "a WebSocket handshake needs a Sec-WebSocket-Key of 16 bytes");
  else if (http_has_body(request))
    respond_with(route, 400, "a WebSocket handshake has no body");
  else
    route->action = HTTP_UPGRADE;
  if (route->action == HTTP_UPGRADE && !is_absent(request->fields[HTTP_FIELD_WS_PROTOCOL]))
    read_protocols(request->fields[HTTP_FIELD_WS_PROTOCOL], route);
  route->response.has_ws_version = route->action == HTTP_RESPOND && route->response.status == 426;
}

static void route_post(const struct http_request *request, size_t message_max,
                       struct http_route_result *route)
{
  struct text expect = request->fields[HTTP_FIELD_EXPECT];
  struct text encoding = request->fields[HTTP_FIELD_CONTENT_ENCODING];
  if (!is_absent(expect) && !text_equal_ignore_case(expect, TEXT("100-continue")))
    respond_with(route, 417, "the only expectation that is met is 100-continue");
  else if (!is_json(request->fields[HTTP_FIELD_CONTENT_TYPE]))
    respond_with(
        route, 415,
        "the content type must be application/json, application/json-rpc or application/jsonrequest, in "
        "UTF-8");
  else if (!is_absent(encoding) && !text_equal_ignore_case(encoding, TEXT("identity")))
    respond_with(route, 415, "no content encoding is accepted");
  else if (request->framing == HTTP_FRAMING_NONE)
    respond_with(route, 411, "the request needs a Content-Length");
  else if (long_message_judge(request->length, message_max) == MESSAGE_ENDLESS)
    respond_with(route, 413, "the message is longer than 64 times message-max");
  else if (request->length > message_max && !is_absent(expect)) /* the client has not sent the body yet */
    respond_with(route, 413, "the message is longer than message-max");
  else
    route->action = HTTP_SERVE;
  route->continues = route->action == HTTP_SERVE && !is_absent(expect) && request->is_1_1;
}

/* True if the request passes the rules on browsers (http_route.h). */
static bool check_source(const struct http_request *request, const struct http_site *site,
                         struct text authority, struct http_route_result *route)
{
  struct authority host;
  if (is_absent(authority))
    authority = request->fields[HTTP_FIELD_HOST];
  bool has_host = !is_absent(authority) && authority.len > 0;
  if (has_host && !parse_authority(authority, &host)) {
    respond_with(route, 400, "a Host that is no host");
    return false;
  }
  if (has_host && site->is_loopback && !is_trusted_name(&host, site)) {
    respond_with(route, 403,
                 "this server listens on a loopback address and is not the Host that was asked for");
    return false;
  }
  struct text origin = request->fields[HTTP_FIELD_ORIGIN];
  if (is_absent(origin) || (has_host && is_same_origin(origin, &host, site->has_tls)))
    return true;
  route->terms.mode.origin = web_origins_find(site->origins, origin);
  if (route->terms.mode.origin == NULL) {
    route->refused_origin = origin;
    respond_with(route, 403, OTHER_ORIGINS);
    return false;
  }
  return true;
}

/* True for a navigation that a page of another site has caused. Browsers mark such requests (Fetch Metadata).
 * A request of an allowed page has an Origin instead. */
static bool is_of_another_site(const struct http_request *request, const struct http_route_result *route)
{
  struct text site = request->fields[HTTP_FIELD_SEC_FETCH_SITE];
  return route->terms.mode.origin == NULL && !is_absent(site) &&
         !text_equal_ignore_case(site, TEXT("none")) && !text_equal_ignore_case(site, TEXT("same-origin"));
}

/* JSON-RPC 1.1 draft, 6.3 */
static void route_call(const struct http_request *request, struct text procedure,
                       struct http_route_result *route)
{
  if (procedure.len == 0)
    respond_with(route, 400, "a call by GET names its procedure");
  else if (procedure.data[procedure.len - 1] == '/')
    respond_with(route, 400, "the name of a procedure does not end in a slash");
  else if (memchr(procedure.data, '/', procedure.len) != NULL)
    respond_with(route, 404, "there is nothing at this path");
  else if (is_of_another_site(request, route))
    respond_with(route, 403, OTHER_ORIGINS);
  else if (http_has_body(request))
    respond_with(route, 400, "a call by GET has no body");
  else if (route->terms.refuses_json)
    respond_with(route, 406, "answers are application/json");
  else
    route->action = HTTP_CALL;
}

/* The document that OpenRPC tools expect at this path. */
static void route_document(const struct http_request *request, struct http_route_result *route)
{
  if (is_of_another_site(request, route))
    respond_with(route, 403, OTHER_ORIGINS);
  else if (http_has_body(request))
    respond_with(route, 400, "a GET of the description has no body");
  else if (route->terms.refuses_json)
    respond_with(route, 406, "answers are application/json");
  else
    route->action = HTTP_DOCUMENT;
}

/* docs/shared-memory.md */
static void route_sharing(const struct http_request *request, const struct http_site *site,
                          struct http_route_result *route)
{
  if (!site->has_shm)
    respond_with(route, 400, "shared memory is for the clients of a Unix socket");
  else if (!request->is_1_1 || !request->has_upgrade)
    respond_with(route, 400, "shared memory needs HTTP/1.1 and \"Connection: Upgrade\"");
  else if (http_has_body(request))
    respond_with(route, 400, "a request for shared memory has no body");
  else
    route->action = HTTP_SHARE;
}

static bool asks_for(const struct http_request *request, struct text protocol)
{
  return !is_absent(request->fields[HTTP_FIELD_UPGRADE]) &&
         has_token(request->fields[HTTP_FIELD_UPGRADE], protocol);
}

static bool asks_for_websocket(const struct http_request *request)
{
  return asks_for(request, TEXT("websocket"));
}

static bool asks_for_shm(const struct http_request *request)
{
  return asks_for(request, TEXT("jpeer-shm/1"));
}

static void route_method(const struct http_request *request, const struct http_site *site, size_t message_max,
                         struct http_route_result *route)
{
  switch (request->method) {
  case HTTP_POST:
    route_post(request, message_max, route);
    break;
  case HTTP_GET:
    if (asks_for_shm(request))
      route_sharing(request, site, route);
    else if (asks_for_websocket(request))
      route_handshake(request, route);
    else
      refuse_method(route, ALLOW_POST, "JSON-RPC comes by POST, or over a WebSocket");
    break;
  case HTTP_OPTIONS:
    list_methods(request, route, ALLOW_POST);
    break;
  default:
    refuse_method(route, ALLOW_POST, "JSON-RPC comes by POST, or over a WebSocket");
    break;
  }
}

/* The help is for people, so it is sent regardless of Accept. */
static void route_help(const struct http_request *request, struct http_route_result *route)
{
  if (http_has_body(request))
    respond_with(route, 400, "a GET of the help has no body");
  else
    route->action = HTTP_HELP;
}

/* Routes all paths except the service's own two. These can only be read. "/" is a path of the service, so a POST to
 * "/name" is a POST to a path of the service that does not exist. */
static void route_other_path(const struct http_request *request, const struct http_site *site,
                             struct text path, struct http_route_result *route)
{
  bool is_document = text_equal(path, TEXT("/openrpc.json"));
  bool is_help = text_equal(path, TEXT("/help"));
  bool is_read = request->method == HTTP_GET || request->method == HTTP_HEAD;
  bool is_below = site->prefix.len == 1 || route->procedure.data != path.data + 1;
  /* True if the name may be a procedure's; whether the procedure exists is not checked here. */
  bool has_name = !is_absent(route->procedure) && route->procedure.len > 0 &&
                  memchr(route->procedure.data, '/', route->procedure.len) == NULL &&
                  (request->method != HTTP_POST || is_below);
  bool is_handshake = request->method == HTTP_GET && (asks_for_websocket(request) || asks_for_shm(request));
  bool is_call = is_read && !is_absent(route->procedure);
  if (is_handshake || (!is_document && !is_help && !has_name && !is_call))
    respond_with(route, 404, "there is nothing at this path");
  else if (request->method == HTTP_OPTIONS)
    list_methods(request, route, ALLOW_GET);
  else if (!is_read)
    refuse_method(route, ALLOW_GET, "this path is read by GET");
  else if (is_document)
    route_document(request, route);
  else if (is_help)
    route_help(request, route);
  else
    route_call(request, route->procedure, route);
}

/* False: the path belongs to the service. */
static bool route_monitoring(const struct http_request *request, const struct http_site *site,
                             struct text path, struct http_route_result *route)
{
  const bool is_metrics = text_equal(path, TEXT("/metrics"));
  const bool has_path = is_metrics || text_equal(path, TEXT("/healthz"));
  if (site->monitoring == HTTP_MONITORING_BESIDE && (!has_path || text_equal(path, site->prefix)))
    return false;
  if (site->monitoring == HTTP_MONITORING_ELSEWHERE)
    return false;
  if (!has_path)
    respond_with(route, 404, "there is nothing at this path");
  else if (request->method == HTTP_OPTIONS)
    list_methods(request, route, ALLOW_GET);
  else if (request->method != HTTP_GET && request->method != HTTP_HEAD)
    refuse_method(route, ALLOW_GET, "this path is read by GET");
  else if (http_has_body(request))
    respond_with(route, 400, "a GET of this path has no body");
  else if (is_metrics && is_of_another_site(request, route))
    respond_with(route, 403, OTHER_ORIGINS);
  else
    route->action = is_metrics ? HTTP_METRICS : HTTP_HEALTH;
  return true;
}

void http_route(const struct http_request *request, const struct http_site *site, size_t message_max,
                struct http_route_result *route)
{
  *route = (struct http_route_result){.action = HTTP_RESPOND,
                                      .terms.mode = {.is_1_1 = request->is_1_1,
                                                     .is_head = request->method == HTTP_HEAD,
                                                     .keeps_alive = request->keep_alive}};
  struct text authority = TEXT_ABSENT;
  bool is_asterisk = request->method == HTTP_OPTIONS && text_equal(request->target, TEXT("*"));
  struct text query = TEXT_ABSENT;
  struct text path =
      is_asterisk ? TEXT("/") : parse_target(request->target, site->has_tls, &authority, &query);
  if (is_absent(path)) {
    respond_with(route, 400, "a target that is no path");
    return;
  }
  if (!check_source(request, site, authority, route))
    return;
  const bool is_monitoring = route_monitoring(request, site, path, route);
  if (is_monitoring && route->action != HTTP_METRICS)
    return;
  struct text authorization = request->fields[HTTP_FIELD_AUTHORIZATION];
  if (site->has_principals && !is_absent(authorization) && !read_bearer(authorization, &route->token)) {
    respond_with(route, 401, "Authorization takes: Bearer TOKEN");
    route->response.asks_for_token = true;
    return;
  }
  if (is_monitoring)
    return;
  route->terms.refuses_json = excludes_json(request->fields[HTTP_FIELD_ACCEPT]);
  route->procedure = find_procedure(path, site);
  route->query = query;
  if (is_asterisk)
    list_methods(request, route, ALLOW_ALL);
  else if (text_equal(path, TEXT("/")) || text_equal(path, site->prefix))
    route_method(request, site, message_max, route);
  else
    route_other_path(request, site, path, route);
  struct text epoch = request->fields[HTTP_FIELD_EPOCH];
  route->terms.has_epoch = !is_absent(epoch);
  if (route->terms.has_epoch && epoch.len <= RPC_EPOCH_LENGTH)
    memcpy(route->terms.epoch, epoch.data, epoch.len); /* a head has no NUL, and the route is all zero */
  struct text peer_id = request->fields[HTTP_FIELD_PEER_ID];
  bool takes_messages =
      route->action == HTTP_SERVE || route->action == HTTP_UPGRADE || route->action == HTTP_SHARE;
  if (takes_messages && names_session(query))
    respond_with(route, 400, "a session is named by the header peer-id, not by a parameter of the URL");
  if (route->action == HTTP_RESPOND || is_absent(peer_id))
    return;
  route->terms.has_peer_id = uuid_parse(peer_id, &route->terms.peer_id);
  if (!route->terms.has_peer_id)
    respond_with(route, 400, "peer-id must be a UUID");
}

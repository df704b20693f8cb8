#ifndef JPEER_NET_HTTP_HTTP_ROUTE_H
#define JPEER_NET_HTTP_HTTP_ROUTE_H
/*
 * What a request's head asks for, and whether it may: a JSON-RPC message by POST, a WebSocket, or neither.
 * Pure functions, any thread.
 *
 * Paths: "/" and the prefix ("/rpc"), with or without a query, for POST and WebSocket; one more component
 * names a procedure that GET calls (JSON-RPC 1.1, 6.3), but for the reserved ones, of which /openrpc.json is
 * the description of the service and /help words for people; all else is 404. HEAD is answered where GET is,
 * with the same head. A path that other methods have is 405 with Allow, and OPTIONS tells these methods.
 *
 * Browsers: any web page can reach a port of the loopback address, and nobody is asked for a password here.
 * So a request with an Origin is refused (403) unless the origin is this very server, as its Host names it;
 * and where the server listens on loopback addresses only, a Host that is neither a loopback name, nor an IP
 * address, nor the name that was bound is refused too (403): it is a name of somebody else's that was made to
 * point here (DNS rebinding). Origins that the site lets in pass, where the Host does; they get the headers
 * of CORS (Fetch standard, 3.2) with each answer, and nobody else does. A GET that a page of another site
 * makes carries no Origin, but browsers mark it (Sec-Fetch-Site): it is refused too. Programs send neither
 * and notice nothing.
 */
#include "base/uuid.h"
#include "base/web_origin.h"
#include "net/http/http_parser.h"
#include "net/http/http_response.h"

struct http_site {
  bool is_loopback;                  /* the server listens on loopback addresses only */
  struct text host;                  /* the name that was bound */
  struct text prefix;                /* the path of the service beside "/": "/rpc" */
  const struct web_origins *origins; /* whose pages are let in beside its own; NULL: none */
};

enum http_action {
  HTTP_SERVE,    /* a POST: read the body, serve it */
  HTTP_CALL,     /* a GET that names a procedure */
  HTTP_HELP,     /* a GET of /help: words for people */
  HTTP_DOCUMENT, /* a GET of /openrpc.json: the description of the service */
  HTTP_UPGRADE,  /* a WebSocket handshake that is right */
  HTTP_RESPOND   /* answer with the status */
};

struct http_route_result {
  enum http_action action;
  struct http_status_response response; /* HTTP_RESPOND */
  const char *origin;    /* of the page that was let in, borrowed from the site; NULL: none asks */
  bool continues;        /* the client waits for 100 Continue */
  bool refuses_json;     /* Accept leaves application/json out: JSON-RPC 1.1 answers 406 */
  struct text procedure; /* HTTP_CALL: as it stands in the path */
  struct text query;     /* HTTP_CALL: as it stands in the target; data NULL: none */
  bool has_peer_id;
  struct uuid peer_id;
};

void http_route(const struct http_request *request, const struct http_site *site, size_t message_max,
                struct http_route_result *route);

/* True for what begins a body. */
static inline bool http_has_body(const struct http_request *request)
{
  return request->is_chunked || request->length > 0;
}

#endif

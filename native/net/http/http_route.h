#ifndef JPEER_NET_HTTP_HTTP_ROUTE_H
#define JPEER_NET_HTTP_HTTP_ROUTE_H
/*
 * Decides what a request's head asks for, and whether it may: a JSON-RPC message by POST, a WebSocket,
 * shared memory, or none of them. Pure functions, any thread.
 *
 * Paths: POST and WebSocket take "/" and the prefix ("/rpc"), with or without a query. One more component
 * names a procedure that GET calls (JSON-RPC 1.1 draft, 6.3), except for the reserved names: /openrpc.json is
 * the description of the service, and /help is text for people. Other paths are 404. HEAD works wherever GET
 * does, with the same head. A method that a path does not have is 405 with Allow, and OPTIONS lists the
 * methods of a path.
 *
 * Browsers: any web page can reach a port of the loopback address, and there are no passwords here. So a
 * request with an Origin is refused (403) unless the origin is this very server, as its Host names it. If the
 * server listens on loopback addresses only, the Host has to be a loopback name, an IP address or the name
 * that was bound: any other one is a stranger's name that was made to point here (DNS rebinding), and is 403
 * too. A Unix socket, which no web page reaches, serves every Host: its clients make one up, and a proxy may
 * send that of its own clients. Origins that the site allows pass if their Host does. They get the headers of
 * CORS (Fetch standard, 3.2) with each response, and nobody else does. A GET by a page of another site
 * carries no Origin, but browsers mark it (Sec-Fetch-Site), and it is refused. Programs send neither field
 * and are not affected.
 */
#include "base/uuid.h"
#include "base/web_origin.h"
#include "net/http/http_parser.h"
#include "net/http/http_response.h"

struct http_site {
  bool is_loopback;                  /* the server listens on a loopback address */
  struct text host;                  /* the name that was bound; data NULL: 127.0.0.1 or a Unix socket */
  bool takes_shm;                    /* its clients may share memory with the peer */
  struct text prefix;                /* the path of the service beside "/": "/rpc" */
  const struct web_origins *origins; /* allowed beside its own; NULL: none */
};

enum http_action {
  HTTP_SERVE,    /* a POST: read the body, serve it */
  HTTP_CALL,     /* a GET that names a procedure */
  HTTP_HELP,     /* a GET of /help: text for people */
  HTTP_DOCUMENT, /* a GET of /openrpc.json: the description of the service */
  HTTP_UPGRADE,  /* a correct WebSocket handshake */
  HTTP_SHARE,    /* a correct request for shared memory */
  HTTP_RESPOND   /* send the status response */
};

/* The meaning of a head for its message, apart from the length of the body. */
struct http_terms {
  struct http_response_mode mode; /* origin: of the allowed page that asks, borrowed from the site */
  bool refuses_json;              /* Accept leaves application/json out: JSON-RPC 1.1 answers 406 */
  bool has_peer_id;
  struct uuid peer_id;
  bool has_epoch;
  char epoch[RPC_EPOCH_LENGTH + 1]; /* as written; "": it was longer, and is none */
};

struct http_route_result {
  enum http_action action;
  struct http_status_response response; /* HTTP_RESPOND */
  struct http_terms terms;
  struct text refused_origin; /* of the page that is refused with 403; data NULL: none is */
  bool continues;             /* the client waits for 100 Continue */
  struct text procedure;      /* HTTP_CALL: as written in the path */
  struct text query;          /* HTTP_CALL: as written in the target; data NULL: none */
};

void http_route(const struct http_request *request, const struct http_site *site, size_t message_max,
                struct http_route_result *route);

/* True if a body follows the head. */
static inline bool http_has_body(const struct http_request *request)
{
  return request->framing == HTTP_FRAMING_CHUNKS || request->length > 0;
}

#endif

#ifndef JPEER_NET_HTTP_HTTP_ROUTE_H
#define JPEER_NET_HTTP_HTTP_ROUTE_H
/*
 * Routes a request by its head: decides what the request is (a JSON-RPC message by POST, a WebSocket
 * handshake, a request for shared memory, or another request), and whether the request is allowed. Pure
 * functions, any thread.
 *
 * Paths: POST and WebSocket have the paths "/" and the prefix ("/rpc"), with or without a query. With one more
 * component the path names a procedure that GET calls (JSON-RPC 1.1 draft, 6.3), except the reserved names:
 * /openrpc.json is the description of the service, /help is a text for people, and /healthz and /metrics are for operators
 * (enum http_monitoring). Other paths are 404. HEAD is like
 * GET without a body. A method that a path does not have is 405 with Allow, and OPTIONS lists the methods of a path.
 *
 * Browsers: any web page can reach a port of the loopback address, and there are no passwords. So
 *   - a request with an Origin is refused (403) unless the origin is this server, as its Host names it;
 *   - if the server listens on loopback addresses only, a Host is refused (403) unless it is a loopback name, an IP
 *     address or the name that was bound: any other name was made to resolve to this address (DNS rebinding);
 *   - a Unix socket serves every Host, because no web page reaches it: its clients invent a Host, and a proxy
 *     may send the Host of its own clients;
 *   - a request with an allowed origin is served if its Host is. Its responses have the headers of CORS (Fetch
 *     standard, 3.2), and no other responses do;
 *   - a GET by a page of another site has no Origin, but browsers mark it by Sec-Fetch-Site, and it is refused.
 * Programs send neither Origin nor Sec-Fetch-Site.
 *
 * A token (docs/security.md, "Tokens") is in Authorization or, from a page's WebSocket, a subprotocol that is offered beside
 * "jpeer". The caller has it judged, for every action except HTTP_RESPOND and HTTP_HEALTH.
 */
#include "base/uuid.h"
#include "base/web_origin.h"
#include "net/http/http_parser.h"
#include "net/http/http_response.h"

/* Where /healthz and /metrics are. */
enum http_monitoring {
  HTTP_MONITORING_BESIDE,    /* beside the service */
  HTTP_MONITORING_ELSEWHERE, /* on another address (--metrics-listen): this site has neither */
  HTTP_MONITORING_ALONE      /* here, and this site has nothing else */
};

struct http_site {
  enum http_monitoring monitoring;
  bool is_loopback;                  /* the server listens on a loopback address */
  bool has_tls;                      /* its clients speak HTTPS */
  struct text host;                  /* the name that was bound; data NULL: 127.0.0.1 or a Unix socket */
  bool has_principals;               /* its requests show evidence */
  bool has_shm;                      /* its clients may use shared memory */
  struct text prefix;                /* the path of the service, in addition to "/": "/rpc" */
  const struct web_origins *origins; /* allowed origins; NULL: none, except the server's own */
};

enum http_action {
  HTTP_SERVE,    /* a POST: read the body, serve it */
  HTTP_CALL,     /* a GET that names a procedure */
  HTTP_HELP,     /* a GET of /help: text for people */
  HTTP_DOCUMENT, /* a GET of /openrpc.json: the description of the service */
  HTTP_HEALTH,   /* a GET of /healthz, which needs no evidence */
  HTTP_METRICS,  /* a GET of /metrics */
  HTTP_UPGRADE,  /* a correct WebSocket handshake */
  HTTP_SHARE,    /* a correct request for shared memory */
  HTTP_RESPOND   /* send the status response */
};

/* The meaning of a head for its message, except the length of the body. */
struct http_terms {
  struct http_response_mode mode; /* origin: the allowed origin of the request, borrowed from the site */
  bool refuses_json;              /* Accept excludes application/json: JSON-RPC 1.1 requires a 406 response */
  bool has_peer_id;
  struct uuid peer_id;
  bool has_epoch;
  char epoch[RPC_EPOCH_LENGTH + 1]; /* as written; "": the header was too long for an epoch */
};

struct http_route_result {
  enum http_action action;
  struct http_status_response response; /* HTTP_RESPOND */
  struct http_terms terms;
  struct text refused_origin; /* the origin that is refused with 403; data NULL: none */
  struct text token;          /* that the request shows; data NULL: none. Not sent on, and never in the log */
  bool names_protocol;        /* HTTP_UPGRADE: the client offers the subprotocol jpeer */
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

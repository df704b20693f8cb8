#ifndef JPEER_CLIENT_TRANSPORTS_CLIENT_URL_H
#define JPEER_CLIENT_TRANSPORTS_CLIENT_URL_H
/* Parses URLs of peers, and of directories that name peers, and selects their transport. Pure functions, any thread. */
#include "jpeer/request.h"

#include "base/buffer.h"

struct transport_kind;

/* The parts of a URL, borrowed from it or static. */
struct client_url {
  struct text whole;
  struct text host;    /* without the brackets of an IPv6 address; absent if there is a socket's path */
  struct text port;    /* digits */
  struct text path;    /* of a unix socket, or of the HTTP request ("/rpc") */
  bool is_secure;      /* over TLS */
  bool may_have_curve; /* ZeroMQ over TCP */

  /* Only of dir: URLs. Absent: the URL is the address of a peer. */
  struct text endpoints; /* of the directory: HOST:PORT[,HOST:PORT] */
  struct text target;    /* the name or the UUID of a peer, or the name of a service */
  bool is_service;
};

/* JP_CLIENT_INVALID: not a valid URL, or a URL that contains a secret, which the error does not show. JP_CLIENT_UNSUPPORTED: the scheme is unknown. */
enum jp_client_status client_url_parse(const char *url, struct client_url *parts,
                                       const struct transport_kind **kind,
                                       struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* The transport of binary messages to the peers of a directory; NULL: the library was built without it. */
const struct transport_kind *client_url_binary_kind(void);
/* The path of an HTTP request, and its field Host. */
struct text client_url_request_path(const struct client_url *url);
void client_url_write_host(const struct client_url *url, struct buffer *out);

#endif

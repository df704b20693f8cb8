#ifndef JPEER_CLI_ENDPOINTS_H
#define JPEER_CLI_ENDPOINTS_H
/*
 * The values of --json-rpc, --zmq-rpc and --metrics-listen: addresses, each a TCP port, the path of a Unix socket, or the
 * name of sockets that the service manager has passed (net/inherited_sockets.h). Main's thread.
 */
#include "base/options.h"
#include "net/server.h"

enum { RUN_ENDPOINTS_MAX = NET_ENDPOINTS_MAX };

struct run_endpoint {
  char host[256]; /* a name or a number, without brackets */
  uint16_t port;  /* 0: auto */
  /* of a Unix socket, in place of host and port; borrowed from the option's text, or valid as long as the process; NULL:
   * TCP */
  const char *path;
  int fd; /* a socket of this address that listens already; 0: the peer makes one */
};

struct run_endpoints {
  struct option_list texts; /* the first member, as base/options.h requires of a repeated option's value */
  size_t count;
  struct run_endpoint items[RUN_ENDPOINTS_MAX];
};

/* Readers of a struct run_endpoints: [HOST:]PORT or auto, unix:PATH or ipc://PATH, and fd:NAME. */
option_reader endpoints_read_json;
option_reader endpoints_read_zmq;

/* What guards the addresses of an option. */
struct endpoint_guard {
  bool is_insecure;       /* --insecure-listen: any address is allowed without a guard */
  bool has_principals;    /* --principals */
  bool is_encrypted;      /* TLS for WebSocket and HTTP, CURVE for ZeroMQ */
  const char *encryption; /* the option that encrypts; NULL: there is none */
};

/* Checks that each host is a loopback address, unless the guard has principals and encryption, or
 * is_insecure. JP_INVALID: the text says what is missing. */
enum jp_status endpoints_check(const char *option, const struct run_endpoints *endpoints,
                               const struct endpoint_guard *guard, struct jp_error *error) JP_MUST_CHECK;
/* The host of an address that is neither a loopback address nor a Unix socket; NULL: there is none. */
const char *endpoints_find_remote(const struct run_endpoints *endpoints);
/* True if one of the addresses is a Unix socket, a Unix socket that the peer makes, or a TCP port. */
bool endpoints_have_socket(const struct run_endpoints *endpoints);
bool endpoints_make_socket(const struct run_endpoints *endpoints);
bool endpoints_have_port(const struct run_endpoints *endpoints);
/* Borrows the texts of endpoints. */
struct net_endpoints endpoints_for_net(const struct run_endpoints *endpoints);

#endif

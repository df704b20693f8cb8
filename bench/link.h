#ifndef JPEER_BENCH_LINK_H
#define JPEER_BENCH_LINK_H
/*
 * One connection of the load generator over any transport: it sends and receives messages, and never blocks once it
 * is open. A new transport is a new row of link_kinds.
 *
 * One thread. Caller frees with kind->close.
 */
#include "base/buffer.h"
#include "base/status.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

struct link;

/* What a client shows. */
struct link_evidence {
  const char *token; /* HTTP: sent as Authorization; NULL: none */
  bool has_curve;    /* ZeroMQ: with the keys of curve.h */
};

struct link_target {
  const char *address;     /* "ws://127.0.0.1:4711/rpc", "ws+unix:/run/peer" */
  const char *socket_path; /* the path of the Unix socket; NULL: TCP */
  char host[64];           /* numeric IPv4; with a Unix socket only the value of HTTP's field Host */
  char port[8];
  char path[64];
  unsigned in_flight; /* the most requests that are open at a time */
  bool keeps_session; /* HTTP: send a `peer-id` */
  struct link_evidence evidence;
};

/* The receiver of answers; the text is borrowed for the call. */
struct link_listener {
  enum jp_status (*answer)(struct link_listener *listener, struct text answer, struct jp_error *error);
};

struct link_kind {
  const char *scheme;
  const char
      *unix_scheme; /* the scheme over a Unix socket, without the last ":"; NULL: not over Unix sockets */
  /* Connects and does the handshake; blocks until both are done. */
  enum jp_status (*open)(const struct link_target *target, struct link **link, struct jp_error *error);
  void (*close)(struct link *link);
  /* The descriptor to wait for. It is readable (level-triggered) when `receive` may find something. */
  int (*fd)(const struct link *link);
  /* Queues a message; flush sends it. */
  void (*send)(struct link *link, struct text message);
  /* Sends the queued bytes. *blocked is true if bytes remain until the descriptor is writable. *again is true
   * if answers have arrived for which the descriptor is not readable; then call receive. */
  enum jp_status (*flush)(struct link *link, bool *blocked, bool *again, struct jp_error *error);
  /* Reads the available bytes once and passes on every whole answer. */
  enum jp_status (*receive)(struct link *link, struct link_listener *listener, struct jp_error *error);
  /* The next three functions are only for shared memory, and NULL for all other links. While a link over
   * shared memory polls, an answer does not make its descriptor readable. */
  bool (*poll)(const struct link *link); /* True if receive finds an answer. */
  /* Tells the server on which processor this thread runs. True if the server runs on the same processor. */
  bool (*publish_processor)(struct link *link);
  /* True: the next answer makes the descriptor readable. False: an answer has arrived. */
  bool (*sleep)(struct link *link);
};

extern const struct link_kind link_websocket;
extern const struct link_kind link_http;
extern const struct link_kind link_zeromq;
extern const struct link_kind link_py4j;
extern const struct link_kind link_shm;

/* Parses an address and finds its transport. JP_INVALID. address is borrowed. */
enum jp_status link_target_parse(struct link_target *target, const char *address,
                                 const struct link_kind **kind, struct jp_error *error) JP_MUST_CHECK;

#endif

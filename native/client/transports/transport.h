#ifndef JPEER_CLIENT_TRANSPORTS_TRANSPORT_H
#define JPEER_CLIENT_TRANSPORTS_TRANSPORT_H
/*
 * The interface between the client's core and its transports. A kind of transport is a struct transport_kind,
 * a line at the end of this header and a row of the table in client_url.c. The core knows nothing of frames.
 *
 * A transport has one owner: the core calls its functions with the client's lock held, except `open`. Only
 * `open` blocks. Messages are sent in the order in which they were begun.
 */
#include "jpeer/client.h"

#include "base/buffer.h"
#include "client/transports/client_credentials.h"
#include "client/transports/client_url.h"

#include <stdbool.h>

struct transport_options {
  struct text peer_id; /* the session's name; absent: none */
  int timeout_ms;      /* of open */
  size_t message_max;
  bool binary;
  bool memory_is_optional; /* only for shm: if the peer refuses memory for any reason, a WebSocket is used */
  const struct client_credentials *credentials; /* borrowed; used until `close` */
};

/* Receives what a transport reads. */
struct transport_listener {
  /* A whole message, borrowed for the call; the function may change the bytes. If the function fails, the
   * transport stops reading and returns the failure. */
  enum jp_client_status (*message)(struct transport_listener *listener, struct text message,
                                   struct jp_client_error *error);
  /* The epoch of the session, from the head of an HTTP response; called before `message`. Borrowed. */
  void (*epoch)(struct transport_listener *listener, struct text epoch);
};

enum { TRANSPORT_EPOCH_MAX = 16 };

/* A connection. The struct of each kind of transport begins with this struct. */
struct client_transport {
  const struct transport_kind *kind;
  char epoch[TRANSPORT_EPOCH_MAX + 1]; /* of the session, read by `open`; "": none */
};

/* Stores the epoch of a handshake. A text of another length is ignored. */
static inline void transport_keep_epoch(struct client_transport *transport, struct text epoch)
{
  if (epoch.len != TRANSPORT_EPOCH_MAX)
    return;
  memcpy(transport->epoch, epoch.data, TRANSPORT_EPOCH_MAX);
  transport->epoch[TRANSPORT_EPOCH_MAX] = '\0';
}

struct transport_kind {
  bool session_is_named;  /* each session has a UUID; the core makes one if the program gives none */
  bool names_in_messages; /* each message names its session; otherwise `open` names it, by its options */
  bool has_binary;        /* supports binary messages, too */
  bool has_callbacks;     /* the peer may send requests at any time */
  bool obeys_cancel;      /* the peer reads `control cancel` while an earlier request still runs, and ends
                           * that request */
  bool has_fields; /* messages or handshakes have heads of HTTP, which contain the credentials' token and
                    * fields */
  bool epoch_is_in_answers; /* `open` does not know the epoch */
  bool ends_when_idle;      /* the peer may close an idle connection: the next call opens another */
  unsigned flushed_after;   /* how many messages that completions send are written before a flush; 0: all */
  /* the descriptor shows room to write as input; `receive` must be called before `flush` */
  bool shows_room_as_input;
  /* Opens a connection. May return a transport of another kind, whose flags about sessions and forms have the
   * same values. */
  enum jp_client_status (*open)(const struct client_url *url, const struct transport_options *options,
                                struct client_transport **transport, struct jp_client_error *error);
  /* Sends a close message to the peer if this is possible without waiting, and frees the transport. */
  void (*close)(struct client_transport *transport);
  /* Returns the descriptor to poll: for reading, and for writing while wants_to_write is true. Constant until
   * `close`. */
  int (*descriptor)(const struct client_transport *transport);
  bool (*wants_to_write)(const struct client_transport *transport);
  /* True if `receive` has something to do, although the descriptor may not show it. */
  bool (*has_input)(struct client_transport *transport);
  /* `begin` returns the buffer that the next message is appended to; `end` frames the appended bytes, and
   * `discard` drops them. is_answered: false for a notification. */
  struct buffer *(*begin)(struct client_transport *transport);
  void (*end)(struct client_transport *transport, bool is_answered);
  void (*discard)(struct client_transport *transport);
  /* Call before `end`: states the epoch of the refs in the message. NULL: the message itself contains the
   * epoch, or the connection has only one epoch. */
  void (*name_epoch)(struct client_transport *transport, struct text epoch);
  /* Call before `begin`: the following messages have that token ("": none). NULL: `open` sends a token. False: no memory. */
  bool (*use_token)(struct client_transport *transport, const char *token);
  /* True if ending the connection would cancel the request of the last message and lose no other message. The
   * request is then cancelled in this way. NULL: see obeys_cancel. */
  bool (*may_end_to_cancel)(const struct client_transport *transport);
  /* Writes the queued bytes that the socket accepts. JP_CLIENT_CLOSED, JP_CLIENT_NO_MEMORY. */
  enum jp_client_status (*flush)(struct client_transport *transport, struct jp_client_error *error);
  /* The bytes of messages that `flush` has not written yet. NULL: `flush` gives all of them to another thread. */
  size_t (*waiting)(const struct client_transport *transport);
  /* Reads the available input and passes each whole message to the listener. */
  enum jp_client_status (*receive)(struct client_transport *transport, struct transport_listener *listener,
                                   struct jp_client_error *error);

  /*
   * The next three functions are NULL if input cannot be busy-polled. A waiting thread busy-polls for a short
   * time before it polls the descriptor. After begin_busy_poll or `receive` the descriptor shows no input
   * until `sleep` is called.
   */
  /* False: busy-polling is not worthwhile now. */
  bool (*begin_busy_poll)(struct client_transport *transport);
  /* Busy-polls for a limited time. Called without the lock, after begin_busy_poll, by one thread at a time.
   * The other functions may run during that time. True: `receive` has something to do. */
  bool (*busy_poll)(struct client_transport *transport);
  /* Called before a thread sleeps until the descriptor shows input. True: there is input already. */
  bool (*sleep)(struct client_transport *transport);
};

/* The kinds of transports. The table in client_url.c assigns URLs to them. */
extern const struct transport_kind transport_websocket;
extern const struct transport_kind transport_http;
extern const struct transport_kind transport_zeromq; /* with JPEER_CLIENT_ZEROMQ */
extern const struct transport_kind transport_shm;

#endif

#ifndef JPEER_CLIENT_TRANSPORTS_TRANSPORT_H
#define JPEER_CLIENT_TRANSPORTS_TRANSPORT_H
/*
 * What the client's core asks of a transport. A kind of transport is a struct transport_kind, a line at
 * the end of this header and a row of the table in client_url.c; the core knows nothing of frames.
 *
 * A transport has one owner: the core calls it with the client's lock held, and none of its functions
 * blocks but `open`, which is called without the lock. Messages go out in the order in which they were
 * begun.
 */
#include "jpeer/client.h"

#include "base/buffer.h"
#include "client/transports/client_url.h"

#include <stdbool.h>

struct transport_options {
  struct text peer_id; /* absent: none */
  int timeout_ms;      /* of open */
  size_t message_max;
  bool binary;
  bool memory_is_optional; /* shm: alone: whatever the peer refuses it with, the connection is a WebSocket */
};

/* Whom a transport tells of what it reads. */
struct transport_listener {
  /* A whole message, borrowed for the call; it may change the bytes. Not JP_CLIENT_OK: the transport stops
   * reading and passes it on. */
  enum jp_client_status (*message)(struct transport_listener *listener, struct text message,
                                   struct jp_client_error *error);
  /* The epoch of the session, which the head of a message's answer has; before `message`. Borrowed. */
  void (*epoch)(struct transport_listener *listener, struct text epoch);
};

enum { TRANSPORT_EPOCH_MAX = 16 };

/* A connection; a kind's own struct begins with it. */
struct client_transport {
  const struct transport_kind *kind;
  char epoch[TRANSPORT_EPOCH_MAX + 1]; /* of the session, as the peer told `open`; "": it told none */
};

/* Keeps the epoch that a handshake tells; a text that is no epoch is none. */
static inline void transport_keep_epoch(struct client_transport *transport, struct text epoch)
{
  if (epoch.len != TRANSPORT_EPOCH_MAX)
    return;
  memcpy(transport->epoch, epoch.data, TRANSPORT_EPOCH_MAX);
  transport->epoch[TRANSPORT_EPOCH_MAX] = '\0';
}

struct transport_kind {
  bool
      session_is_named; /* a session is that of a UUID alone: the core makes one where the caller gave none */
  bool names_in_messages;   /* each message names its session; else `open` does, by the options */
  bool has_binary;          /* carries binary messages, too */
  bool has_callbacks;       /* the peer may speak at any time */
  bool epoch_is_in_answers; /* `open` does not know it */
  bool ends_when_idle;    /* the peer may close a connection that nobody uses: the next call opens another */
  unsigned flushed_after; /* so many messages that completions have sent; 0: what they send leaves together */
  bool shows_room_as_input; /* to be polled for reading alone; `receive` is called, and `flush` behind it */
  /* May give a transport of another kind, if the three flags of sessions and forms are the same. */
  enum jp_client_status (*open)(const struct client_url *url, const struct transport_options *options,
                                struct client_transport **transport, struct jp_client_error *error);
  /* Says farewell if that costs no waiting, and frees. */
  void (*close)(struct client_transport *transport);
  /* To be polled: for reading, and for writing while wants_to_write. The same until `close`. */
  int (*descriptor)(const struct client_transport *transport);
  bool (*wants_to_write)(const struct client_transport *transport);
  /* True where `receive` has something to do although the descriptor may not show it. */
  bool (*has_input)(struct client_transport *transport);
  /* The buffer that the next message is appended to; `end` frames what was appended since. is_answered:
   * false for a notification. `take_back` drops it instead. */
  struct buffer *(*begin)(struct client_transport *transport);
  void (*end)(struct client_transport *transport, bool is_answered);
  void (*take_back)(struct client_transport *transport);
  /* Before `end`: the message names refs of that epoch. NULL: the message says so itself, or the connection has one
   * epoch. */
  void (*name_epoch)(struct client_transport *transport, struct text epoch);
  /* Writes what is queued, as far as the socket takes it. JP_CLIENT_CLOSED, JP_CLIENT_NO_MEMORY. */
  enum jp_client_status (*flush)(struct client_transport *transport, struct jp_client_error *error);
  /* Reads what is there and tells of each whole message. */
  enum jp_client_status (*receive)(struct client_transport *transport, struct transport_listener *listener,
                                   struct jp_client_error *error);

  /*
   * Of a transport whose input can be looked at; else NULL. A thread that waits looks for a while before it
   * polls. The descriptor shows nothing from begin_look or `receive` on, until `sleep`.
   */
  /* False: looking is not worth while now. */
  bool (*begin_look)(struct client_transport *transport);
  /* Without the lock, behind begin_look, by one thread at a time; the other functions may be called
   * meanwhile. Looks for a while. True: `receive` has something to do. */
  bool (*look)(struct client_transport *transport);
  /* Somebody is about to sleep until the descriptor shows something. True: there is something already. */
  bool (*sleep)(struct client_transport *transport);
};

/* The kinds of transports that there are. The table in client_url.c says which URL each is for. */
extern const struct transport_kind transport_websocket;
extern const struct transport_kind transport_http;
extern const struct transport_kind transport_zeromq; /* with JPEER_CLIENT_ZEROMQ */
extern const struct transport_kind transport_shm;

#endif

#ifndef JPEER_TESTS_UNIT_CLIENT_FAKE_PEER_H
#define JPEER_TESTS_UNIT_CLIENT_FAKE_PEER_H
/*
 * A peer without a JVM for tests of the client library. It listens on a unix socket, does the handshake, and
 * runs a script for each connection on its own thread. A script reads and writes messages, and closes the
 * connection by returning.
 */
#include "tests/unit/ring_end.h"
#include "tests/unit/unit.h"

#include <stdbool.h>

#ifndef FAKE_PEER_SCHEME
#define FAKE_PEER_SCHEME "ws+unix"
#endif

/* For fake_peer_start_shm. A client that asks for shared memory is refused: FAKE_RING_NONE: with a 503,
 * FAKE_RING_UNKNOWN: with a 404. Other clients get a WebSocket. */
enum { FAKE_RING_NONE, FAKE_RING_UNKNOWN, FAKE_RING_SIZE = 64 * 1024 };

struct fake_peer;
struct fake_connection;

typedef void fake_script(struct fake_connection *connection, void *context);

/* scheme: "ws+unix", "shm". */
struct fake_peer *fake_peer_start_over(const char *scheme, fake_script *script, void *context);
/* Over shared memory with rings of that size. */
struct fake_peer *fake_peer_start_shm(size_t ring_size, fake_script *script, void *context);
/* Over the transport that the test is built for. */
static inline struct fake_peer *fake_peer_start(fake_script *script, void *context)
{
  return fake_peer_start_over(FAKE_PEER_SCHEME, script, context);
}
/* A peer that speaks HTTP: its scripts begin with fake_read_post. */
struct fake_peer *fake_peer_start_http(fake_script *script, void *context);
/* "ws+unix:/tmp/...", "http+unix:", "shm:" */
const char *fake_peer_url(const struct fake_peer *peer);
/* The number of connections so far. */
unsigned fake_peer_connections(struct fake_peer *peer);
/* Waits until `count` connections have ended their script, and their clients can notice the end. */
void fake_peer_await_end(struct fake_peer *peer, unsigned count);
/* Refuses new connections; existing connections remain open. */
void fake_peer_refuse(struct fake_peer *peer);
/* Accepts new connections again. */
void fake_peer_accept(struct fake_peer *peer);
/* holds true: new connections get no answer to their handshake until this function is called with false. */
void fake_peer_hold(struct fake_peer *peer, bool holds);
/* Ends the connections, and waits for their threads. */
void fake_peer_stop(struct fake_peer *peer);

/* The next text message, borrowed until the next call. False: the client has closed. */
bool fake_read(struct fake_connection *connection, struct text *message);
/* NULL if the connection is not over shared memory. */
struct ring_end *fake_rings_of(struct fake_connection *connection);
/* The id of the last cancelled request; 0: none. fake_read skips cancels. */
uint64_t fake_cancelled(const struct fake_connection *connection);
/* The number of pongs that fake_read has skipped. */
unsigned fake_pongs(const struct fake_connection *connection);
/* The next POST, borrowed until the next call. False: the client has closed. */
bool fake_read_post(struct fake_connection *connection, struct text *head, struct text *body);
/* The `id` of a message; 0: none. */
uint64_t fake_id(struct text message);
/* Writes one text frame. */
void fake_write(struct fake_connection *connection, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void fake_write_bytes(struct fake_connection *connection, const void *bytes, size_t count);
/* The head of the handshake's request. */
struct text fake_request(const struct fake_connection *connection);
/* The number of the connection, from 1. */
unsigned fake_number(const struct fake_connection *connection);

/* Answers each request with the int 8, and each `new` with an object whose ref counts up from 1. */
void fake_serve(struct fake_connection *connection, void *context);
/* Answers with an int. */
void fake_answer_int(struct fake_connection *connection, uint64_t id, int value);
/* Answers with an object. */
void fake_answer_object(struct fake_connection *connection, uint64_t id, unsigned ref);

/* Sends bytes and descriptors with one sendmsg. */
void fake_send_descriptors(int fd, struct text bytes, const int *descriptors, size_t count);

#endif

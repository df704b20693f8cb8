#ifndef JPEER_TESTS_UNIT_CLIENT_FAKE_PEER_H
#define JPEER_TESTS_UNIT_CLIENT_FAKE_PEER_H
/*
 * A peer without a JVM for tests of the client library: it listens on a unix socket, shakes hands, and lets
 * a script read and write what it wants, one thread a connection. A script returns to close the connection.
 */
#include "tests/unit/ring_end.h"
#include "tests/unit/unit.h"

#include <stdbool.h>

#ifndef FAKE_PEER_SCHEME
#define FAKE_PEER_SCHEME "ws+unix"
#endif

/* Of fake_peer_start_shm. FAKE_RING_NONE: who asks for shared memory is refused with a 503, FAKE_RING_UNKNOWN: with a
 * 404, and others are WebSockets. */
enum { FAKE_RING_NONE, FAKE_RING_UNKNOWN, FAKE_RING_SIZE = 64 * 1024 };

struct fake_peer;
struct fake_connection;

typedef void fake_script(struct fake_connection *connection, void *context);

/* scheme: "ws+unix", "shm". */
struct fake_peer *fake_peer_start_over(const char *scheme, fake_script *script, void *context);
/* Shared memory with rings of that size. */
struct fake_peer *fake_peer_start_shm(size_t ring_size, fake_script *script, void *context);
/* Over the transport that the test is built for. */
static inline struct fake_peer *fake_peer_start(fake_script *script, void *context)
{
  return fake_peer_start_over(FAKE_PEER_SCHEME, script, context);
}
/* One that speaks HTTP: scripts begin with fake_read_post. */
struct fake_peer *fake_peer_start_http(fake_script *script, void *context);
/* "ws+unix:/tmp/...", "http+unix:", "shm:" */
const char *fake_peer_url(const struct fake_peer *peer);
/* Connections that were made so far. */
unsigned fake_peer_connections(struct fake_peer *peer);
/* Waits until so many of them have come to the end of their script, and their clients can see it. */
void fake_peer_await_end(struct fake_peer *peer, unsigned count);
/* Nobody can connect any more; connections stay. */
void fake_peer_refuse(struct fake_peer *peer);
/* Those who were refused can connect again. */
void fake_peer_accept(struct fake_peer *peer);
/* From now on those who connect wait for the answer to their handshake; and not any more. */
void fake_peer_hold(struct fake_peer *peer, bool holds);
/* Ends the connections, and waits for their threads. */
void fake_peer_stop(struct fake_peer *peer);

/* The next text message, borrowed until the next one. False: the client has closed. */
bool fake_read(struct fake_connection *connection, struct text *message);
/* Of a connection over shared memory; else NULL. */
struct ring_end *fake_rings_of(struct fake_connection *connection);
/* The request that the client has cancelled last; 0: none. fake_read passes over cancels. */
uint64_t fake_cancelled(const struct fake_connection *connection);
/* Pongs that fake_read has passed over. */
unsigned fake_pongs(const struct fake_connection *connection);
/* The next POST, borrowed until the next one. False: the client has closed. */
bool fake_read_post(struct fake_connection *connection, struct text *head, struct text *body);
/* The number of the `id` of a message; 0: it has none. */
uint64_t fake_id(struct text message);
/* One text frame. */
void fake_write(struct fake_connection *connection, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void fake_write_bytes(struct fake_connection *connection, const void *bytes, size_t count);
/* The head of the handshake's request. */
struct text fake_request(const struct fake_connection *connection);
/* Which connection of the peer it is, from 1. */
unsigned fake_number(const struct fake_connection *connection);

/* Answers each request with the int 8, and each `new` with an object that counts up from 1. */
void fake_serve(struct fake_connection *connection, void *context);
/* The answer with an int. */
void fake_answer_int(struct fake_connection *connection, uint64_t id, int value);
/* The answer with an object. */
void fake_answer_object(struct fake_connection *connection, uint64_t id, unsigned ref);

/* Sends bytes and descriptors by one sendmsg. */
void fake_send_descriptors(int fd, struct text bytes, const int *descriptors, size_t count);

#endif

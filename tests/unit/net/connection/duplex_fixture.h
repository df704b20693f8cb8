#ifndef JPEER_TESTS_UNIT_NET_CONNECTION_DUPLEX_FIXTURE_H
#define JPEER_TESTS_UNIT_NET_CONNECTION_DUPLEX_FIXTURE_H
/* Clients over socket pairs, by WebSocket or shared memory, with a service that calls its clients back. */
#include "duplex_service.h"
#include "net/connection/connection_table.h"
#include "net/http/http_protocol.h"
#include "net/shm/shm_protocol.h"

struct duplex_options {
  unsigned threads;
  unsigned threads_max;
  size_t message_max;      /* 0: 256 KiB */
  size_t send_buffer_max;  /* 0: 1 MiB */
  size_t input_max;        /* 0: 16 MiB */
  int64_t body_timeout_ms; /* 0: 60,000 */
  int64_t busy_timeout_ms; /* 0: 60,000 */
  size_t ring_size;        /* of shared memory; 0: the clients use WebSocket */
  int64_t poll_ns;         /* how long members busy-poll; 0: not at all */
};

struct duplex_fixture {
  struct duplex_options options;
  struct duplex_service s;
  struct crew *crew;
  struct input_budget input;
  _Atomic uint64_t connection_numbers;
  struct http_protocol http;
  struct shm_pool pool;
  struct connection_table table;
  atomic_bool has_no_ticks; /* the tick does nothing */
};

void duplex_fixture_open(struct duplex_fixture *f, struct duplex_options options);
/* Disconnects all clients, and ends the requests that still run. */
void duplex_fixture_close(struct duplex_fixture *f);
/* Drains and stops, like a server. */
void duplex_fixture_drain(struct duplex_fixture *f, int64_t grace_ms);

/* Returns the client's end of a new connection, whose protocol is HTTP. */
int duplex_connect_http(struct duplex_fixture *f);
/* Connects a client, handshake included. Returns its descriptor, which the test passes to duplex_leave. */
int duplex_connect(struct duplex_fixture *f);
void duplex_leave(int fd);
/* Connects a client as duplex_connect does, and gives its connection a duplex. */
int duplex_connect_open(struct duplex_fixture *f);
void duplex_send(int fd, const char *text);
/* Sends a malformed frame. */
void duplex_send_nonsense(int fd);
/* Sends several messages in one write; NULL-terminated. */
#define DUPLEX_SEND_TOGETHER(fd, ...) duplex_send_together((fd), (const char *const[]){__VA_ARGS__, NULL})
void duplex_send_together(int fd, const char *const *texts);
/* Receives the next message; false: the connection has ended. */
bool duplex_receive(int fd, char text[256]);
void duplex_expect(int fd, const char *text);
/* Expects these messages in this order. */
#define DUPLEX_EXPECT(fd, ...) duplex_expect_texts((fd), (const char *const[]){__VA_ARGS__, NULL})
void duplex_expect_texts(int fd, const char *const *texts);
static inline void duplex_ask(int fd, const char *text, const char *answer)
{
  duplex_send(fd, text);
  duplex_expect(fd, answer);
}
/* Expects a call; returns its number. */
unsigned duplex_expect_call(int fd);
/* Requests a call on the serving thread; returns its number. */
static inline unsigned duplex_call(int fd)
{
  duplex_send(fd, "call 1");
  return duplex_expect_call(fd);
}
/* Sends a request that is nested in the call. */
void duplex_nest(int fd, unsigned number, const char *text);
/* Requests a call of a foreign thread; returns its number. The call may arrive before the answer to the request. */
unsigned duplex_spawn(int fd);
void duplex_answer(int fd, unsigned number, const char *text);
/* Receives until the connection has ended; all messages are ignored. */
void duplex_expect_end(int fd);

#endif

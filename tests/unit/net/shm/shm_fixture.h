#ifndef JPEER_TESTS_UNIT_NET_SHM_SHM_FIXTURE_H
#define JPEER_TESTS_UNIT_NET_SHM_SHM_FIXTURE_H
/* A server of connections over a socket pair, with the stub service behind it, and a client that is the other end of
 * the rings. "stream" and "broken stream" are what they say; the stub serves all else. */
#include "base/clock.h"
#include "net/connection/connection_table.h"
#include "net/http/http.h"
#include "net/shm/shm.h"
#include "net/websocket/websocket.h"
#include "ring/region.h"
#include "stub_service.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
  MESSAGE_MAX = 1024 * 1024,
  INPUT_MAX = 8 * 1024 * 1024,
  TICK_MS = 5,
  WAIT_SECONDS = 60,
  SHORT_MS = 3000
};
enum { RING_SIZE = 4 * RING_SIZE_STEP, CONNECTIONS = 100 };

struct fixture {
  struct stub stub; /* first: the service's context */
  struct rpc_service service;
  struct rpc_service stub_service;
  struct rpc_codec codec;
  const struct rpc_codec *codecs[RPC_CODECS];
  struct crew *crew;
  struct input_budget input;
  struct shm_pool pool;
  struct http_protocol http;
  struct connection_table table;
  _Atomic int parts; /* that streams have made */

  /* The client. */
  int fd;
  struct ring_region region;
  struct ring_writer out;
  struct ring_reader in;
};

/* --- the server --- */

int shm_fixture_open(void **state);
/* The smallest rings, and memory for one connection. */
int shm_fixture_open_small(void **state);
/* All deadlines are SHORT_MS. */
int shm_fixture_open_impatient(void **state);
/* There is no shared memory. */
int shm_fixture_open_without(void **state);
/* 64 KiB of input of all clients. */
int shm_fixture_open_short_of_input(void **state);
/* Memory for CONNECTIONS, which is given back soon. */
int shm_fixture_open_large(void **state);
int shm_fixture_close(void **state);
/* The client's end of a new connection. */
int connect_client(struct fixture *f);

/* --- the client --- */

#define REQUEST_OF(method, fields)                                                                           \
  method " /rpc HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: jpeer-shm/1\r\n" fields "\r\n"
#define REQUEST REQUEST_OF("GET", "")

void send_text(int fd, const char *text);
/* What comes first on the socket, and the descriptor beside it, or -1. */
int receive_head(int fd, char *head, size_t room);
/* Asks for shared memory over f->fd and maps it. */
void begin_sharing(struct fixture *f);
void ring_peer(struct fixture *f);
void show_written(struct fixture *f);
/* Waits for room, as long as it takes. */
void send_frames(struct fixture *f, const struct buffer *frames);
void send_message(struct fixture *f, struct text message);
/* Appends the payload of the next frame, and returns its kind; 0: the peer has ended the connection. */
uint32_t receive_frame(struct fixture *f, struct buffer *payload);
void expect_frame(struct fixture *f, uint32_t kind, struct text wanted);
void expect_answer(struct fixture *f, struct text wanted);
/* The peer says why, and closes its side of the socket. */
void expect_end(struct fixture *f, const char *reason);

#endif

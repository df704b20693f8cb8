#ifndef JPEER_TESTS_UNIT_NET_SHM_RING_CLIENT_H
#define JPEER_TESTS_UNIT_NET_SHM_RING_CLIENT_H
/* A client of shared memory: the other end of the rings. One thread. */
#include "base/buffer.h"
#include "ring/region.h"

struct ring_client {
  int fd; /* the socket: of the caller, who closes it */
  struct ring_region region;
  struct ring_writer out;
  struct ring_reader in;
};

#define RING_REQUEST_OF(method, fields)                                                                      \
  method " /rpc HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: jpeer-shm/1\r\n" fields "\r\n"
#define RING_REQUEST RING_REQUEST_OF("GET", "")

void send_text(int fd, const char *text);
/* What comes first on the socket, and the descriptor beside it, or -1. */
int receive_head(int fd, char *head, size_t room);
/* Asks for shared memory over c->fd and maps it; the caller unmaps it. */
void begin_sharing(struct ring_client *c);
void ring_peer(struct ring_client *c);
void show_written(struct ring_client *c);
/* Waits for room, as long as it takes. */
void send_frames(struct ring_client *c, const struct buffer *frames);
void send_message(struct ring_client *c, struct text message);
/* Appends the payload of the next frame, and returns its kind; 0: the peer has ended the connection. */
uint32_t receive_frame(struct ring_client *c, struct buffer *payload);
void expect_frame(struct ring_client *c, uint32_t kind, struct text wanted);
void expect_answer(struct ring_client *c, struct text wanted);
/* The peer says why, and closes its side of the socket. */
void expect_end(struct ring_client *c, const char *reason);

#endif

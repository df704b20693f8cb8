#ifndef JPEER_TESTS_UNIT_NET_SHM_RING_CLIENT_H
#define JPEER_TESTS_UNIT_NET_SHM_RING_CLIENT_H
/* A client over shared memory. */
#include "tests/unit/ring_end.h"

#define RING_REQUEST_OF(method, fields)                                                                      \
  method " /rpc HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: jpeer-shm/1\r\n" fields "\r\n"
#define RING_REQUEST RING_REQUEST_OF("GET", "")

void send_text(int fd, const char *text);
/* Receives the head of the peer's response. Returns the descriptor that was sent with it, or -1. */
int receive_head(int fd, char *head, size_t room);
/* Requests shared memory over c->fd and maps it; the caller unmaps it. */
void begin_sharing(struct ring_end *c);
void send_frames(struct ring_end *c, const struct buffer *frames);
void send_message(struct ring_end *c, struct text message);
void expect_frame(struct ring_end *c, uint32_t kind, struct text wanted);
void expect_answer(struct ring_end *c, struct text wanted);
static inline void expect_echo(struct ring_end *c, struct text message)
{
  send_message(c, message);
  expect_answer(c, message);
}
/* Expects an end frame with the reason, and the end of the peer's side of the socket. */
void expect_end(struct ring_end *c, const char *reason);

#endif

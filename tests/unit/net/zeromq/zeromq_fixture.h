#ifndef JPEER_TESTS_UNIT_NET_ZEROMQ_ZEROMQ_FIXTURE_H
#define JPEER_TESTS_UNIT_NET_ZEROMQ_ZEROMQ_FIXTURE_H
/*
 * A ZeroMQ socket with a crew over the stub service (stub_service.h), and clients of it. The functions of a
 * fixture are cmocka's set-ups and tear-down.
 */
#include "net/zeromq/zeromq.h"
#include "net/zeromq/zeromq_state.h"
#include "stub_service.h"
#include "unit.h"

enum {
  MESSAGE_MAX = 1000,
  PENDING_MAX = 50,
  LARGE_ANSWER = 64 * 1024,
  INPUT_MAX_TOTAL = 16 * 1024 * 1024,
  CLIENTS_MAX = 8
};

struct zeromq_fixture {
  struct stub stub;
  struct rpc_service service;
  struct crew *crew;
  struct zeromq *zeromq;
  char address[ZEROMQ_ADDRESS_MAX];
  void *context; /* the clients' */
  void *clients[CLIENTS_MAX];
  struct input_budget input;
  _Atomic bool tick_is_rare; /* a second apart */
  _Atomic bool never_ticks;
  int64_t last_tick_ms; /* the watcher's */
};

int open_fixture(void **state);
/* Takes large messages, and holds few bytes for a client that does not read them. */
int open_narrow_fixture(void **state);
/* Takes large messages, and holds some of them. */
int open_wide_fixture(void **state);
int close_fixture(void **state);

/* A socket of the clients' context; what a failed test leaves open is closed with the fixture. */
void *open_client(struct zeromq_fixture *f, int type);
/* The same, connected. */
void *connect_client(struct zeromq_fixture *f, int type);
void close_client(struct zeromq_fixture *f, void *socket);
void send_text(void *socket, const char *text, int flags);
/* Receives this one frame, and no more. */
void expect_text(void *socket, const char *wanted);

#define ZEROMQ_TEST(name, open) UNIT_TEST_OF(name, struct zeromq_fixture *f, open, close_fixture)

#endif

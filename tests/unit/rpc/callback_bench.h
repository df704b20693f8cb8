#ifndef JPEER_TESTS_UNIT_RPC_CALLBACK_BENCH_H
#define JPEER_TESTS_UNIT_RPC_CALLBACK_BENCH_H
/*
 * The peer's service over the stubs of jni, with clients that can be called. Messages that the peer sends to
 * a client are kept for the test, and the test passes messages to the service like a transport.
 */
#include "rpc/callbacks/callbacks.h"
#include "service_bench.h"
#include "stub_callbacks.h"

#include <pthread.h>

/* A client's connection. */
struct rpc_duplex {
  struct service_bench *bench;
  struct rpc_client *client;
  struct rpc_callbacks *callbacks; /* NULL: the client has given no callback */
  pthread_mutex_t lock;
  pthread_cond_t sent_one;
  /* messages that were not read yet, each with its kind's letter before it and a newline after it */
  struct buffer sent;
  size_t count; /* of messages that were sent */
  bool has_no_room;
  bool is_closed;
  size_t answer_max;      /* of an answer to a nested request; 0: any */
  size_t too_long;        /* messages of this length never fit; 0: all do */
  _Atomic int calls_open; /* calls that were sent and are not settled */
  _Atomic int opened;     /* calls that were opened and are not closed */
};

/* The client of a test, and cmocka's fixtures for it over a class C that keeps its arguments. In the second
 * fixture the client gives the callback 7. Its proxy is released at the very end, which may happen in Java,
 * too. */
extern struct rpc_duplex *duplex;
extern uint64_t proxy_of_7; /* 0: not given, or the test releases it */
int duplex_set_up(void **state);
int duplex_set_up_with_7(void **state);
int duplex_tear_down(void **state);

struct rpc_duplex *bench_connect(struct service_bench *bench);
/* Connects a client with the session of this name; NULL: without a name. */
struct rpc_duplex *bench_connect_named(struct service_bench *bench, const char *peer_id);
/* Closes the client, if it is not closed yet, and frees the connection. The connection must not be used
 * afterwards. */
void bench_disconnect(struct rpc_duplex *duplex);
/* Closes only the client, not the connection. */
void bench_close_client(struct rpc_duplex *duplex);

/* Serves a request that gives an object of the ID, and makes a proxy of it; returns its number. */
uint64_t bench_give(struct rpc_duplex *duplex, int64_t id);
/* Serves a message; the answer is in the bench's out. */
enum rpc_served bench_serve_from(struct rpc_duplex *duplex, const char *message);

/* Passes a message of the client to the service. If `receive` makes an answer for the client, this answer
 * counts as sent. */
enum rpc_received bench_receive(struct rpc_duplex *duplex, struct buffer *message);
enum rpc_received bench_receive_text(struct rpc_duplex *duplex, const char *message);
/* Waits for the next message that is sent, and removes it: "C{...}" a call, "E" an event, "A" an answer,
 * "N" a notice, "R" a refusal by `receive`. The caller frees it with free. */
char *bench_read_sent(struct rpc_duplex *duplex);
/* Fails if the next message is another message, or no message was sent yet. */
void assert_sent(struct rpc_duplex *duplex, const char *wanted);
void assert_nothing_sent(struct rpc_duplex *duplex);

/* A call of the client's object that was sent; the test polls for its answer. */
struct rpc_callback_call *bench_hold_call(struct rpc_duplex *duplex, int64_t id, uint64_t proxy);

struct rpc_callbacks *bench_callbacks(const struct rpc_duplex *duplex);

#endif

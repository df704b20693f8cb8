#ifndef JPEER_TESTS_UNIT_NET_CONNECTION_DUPLEX_SERVICE_H
#define JPEER_TESTS_UNIT_NET_CONNECTION_DUPLEX_SERVICE_H
/*
 * A service that calls its clients back and has no JVM.
 *
 * Its messages, N a number:
 *   open          gives a callback, so that the connection has a duplex; "opened"
 *   call N        calls the client N times, one call after the other, on the thread that serves; "got TEXT" of the last,
 *                 "gone", or after 50 ms "timeout"
 *   leave and call  waits until requests may leave, and then calls as "call 1"
 *   spawn         a thread that is none of the crew calls the client; "spawned"
 *   join          waits for all such threads as Java would, in no callback; "joined" and the text of the last answer
 *   events N      sends N events on the thread that serves; "sent"
 *   stay N        sends N events on the thread that serves, and stays until requests may leave; "left", or "forgotten"
 *                 where some are held back and no thread was asked to send them
 *   call and stay N  the same, after two events and a call
 *   mix N         sends two events and calls, N times, on the thread that serves; "asked N", the number of times for which
 *                 a thread was asked to send the second event
 *   spray N       a thread that is none of the crew sends N events; "spraying"
 *   block         blocks until the test lets go; "block"
 *   wait          the same, in a wait that no callback is the reason of; "wait"
 *   wait and call  the same, until input was read ahead up to the bound; then a thread that is none of the crew calls just
 *                 before the waiting one sleeps: "reads", or "deaf" if that sleeps
 *   nap           takes about as long as it takes until input is read ahead; "nap"
 *   stream        an answer in parts: "<", three times "part " and ">"
 *   broken stream  fails behind "<"
 *   name          "named", also beside a request that is served
 *   #N TEXT       the answer to call N
 *   @N TEXT       a request that is nested in call N; "nested TEXT", and so much deeper for "@N call"
 * All else comes back. A call is "call N", an event "event N" with numbers of its thread. Where a send finds no room its
 * thread waits for it.
 */
#include "stub_service.h"

#include <pthread.h>

enum { DUPLEX_CALLS = 8192, DUPLEX_TEXT = 64, DUPLEX_THREADS = 64 };

struct duplex_service;

struct rpc_callbacks {
  struct duplex_service *service;
  struct rpc_duplex *duplex; /* NULL before "open" */
  const struct rpc_push *push;
  void *connection;
  bool is_gone;
  unsigned rooms; /* how often has_room was told */
  unsigned holders;
};

struct rpc_client {
  struct rpc_callbacks *callbacks;
};

enum call_state { CALL_FREE, CALL_OPEN, CALL_ANSWERED, CALL_GONE };

struct open_call {
  enum call_state state;
  struct rpc_callbacks *callbacks;
  const struct rpc_waits *waits; /* NULL: of a thread that is none of the crew */
  char answer[DUPLEX_TEXT];
  char nested[DUPLEX_TEXT]; /* a request; "": none */
};

struct duplex_service {
  struct stub stub; /* first: the service's context */
  struct rpc_service service;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  struct open_call calls[DUPLEX_CALLS]; /* by number; 0 is none */
  unsigned call_count;
  const struct rpc_waits *for_room[DUPLEX_THREADS]; /* crew threads that wait for room; NULL: a free place */
  atomic_bool may_leave;                            /* requests that stay */
  pthread_t threads[DUPLEX_THREADS];
  unsigned thread_count;
  char joined[DUPLEX_TEXT];
  _Atomic int parts;       /* of a stream, which are left; -1: it breaks */
  _Atomic int dropped;     /* answers to calls that are not open */
  _Atomic int unread;      /* messages that were refused */
  _Atomic int gone;        /* calls that ended for want of a client */
  _Atomic int inside_join; /* threads in "join" */
};

void duplex_service_open(struct duplex_service *s);
/* After the crew. */
void duplex_service_close(struct duplex_service *s);
/* Waits for the threads that are none of the crew. */
void duplex_service_join(struct duplex_service *s);

#endif

#ifndef JPEER_TESTS_UNIT_NET_CONNECTION_DUPLEX_SERVICE_H
#define JPEER_TESTS_UNIT_NET_CONNECTION_DUPLEX_SERVICE_H
/*
 * A service without a JVM that calls its clients back.
 *
 * The requests, and in quotes their answers; N is a number. "Foreign": a thread that is not a member of the crew.
 *   open          contains a callback, so that the connection gets a duplex; "opened"
 *   call N        calls the client N times, one call after the other, on the serving thread; "got TEXT" of the last
 *                 answer, "gone", or after 50 ms "timeout"
 *   leave and call  waits until requests may leave, and then calls as "call 1"
 *   spawn         a foreign thread calls the client; "spawned"
 *   join          waits for all foreign threads, outside of any callback, as Java would; "joined" and the text of
 *                 the last answer
 *   events N      sends N events on the serving thread; "sent"
 *   stay N        sends N events on the serving thread, and stays until requests may leave; "left", or "forgotten" if
 *                 events are held back and no thread was asked to send them
 *   call and stay N  sends two events and a call, and then does the same as "stay N"
 *   mix N         sends two events and calls, N times, on the serving thread; "asked N": how often a thread was asked
 *                 to send the second event
 *   spray N       a foreign thread sends N events; "spraying"
 *   block         blocks until stub_release; "block"
 *   wait          blocks until stub_release, in a wait that is not for a callback; "wait"
 *   wait and call  waits in the same way until input was read ahead up to the bound. Then a foreign thread calls
 *                 just before the waiting thread sleeps; "reads", or "deaf" if the waiting thread sleeps
 *   nap           lasts about as long as the time until input is read ahead; "nap"
 *   stream        an answer in parts: "<", three times "part " and ">"
 *   broken stream  fails after "<"
 *   no memory     no answer, because there is no memory for its second half
 *   name          "named", also during another request
 *   #N TEXT       the answer to call N
 *   @N TEXT       a request that is nested in call N; "nested TEXT". "@N call" nests a call once more
 * All other messages are echoed. A call is sent as "call N", an event as "event N", numbered by thread. If a send finds
 * no room, the thread waits for room.
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
  unsigned rooms; /* how often has_room was called */
  unsigned holders;
};

struct rpc_client {
  struct rpc_callbacks *callbacks;
};

enum call_state { CALL_FREE, CALL_OPEN, CALL_ANSWERED, CALL_GONE };

struct open_call {
  enum call_state state;
  struct rpc_callbacks *callbacks;
  const struct rpc_waits *waits; /* NULL: of a foreign thread */
  char answer[DUPLEX_TEXT];
  char nested[DUPLEX_TEXT]; /* a request; "": no request */
};

struct duplex_service {
  struct stub stub; /* first: the service's context */
  struct rpc_service service;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  struct open_call calls[DUPLEX_CALLS]; /* by number; 0 is not used */
  unsigned call_count;
  /* members that wait for room; NULL: the element is free */
  const struct rpc_waits *for_room[DUPLEX_THREADS];
  atomic_bool may_leave; /* "stay" and "leave" requests may end */
  pthread_t threads[DUPLEX_THREADS];
  unsigned thread_count;
  char joined[DUPLEX_TEXT];
  _Atomic int parts;       /* remaining parts of a stream; -1: it breaks */
  _Atomic int dropped;     /* answers to calls that are not open */
  _Atomic int unread;      /* messages that were refused */
  _Atomic int gone;        /* calls that ended because their client had gone */
  _Atomic int inside_join; /* threads in "join" */
};

void duplex_service_open(struct duplex_service *s);
/* Called after the end of the crew. */
void duplex_service_close(struct duplex_service *s);
/* Waits for the foreign threads. */
void duplex_service_join(struct duplex_service *s);

#endif

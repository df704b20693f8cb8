#ifndef JPEER_CLIENT_CALLBACK_GROUP_H
#define JPEER_CLIENT_CALLBACK_GROUP_H
/*
 * A table of callbacks by id. All clients with the same jp_client_config.process share a group; a client
 * without a process has a group of its own. Internal to client_callbacks.c.
 *
 * Lock order: first a client's lock, then its group's lock. A thread that holds a group's lock takes no other
 * lock and calls no function of the program.
 */
#include "base/buffer.h"
#include "base/transitions.h"
#include "jpeer/client.h"

#include <pthread.h>

/*
 * Who holds a callback. Under the lock of its group.
 *
 * | state             | meaning                                                         | what ends it           |
 * | CALLBACK_HELD     | the program holds the callback: holds > 0                       | the last release       |
 * | CALLBACK_RELEASED | Java, calls, chains or messages hold it (given, users, awaited) | jp_callback_keep,      |
 * |                   |                                                                 | jp_answer_keep_        |
 * |                   |                                                                 | callback; the last     |
 * |                   |                                                                 | holder's release       |
 * | CALLBACK_ENDED    | nobody holds it: it is in callbacks->ended, and then freed      | nothing                |
 */
enum callback_state {
  CALLBACK_HELD,     /* the program holds the callback */
  CALLBACK_RELEASED, /* the program has released the callback; Java, calls, chains or messages hold it */
  CALLBACK_ENDED     /* nobody holds the callback */
};

struct jp_callback {
  /* Constant. */
  struct callback_group *group; /* lives as long as `client` */
  struct jp_client *client;     /* the client that has made the callback; the callback holds it */
  int64_t id;
  jp_callback_function *function;
  void (*released)(void *context);
  void *context;
  bool is_borrowed; /* the peer itself releases the references in its arguments */
  struct buffer interfaces;
  struct buffer facts;

  /* Under the lock of the group: */
  enum callback_state state;
  size_t holds; /* handles that the program has not released */
  size_t users; /* calls that are not over, and uses in chains */
  /* the number of arguments with this callback that were sent on the group's connections and that Java has
   * not released */
  uint64_t given;

  /* The number of messages with this callback for whose answer a thread waits, and the last of these
   * threads. */
  size_t awaited;
  pthread_t sender;
  bool has_many_senders; /* several threads have sent the callback since `awaited` was 0 */

  /* the next callback in the same place of the table, or in the list of ended callbacks */
  struct jp_callback *next;

  /* Under the client's lock. Events run one at a time, in order. The events of this list wait for the event
   * that runs now or runs next. */
  bool has_event; /* true whenever first_event is not NULL */
  struct jp_callback_call *first_event;
  struct jp_callback_call *last_event;
};

/* The length of the text that names a process to the peer (docs/callbacks.md, "A process with several
 * connections"). */
enum { PROCESS_LENGTH_MIN = 22, PROCESS_LENGTH_MAX = 128 };

struct callback_group {
  pthread_mutex_t lock;
  char *name; /* NULL: the group of one client. Constant */

  /* Under the lock of the groups: */
  size_t clients;
  struct callback_group *next;

  /* Under the group's lock: */
  struct jp_callback **places; /* by id; entries with the same place form a list */
  size_t capacity;             /* a power of two, or 0 */
  size_t count;
  int64_t last_id;
  uint64_t number;    /* the peer's number for the clients; 0: unknown */
  size_t connections; /* open connections of the clients */

  /* The name of the process for the peer: `name`, and a random generation. The generation changes when a
   * first connection opens after there was none. The peer may notice late that the last connection has ended,
   * and until then it keeps the callback counts of that process. A new generation is another process for the
   * peer, so these counts are not mixed with the new ones. Constant while there are connections. */
  char process[PROCESS_LENGTH_MAX + 1];
};

/* Returns the group of that name, or a new group; name NULL: a group without a name. Leave it with
 * callback_group_leave. NULL: no memory. */
struct callback_group *callback_group_enter(const char *name);
void callback_group_leave(struct callback_group *group); /* NULL is fine */

/* --- under the group's lock --- */

/* Gives the callback an id. False: no memory. */
bool callback_group_add(struct callback_group *group, struct jp_callback *callback);
/* Counts one more open connection of the group's process. */
void callback_group_connect(struct callback_group *group);
void callback_group_remove(struct callback_group *group, const struct jp_callback *callback);
/* NULL: there is none. */
struct jp_callback *callback_group_find(const struct callback_group *group, int64_t id);
void callback_set_state(struct jp_callback *callback, enum callback_state to);

#endif

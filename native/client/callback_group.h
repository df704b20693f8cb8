#ifndef JPEER_CLIENT_CALLBACK_GROUP_H
#define JPEER_CLIENT_CALLBACK_GROUP_H
/*
 * The callbacks that some clients share, by their ids: those of the clients that have the same jp_client_config.process, or of
 * one client. Internal to client_callbacks.c.
 *
 * The lock of a group comes after that of a client: a thread that has it takes no other, and calls nothing of the program.
 */
#include "base/buffer.h"
#include "base/transitions.h"
#include "jpeer/client.h"

#include <pthread.h>

/*
 * Who keeps a callback. Under the lock of its group.
 *
 * | state             | what holds                                                     | who leaves it, on what |
 * | CALLBACK_HELD     | the program holds the callback: holds > 0                      | the last release       |
 * | CALLBACK_RELEASED | Java, calls, chains or messages hold it (given, users, giving) | jp_callback_keep,      |
 * |                   |                                                                | jp_answer_keep_        |
 * |                   |                                                                | callback; the last of  |
 * |                   |                                                                | these                  |
 * | CALLBACK_ENDED    | nobody holds it: it is in callbacks->ended, and then freed     | nobody                 |
 */
enum callback_state {
  CALLBACK_HELD,     /* the program holds the callback */
  CALLBACK_RELEASED, /* the program has released the callback; Java, calls, chains or messages still hold it */
  CALLBACK_ENDED     /* nobody holds the callback */
};

struct jp_callback {
  /* Constant. */
  struct callback_group *group; /* as long as `client` */
  struct jp_client *client;     /* that has created it; it is a holder */
  int64_t id;
  jp_callback_function *function;
  void (*released)(void *context);
  void *context;
  bool is_borrowed; /* the peer itself releases the references of its arguments */
  struct buffer interfaces;
  struct buffer facts;

  /* Under the lock of the group: */
  enum callback_state state;
  size_t holds;   /* that the program has and has not released */
  size_t users;   /* calls that are not over, and places in chains */
  uint64_t given; /* arguments that gave it on the connections of the group and that Java has not released */

  /* Messages that gave it and are waited for, and the thread that waits, where all of them are one's. */
  size_t giving;
  pthread_t giver;
  bool has_many_givers; /* of several threads since `giving` was 0 */

  struct jp_callback *next; /* in its place of the table, or in the list of those that have ended */

  /* Under the client's lock. Events run one at a time, in order: these wait for the one that runs or is about to. */
  bool has_event; /* always where first_event is not NULL */
  struct jp_callback_call *first_event;
  struct jp_callback_call *last_event;
};

/* Of the text that names a process to the peer (docs/callbacks.md, "A process with several connections"). */
enum { PROCESS_LENGTH_MIN = 22, PROCESS_LENGTH_MAX = 128 };

struct callback_group {
  pthread_mutex_t lock;
  char *name; /* NULL: of one client. Constant */

  /* Under the lock of the groups: */
  size_t clients;
  struct callback_group *next;

  /* Under the group's lock: */
  struct jp_callback **places; /* by id; those of one place are a list */
  size_t capacity;             /* a power of two, or 0 */
  size_t count;
  int64_t last_id;
  uint64_t number;    /* what the peer calls the clients; 0: it is not known */
  size_t connections; /* of the clients, that are open */

  /* Names the process to the peer: `name` and a random generation, a new one when the first connection is opened. The peer's
   * process outlives the last connection until the peer has seen the end of that, and knows callbacks by their former
   * counts: a new connection must not become one of that process. Constant while there are connections. */
  char process[PROCESS_LENGTH_MAX + 1];
};

/* The group of that name, or a new one; NULL: one without a name. Left with callback_group_leave. NULL: no memory. */
struct callback_group *callback_group_enter(const char *name);
void callback_group_leave(struct callback_group *group); /* NULL is fine */

/* --- under the group's lock --- */

/* Gives the callback an id. False: no memory. */
bool callback_group_add(struct callback_group *group, struct jp_callback *callback);
/* One more connection of the clients: it is of the group's process. */
void callback_group_connect(struct callback_group *group);
void callback_group_remove(struct callback_group *group, const struct jp_callback *callback);
/* NULL: there is none. */
struct jp_callback *callback_group_find(const struct callback_group *group, int64_t id);
void callback_set_state(struct jp_callback *callback, enum callback_state to);

#endif

#ifndef JPEER_CLIENT_CLIENT_CALLBACKS_H
#define JPEER_CLIENT_CLIENT_CALLBACKS_H
/*
 * The program's objects that Java can hold, and the calls that Java makes to them. Under the client's lock,
 * except where a comment says otherwise.
 */
#include "client/messages/callback_message.h"

#include <pthread.h>

struct waiter;

/* A list of callbacks. The list contains a callback once for each time that it is given. All zero: empty. */
struct callback_list {
  struct jp_callback **items;
  size_t count;
  size_t capacity;
};

/* Records the callbacks in a message while the message is written. */
struct callback_recorder {
  struct message_callbacks callbacks; /* first */
  struct jp_client *client;
  struct callback_list list;
};

struct callback_listener {
  struct callback_reader reader; /* first */
  struct jp_client *client;
};

struct client_callbacks {
  struct callback_group *group; /* constant */
  bool is_refused;              /* the peer refused this connection's process: no callbacks until it ends */
  struct callback_recorder recorder;
  struct jp_callback *ended; /* callbacks whose `released` is not called yet */

  struct callback_listener listener;
  uint64_t last_number; /* number of calls read so far */
  /* The list of calls that no thread runs yet. Queued events of a busy callback are not in this list. */
  struct jp_callback_call *first;
  struct jp_callback_call *last;
  size_t waiting; /* the number of calls that have not started, and the total size of their messages */
  size_t waiting_size;
  struct jp_callback_call *running; /* of each thread the innermost call is first */
  struct waiter *requesters;        /* waiters whose requests are in flight, the oldest first */
  struct waiter *last_requester;
  struct jp_callback_call *free_calls;
  size_t free_count;
  /* Set when jp_client_close begins, while the connection is still open: new calls are refused. */
  bool is_closing;
};

void callbacks_init(struct jp_client *client);
/* Call once, before the client connects. process: as in jp_client_config. False: no memory. */
bool callbacks_enter_process(struct jp_client *client, const char *process);
/* Call when no callback of the client exists any more. */
void callbacks_fini(struct jp_client *client);
/* Called when the client has connected. */
void callbacks_begin_connection(struct jp_client *client);
/* Called when the connection has ended. If the process has no other connection, its callbacks count as
 * released by Java. */
void callbacks_end_connection(struct jp_client *client);
/* Sets the number that the peer uses to mark the client's own callbacks. */
void callbacks_learn_number(struct jp_client *client, uint64_t number);
/* Called when the peer has refused the connection's process. */
void callbacks_refuse(struct jp_client *client);
/* Calls `released` of the callbacks that have ended. Releases the lock during each call; the caller must be a
 * holder of the client. */
void callbacks_report_ended(struct jp_client *client);

/* Begins recording the callbacks of a message. NULL: the connection has no callbacks. */
struct message_callbacks *callbacks_begin_message(struct jp_client *client);
/* Records one more callback of the message. False: no memory. */
bool callbacks_give(struct jp_client *client, struct jp_callback *callback);
/* Called when the message is complete. waiter: the thread that waits for the answer; NULL: no thread
 * waits. */
void callbacks_end_message(struct jp_client *client, struct waiter *waiter);
/* Called when the wait is over, even if it has timed out. */
void callbacks_end_wait(struct jp_client *client, struct waiter *waiter);

/* Called without the lock. Adds the callback to a chain's list. The list then holds the callback.
 * JP_CLIENT_INVALID, JP_CLIENT_UNSUPPORTED, JP_CLIENT_CLOSED, JP_CLIENT_NO_MEMORY. */
enum jp_client_status callback_list_keep(struct callback_list *list, struct jp_client *client,
                                         const struct jp_callback *callback, struct message_callback *form,
                                         struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* Called without the lock. Releases the list's callbacks and empties the list. */
void callback_list_drop(struct callback_list *list);

/* Handles a message of the peer that has a method. */
enum jp_client_status callback_accept_message(struct jp_client *client, struct json_value message,
                                              struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* Returns the id of the call in which this thread's requests are nested. If several callback functions are on
 * the thread's stack, this is the innermost open call. Absent: the requests are not nested. */
struct text callback_within(const struct jp_client *client);
/* Runs one call that this thread may run, or reports callbacks that have ended. Releases the lock during that
 * time, and another thread reads for all. False: there was nothing to do. */
bool callback_run_one(struct jp_client *client, struct waiter *waiter);
/* Runs the queued calls that jp_client_process may run. */
void callback_run_waiting(struct jp_client *client);
/* True if jp_client_process may run a queued call. */
bool callback_has_waiting(const struct jp_client *client);
/* From now on calls may originate from the waiter's requests. */
void callback_add_requester(struct jp_client *client, struct waiter *waiter);
void callback_remove_requester(struct jp_client *client, struct waiter *waiter);
/* Ends the calls that cannot be answered any more. is_closing: also ends events, and refuses new calls. */
void callback_calls_end(struct jp_client *client, bool is_closing);

#endif

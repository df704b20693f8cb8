#ifndef JPEER_CLIENT_CLIENT_CALLBACKS_H
#define JPEER_CLIENT_CLIENT_CALLBACKS_H
/*
 * The objects of the program that Java can have, and the calls that Java makes. Under the client's lock, except where a
 * comment says otherwise.
 */
#include "client/messages/callback_message.h"

#include <pthread.h>

struct waiter;

/* Callbacks, each as often as it is given. All zero: empty. */
struct callback_list {
  struct jp_callback **items;
  size_t count;
  size_t capacity;
};

/* What a message gives while it is written. */
struct callback_giver {
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
  bool is_refused; /* the peer has not let this connection into its process: it gives none. Until it ends */
  struct callback_giver giver;
  struct jp_callback *ended; /* their `released` is to be called */

  struct callback_listener listener;
  uint64_t last_number; /* of the calls that were read */
  /* Those that no thread has in hand; events that come after others are not among them. */
  struct jp_callback_call *first;
  struct jp_callback_call *last;
  size_t waiting; /* that do not run yet, wherever they are, and the size of their messages */
  size_t waiting_size;
  struct jp_callback_call *running; /* of each thread the innermost is first */
  struct waiter *asking;            /* the requests that threads wait for, the oldest first */
  struct waiter *last_asking;
  struct jp_callback_call *free_calls;
  size_t free_count;
  /* Calls are refused: from the farewell on, for which the connection is still open, so that no client_state says it. */
  bool is_closing;
};

void callbacks_init(struct jp_client *client);
/* Once, before it is connected. process: of jp_client_config. False: no memory. */
bool callbacks_enter_process(struct jp_client *client, const char *process);
/* Nobody has one any more. */
void callbacks_fini(struct jp_client *client);
/* There is a connection. */
void callbacks_begin_connection(struct jp_client *client);
/* The connection has ended: Java has released all callbacks that no other connection of the process has. */
void callbacks_end_connection(struct jp_client *client);
/* The number by which the peer tells the client's own callbacks from those of others. */
void callbacks_learn_number(struct jp_client *client, uint64_t number);
/* The peer has not let the connection into its process. */
void callbacks_refuse(struct jp_client *client);
/* Calls the `released` of those that have ended. The lock is let go of meanwhile; the caller holds the
 * client. */
void callbacks_report_ended(struct jp_client *client);

/* Whom a message that is being written tells of its callbacks; NULL: the connection has none. */
struct message_callbacks *callbacks_begin_message(struct jp_client *client);
/* Gives one more of that which is being written. False: no memory. */
bool callbacks_give(struct jp_client *client, struct jp_callback *callback);
/* The message leaves. waiter: who waits for its answer; NULL: nobody. */
void callbacks_end_message(struct jp_client *client, struct waiter *waiter);
/* The wait is over, in time or not. */
void callbacks_end_wait(struct jp_client *client, struct waiter *waiter);

/* Without the lock: for chains, which keep what they give. JP_CLIENT_INVALID, JP_CLIENT_UNSUPPORTED,
 * JP_CLIENT_CLOSED, JP_CLIENT_NO_MEMORY. */
enum jp_client_status callback_list_keep(struct callback_list *list, struct jp_client *client,
                                         const struct jp_callback *callback, struct message_callback *form,
                                         struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* Without the lock. */
void callback_list_drop(struct callback_list *list);

/* A message of the peer that has a method. */
enum jp_client_status callback_take_message(struct jp_client *client, struct json_value message,
                                            struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* The id of the call that the requests of this thread are nested in: of the innermost function that runs on it and whose
 * call is open; absent: there is none. */
struct text callback_within(const struct jp_client *client);
/* Runs one call that is the thread's to run, or reports callbacks that have ended. The lock is let go of
 * meanwhile; another thread reads for all. False: there is nothing of that. */
bool callback_run_one(struct jp_client *client, struct waiter *waiter);
/* Runs those that have come for nobody who waits. */
void callback_run_waiting(struct jp_client *client);
/* There are some. */
bool callback_has_waiting(const struct jp_client *client);
/* The thread waits for requests from now on: calls may come from them. */
void callback_begin_asking(struct jp_client *client, struct waiter *waiter);
void callback_end_asking(struct jp_client *client, struct waiter *waiter);
/* Nobody can answer those that are open. is_closing: events end, too, and what comes is refused. */
void callback_calls_end(struct jp_client *client, bool is_closing);

#endif

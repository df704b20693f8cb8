#ifndef JPEER_CLIENT_CALLBACKS_H
#define JPEER_CLIENT_CALLBACKS_H
/*
 * The objects of the program that Java can have: callbacks.c has their table, and counts who has them;
 * callback_calls.c runs the calls that come. docs/architecture.md, "Callbacks in the client library".
 *
 * The client's lock guards all of it, except the constant members of a callback and those members of a call that
 * belong to the thread which runs it.
 */
#include "client/messages/callback_message.h"

#include <pthread.h>

struct waiter;

struct jp_callback {
  /* Constant. */
  struct jp_client *client; /* it is a holder */
  int64_t id;
  jp_callback_function *function;
  void (*released)(void *context);
  void *context;
  bool is_borrowed; /* the peer takes the tellings of its arguments back by itself */
  struct buffer interfaces;
  struct buffer facts;

  bool is_held;   /* by the program */
  bool has_ended; /* `released` is due, or has been called */
  size_t users;   /* calls that are not over, and places in chains */
  uint64_t given; /* arguments that gave it on this connection and that Java has not let go of */

  /* Messages that gave it and are waited for, and the thread that waits, where all of them are one's. */
  size_t giving;
  pthread_t giver;
  bool has_many_givers;

  /* Events run one at a time, in order: one is in hand, or runs, and these come after it. */
  bool has_event;
  struct jp_callback_call *first_event;
  struct jp_callback_call *last_event;

  struct jp_callback *next; /* in its place of the table, or in the list of those that have ended */
};

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

struct jp_callback_call {
  struct jp_client *client;     /* it is a holder */
  struct jp_callback *callback; /* NULL: its id names none any more */
  struct arena arena;
  struct text id; /* the JSON; data NULL: an event. In the arena, as the texts are */
  struct callback_texts texts;
  struct jp_answer **args; /* each is a holder */
  size_t arg_count;
  uint64_t connection; /* that it came on */
  uint64_t number;     /* calls are numbered as they are read */
  size_t size;         /* of its message */
  bool is_running;     /* the function has not returned */
  bool is_kept;        /* the program answers later */
  bool is_answered;    /* or cannot be any more */
  pthread_t thread;    /* that runs it */
  struct jp_callback_call *next;
};

struct callback_listener {
  struct callback_reader reader; /* first */
  struct jp_client *client;
};

struct client_callbacks {
  struct jp_callback **places; /* by id; those of one place are a list */
  size_t capacity;             /* a power of two, or 0 */
  size_t count;
  int64_t last_id;
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
  bool is_closing; /* calls are refused */
};

/* ---- callbacks.c ---- */

void callbacks_init(struct jp_client *client);
/* Nobody has one any more. */
void callbacks_fini(struct jp_client *client);
/* NULL: there is none. */
struct jp_callback *callback_find(const struct jp_client *client, int64_t id);
/* It may have been the last that kept it. */
void callback_drop_user(struct jp_callback *callback);
/* Java has let go of that many; false: it never had them. */
bool callback_take_release(struct jp_callback *callback, uint64_t given);
/* Java has let go of all of them. */
void callbacks_end_connection(struct jp_client *client);
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
/* Whose request has given it, while that is waited for: one thread's alone. */
bool callback_is_given_by(const struct jp_callback *callback, pthread_t *thread);

/* False: no memory. */
bool callback_list_add(struct callback_list *list, struct jp_callback *callback);
void callback_list_fini(struct callback_list *list);
/* Without the lock: for chains, which keep what they give. JP_CLIENT_INVALID, JP_CLIENT_UNSUPPORTED,
 * JP_CLIENT_CLOSED, JP_CLIENT_NO_MEMORY. */
enum jp_client_status callback_list_keep(struct callback_list *list, struct jp_client *client,
                                         const struct jp_callback *callback, struct message_callback *form,
                                         struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* Without the lock. */
void callback_list_drop(struct callback_list *list);

/* ---- callback_calls.c ---- */

enum { CALLBACK_FAILED = -32000 }; /* the code of a failure that the message did not cause */

void callback_calls_init(struct jp_client *client);
void callback_calls_fini(struct jp_client *client);
/* A message of the peer that has a method. */
enum jp_client_status callback_take_message(struct jp_client *client, struct json_value message,
                                            struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
static inline bool callback_is_event(const struct jp_callback_call *call)
{
  return call->id.data == NULL;
}

/* Java waits for its answer. */
bool callback_is_open(const struct jp_callback_call *call);
/* Answers that it was not run, or not answered, where Java waits. Does not flush. */
void callback_refuse(struct jp_callback_call *call, int code, const char *why);
/* Nobody has it any more. */
void callback_end_call(struct jp_callback_call *call);
/* The call that the requests of this thread are nested in: of the innermost function that runs on it and whose call
 * is open; NULL: there is none. */
const struct jp_callback_call *callback_outer(const struct jp_client *client);
/* Its id, or absent. */
struct text callback_within(const struct jp_client *client);

/* ---- callback_runs.c ---- */

/* Takes a call that has come, and finds a thread for it. */
void callback_arrive(struct jp_callback_call *call);
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
/* Finds threads for those that were for one that waits no more. */
void callback_calls_pass_on(struct jp_client *client, struct waiter *waiter);
/* Nobody can answer those that are open. is_closing: events end, too, and what comes is refused. */
void callback_calls_end(struct jp_client *client, bool is_closing);

#endif

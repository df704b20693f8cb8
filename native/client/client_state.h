#ifndef JPEER_CLIENT_CLIENT_STATE_H
#define JPEER_CLIENT_CLIENT_STATE_H
/*
 * The internal state of a client, for the files of this folder. docs/internals/client-library.md says which
 * file does what.
 *
 * Everything here is guarded by client->lock, except constants (set before jp_client_open returns) and
 * members whose comments say otherwise. Functions here expect the caller to hold the lock unless their
 * comments say otherwise. The lock is never held while a thread waits for the peer or while a completion
 * runs.
 */
#include "base/arena.h"
#include "base/uuid.h"
#include "client/client_callbacks.h"
#include "client/client_directory.h"
#include "client/client_refs.h"
#include "client/fork_guard.h"
#include "client/messages/answer_json.h"
#include "client/transports/transport.h"

#include <pthread.h>

/*
 * Whether a waiting thread sleeps while another thread reads. Under client->lock; client_readers.c has the
 * transitions.
 *
 * | state         | meaning                                               | what ends it                              |
 * | WAITER_NEW    | it has not slept yet: waiter->wake is not initialized | the waiter, if another thread leads       |
 * | WAITER_ASLEEP | it is in client->sleepers                             | the waiter: its wait is over, it has a    |
 * |               |                                                       | call to run, or nobody leads              |
 * | WAITER_ACTIVE | it leads, runs a call or asks the hook; waiter->wake  | the waiter, if another thread leads       |
 * |               | is initialized                                        |                                           |
 */
enum waiter_state {
  WAITER_NEW,    /* the thread has not slept yet */
  WAITER_ASLEEP, /* the thread sleeps while another thread reads */
  WAITER_ACTIVE  /* the thread has slept before, and does not sleep now */
};

/* A thread that waits for answers, or until all output is sent. The struct is on the thread's stack. While
 * the thread runs a callback's function, the thread neither leads nor sleeps. */
struct waiter {
  size_t left;                   /* answers that have not arrived; 0: the wait is over */
  struct jp_answer **answers;    /* in the order of the requests in their message */
  enum jp_client_status status;  /* why the wait ended without an answer */
  struct jp_client_error *error; /* gets the error text that belongs to `status`; may be NULL */
  enum waiter_state state;
  pthread_cond_t wake;
  struct waiter *next;
  struct waiter *previous;
  struct waiter *next_output_waiter; /* in client->output_waiters */
  int64_t check_ms;                  /* when the interrupt hook is asked next; 0: not set */
  bool runs_calls;                   /* the thread runs calls of callbacks; then `thread` is set. Constant */
  pthread_t thread;
  struct jp_callback_call *call;        /* the call that the thread runs next; NULL: none */
  uint64_t last_call;                   /* the number of the last call that arrived before the wait ended */
  struct callback_list given;           /* the callbacks in its message */
  const struct jp_callback_call *outer; /* the call that its requests are nested in; NULL: none */
  struct waiter *next_requester;        /* in client->callbacks.requesters */
  struct waiter *previous_requester;
};

/* ---- requests ---- */

enum pending_kind {
  PENDING_WAITED,       /* a thread waits for the answer */
  PENDING_COMPLETED,    /* a completion is called with the answer */
  PENDING_INTRODUCTION, /* the client names its process to the peer */
  PENDING_ABANDONED     /* nobody waits for the answer any more; its refs are released */
};

struct pending_request {
  uint64_t id;        /* 0: the entry is free */
  uint64_t first_id;  /* the first id of the requests in its message */
  uint64_t begins_at; /* where its message begins in the output, see jp_client.message_begins_at */
  enum pending_kind kind;
  enum answer_form form;
  union {
    struct {
      struct waiter *waiter;
      size_t index; /* in the waiter's answers */
    } waited;
    struct {
      jp_client_completion *function;
      void *context;
      int64_t deadline_ns; /* INT64_MAX: none */
    } completed;
  } as;
};

/* Requests without an answer, by id: a hash table with open addressing. Ids count up, so the place of a new
 * id is nearly always free. */
struct pending_table {
  struct pending_request *places;
  size_t capacity; /* a power of two */
  size_t count;
  size_t displaced; /* requests that are not at the place of their id */
};

struct completion {
  jp_client_completion *function;
  void *context;
  enum jp_client_status status;
  struct jp_answer *answer;
};

/* Finished requests whose completion is not called yet: a circular buffer. It grows before a request is sent,
 * so that an answer is never lost for lack of memory. */
struct completion_queue {
  struct completion *ring;
  size_t capacity; /* a power of two, or 0 */
  size_t first;
  size_t count;
};

/*
 * The events that the loop's epoll set reports for the connection. Under client->lock; client_readers.c has
 * the transitions.
 *
 * | state           | meaning                         | what ends it                                                  |
 * | LOOP_UNWATCHED  | epoll_fd has no connection      | client_watch_connection: it is open, and there is a loop      |
 * | LOOP_INPUT      | it reports input                | client_watch_connection: output waits; the connection's end   |
 * | LOOP_INPUT_ROOM | it reports input and room to    | client_watch_connection: no output waits; the connection's    |
 * |                 | write                           | end                                                           |
 */
enum loop_watch {
  LOOP_UNWATCHED, /* the loop does not watch the connection */
  LOOP_INPUT,     /* the loop watches the connection for input */
  LOOP_INPUT_ROOM /* the loop watches the connection for input and for room to write */
};

/* The descriptor that jp_client_descriptor returns, and the descriptors that make it readable. Created at the
 * first call. */
struct client_loop {
  int epoll_fd;  /* the epoll set of the descriptors below and of the connection's descriptor; -1: there is no
                  * loop */
  int wake_fd;   /* an eventfd: completions wait, or the connection has ended */
  int timer_fd;  /* expires at the next deadline of a completion */
  bool is_woken; /* wake_fd is readable. Independent of `watch` */
  enum loop_watch watch;
  int64_t timer_ns; /* the time that timer_fd is set to; INT64_MAX: none */
};

/* Receives messages from the transport. The client is found by a cast of the listener. */
struct client_listener {
  struct transport_listener listener;
  struct jp_client *client;
};

struct client_reader {
  struct answer_reader reader;
  struct jp_client *client;
};

/*
 * The state of a client's connection. Under client->lock; client_state.c has the transitions.
 * client->transport is NULL except in CLIENT_OPEN, CLIENT_BREAKING and CLIENT_CLOSING. client_is_closed is
 * true from CLIENT_CLOSING_OPENING on.
 *
 * | state                  | meaning                                       | what ends it                             |
 * | CLIENT_UNCONNECTED     | jp_client_open creates the client             | jp_client_open: it connects              |
 * | CLIENT_OPENING         | a thread opens a connection, without the lock | that thread; who closes the client       |
 * | CLIENT_OPEN            | messages are sent and received                | the transport fails; who closes          |
 * | CLIENT_BREAKING        | the transport has failed and is not closed    | the leader, after its poll; without a    |
 * |                        | yet                                           | leader, who saw the failure; who closes  |
 * | CLIENT_BROKEN          | client->ended says why there is no connection | a request: it opens one; who closes      |
 * | CLIENT_CLOSING_OPENING | the client is closed; a thread opens a        | that thread, when the opening succeeds   |
 * |                        | connection                                    | or fails                                 |
 * | CLIENT_CLOSING         | the client is closed, the transport is not    | as CLIENT_BREAKING                       |
 * | CLIENT_CLOSED          | the client is closed                          | nothing                                  |
 */
enum client_state {
  CLIENT_UNCONNECTED,     /* the client is being created */
  CLIENT_OPENING,         /* a thread opens a connection */
  CLIENT_OPEN,            /* there is a connection */
  CLIENT_BREAKING,        /* the connection has failed; its transport is not closed yet */
  CLIENT_BROKEN,          /* the last connection has failed, or could not be opened */
  CLIENT_CLOSING_OPENING, /* the program has closed the client while a thread opens a connection */
  CLIENT_CLOSING,         /* the program has closed the client; its transport is not closed yet */
  CLIENT_CLOSED           /* the program has closed the client, and its transport is closed */
};

/*
 * The activity of the leader. The leader (client->leader) is the waiter that reads for all. Under
 * client->lock; client_readers.c has the transitions. client->leader is NULL only in LEADER_NONE.
 * client_is_polled is true from LEADER_BUSY_POLLING on.
 *
 * | state                        | meaning                               | what ends it                              |
 * | LEADER_NONE                  | nobody reads for others               | who begins to wait; jp_client_process     |
 * | LEADER_READING               | the leader has the lock               | the leader: it polls, or its wait is over |
 * | LEADER_BUSY_POLLING          | it polls memory, without the lock     | the leader; who notifies it               |
 * | LEADER_BUSY_POLLING_NOTIFIED | it polls memory; wake_fd is readable  | the leader: it consumes the notification  |
 * | LEADER_POLLING               | it is in poll(2) for input, without   | the leader; who notifies it               |
 * |                              | the lock                              |                                           |
 * | LEADER_POLLING_TO_WRITE      | it is in poll(2), also to write       | the leader; who notifies it               |
 * | LEADER_POLLING_NOTIFIED      | it is in poll(2), and client->wake_fd | the leader: it consumes the notification  |
 * |                              | is readable                           |                                           |
 */
enum leader_state {
  LEADER_NONE,                  /* nobody reads for others */
  LEADER_READING,               /* the leader has the lock: it reads, or is about to poll */
  LEADER_BUSY_POLLING,          /* the leader polls memory, without the lock */
  LEADER_BUSY_POLLING_NOTIFIED, /* the leader polls memory, and was notified */
  LEADER_POLLING,               /* the leader is in poll(2), for input */
  LEADER_POLLING_TO_WRITE,      /* the leader is in poll(2), for input and for room to write */
  LEADER_POLLING_NOTIFIED       /* the leader is in poll(2), and was notified */
};

/*
 * Which threads call jp_client_process. As long as only one thread calls it, new work need not wake the loop
 * while that thread is inside jp_client_process. Under client->lock; client_readers.c has the transitions.
 *
 * | state             | meaning                  | what ends it                                    |
 * | PROCESSED_NEVER   | no thread has called it  | the first thread; a call of Java with an origin |
 * | PROCESSED_BY_ONE  | only                     | another thread; a call of Java with an origin   |
 * |                   | client->last_processor   |                                                 |
 * | PROCESSED_BY_MANY | several have, or should  | nothing                                         |
 */
enum processed_by {
  PROCESSED_NEVER,  /* no thread has called jp_client_process */
  PROCESSED_BY_ONE, /* one thread has called jp_client_process */
  PROCESSED_BY_MANY /* several threads have called jp_client_process, or should call it */
};

/* Who owns a client's session. Constant. */
enum session_owner {
  SESSION_OF_CONNECTION, /* the session has no name, and ends with the connection */
  SESSION_OF_CLIENT,     /* nobody else knows the session's name: the session ends with the client */
  SESSION_OF_PROGRAM     /* the program named the session: the session outlives the client */
};

struct jp_client {
  pthread_mutex_t lock;
  pthread_cond_t changed; /* a connection was opened or has ended, or its last reader has left */
  struct fork_guard fork_guard;
  size_t
      /* the number of holders: the program until it closes the client, threads inside the library, and
       * answers in use. Refs are counted separately */
      holders;

  /* Constant. */
  char *url_text;
  struct client_url url;
  const struct transport_kind *url_kind; /* opens the connections */
  struct client_directory *directory;    /* finds the peer; NULL: the URL is its address */
  struct transport_options options;
  struct client_credentials credentials;
  _Atomic size_t request_max; /* the longest request that is sent, in bytes; 0: no limit */
  enum session_owner session_owner;
  char peer_id[UUID_TEXT_LENGTH + 1]; /* the session's name; "": none */
  /* "": not known yet; written once, before has_version */
  char peer_version[32];
  struct uuid session;
  bool reconnects;
  atomic_bool has_version;
  bool reads_when_idle;    /* a peer may end an idle connection, and the next call should open another */
  atomic_bool keeps_token; /* no further token is read: the last token is used again. Not guarded by the
                            * lock */
  size_t pending_max;
  bool (*interrupted)(void *context); /* NULL: nothing interrupts a wait */
  void *interrupted_context;

  /* The connection. */
  enum client_state state;
  struct client_transport *transport;
  const struct transport_kind *kind; /* of `transport` */
  struct jp_client_error ended;      /* why the last connection has ended, or why no connection was opened */
  uint64_t connection;               /* the number of connections that were opened */
  char *token;                       /* the last token; NULL: none, or the transport sends tokens only in
                                      * `open` */
  int64_t retry_ns;                  /* no connection is tried before this time */
  int64_t pause_ns;                  /* the last pause between two tries */

  /* Reading. */
  struct client_listener listener;
  struct client_reader reader;
  enum leader_state leader_state;
  int wake_fd;                   /* an eventfd that ends the leader's poll */
  struct waiter *leader;         /* reads for all; NULL: none */
  struct waiter *sleepers;       /* waiters that sleep while another thread reads */
  struct waiter *output_waiters; /* waiters for all output to be sent */
  size_t processors;             /* threads inside jp_client_process; these call completions */
  pthread_t processor;           /* the thread whose messages are sent together */
  pthread_t last_processor;
  unsigned unflushed; /* messages that completions wrote since the last flush */
  bool
      /* `processor` is inside jp_client_process. Other threads may remain inside after it has left */
      has_processor;
  enum processed_by processed_by;

  /* Requests and answers. */
  uint64_t last_id;
  /* Bytes of output, counted over all connections; only with a directory. A message that begins at or after
   * output_sent was not sent. */
  uint64_t message_begins_at; /* of the message that is being written */
  uint64_t output_sent;
  struct pending_table pending;
  size_t completions_pending;
  struct completion_queue completed;
  struct jp_answer *free_answers;
  size_t free_count;
  size_t free_bytes;         /* of the large buffers of the free answers */
  struct jp_answer *dropped; /* answers that nobody waits for: freed when the lock is released */
  struct ref_table refs;
  struct message_refs named; /* the refs in the message that is being written */
  struct arena binary_arena; /* for writing binary messages */
  struct buffer binary_scratch;

  struct client_callbacks callbacks;
  struct client_loop loop;
};

/* For assertions: some thread holds the lock. */
static inline bool client_is_locked(const struct jp_client *client)
{
  return pthread_mutex_trylock((pthread_mutex_t *)&client->lock) != 0;
}

static inline bool client_is_open(const struct jp_client *client)
{
  return client->state == CLIENT_OPEN;
}

/* True if the program has closed the client. */
static inline bool client_is_closed(const struct jp_client *client)
{
  return client->state >= CLIENT_CLOSING_OPENING;
}

/* True if the leader polls the connection, without the lock. */
static inline bool client_is_polled(const struct jp_client *client)
{
  return client->leader_state >= LEADER_BUSY_POLLING;
}

static inline bool client_is_busy_polled(const struct jp_client *client)
{
  return client->leader_state == LEADER_BUSY_POLLING || client->leader_state == LEADER_BUSY_POLLING_NOTIFIED;
}

/* ---- client_state.c ---- */

/* client_unlock also frees dropped answers, and the client after its last holder has left. */
void client_lock(struct jp_client *client);
void client_unlock(struct jp_client *client);
/* Drops one holder and releases the lock. */
void client_leave(struct jp_client *client);
/* Without the lock. JP_CLIENT_CLOSED in a child of fork(2): the connection belongs to the parent. */
enum jp_client_status client_check_process(const struct jp_client *client,
                                           struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* now + timeout_ms; INT64_MAX for JP_FOREVER. */
int64_t client_deadline(int timeout_ms);

/* Reads the token of the next request, or asks for it, unless client->keeps_token. Without the lock. Pass *token to
 * client_use_token or client_drop_token. JP_CLIENT_NO_TOKEN. */
enum jp_client_status client_ask_for_token(struct jp_client *client, char **token,
                                           struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* The next messages will have this token. NULL: they have the last token. Takes the token, even on failure.
 * Call while the connection is open. */
enum jp_client_status client_use_token(struct jp_client *client, char *token,
                                       struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* Frees it; NULL is fine. */
void client_drop_token(char *token);
/* Opens a connection if there is none and the client may connect. Releases the lock while it waits. */
enum jp_client_status client_connect(struct jp_client *client, int64_t deadline_ns,
                                     struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* Returns JP_CLIENT_OK, or the reason for which the connection has ended. */
enum jp_client_status client_report_end(const struct jp_client *client,
                                        struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* With a directory, for a request that fails with `status` before it was sent: returns the status that says so, and adds
 * it to *error, which may be NULL. */
enum jp_client_status client_say_unsent(const struct jp_client *client, enum jp_client_status status,
                                        struct jp_client_error *error);
/* Begins a message, and resets client->named, because the message names no refs yet. Returns the buffer to
 * which the message is appended. */
struct buffer *client_begin_message(struct jp_client *client);
/* Ends the message. is_answered: false for a notification. */
void client_end_message(struct jp_client *client, bool is_answered);
/* Call while nobody polls. In CLIENT_BREAKING and CLIENT_CLOSING, closes the transport. In other states,
 * returns false. */
bool client_close_transport(struct jp_client *client);
/* Ends an open connection, and everything that is pending, with the reason `why`. */
void client_break_connection(struct jp_client *client, const struct jp_client_error *why);
/* Writes as much as the socket accepts. Failures end the connection. */
void client_flush(struct jp_client *client);
/* True if there is unsent output that waits until the descriptor is writable. */
bool client_polls_writing(const struct jp_client *client);
/* True if the transport has input that its descriptor may not show, and nobody busy-polls. */
bool client_has_input(const struct jp_client *client);
/* Reads the available input and finishes the requests that it answers. Failures end the connection. */
void client_read(struct jp_client *client);

/* ---- client_readers.c ---- */

enum wait_end {
  WAIT_OVER,       /* waiter->left is 0 */
  WAIT_TIMED_OUT,  /* the deadline has passed; the waiter's requests are still in the table */
  WAIT_INTERRUPTED /* the caller's hook ended the wait; the waiter's requests are still in the table */
};

/* Releases the lock while it waits. */
enum wait_end client_wait(struct jp_client *client, struct waiter *waiter,
                          int64_t deadline_ns) JP_CLIENT_MUST_CHECK;
/* Ends the waiter's wait. */
void client_end_wait(struct jp_client *client, struct waiter *waiter);
/* Wakes the waiter, so that it checks its state again. */
void client_wake_waiter(struct jp_client *client, struct waiter *waiter);
/* If nobody leads: wakes a sleeping waiter, or else the program's loop. */
void client_pass_lead(struct jp_client *client);
/* Waits until all output is sent. JP_CLIENT_TIMEOUT. */
enum jp_client_status client_await_output(struct jp_client *client, int64_t deadline_ns,
                                          struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* Ends the waits of client_await_output. */
void client_end_output_waits(struct jp_client *client, enum jp_client_status status,
                             const struct jp_client_error *error);
/* Ends the leader's poll, so that the leader reads the client's state again. */
void client_notify_leader(struct jp_client *client);
/* Notes that from now on more than one thread should call jp_client_process. */
void client_need_processors(struct jp_client *client);
/* Makes sure that the connection's descriptor shows new input to threads that poll it. Call when a thread has
 * read, or may have read, and stops reading. */
void client_prepare_sleep(struct jp_client *client);

void client_loop_init(struct client_loop *loop);
void client_loop_fini(struct client_loop *loop);
/* Makes the program's descriptor readable, if the program has one. */
void client_wake_loop(struct jp_client *client);
/* Makes the program's descriptor readable at at_ns (clock_now_ns), for client_end_overdue. INT64_MAX:
 * never. */
void client_set_timer(struct jp_client *client, int64_t at_ns);
/* True if this thread is inside jp_client_process. The messages that it writes are sent together, after all
 * completions were called. */
bool client_is_processing(const struct jp_client *client);
/* Adds the current connection to the loop, or changes its events. */
void client_watch_connection(struct jp_client *client);
void client_forget_connection(struct jp_client *client);

/* ---- client_requests.c ---- */

/* False: no memory. */
bool client_requests_init(struct jp_client *client);
void client_requests_fini(struct jp_client *client);
/* Returns a cleared answer; NULL: no memory. */
struct jp_answer *client_acquire_answer(struct jp_client *client);
/* Ends all requests for one reason. */
void client_end_requests(struct jp_client *client, const struct jp_client_error *why);
/* Ends the requests with a completion whose deadline has passed, and sets the timer for the next deadline. */
void client_end_overdue(struct jp_client *client, int64_t now_ns);
/* Names the process to the peer on a new connection. The message is sent together with the next message, and
 * the library itself consumes the answer. */
void client_introduce(struct jp_client *client, const char *process);
/* Calls the completions of finished requests. Releases the lock while a completion runs. */
void client_call_completions(struct jp_client *client);

/* One message with the requests of one thread, which waits for all answers. */
struct exchange {
  /* Appends the message to out. The ids of its requests count up from first_id. */
  enum jp_client_status (*write)(struct exchange *exchange, uint64_t first_id, struct buffer *out,
                                 struct jp_client_error *error);
  struct jp_client *client;
  const enum answer_form *forms;
  size_t count;
  const struct jp_options *options; /* of a single request; NULL: none */
  bool may_be_rewritten;            /* `write` may be called again, if the message was not sent */
  bool is_idempotent;               /* as with options->idempotent */
  bool names_refs;                  /* set when the message is written: the objects are of one peer */
  bool was_written;                 /* there was a connection */
  /* The answers, in the order of the requests. The caller frees them, even if the exchange fails. */
  struct jp_answer **answers;
};

/* Without the lock. Sends the message and waits for its answers. */
enum jp_client_status client_exchange(struct exchange *exchange, int timeout_ms,
                                      struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* The session's name if messages contain it; otherwise absent. Constant: needs no lock. */
struct text client_name_in_messages(const struct jp_client *client);
/* True if messages that name refs have the epoch as a member. */
bool client_names_epoch_in_messages(const struct jp_client *client);
/* Writes the queued releases of refs; called before each message. within: the call of Java in which the
 * message is nested, or absent. */
void client_write_releases(struct jp_client *client, struct text within);
/* Writes and flushes releases if very many are queued. */
void client_write_overdue_releases(struct jp_client *client);
/* Writes the releases of all refs that the peer sent, including refs with handles. */
void client_write_all_releases(struct jp_client *client);
/* Returns the refs for a message that is about to be written. Called under the lock, except by chains. */
struct message_refs client_message_refs(const struct jp_client *client);
/* If the answer has `lacking`: learns the peer's version if it is not known, which may take a second, and describes the lack
 * with it. By the answer's owner, without the lock. */
void client_name_lack(struct jp_client *client, struct jp_answer *answer);
/* JP_CLIENT_REMOTE or JP_CLIENT_STALE for an answer that is an error; *error describes it. */
enum jp_client_status client_report_remote(const struct jp_answer *answer, struct jp_client_error *error);

#endif

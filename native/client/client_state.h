#ifndef JPEER_CLIENT_CLIENT_STATE_H
#define JPEER_CLIENT_CLIENT_STATE_H
/*
 * The inside of a client, for the files of this folder. docs/internals/client-library.md says which file does what.
 *
 * All of it is under client->lock, but for what is constant once the client is open and what client->lock's
 * comment says. Functions here expect the lock to be held unless their comments say otherwise. The lock is
 * never held while the peer is waited for, and not while a completion runs.
 */
#include "base/arena.h"
#include "base/uuid.h"
#include "client/client_callbacks.h"
#include "client/client_refs.h"
#include "client/fork_guard.h"
#include "client/messages/answer_json.h"
#include "client/transports/transport.h"

#include <pthread.h>

/*
 * Whether a thread that waits sleeps while another one reads. Under client->lock; client_readers.c has the transitions.
 *
 * | state         | what holds                                            | who leaves it, on what                    |
 * | WAITER_NEW    | it has not slept yet: waiter->wake is not initialized | the waiter, where another one leads       |
 * | WAITER_ASLEEP | it is in client->sleepers                             | the waiter: its wait is over, it has a    |
 * |               |                                                       | call to run, or nobody leads              |
 * | WAITER_AWAKE  | it leads, runs a call or asks the hook; waiter->wake  | the waiter, where another one leads       |
 * |               | is initialized                                        |                                           |
 */
enum waiter_state {
  WAITER_NEW,    /* the thread has not slept yet */
  WAITER_ASLEEP, /* the thread sleeps while another one reads */
  WAITER_AWAKE   /* the thread has slept before, and does not now */
};

/* A thread that waits: for answers, or until all that was written has left. It lies on the thread's stack.
 * While the thread runs a callback's function it neither leads nor sleeps. */
struct waiter {
  size_t left;                   /* answers that are still to come; 0: the wait is over */
  struct jp_answer **answers;    /* by the requests' numbers in their message */
  enum jp_client_status status;  /* of what has ended the wait, or an answer, instead */
  struct jp_client_error *error; /* the text goes here; may be NULL */
  enum waiter_state state;
  pthread_cond_t wake;
  struct waiter *next;
  struct waiter *previous;
  struct waiter *next_roomless; /* in client->roomless */
  int64_t ask_ms;               /* when the hook is asked next; 0: that is not yet said */
  bool runs_calls;              /* of callbacks, in any state; then `thread` is set. Constant */
  pthread_t thread;
  struct jp_callback_call *call;        /* in hand: it runs next; NULL: none */
  uint64_t last_call;                   /* the number of the last one that came before the end of the wait */
  struct callback_list gives;           /* what its message gives */
  const struct jp_callback_call *outer; /* that its requests are nested in; NULL: none */
  struct waiter *next_asking;           /* in client->callbacks.asking */
  struct waiter *previous_asking;
};

/* ---- requests ---- */

enum pending_kind {
  PENDING_WAITED,       /* a thread waits */
  PENDING_COMPLETED,    /* a completion is to be called */
  PENDING_INTRODUCTION, /* the client says which process it belongs to */
  PENDING_ABANDONED     /* nobody waits for the answer any more; its refs are released */
};

struct pending_request {
  uint64_t id;       /* 0: the place is free */
  uint64_t first_id; /* of the requests of its message */
  enum pending_kind kind;
  enum answer_form form;
  union {
    struct {
      struct waiter *waiter;
      size_t index; /* among the waiter's answers */
    } waited;
    struct {
      jp_client_completion *function;
      void *context;
      int64_t deadline_ns; /* INT64_MAX: none */
    } completed;
  } as;
};

/* The requests that have no answer yet, by their ids: a hash table with open addressing. Ids count up, so that a new one nearly
 * always finds its place free. */
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

/* What is done, and whose completion is still to be called: a ring that grows before it is needed, so that an answer that
 * came is never lost for want of memory. */
struct completion_queue {
  struct completion *ring;
  size_t capacity; /* a power of two, or 0 */
  size_t first;
  size_t count;
};

/*
 * What the loop's epoll reports of the connection. Under client->lock; client_readers.c has the transitions.
 *
 * | state           | what holds                      | who leaves it, on what                                        |
 * | LOOP_UNWATCHED  | epoll_fd has not the connection | client_watch_connection: it is open, and there is a loop      |
 * | LOOP_INPUT      | it reports input                | client_watch_connection: output waits; the connection's end   |
 * | LOOP_INPUT_ROOM | it reports input and room to    | client_watch_connection: no output waits; the connection's    |
 * |                 | write                           | end                                                           |
 */
enum loop_watch {
  LOOP_UNWATCHED, /* the loop does not watch the connection */
  LOOP_INPUT,     /* the loop watches it for input */
  LOOP_INPUT_ROOM /* the loop watches it for input and for room to write */
};

/* What jp_client_descriptor gives, and how it is made readable. Made when it is first asked for. */
struct client_loop {
  int epoll_fd;  /* holds the others, and the connection; -1: there is no loop */
  int wake_fd;   /* an eventfd: completions wait, or the connection has ended */
  int timer_fd;  /* the next deadline of a completion */
  bool is_woken; /* wake_fd is readable. Of no state: also while the loop does not watch the connection */
  enum loop_watch watch;
  int64_t timer_ns; /* what timer_fd is set to; INT64_MAX: nothing */
};

/* Whom transports and messages tell; each finds its client by the second member. */
struct client_listener {
  struct transport_listener listener;
  struct jp_client *client;
};

struct client_reader {
  struct answer_reader reader;
  struct jp_client *client;
};

/*
 * The state of a client's connection. Under client->lock; client_state.c has the transitions. client->transport is NULL
 * except in CLIENT_OPEN, CLIENT_BREAKING and CLIENT_CLOSING. client_is_closed is true from CLIENT_CLOSING_OPENING on.
 *
 * | state                  | what holds                                    | who leaves it, on what                   |
 * | CLIENT_UNCONNECTED     | jp_client_open makes it                       | jp_client_open: it opens                 |
 * | CLIENT_OPENING         | a thread opens a connection, without the lock | that thread; who closes the client       |
 * | CLIENT_OPEN            | messages are sent and received                | the transport fails; who closes          |
 * | CLIENT_BREAKING        | the transport has failed, and is still to be  | the leader, after its poll, or whoever   |
 * |                        | closed                                        | has seen it fail where nobody polls; who |
 * |                        |                                               | closes                                   |
 * | CLIENT_BROKEN          | client->ended says why there is no connection | a request: it opens one; who closes      |
 * | CLIENT_CLOSING_OPENING | the client is closed; a thread opens a        | that thread, when the opening succeeds   |
 * |                        | connection                                    | or fails                                 |
 * | CLIENT_CLOSING         | the client is closed, the transport is not    | as CLIENT_BREAKING                       |
 * | CLIENT_CLOSED          | the client is closed                          | nobody                                   |
 */
enum client_state {
  CLIENT_UNCONNECTED,     /* the client is being made */
  CLIENT_OPENING,         /* a thread opens a connection */
  CLIENT_OPEN,            /* there is a connection */
  CLIENT_BREAKING,        /* the connection has failed; its transport is still to be closed */
  CLIENT_BROKEN,          /* the last connection has failed, or could not be opened */
  CLIENT_CLOSING_OPENING, /* the program has closed the client while a thread opens a connection */
  CLIENT_CLOSING,         /* the program has closed the client; its transport is still to be closed */
  CLIENT_CLOSED           /* the program has closed the client, and nothing of a connection is left */
};

/*
 * What the leader does: client->leader, the waiter that reads for all. Under client->lock; client_readers.c has the
 * transitions. client->leader is NULL in LEADER_NONE alone. client_is_polled is true from LEADER_BUSY_POLLING on.
 *
 * | state                        | what holds                            | who leaves it, on what                    |
 * | LEADER_NONE                  | nobody reads for others               | who begins to wait; jp_client_process     |
 * | LEADER_READING               | the leader has the lock               | the leader: it polls, or its wait is over |
 * | LEADER_BUSY_POLLING          | it polls memory, without the lock     | the leader; who notifies it               |
 * | LEADER_BUSY_POLLING_NOTIFIED | likewise; client->wake_fd is readable | the leader: it consumes the notification  |
 * | LEADER_POLLING               | it is in poll(2) for input, without   | the leader; who notifies it               |
 * |                              | the lock                              |                                           |
 * | LEADER_POLLING_TO_WRITE      | likewise, and for room to write       | the leader; who notifies it               |
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
 * Which threads call jp_client_process: as long as one thread alone does, it is not notified of work while it is inside.
 * Under client->lock; client_readers.c has the transitions.
 *
 * | state             | what holds               | who leaves it, on what                          |
 * | PROCESSED_NEVER   | none has yet             | the first thread; a call of Java with an origin |
 * | PROCESSED_BY_ONE  | client->last_processor   | another thread; such a call                     |
 * |                   | has, and no other thread |                                                 |
 * | PROCESSED_BY_MANY | several have, or should  | nobody                                          |
 */
enum processed_by {
  PROCESSED_NEVER,  /* no thread has called jp_client_process */
  PROCESSED_BY_ONE, /* one thread has called it */
  PROCESSED_BY_MANY /* several threads have called it, or should */
};

/* Whose a client's session is. Constant. */
enum session_owner {
  SESSION_OF_CONNECTION, /* it has no name, and ends with the connection */
  SESSION_OF_CLIENT,     /* nobody else knows its name: it ends with the client */
  SESSION_OF_PROGRAM     /* the program has named it: it stays */
};

struct jp_client {
  pthread_mutex_t lock;
  pthread_cond_t changed; /* a connection was opened or has gone, or the last reader has left */
  struct fork_guard fork_guard;
  size_t
      holders; /* the program, until it closes; threads inside; answers that are out. Refs count themselves */

  /* Constant. */
  char *url_text;
  struct client_url url;
  const struct transport_kind *url_kind; /* opens connections */
  struct transport_options options;
  _Atomic size_t request_max; /* bytes of a request that is sent; 0: any number */
  enum session_owner session_owner;
  char peer_id[UUID_TEXT_LENGTH + 1]; /* the session's name, if it has one */
  struct uuid session;
  bool reconnects;
  size_t pending_max;
  bool (*interrupted)(void *context); /* NULL: nothing interrupts a wait */
  void *interrupted_context;

  /* The connection. */
  enum client_state state;
  struct client_transport *transport;
  const struct transport_kind *kind; /* of the transport */
  struct jp_client_error ended;      /* why the last connection has ended, or was not opened */
  uint64_t connection;               /* counts those that were opened */
  int64_t retry_ns;                  /* a connection is not tried for before */
  int64_t pause_ns;                  /* how long it was waited for last */

  /* Reading. */
  struct client_listener listener;
  struct client_reader reader;
  enum leader_state leader_state;
  struct waiter *leader;   /* the one that reads for all; NULL: none */
  int wake_fd;             /* an eventfd that ends the leader's poll */
  struct waiter *sleepers; /* those that another one reads for, or nobody yet */
  struct waiter *roomless; /* those that want room */
  size_t processors;       /* threads inside jp_client_process: they call what is completed */
  pthread_t processor;     /* the one whose sends leave together */
  pthread_t last_processor;
  unsigned unflushed; /* messages that completions have sent, since the last flush */
  bool has_processor; /* `processor` is inside; others may be when it has left */
  enum processed_by processed_by;

  /* Requests and answers. */
  uint64_t last_id;
  struct pending_table pending;
  size_t completions_pending;
  struct completion_queue completed;
  struct jp_answer *free_answers;
  size_t free_count;
  struct jp_answer *dropped; /* filled for nobody: freed when the lock is let go of */
  struct ref_table refs;
  struct message_refs named; /* by the message that is being written */
  struct arena binary_arena; /* for writing binary messages */
  struct buffer binary_scratch;

  struct client_callbacks callbacks;
  struct client_loop loop;
};

/* For assertions: some thread has the lock. */
static inline bool client_is_locked(const struct jp_client *client)
{
  return pthread_mutex_trylock((pthread_mutex_t *)&client->lock) != 0;
}

static inline bool client_is_open(const struct jp_client *client)
{
  return client->state == CLIENT_OPEN;
}

/* The program has closed it, or ended it. */
static inline bool client_is_closed(const struct jp_client *client)
{
  return client->state >= CLIENT_CLOSING_OPENING;
}

/* The leader polls the connection, without the lock. */
static inline bool client_is_polled(const struct jp_client *client)
{
  return client->leader_state >= LEADER_BUSY_POLLING;
}

static inline bool client_is_busy_polled(const struct jp_client *client)
{
  return client->leader_state == LEADER_BUSY_POLLING || client->leader_state == LEADER_BUSY_POLLING_NOTIFIED;
}

/* ---- client_state.c ---- */

/* Also frees what was dropped, and the client after its last holder has gone. */
void client_lock(struct jp_client *client);
void client_unlock(struct jp_client *client);
/* Lets go of one hold, and of the lock. */
void client_leave(struct jp_client *client);
/* Without the lock. JP_CLIENT_CLOSED in a process that fork has made: the connection is the parent's. */
enum jp_client_status client_check_process(const struct jp_client *client,
                                           struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* now + timeout_ms; INT64_MAX for JP_FOREVER. */
int64_t client_deadline(int timeout_ms);

/* Makes sure that there is a connection; opens one if it may. The lock is let go of meanwhile. */
enum jp_client_status client_connect(struct jp_client *client, int64_t deadline_ns,
                                     struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* JP_CLIENT_OK, or why the connection has ended. */
enum jp_client_status client_report_end(const struct jp_client *client,
                                        struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* Begins a message, which names no refs yet (client->named). Gives the buffer that it is appended to. */
struct buffer *client_begin_message(struct jp_client *client);
/* The message is whole. is_answered: false for a notification. */
void client_end_message(struct jp_client *client, bool is_answered);
/* Call while nobody polls. Closes the transport in CLIENT_BREAKING and CLIENT_CLOSING; false: in another state. */
bool client_close_transport(struct jp_client *client);
/* Writes what the socket takes. Failures end the connection. */
void client_flush(struct jp_client *client);
/* What waits leaves when the descriptor can be written. */
bool client_polls_writing(const struct jp_client *client);
/* There is input that the descriptor may not show, and nobody looks. */
bool client_has_input(const struct jp_client *client);
/* Reads what is there, and completes what it answers. Failures end the connection. */
void client_read(struct jp_client *client);

/* ---- client_readers.c ---- */

enum wait_end {
  WAIT_OVER,       /* waiter->left is 0 */
  WAIT_TIMED_OUT,  /* the waiter's requests are still in the table, here and below */
  WAIT_INTERRUPTED /* by the caller's hook */
};

/* The lock is released while it waits. */
enum wait_end client_wait(struct jp_client *client, struct waiter *waiter,
                          int64_t deadline_ns) JP_CLIENT_MUST_CHECK;
/* Its wait is over. */
void client_end_wait(struct jp_client *client, struct waiter *waiter);
/* Has it look again what there is to do. */
void client_wake_waiter(struct jp_client *client, struct waiter *waiter);
/* Where nobody leads: to one who sleeps; or else to the program's loop, where there is one. */
void client_hand_on_lead(struct jp_client *client);
/* Waits until all that was written has left. JP_CLIENT_TIMEOUT. */
enum jp_client_status client_await_room(struct jp_client *client, int64_t deadline_ns,
                                        struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* Ends those waits. */
void client_give_room(struct jp_client *client, enum jp_client_status status,
                      const struct jp_client_error *error);
/* Ends the leader's poll, so that the leader reads the client's state again. */
void client_notify_leader(struct jp_client *client);
/* More than one thread should call jp_client_process. */
void client_need_processors(struct jp_client *client);
/* For those who sleep until the connection's descriptor shows something: makes sure that it does. To be
 * called when a thread has read, or might have, and looks no more. */
void client_rest(struct jp_client *client);

void client_loop_init(struct client_loop *loop);
void client_loop_fini(struct client_loop *loop);
/* Makes the descriptor readable, where there is one. */
void client_wake_loop(struct jp_client *client);
/* Makes it readable at that time by clock_now_ns, for client_end_overdue. INT64_MAX: never. */
void client_set_timer(struct jp_client *client, int64_t at_ns);
/* This thread is inside jp_client_process: what it sends leaves together, when all completions are called. */
bool client_is_processing(const struct jp_client *client);
/* Watches the connection as it is now. */
void client_watch_connection(struct jp_client *client);
void client_forget_connection(struct jp_client *client);

/* ---- client_requests.c ---- */

/* False: no memory. */
bool client_requests_init(struct jp_client *client);
void client_requests_fini(struct jp_client *client);
/* A cleared answer; NULL: no memory. */
struct jp_answer *client_take_answer(struct jp_client *client);
/* Ends all requests for one reason. */
void client_end_requests(struct jp_client *client, const struct jp_client_error *why);
/* Ends the requests with a completion that have no answer in time, and sets the timer for the next ones. */
void client_end_overdue(struct jp_client *client, int64_t now_ns);
/* Says on a new connection which process it belongs to. The message leaves with the next one, and its answer is the
 * library's own. */
void client_introduce(struct jp_client *client, const char *process);
/* Calls what is completed. The lock is let go of meanwhile. */
void client_call_completions(struct jp_client *client);

/* One message with the requests of one thread, which waits for all of their answers. */
struct exchange {
  /* Appends the message to out. The ids of its requests count up from first_id. */
  enum jp_client_status (*write)(struct exchange *exchange, uint64_t first_id, struct buffer *out,
                                 struct jp_client_error *error);
  struct jp_client *client;
  const enum answer_form *forms;
  size_t count;
  /* The answers, in the order of the requests; the caller frees them, also where the exchange fails. */
  struct jp_answer **answers;
};

/* Without the lock. Sends the message and waits for its answers. */
enum jp_client_status client_exchange(struct exchange *exchange, int timeout_ms,
                                      struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* The session's name, where messages have it; else absent. Constant: without the lock. */
struct text client_name_in_messages(const struct jp_client *client);
/* Whether messages that name refs have the epoch as a member. */
bool client_tells_epoch_in_messages(const struct jp_client *client);
/* What is written before each message: refs that are let go of. within: the call of Java that it is nested
 * in, or absent. */
void client_write_releases(struct jp_client *client, struct text within);
/* Writes and flushes releases where very many wait for a message. */
void client_write_overdue_releases(struct jp_client *client);
/* Lets go of all that answers have told, also of what there are handles of. */
void client_write_all_tellings(struct jp_client *client);
/* Of a message that is about to be written. Under the lock, or for a chain without it. */
struct message_refs client_message_refs(const struct jp_client *client);
/* JP_CLIENT_REMOTE, or JP_CLIENT_STALE, of an answer that is an error, with a line about it. */
enum jp_client_status client_report_remote(const struct jp_answer *answer, struct jp_client_error *error);

#endif

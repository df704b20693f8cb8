#ifndef JPEER_TESTS_UNIT_JNI_CALLBACKS_FAKE_CLIENT_H
#define JPEER_TESTS_UNIT_JNI_CALLBACKS_FAKE_CLIENT_H
/*
 * A client that Java calls back, behind the hooks of jni/callbacks.h: no connection and no codec. A test's function
 * answers each call, at once or later and from any thread.
 */
#include "tests/unit/unit.h"

#include "jni/callbacks.h"

#include <pthread.h>
#include <semaphore.h>

enum { FAKE_IDS = 64, FAKE_NESTED = 8 };

/* One open call. */
struct jvm_callback_call {
  struct jvm_callbacks *client;
  int64_t id;
  const struct jvm_callback_method *method;
  struct jvm_waiter *waiter; /* NULL: it waits by `wait` */
  struct jvm_stored stored;
  struct arena arena;        /* of the stretch in hand */
  struct jvm_thread *thread; /* likewise */
  uint32_t refs[8];          /* of the arguments; 0: none */
  int64_t numbers[2];        /* the first arguments, where these are whole numbers */
  int64_t deadline_ns;       /* clock_now_ns; 0: none */
  sem_t woken;

  /* Under the client's lock: */
  bool has_answer;
  struct jvm_callback_answer answer;
  void (*nested[FAKE_NESTED])(struct jvm_callback_call *call);
  size_t nested_count;
  bool has_ended;
  bool lacks_room;
};

struct jvm_callbacks {
  struct jvm *jvm;
  struct jvm_objects *objects;
  const struct jvm_limits *limits;
  const struct jvm_guard *guard;
  void (*answer)(struct jvm_callback_call *call); /* on the thread that calls, when the call was sent */
  int64_t timeout_ns;                             /* 0: none */
  bool refuses;                                   /* open fails */
  bool has_no_room;                               /* until fake_make_room */

  pthread_mutex_t lock;
  struct {
    int64_t id;
    uint64_t number;
  } records[FAKE_IDS];
  size_t calls; /* that were opened */
  size_t open;  /* now */
  size_t depth; /* the most that were open at once */
  size_t sent;
  size_t made;     /* how many proxies, */
  size_t released; /* and how many of these */
  int64_t last_released;
  size_t closed; /* calls */
  char last
      [512]; /* the call that was sent last: "java.util.Comparator.compare(java.lang.String a, int 3, T ref)" */
  char misfit[512];
};

/* The client of the tests' session (members_cases.h), and cmocka's fixtures for it: of the file, of a test. */
extern struct jvm_callbacks client;
int fake_client_start(void **state);
int fake_client_open(void **state);
int fake_client_close(void **state);

/* Whether the calling thread can use `wait`. */
void fake_client_wait_natively(bool natively);

/* For answers; any thread. Each wakes the thread that waits. */
void fake_answer_int(struct jvm_callback_call *call, int64_t value);
void fake_answer_text(struct jvm_callback_call *call, const char *text);
void fake_answer_null(struct jvm_callback_call *call);
/* type NULL: none; message NULL: none. */
void fake_answer_error(struct jvm_callback_call *call, int code, const char *message, uint32_t ref,
                       const char *type);
void fake_end(struct jvm_callback_call *call);
void fake_nest(struct jvm_callback_call *call, void (*nested)(struct jvm_callback_call *call));
/* Runs run(argument, thread) on this thread, as rpc serves a nested request. */
void fake_serve(struct jvm *jvm, void (*run)(void *argument, struct jvm_thread *thread), void *argument);
/* There is room again. */
void fake_make_room(struct jvm_callback_call *call);

#endif

#ifndef JPEER_TESTS_UNIT_RPC_SERVICE_BENCH_H
#define JPEER_TESTS_UNIT_RPC_SERVICE_BENCH_H
/*
 * The peer's whole service over the stub of jni, with one worker, which the test's own thread uses; and the
 * requests that most of its tests send.
 */
#include "rpc/peer.h"
#include "stub_jni.h"

#include <pthread.h>

/* `params` without its braces. */
#define REQUEST(method, params)                                                                              \
  "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":{" params "}}"
#define ADD                   REQUEST("call", "\"type\":\"C\",\"method\":\"add\",\"args\":[5,3]")
#define MAKE                  REQUEST("new", "\"type\":\"C\"")
#define CONTROL(method, args) REQUEST("control", "\"method\":\"" method "\",\"args\":[" args "]")

/* The answer to MAKE, and to a control method. */
#define MADE(ref)                                                                                            \
  "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"void\":false,\"value\":{\"type\":\"C\",\"null\":false,"       \
  "\"ref\":" ref "}}}"
/* The data of an error with no throwable, of the request 1. */
#define ERROR_DATA(message)                                                                                  \
  "\"data\":{\"message\":\"" message "\",\"request_id\":1,\"stack_trace\":[],\"cause\":null}"
#define VOID_ANSWER "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"void\":true}}"

/* Members for the table of stub_jni: a sum that is always 8, and a constructor. */
#define STUB_MEMBER_ADD                                                                                      \
  {                                                                                                          \
    .type = "C", .member = "add", .kind = OP_MEMBER_STATIC_METHOD,                                           \
    .modifiers = OP_ACC_PUBLIC | OP_ACC_STATIC, .outcome = {                                                 \
      .kind = OUTCOME_VALUE,                                                                                 \
      .type = TEXT("int"),                                                                                   \
      .has_value = true,                                                                                     \
      .value = {.kind = OP_INTEGER, .integer = 8}                                                            \
    }                                                                                                        \
  }
#define STUB_MEMBER_CONSTRUCTOR                                                                              \
  {                                                                                                          \
    .type = "C", .member = "<init>", .kind = OP_MEMBER_CONSTRUCTOR, .modifiers = OP_ACC_PUBLIC, .outcome = { \
      .kind = OUTCOME_VALUE,                                                                                 \
      .type = TEXT("C"),                                                                                     \
      .ref = 1                                                                                               \
    }                                                                                                        \
  }

/* A crew member that lends its worker to the test's thread. */
struct lent_worker {
  struct rpc_worker *worker;
  struct rpc_peer *ends; /* a peer that the member ends last; NULL: none */
  pthread_barrier_t ready;
  pthread_barrier_t done;
};

/* Spawns the member; the worker is the caller's until lent_worker_return. */
void lent_worker_borrow(struct lent_worker *lent, const struct rpc_service *service);
void lent_worker_return(struct lent_worker *lent);
/* When the member's thread has ended (stub_join_threads). */
void lent_worker_fini(struct lent_worker *lent);

struct service_bench {
  struct catalog *catalog;
  struct policy_source *policies; /* everything is allowed */
  struct rpc_peer *peer;
  const struct rpc_service *service;
  struct lent_worker lent;
  struct rpc_client *client; /* the test's own configuration, if it has one */
  struct buffer out;         /* the last answer */
  struct rpc_stream stream;
  bool has_sweeper;
};

struct service_bench_options {
  struct stub_member *members;
  size_t member_count;
  size_t batch_max;            /* 0: 10 */
  size_t sessions_max;         /* 0: 4 */
  size_t sessions_per_address; /* 0: all of them */
  bool compat_pal;
  size_t callbacks_max; /* 0: 4 */
  /* sessions that are left to the sweeper are not removed, so that they can be counted */
  bool without_sweeper;
};

/* The test's own, which bench_tear_down ends: cmocka's fixture function. */
extern struct service_bench *bench;
int bench_tear_down(void **state);

/* A session may have five objects. */
struct service_bench *service_bench_create(const struct service_bench_options *options);
/* True if no table of objects, no frame and no body of metadata that the tests have made is left. */
bool service_bench_destroy(struct service_bench *bench) JP_MUST_CHECK;

struct rpc_client *bench_open(const struct service_bench *bench, const struct rpc_client_info *info);
/* peer_id NULL: none. */
struct rpc_client *bench_open_named(const struct service_bench *bench, enum op_channel channel,
                                    const char *peer_id);
/* Over ZeroMQ. */
struct rpc_client *bench_open_routed(const struct service_bench *bench, const char *routing_id);
/* True: the session has got a new name, which is stored in *kept if kept is not NULL. */
bool bench_close(const struct service_bench *bench, struct rpc_client *client, struct uuid *kept);

/* Leaves the answer in out. */
enum rpc_served bench_serve(struct service_bench *bench, struct rpc_client *client, struct text message,
                            size_t reply_max);
/* Serves the message and fails if its answer is not, or does not contain, the wanted text. */
void check_answer(struct service_bench *bench, struct rpc_client *client, const char *message,
                  const char *wanted);
void check_part(struct service_bench *bench, struct rpc_client *client, const char *message,
                const char *part);
/* Fails if the last answer does not contain the part. */
void assert_part(const struct service_bench *bench, const char *part);

#endif

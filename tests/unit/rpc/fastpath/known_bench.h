#ifndef JPEER_TESTS_UNIT_RPC_COLFER_KNOWN_BENCH_H
#define JPEER_TESTS_UNIT_RPC_COLFER_KNOWN_BENCH_H
/*
 * The peer's service over the stub of jni, with members of whole numbers, for binary messages that are served
 * twice: on the general path, and by a worker that knows the messages already.
 */
#include "base/buffer.h"
#include "colfer/messages.h"
#include "tests/unit/rpc/service_bench.h"

/* A binary request made from plain parts. */
enum { SAMPLE_ARGS_MAX = 10 };

struct sample_request {
  enum colfer_message_kind kind;
  const char *peer_uuid; /* 16 bytes; NULL: none */
  const char *id;
  const char *thread_name;
  uint64_t current_time;
  uint32_t dispatch_seq;
  uint32_t builder_seq;
  const char *class_name;
  const char *member;
  uint32_t ref;                        /* of the object, if the kind has an object */
  const char *values[SAMPLE_ARGS_MAX]; /* up to NULL; a put uses the first */
  const char *type;                    /* of the values; NULL: not declared */
  const char *thread_affinity;
};

/* Appends the message's bytes. */
void sample_request_write(const struct sample_request *sample, struct buffer *out);

/* The session that contains an object with the ref 1. */
#define KNOWN_SESSION "0123456789abcdef"

/* Members of the class C, by their places in stub.members. */
enum known_member {
  KNOWN_ADD,     /* static int add(int...) */
  KNOWN_NOTHING, /* static void nothing(int...) */
  KNOWN_OWN_ADD, /* int ownAdd(int...) */
  KNOWN_STATIC_FIELD,
  KNOWN_STATIC_FIELD_SET,
  KNOWN_FIELD,
  KNOWN_FIELD_SET,
  KNOWN_CONSTRUCTOR,
  KNOWN_MEMBERS
};

/* A usual request for each of these members except the constructor. */
extern const struct sample_request known_requests[KNOWN_CONSTRUCTOR];

/* Its client is a ZeroMQ identity. */
struct service_bench *known_bench_create(void);

/* Makes the worker forget all messages. */
void known_bench_forget(struct service_bench *bench);

enum served_twice {
  SERVED_GENERALLY,  /* the general path has served the message both times */
  SERVED_AS_KNOWN,   /* the worker knew the message, and the result was the same as on the general path */
  SERVED_DIFFERENTLY /* the difference is on stderr */
};

/* The answers are compared without their own ids. bench->out then has the answer to the known message. */
enum served_twice known_bench_serve(struct service_bench *bench, struct rpc_client *client,
                                    struct text message, size_t reply_max);

#endif

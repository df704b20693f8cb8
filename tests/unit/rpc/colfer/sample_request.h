#ifndef JPEER_TESTS_UNIT_RPC_COLFER_SAMPLE_REQUEST_H
#define JPEER_TESTS_UNIT_RPC_COLFER_SAMPLE_REQUEST_H
/* Binary requests out of plain parts, for tests of what reads them. */
#include "base/buffer.h"
#include "colfer/messages.h"

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
  uint32_t ref;                        /* of the object, where the kind has one */
  const char *values[SAMPLE_ARGS_MAX]; /* up to NULL; of a put the first one */
  const char *type;                    /* of the values; NULL: not declared */
  const char *thread_affinity;
};

/* A class method's call of two ints. */
#define SAMPLE_ADD                                                                                           \
  {                                                                                                          \
    .kind = COLFER_CALLS_CLASS_METHOD, .peer_uuid = "0123456789abcdef",                                      \
    .id = "3f1c2a90-5d0e-4c6b-9a57-0c1d2e3f4a5b", .thread_name = "main", .current_time = 1732286400000,      \
    .dispatch_seq = 5, .builder_seq = 7, .class_name = "C", .member = "add", .values = {"5", "3"},           \
    .type = "int"                                                                                            \
  }

/* Appends the message's bytes. */
void sample_request_write(const struct sample_request *sample, struct buffer *out);

/* A message that was read from an exact copy of its bytes, so that a sanitizer sees a read past their end. */
struct sample_message {
  char *copy;
  struct text bytes;
  struct arena arena;
  struct colfer_message message;
};

/* Fails the test where the bytes are no message. */
void sample_message_read(struct sample_message *read, struct text bytes);
void sample_message_write(struct sample_message *read, const struct sample_request *sample);
void sample_message_fini(struct sample_message *read);

#endif

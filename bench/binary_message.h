#ifndef JPEER_BENCH_BINARY_MESSAGE_H
#define JPEER_BENCH_BINARY_MESSAGE_H
/*
 * Binary messages of a client and the peer's answers: a method is called, a value is returned. Pure; any thread.
 */
#include "base/buffer.h"

#include <stdbool.h>
#include <stdint.h>

enum { BINARY_ARGS_MAX = 2 };

struct binary_value {
  struct text type;
  struct text value; /* JSON */
};

struct binary_call {
  struct text peer; /* 16 bytes */
  struct text id;
  struct text class_name;
  struct text method;
  uint32_t receiver; /* the ref of the object; 0: the method is static */
  struct binary_value args[BINARY_ARGS_MAX];
  unsigned arg_count;
};

void binary_append_call(const struct binary_call *call, struct buffer *out);
/* Appends a request for a new object of the call's class, by the constructor without arguments. */
void binary_append_new(const struct binary_call *call, struct buffer *out);
/* Appends the peer's answer to the call whose message has this id: the method is public, and has this result. */
void binary_append_return(const struct binary_call *call, struct text id, const struct binary_value *result,
                          struct buffer *out);

/* Returns the ref in the answer; 0: the answer has no ref. */
uint32_t binary_ref_in(struct text answer);
/* True if both are messages that differ only in their ids. */
bool binary_equal_except_id(struct text one, struct text other);
/* Appends the message in readable form, or the reason why the bytes are not a message. */
void binary_show(struct text message, struct buffer *out);

#endif

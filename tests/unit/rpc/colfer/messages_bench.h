#ifndef JPEER_TESTS_UNIT_RPC_COLFER_MESSAGES_BENCH_H
#define JPEER_TESTS_UNIT_RPC_COLFER_MESSAGES_BENCH_H
/* Binary requests as structs, and the answers to them as lines of text, for tests to compare. */
#include "base/buffer.h"
#include "colfer/messages.h"

/* The message 1 of a sender that does not name itself; what follows are members of its part. */
#define EXEC(type, ...)                                                                                      \
  {                                                                                                          \
    .message_type = (type), .exec_message = &(struct colfer_exec_message)                                    \
    {                                                                                                        \
      .message_id = TEXT("1"), __VA_ARGS__                                                                   \
    }                                                                                                        \
  }
#define CONTROL_MESSAGE(...)                                                                                 \
  {                                                                                                          \
    .message_type = COLFER_CONTROL_REQUEST, .control_message = &(struct colfer_control_message)              \
    {                                                                                                        \
      .message_id = TEXT("1"), __VA_ARGS__                                                                   \
    }                                                                                                        \
  }
#define META_MESSAGE(...)                                                                                    \
  {                                                                                                          \
    .message_type = COLFER_META_REQUEST, .meta_message = &(struct colfer_meta_message)                       \
    {                                                                                                        \
      .message_id = TEXT("1"), __VA_ARGS__                                                                   \
    }                                                                                                        \
  }
#define OBJS(...)                                                                                            \
  {                                                                                                          \
    (struct colfer_obj[]){__VA_ARGS__},                                                                      \
        sizeof((struct colfer_obj[]){__VA_ARGS__}) / sizeof(struct colfer_obj)                               \
  }
#define NAMED_CLASS(text) (&(struct colfer_class){TEXT(text)})
#define NAMED_FIELD(text) (&(struct colfer_field){.name = TEXT(text)})

/* A call of a static method of C, and a new C. */
#define CALL_OF(method, ...)                                                                                 \
  EXEC(COLFER_CALLS_CLASS_METHOD, .class_method_call = &(struct colfer_class_method_call){                   \
                                      .clazz = NAMED_CLASS("C"), .name = TEXT(method), __VA_ARGS__})
#define NEW_OF(...)                                                                                          \
  EXEC(COLFER_CALLS_CONSTRUCTOR,                                                                             \
       .constructor_call = &(struct colfer_constructor_call){.clazz = NAMED_CLASS("C"), __VA_ARGS__})

/* Replaces what is in out. */
void encode_message(struct buffer *out, const struct colfer_message *message);

/* Shows an answer, as colfer_print does, without its own id, which has to be a UUID. Replaces what is in out, and ends
 * it with a NUL. */
void show_answer(struct buffer *out, struct text answer);

#endif

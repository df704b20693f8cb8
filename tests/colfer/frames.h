#ifndef JPEER_TESTS_COLFER_FRAMES_H
#define JPEER_TESTS_COLFER_FRAMES_H
/*
 * The format between interop.py and a codec in C; java/src/main/java/interop/GeneratedCodec.java has the same form.
 *
 * A sample is a byte count and the name of its struct, then a count of four bytes, big endian, and the struct. A
 * verdict is the byte 1 and the struct written again, or the byte 0 and the complaint, also preceded by its
 * length.
 *
 * One thread. An end of file in the middle of a frame, or too little memory, ends the program.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* All structs: STRUCT(name in the schema, name in C). */
#define STRUCTS(STRUCT)                                                                                      \
  STRUCT(Message, message)                                                                                   \
  STRUCT(ExecMessage, exec_message)                                                                          \
  STRUCT(ConstructorCall, constructor_call)                                                                  \
  STRUCT(InstanceMethodCall, instance_method_call)                                                           \
  STRUCT(ClassMethodCall, class_method_call)                                                                 \
  STRUCT(ClInitCall, cl_init_call)                                                                           \
  STRUCT(Context, context)                                                                                   \
  STRUCT(StaticFieldGet, static_field_get)                                                                   \
  STRUCT(StaticFieldPut, static_field_put)                                                                   \
  STRUCT(InstanceFieldGet, instance_field_get)                                                               \
  STRUCT(InstanceFieldPut, instance_field_put)                                                               \
  STRUCT(StaticFieldPutDone, static_field_put_done)                                                          \
  STRUCT(InstanceFieldPutDone, instance_field_put_done)                                                      \
  STRUCT(RaisedThrowable, raised_throwable)                                                                  \
  STRUCT(Throwable, throwable)                                                                               \
  STRUCT(ReturnValue, return_value)                                                                          \
  STRUCT(Reflectable, reflectable)                                                                           \
  STRUCT(Constructor, constructor)                                                                           \
  STRUCT(Method, method)                                                                                     \
  STRUCT(Field, field)                                                                                       \
  STRUCT(Class, class)                                                                                       \
  STRUCT(Obj, obj)                                                                                           \
  STRUCT(ControlMessage, control_message)                                                                    \
  STRUCT(MetaMessage, meta_message)

struct sample {
  char name[256]; /* the name in the schema: "ClassMethodCall" */
  /* Exactly size bytes of the heap, so that reading beyond them is found; the caller frees them. */
  uint8_t *bytes;
  size_t size;
};

/* False at the end of the file. */
bool frames_read_sample(FILE *file, struct sample *sample);
void frames_write_verdict(FILE *file, bool accepted, const void *bytes, size_t size);

#endif

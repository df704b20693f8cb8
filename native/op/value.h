#ifndef JPEER_OP_VALUE_H
#define JPEER_OP_VALUE_H
/*
 * A value on its way between a codec and Java: an argument, an element of one, or a result.
 *
 * It knows neither JSON nor Colfer nor JNI. All that it points to is borrowed from the request's bytes or
 * from the request's arena, and is valid until that arena is reset. Plain data, one thread.
 */
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum op_value_kind {
  OP_NULL,
  OP_BOOLEAN, /* boolean */
  OP_INTEGER, /* integer; the literal too where it came from a request */
  OP_NUMBER,  /* literal: a fraction, an exponent, or an integer beyond 64 bits. Requests only */
  OP_FLOAT,   /* decimal holds a float. Results only */
  OP_DOUBLE,  /* decimal. Results only */
  OP_CHAR,    /* integer holds one UTF-16 unit. Results only */
  OP_TEXT,    /* text */
  OP_REF,     /* ref: an object of the session */
  OP_LIST,    /* list */
  OP_MAP,     /* map: keys as text, in the order they came, a repeated key's last value only */
  OP_PACKED   /* packed: a one-dimensional array of primitives */
};

struct op_value;
struct op_entry;

struct op_value {
  enum op_value_kind kind;
  /* A number's suffix in lower case (d, f or l), or 0. */
  char suffix;
  bool is_told; /* the type is the member's own, which the codec has looked up, and not the caller's word */
  /* The Java type that the caller declared, as written ("int", "String[]", "[I", "com.example.Foo"); data is
   * NULL where none was declared. For a result: unused. */
  struct text type;
  struct text literal; /* OP_INTEGER, OP_NUMBER: the digits as written, without suffix; data may be NULL */
  union {
    bool boolean;
    int64_t integer;
    double decimal;
    struct text text;
    uint32_t ref;
    struct {
      struct op_value *items;
      size_t count;
    } list;
    struct {
      struct op_entry *entries;
      size_t count;
    } map;
    struct {
      /* count elements in the machine's order: Z and B one byte, C and S two, I and F four, J and D eight. */
      const void *data;
      size_t count;
      char element; /* JVM letter of the element: Z B C S I J F D */
    } packed;
  };
};

struct op_entry {
  struct text key;
  struct op_value value;
};

#endif

#ifndef JPEER_OP_VALUE_H
#define JPEER_OP_VALUE_H
/*
 * A value on its way between a codec and Java: an argument, an element of one, or a result.
 *
 * It knows neither JSON nor Colfer nor JNI. A value is typed: its kind says which member of the union holds
 * it, and whoever converts it reads that member. A number that a codec read from text and that is no 64-bit
 * integer has its digits as a literal instead of the member: op_scalar_read converts them once a primitive is
 * wanted, so that a request that is refused costs no conversion, and Java can read them itself. A codec whose
 * numbers are no text sets the member and leaves the literal absent. All that a value points to is borrowed from the request's bytes or from the request's
 * arena, and is valid until that arena is reset. Plain data, one thread.
 */
#include "base/arena.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum op_value_kind {
  OP_NULL,
  OP_BOOLEAN,     /* boolean */
  OP_INTEGER,     /* integer; literal: for -0 alone, which is another double than 0 */
  OP_BIG_INTEGER, /* literal: a whole number beyond 64 bits. Requests only */
  OP_FLOAT,       /* as OP_DOUBLE; a float holds the decimal exactly */
  OP_DOUBLE,      /* literal: its digits, where it was read from text; otherwise decimal */
  OP_CHAR,        /* integer holds one UTF-16 unit. Results only */
  OP_TEXT,        /* text */
  OP_REF,         /* ref: an object of the session */
  OP_LIST,        /* list */
  OP_MAP,         /* map: keys as text, in the order they came, a repeated key's last value only */
  OP_PACKED,      /* packed: a one-dimensional array of primitives */
  OP_TYPED_TEXT,  /* text: the whole of a value of the class or primitive `type`. Results only */
  OP_DOCUMENT,    /* text: JSON that rpc/meta has written already, the same in every codec. Results only */
  OP_CALLBACK /* callback: an object of the client, of the declared type where there is one. Requests only */
};

/* How an OP_PACKED in a result is written. */
enum op_packed_form {
  OP_PACKED_LIST,  /* a JSON list */
  OP_PACKED_TEXTS, /* a JSON list, each element a string */
  OP_PACKED_BASE64 /* one text: base64 of the elements, in little-endian order */
};

/* Whether the caller wants the elements of an array back that the call has changed, and how. */
enum op_out { OP_OUT_NONE, OP_OUT_LIST, OP_OUT_BASE64 };

struct op_value;
struct op_entry;

/* An object of the client that Java is to see as an interface ({"ref":{"callback":ID}}). */
struct op_callback {
  int64_t id; /* from 1 */
  const struct text *interfaces;
  size_t interface_count; /* 0: the declared type is the interface, or else the parameter's */
  const struct text *overrides;
  size_t override_count; /* default methods that are sent, too */
  int arity;             /* parameters of its functional method; -1: not told */
  bool is_oneway;
  bool borrows;
  bool sends_origin;
};

/* Whose object it is that Java knows as a proxy: in a result, beside its ref. */
struct op_callback_identity {
  int64_t id;
  uint64_t client; /* the number that `control session` tells that client */
};

/* A long text that several values are, with the String that jni has made of it for the first of them. */
struct op_shared_text {
  struct text text;
  void *string; /* a global reference of jni's; NULL: none was made yet */
};

struct op_value {
  enum op_value_kind kind;
  /* The suffix that a number carried in its request, in lower case (d, f or l), or 0. */
  char suffix;
  bool is_members_type; /* type is the member's own, which the codec has looked up, not the caller's */
  /* Of a number: what its list makes of it where nothing else is declared: 'J' a Long, 'L' a BigInteger; 0: its size
   * decides. Only an OP_INTEGER without a suffix heeds it. */
  char widened;
  enum op_out out; /* of a list or an OP_PACKED in a request */
  /* The Java type that the caller declared, as written ("int", "String[]", "[I", "com.example.Foo"); data is
   * NULL where none was declared. Of an OP_REF in a result: the class of what could not travel by value, or of any
   * object where the request asks for types; else data NULL. */
  struct text type;
  /* A number's digits as written, without its suffix; data is NULL where the kind needs none. Of an OP_REF in a
   * result: a text beside the ref, data NULL: none. */
  struct text literal;
  union {
    bool boolean;
    int64_t integer;
    double decimal;
    struct {
      struct text text;
      struct op_shared_text
          *shared; /* of an OP_TEXT: its text is this one; NULL: it is its own. Requests only */
    };
    struct {
      uint32_t ref;
      union {
        uint32_t
            release_count; /* of OP_DELETE_OBJECT alone: so many are let go of; 0: the object is deleted */
        bool has_length;   /* results only: of what could not travel by value */
      };
      size_t length;
      const struct op_callback_identity
          *callback_identity; /* results only; NULL: it is no client's callback */
    };
    const struct op_callback *callback;
    struct {
      struct op_value *items;
      size_t count;
    } list;
    struct {
      struct op_entry *entries;
      size_t count;
      char
          keys; /* what the keys are where nothing is declared of them: a primitive's letter, whose wrapper they become,
                     or 'L' for a BigInteger; 0: Strings */
    } map;
    struct {
      /* count elements in the machine's order, of the sizes that base/primitives.h lists */
      const void *data;
      size_t count;
      char element; /* JVM letter of the element: Z B C S I J F D */
      enum op_packed_form form;
    } packed;
  };
};

struct op_entry {
  struct text key;
  struct op_value value;
};

static inline bool op_value_is_number(const struct op_value *value)
{
  switch (value->kind) {
  case OP_INTEGER:
  case OP_BIG_INTEGER:
  case OP_FLOAT:
  case OP_DOUBLE:
    return true;
  default:
    return false;
  }
}

/* The digits of a number, without suffix: as they were written, or as Java's toString writes the value.
 * Borrowed from the value, or in the arena; data NULL: no memory. */
struct text op_value_digits(const struct op_value *number, struct arena *arena);

#endif

#ifndef JPEER_OP_VALUE_H
#define JPEER_OP_VALUE_H
/*
 * A value between a codec and Java: an argument, an element of an argument, or a result.
 *
 * It knows neither JSON nor Colfer nor JNI. A value is typed: its kind says which member of the union holds
 * it. A number that a codec reads from text, and that does not fit into 64 bits as an integer, keeps its
 * digits as a literal. op_scalar_read converts the digits only when a primitive is needed, so that a refused
 * request costs no conversion, and Java can read the digits itself. A codec with binary numbers sets the
 * member and leaves the literal absent. All pointers of a value are borrowed from the request's bytes or
 * arena, and valid until that arena is reset. Plain data, one thread.
 */
#include "base/arena.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum op_value_kind {
  OP_NULL,
  OP_BOOLEAN,     /* boolean */
  OP_INTEGER,     /* integer; integer; literal: set only for -0, because -0 as a double differs from 0 */
  OP_BIG_INTEGER, /* literal: a whole number beyond 64 bits. Requests only */
  OP_FLOAT,       /* as OP_DOUBLE, if a float can represent the decimal exactly */
  /* literal: the digits, if the number was read from text; otherwise `decimal` is the number */
  OP_DOUBLE,
  OP_CHAR,       /* integer holds one UTF-16 unit. Results only */
  OP_TEXT,       /* text */
  OP_REF,        /* ref: an object of the session */
  OP_LIST,       /* list */
  OP_MAP,        /* map: keys as text, in the order of the request, only the last value of a repeated key */
  OP_PACKED,     /* packed: a one-dimensional array of primitives */
  OP_TYPED_TEXT, /* text: a value of the class or primitive `type`. Results only */
  OP_DOCUMENT,   /* text: JSON that rpc/meta has written already, the same in every codec. Results only */
  /* callback: an object of the client, of the declared type, if a type is declared. Requests only */
  OP_CALLBACK
};

/* How an OP_PACKED in a result is written. */
enum op_packed_form {
  OP_PACKED_LIST,  /* a JSON list */
  OP_PACKED_TEXTS, /* a JSON list, each element a string */
  OP_PACKED_BASE64 /* one text: base64 of the elements, in little-endian order */
};

/* Whether and how the caller wants the changed elements of an array after the call. */
enum op_out { OP_OUT_NONE, OP_OUT_LIST, OP_OUT_BASE64 };

struct op_value;
struct op_entry;

/* An object of the client that Java uses by an interface ({"ref":{"callback":ID}}). */
struct op_callback {
  int64_t id; /* from 1 */
  const struct text *interfaces;
  /* 0: the interface is the declared type or, without a declared type, the parameter's type */
  size_t interface_count;
  const struct text *overrides;
  size_t override_count; /* the number of default methods that are also sent to the client */
  int arity;             /* the number of parameters of its functional method; -1: unknown */
  bool is_oneway;
  bool borrows;
  bool sends_origin;
};

/* For a result that is a proxy of a client's object: the client and the client's id of the object, in
 * addition to the ref of the proxy. */
struct op_callback_identity {
  int64_t id;
  uint64_t client; /* the number of that client in `control session` */
};

/* A long text that several values share, with the String that jni has made for the first of these values. */
struct op_shared_text {
  struct text text;
  void *string; /* a global reference of jni's; NULL: none was made yet */
};

struct op_value {
  enum op_value_kind kind;
  /* The suffix that a number carried in its request, in lower case (d, f or l), or 0. */
  char suffix;
  bool is_members_type; /* the codec has found `type` from the member; the caller did not declare it */
  /* The class of a number in a list without a declared type. 'J': a Long; 'L': a BigInteger; 0: the class
   * depends on the size of the number. Only for an OP_INTEGER without a suffix. */
  char widened;
  enum op_out out; /* of a list or an OP_PACKED in a request */
  /* The Java type that the caller declared, as written ("int", "String[]", "[I", "com.example.Foo"); data is
   * NULL if no type was declared. For an OP_REF in a result: the class of the object, if the object has no
   * value or the request asks for types; otherwise data is NULL. */
  struct text type;
  /* A number's digits as written, without its suffix; data is NULL if the kind needs none. Of an OP_REF in a
   * result: the text that is sent with the ref; data NULL: no text. */
  struct text literal;
  union {
    bool boolean;
    int64_t integer;
    double decimal;
    struct {
      struct text text;
      struct op_shared_text *shared; /* of an OP_TEXT: the shared text; NULL: its own. Requests only */
    };
    struct {
      uint32_t ref;
      union {
        uint32_t release_count; /* OP_DELETE_OBJECT: the number of references to release; 0: delete the
                                 * object */
        bool has_length;        /* results only: the object is sent without a value, but with its length */
      };
      size_t length;
      const struct op_callback_identity
          *callback_identity; /* results only; NULL: the object is not a client's callback */
    };
    const struct op_callback *callback;
    struct {
      struct op_value *items;
      size_t count;
    } list;
    struct {
      struct op_entry *entries;
      size_t count;
      /* The class of the keys, if no type is declared for them: the letter of a primitive means its wrapper,
       * 'L' means BigInteger, and 0 means String. */
      char keys;
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

/* Returns the digits of a number without its suffix, as written or as Java's toString writes the value.
 * Borrowed from the value, or in the arena; data NULL: no memory. */
struct text op_value_digits(const struct op_value *number, struct arena *arena);

#endif

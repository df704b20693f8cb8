#ifndef JPEER_COMMAND_LANGUAGE_VALUE_H
#define JPEER_COMMAND_LANGUAGE_VALUE_H
/*
 * Values of the language: Java's values, objects of the peer, and what only this side has (lists, maps and lambdas that
 * are written in the program).
 *
 * One thread. Values are counted: a pool holds each new value until it is drained (value_pool_drain), a variable or
 * another value holds it with value_keep. The object of a value is released in the peer when nothing holds the value.
 */
#include "base/arena.h"
#include "base/buffer.h"
#include "command/language.h"
#include "jpeer/client.h"

struct lambda; /* expressions.c */

enum value_kind {
  VALUE_VOID,
  VALUE_NULL,
  VALUE_BOOLEAN, /* integer is 0 or 1 */
  VALUE_INTEGER, /* byte, short, int, long */
  VALUE_NUMBER,  /* float, double */
  VALUE_CHAR,    /* integer is the UTF-16 unit */
  VALUE_TEXT,    /* text; if type is not "", the text of a value of that class: "java.lang.Class" */
  VALUE_OBJECT,  /* ref, its class as type, and text if its answer had one */
  VALUE_LIST,    /* items */
  VALUE_ENTRY,   /* items: the key and the value of a Map's entry that was fetched */
  VALUE_MAP,     /* items: keys and values in turn */
  VALUE_LAMBDA,  /* lambda */
  VALUE_CAST,    /* items[0] with the static type `type` */
  VALUE_CLASS,   /* a class, by its full name in text */
  VALUE_PACKAGE, /* the beginning of a class's name, in text */
  VALUE_PENDING  /* the result of a step that was not sent yet */
};

struct value {
  enum value_kind kind;
  unsigned holders;
  char primitive; /* of a BOOLEAN, INTEGER, NUMBER or CHAR: Z B S I J F D C */
  bool is_boxed;  /* its type in Java is the wrapper */
  bool is_used;   /* of a PENDING: a later step of the batch uses it */
  bool is_field;  /* of a PENDING: its step reads a field */
  int64_t integer;
  double number;
  struct text text; /* owned, NUL-terminated; data NULL: none */
  char *type;       /* owned; NULL: none */
  struct jp_ref *ref;
  struct value **items; /* owned array of held values */
  size_t item_count;
  struct lambda *lambda; /* owned by the value, see expressions.c */
  size_t step;           /* of a PENDING: the number of its step in the batch */
  size_t at;             /* of a PENDING: the place in the source */
};

struct value_pool {
  struct value **values;
  size_t count;
  size_t capacity;
};

/* expressions.c: a value does not hold its lambda any more. */
void lambda_release(struct lambda *lambda);

/* A new value, held by the pool. NULL: no memory. */
struct value *value_create(struct value_pool *pool, enum value_kind kind);
/* The pool holds a value that others hold, too. NULL: no memory. */
struct value *value_hold(struct value_pool *pool, struct value *value);
struct value *value_keep(struct value *value);
/* Accepts NULL. */
void value_release(struct value *value);
/* Releases the values that were created after the pool had `count` values. */
void value_pool_drain(struct value_pool *pool, size_t count);
void value_pool_fini(struct value_pool *pool);

struct value *value_boolean(struct value_pool *pool, bool is_true);
struct value *value_integer(struct value_pool *pool, char primitive, int64_t integer);
struct value *value_number(struct value_pool *pool, char primitive, double number);
struct value *value_text(struct value_pool *pool, struct text text);
/* Copies the text into a value. False: no memory. */
bool value_set_text(struct value *value, struct text text);
/* Likewise; an array's class is kept as a program writes it ("int[]"), whichever form it is given in. */
bool value_set_type(struct value *value, struct text type);
/* Appends an item, which it keeps. False: no memory. */
bool value_append(struct value *value, struct value *item);

/* Makes *value, which is PENDING or new, what an answer says; it keeps the answer's object. False: no memory. */
bool value_set_answer(struct value *value, const struct jp_answer *answer);
/* The value of an element of jpeer.fetch with types and longs as texts, from its JSON; answer is the answer that it is in,
 * object what it is an element of: the class of an array says what its elements are. The wrappers of other objects are
 * told apart as far as the protocol does: a Byte or Short becomes an Integer, a Float a Double. NULL: no memory. */
struct value *value_of_element(struct value_pool *pool, struct jp_answer *answer, struct jp_json json,
                               const struct value *object);
/* A String of JSON, unescaped, in the arena; "" if it is no String, or there is no memory. NUL-terminated. */
struct text value_read_text(struct arena *arena, struct jp_json json);

/* Java's text of a BOOLEAN, INTEGER, NUMBER, CHAR, TEXT or NULL; also of an OBJECT with a text. False: of no other. */
bool value_write_text(const struct value *value, struct buffer *out);
/* An object that is an array. */
bool value_is_array(const struct value *value);
/* "an int", "a java.util.List": for errors. In a static buffer of the caller's. */
const char *value_describe(const struct value *value, char out[120]);

/* Runs an operator of values that are no text, objects or pending, as Java does. NULL and *error: it does not exist for
 * them, or throws (*throws: "java.lang.ArithmeticException"). */
struct value *value_operate(struct value_pool *pool, enum binary_operator op, const struct value *left,
                            const struct value *right, const char **throws, struct jp_error *error);
struct value *value_negate(struct value_pool *pool, const struct value *value, struct jp_error *error);
/* Of the primitive types of one operand or two: binary numeric promotion (JLS 5.6). */
char value_promote(char left, char right);

/* Converts a number or char to a primitive type, as a cast does. NULL and *error: it cannot be. */
struct value *value_convert(struct value_pool *pool, const struct value *value, char primitive,
                            struct jp_error *error);
/* Whether == holds for two values that are neither pending nor casts. */
bool value_equal(const struct value *left, const struct value *right);

#endif

#ifndef JPEER_COMMAND_LANGUAGE_H
#define JPEER_COMMAND_LANGUAGE_H
/*
 * The language of `jpeer call`, the shell and its scripts: Java's expressions without declared types, and a few
 * statements. A text becomes a tree.
 *
 * Pure functions, any thread. A tree lives in the arena that language_parse was given, and borrows its source.
 */
#include "base/arena.h"
#include "base/buffer.h"
#include "base/status.h"
#include "base/text.h"

#include <stdint.h>

/* How deep trees may be: their readers are recursive. */
enum { LANGUAGE_DEPTH_MAX = 400 };

/* X(KIND, word): the word is for texts of trees (language_write). */
#define NODE_KINDS(X)                                                                                        \
  /* expressions */                                                                                          \
  X(LITERAL, "literal")           /* literal */                                                              \
  X(NAME, "name")                 /* name */                                                                 \
  X(MEMBER, "member")             /* first . name */                                                         \
  X(CALL, "call")                 /* first . name ( items ); first is NULL for a call of a variable */       \
  X(NEW, "new")                   /* new type ( items ) */                                                   \
  X(NEW_ARRAY, "new-array")       /* new type [ first ]: type is that of the elements */                     \
  X(NEW_ELEMENTS, "new-elements") /* new type { items }: type is that of the array */                        \
  X(INDEX, "index")               /* first [ second ] */                                                     \
  X(SLICE, "slice")               /* first [ second : third ]; each may be NULL */                           \
  X(REFERENCE, "reference")       /* type :: name */                                                         \
  X(LAMBDA, "lambda")             /* items (NAME nodes) -> first */                                          \
  X(CAST, "cast")                 /* ( type ) first */                                                       \
  X(LIST, "list")                 /* [ items ] */                                                            \
  X(MAP, "map")                   /* { items }: keys and values in turn */                                   \
  X(NEGATE, "-")                  /* - first */                                                              \
  X(NOT, "!")                     /* ! first */                                                              \
  X(BINARY, "binary")             /* first op second */                                                      \
  X(CONDITIONAL, "?")             /* first ? second : third */                                               \
  X(INSTANCEOF, "instanceof")     /* first instanceof type */                                                \
  /* statements */                                                                                           \
  X(BLOCK, "block")   /* { items } */                                                                        \
  X(IMPORT, "import") /* import name; name ends with ".*" for a package */                                   \
  X(ASSIGN, "=")      /* first = second; first is a NAME, MEMBER, INDEX or SLICE */                          \
  X(FOR, "for")       /* for ( type name : first ) second; type is primitive or absent */                    \
  X(IF, "if")         /* if ( first ) second else third; third may be NULL */                                \
  X(WHILE, "while")   /* while ( first ) second */                                                           \
  X(TRY, "try")       /* try ( name = first ) second, and a CATCH or NULL as third */                        \
  X(CATCH, "catch")   /* catch ( type name ) first; type may be absent */                                    \
  X(THROW, "throw")   /* throw first */                                                                      \
  X(RETURN, "return") /* return first; first may be NULL */                                                  \
  X(BREAK, "break")                                                                                          \
  X(CONTINUE, "continue")                                                                                    \
  X(COMMAND, "command") /* \ name: the rest of the line */

enum node_kind {
#define NODE_KIND(KIND, word) NODE_##KIND,
  NODE_KINDS(NODE_KIND)
#undef NODE_KIND
};

/* X(OPERATOR, text, precedence) */
#define BINARY_OPERATORS(X)                                                                                  \
  X(OR, "||", 1)                                                                                             \
  X(AND, "&&", 2)                                                                                            \
  X(EQUAL, "==", 3)                                                                                          \
  X(UNEQUAL, "!=", 3)                                                                                        \
  X(LESS, "<", 4)                                                                                            \
  X(LESS_EQUAL, "<=", 4)                                                                                     \
  X(GREATER, ">", 4)                                                                                         \
  X(GREATER_EQUAL, ">=", 4)                                                                                  \
  X(ADD, "+", 5)                                                                                             \
  X(SUBTRACT, "-", 5)                                                                                        \
  X(MULTIPLY, "*", 6)                                                                                        \
  X(DIVIDE, "/", 6)                                                                                          \
  X(REMAINDER, "%", 6)

enum binary_operator {
#define BINARY_OPERATOR(NAME, text, precedence) BINARY_##NAME,
  BINARY_OPERATORS(BINARY_OPERATOR)
#undef BINARY_OPERATOR
};

enum literal_kind {
  LITERAL_NULL,
  LITERAL_BOOLEAN, /* integer is 0 or 1 */
  LITERAL_INT,
  LITERAL_LONG,
  LITERAL_FLOAT,
  LITERAL_DOUBLE,
  LITERAL_CHAR, /* integer is the UTF-16 unit */
  LITERAL_TEXT
};

struct node {
  enum node_kind kind;
  enum binary_operator op;
  unsigned depth; /* of the tree below */
  size_t at;      /* offset in the source, of what an error about the node points at */
  struct text name;
  struct text type; /* "List", "java.util.List", "int[]"; without type arguments */
  struct node *first;
  struct node *second;
  struct node *third;
  struct node *items; /* linked by next */
  struct node *next;
  enum literal_kind literal;
  int64_t integer;
  double number;
  struct text text; /* a text literal's content; may contain NULs and lone surrogates */
};

/* Where a text is wrong, and how. */
struct language_error {
  size_t at;          /* offset in the source */
  bool is_incomplete; /* more text could make it right: a shell reads another line */
  struct jp_error error;
};

/* Says whether a name is a variable, which decides whether "(x) [1]" is a cast. NULL: there is none. */
struct language_names {
  bool (*is_variable)(const struct language_names *names, struct text name);
};

/* Parses statements: *program is a BLOCK. The source must be UTF-8. JP_INVALID: *error says where and why;
 * JP_NO_MEMORY. */
enum jp_status language_parse(struct text source, const struct language_names *names, struct arena *arena,
                              struct node **program, struct language_error *error) JP_MUST_CHECK;

/* Line and column (in characters) of an offset, both from 1. */
void language_locate(struct text source, size_t at, size_t *line, size_t *column);

/* Appends "name:LINE:COLUMN: message", the line, and a caret below its column. For a source of one line the place is
 * left out, if name is NULL. */
void language_write_fault(struct buffer *out, const char *name, struct text source, size_t at,
                          const char *message);

/* Appends the line and the caret alone. */
void language_write_place(struct buffer *out, struct text source, size_t at);

/* Appends the tree in a form of its own, for tests: (call (name a) b (literal int 5)). */
void language_write(struct buffer *out, const struct node *node);

const char *language_operator_text(enum binary_operator op);

#endif

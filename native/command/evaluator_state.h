#ifndef JPEER_COMMAND_EVALUATOR_STATE_H
#define JPEER_COMMAND_EVALUATOR_STATE_H
/*
 * The inside of the evaluator, for its files: batch.c, class_names.c, evaluator.c, expressions.c, scopes.c and statements.c.
 *
 * Functions that return a value return NULL, and others false, after they have set the failure; the value belongs to the
 * pool.
 */
#include "base/array.h"
#include "base/hash_index.h"
#include "base/primitives.h"
#include "command/evaluator.h"

#include <inttypes.h>
#include <stdlib.h>

struct variable {
  struct value *value; /* held */
  uint32_t hash;       /* of the name */
  char name[];
};

/* The variables of the program, of a call of a lambda, or of one turn of a loop. */
struct scope {
  unsigned holders;
  bool is_turn; /* has the variable of its loop only: new variables belong to the scope around it */
  struct scope *parent;
  struct variable **variables;
  size_t count;
  size_t capacity;
  struct hash_index names; /* of more than a few variables: from hashes to their places */
};

/* A source and its tree, which lambdas of it hold. */
struct program {
  unsigned holders;
  struct arena arena;
  struct text source;
  struct node *root;
};

struct lambda {
  struct evaluator *evaluator;
  unsigned holders;        /* values, and the callback */
  const struct node *node; /* a LAMBDA or a REFERENCE */
  struct program *program;
  struct scope *scope;
  struct text owner;            /* of a REFERENCE: the full name of its class; in the program's arena */
  struct jp_callback *callback; /* NULL: Java has not got it */
};

/* The steps that were not sent yet. */
struct batch {
  struct jp_chain *chain;
  struct value **pending; /* held */
  size_t count;
  size_t capacity;
  struct value **operands; /* held: the messages name their objects, which must not be released before */
  size_t operand_count;
  size_t operand_capacity;
};

struct class_name {
  struct class_name *next;
  struct text simple; /* "List", or "java.util.Map$Entry" for a nested class that was looked up */
  struct text full;   /* "": there is none */
};

struct evaluator {
  struct evaluator_config config;
  struct value_pool pool;
  struct scope *globals;
  struct scope *scope;
  struct program *program;
  struct batch batch;
  struct arena step;  /* the arguments of the step that is being added */
  struct arena names; /* imports and known classes */
  struct class_name *classes;
  struct class_name *packages; /* imported by the program: the latest first */
  struct class_name *methods;  /* of interfaces that Java has called: full is "void", or "" */
  struct failure failure;
  unsigned guards;  /* try statements and calls from Java around: throwables are asked for */
  unsigned calls;   /* of lambdas */
  size_t callbacks; /* lambdas that Java may call: variables are not PENDING then */
  bool is_ended;    /* evaluator_destroy was called; the last of its callbacks frees it */
  size_t results;
  struct hash_index numbers; /* of "$1" and so on: from the number of an object's ref to N */
  size_t round_trips;
  bool is_at_end; /* the program has run, and the rest of its steps is sent */
};

/* What a call, a constructor or a put is made of. */
struct invocation {
  enum jp_operation operation;
  size_t at;
  struct text type; /* of a static member or a constructor; "": none */
  struct text member;
  struct value *receiver; /* NULL: none */
  struct value **values;  /* the arguments; in an array of the caller's */
  size_t count;
  bool is_of_language; /* changes nothing: makes a List, a Map or what was thrown, or asks about a class */
};

/* ---- batch.c ---- */

/* False: no memory. */
bool batch_begin(struct evaluator *ev, struct batch *batch);
void batch_end(struct batch *batch);
/* Adds a step. The result is PENDING. */
struct value *evaluator_invoke(struct evaluator *ev, const struct invocation *call);
/* Prints the request, and sets the failure: returns false. */
bool evaluator_print_request(struct evaluator *ev, const struct jp_request *request);
/* Sends the steps, and makes the pending values known. */
bool evaluator_flush(struct evaluator *ev);
/* Returns the value, known. */
struct value *evaluator_know(struct evaluator *ev, struct value *value);
/* A Map's ENTRY as an object of Java; other values as they are. */
struct value *evaluator_make_entry(struct evaluator *ev, size_t at, struct value *value);
bool evaluator_make_argument(struct evaluator *ev, size_t at, struct value *value, struct jp_argument *out);
const char *chain_name_step(size_t step, char out[24]);

/* Sets the failure and returns NULL. type: the throwable's class, for `catch`; "": none. */
struct value *evaluator_fail(struct evaluator *ev, size_t at, const char *type, const char *format, ...)
    JP_PRINTF(4, 5);
struct value *evaluator_fail_memory(struct evaluator *ev);
/* The value, or a failure if it is NULL. */
struct value *evaluator_or_no_memory(struct evaluator *ev, struct value *value);
/* Sets the failure from a status of the client library. */
void evaluator_take_failure(struct evaluator *ev, size_t at, bool has_place, enum jp_client_status status,
                            const struct jp_client_error *error, const struct jp_answer *answer);

/* ---- class_names.c ---- */

/* The full name of a type as the program writes it: "List", "java.util.List", "Map.Entry", "int[]". data NULL: failed. */
struct text evaluator_resolve_type(struct evaluator *ev, size_t at, struct text type);
/* The same for a name without a dot. */
struct text evaluator_resolve_simple(struct evaluator *ev, size_t at, struct text simple);
/* *nested is the full name of the class's nested class of that name; "": `Outer.Name` is a field. */
bool evaluator_find_nested(struct evaluator *ev, struct text outer, struct text name, struct text *nested);
/* False: no memory. */
bool evaluator_note_class(struct evaluator *ev, struct class_name **list, struct text simple,
                          struct text full);
struct class_name *class_name_find(struct class_name *list, struct text simple);

/* ---- expressions.c ---- */

struct value *evaluator_evaluate(struct evaluator *ev, const struct node *node);
/* The result is not PENDING. */
struct value *evaluator_evaluate_known(struct evaluator *ev, const struct node *node);
/* As evaluator_evaluate, but the result may be a CLASS or a PACKAGE. */
struct value *evaluator_resolve_node(struct evaluator *ev, const struct node *node);
bool evaluator_is_true(struct evaluator *ev, const struct node *node, bool *truth);
/* As a cast to the primitive type. */
struct value *evaluator_convert(struct evaluator *ev, size_t at, struct value *value, struct text type);
/* Whether the value is of the class: a boolean, which may be PENDING. */
struct value *evaluator_test_class(struct evaluator *ev, size_t at, struct value *value, struct text type);

void program_release(struct program *program);

/* For jp_callback_config: context is a struct lambda. */
void lambda_run_callback(void *context, struct jp_callback_call *call);
void lambda_end_callback(void *context);

/* ---- scopes.c ---- */

/* NULL: no memory. */
struct scope *scope_create(struct scope *parent, bool is_turn);
void scope_release(struct scope *scope);
/* False: no memory. */
bool scope_define(struct scope *scope, struct text name, struct value *value);
/* False: there is no such variable. */
bool scope_drop(struct scope *scope, struct text name);
void scope_drop_all(struct scope *scope);
struct variable *evaluator_find_variable(const struct evaluator *ev, struct text name);
/* For errors: the variable that is nearest to an unknown name; data NULL: none is near. */
struct text evaluator_near_variable(const struct evaluator *ev, struct text name);

/* ---- statements.c ---- */

/* What follows a statement. */
enum flow { FLOW_NEXT, FLOW_BREAK, FLOW_CONTINUE, FLOW_RETURN, FLOW_FAIL };

/* *value is that of an expression, or of a return statement; NULL: none. */
enum flow evaluator_run_statement(struct evaluator *ev, const struct node *node, struct value **value);
/* Steps that were added before the program failed have to run: Java would have run them. If one fails, that failure came
 * first. */
void evaluator_settle_failure(struct evaluator *ev);

/* A LIST or MAP as an object of Java; other values as they are. */
struct value *evaluator_make_collection(struct evaluator *ev, size_t at, struct value *value);

/* Runs the body of a lambda. *value is VOID if it has none. */
bool evaluator_run_body(struct evaluator *ev, const struct node *node, struct value **value);

#endif

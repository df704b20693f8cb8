#ifndef JPEER_COMMAND_EVALUATOR_H
#define JPEER_COMMAND_EVALUATOR_H
/*
 * Runs programs of the language on a peer.
 *
 * Calls of Java become steps of a chain, which is sent when a value is needed here, or when the next call must not run if
 * the last one fails: a chain of calls is one round trip.
 *
 * One thread: that of the caller, on which Java's calls of lambdas run, too.
 */
#include "command/language_value.h"

struct evaluator;

struct evaluator_config {
  struct jp_client *client;
  int timeout_ms; /* of each round trip; JP_FOREVER */
  bool verbose;   /* reports have all frames */
  bool read_only; /* the requests of programs have options.idempotent */
  bool (*interrupted)(
      void *context); /* ends a loop, as that of jp_client_config ends a wait; NULL: nothing does */
  /* Requests are appended to it as JSON, and not sent: the first one that would be ends the run with FAILURE_PRINTED.
   * NULL: they are sent. */
  struct buffer *printed;
};

enum failure_kind {
  FAILURE_NONE,
  FAILURE_PROGRAM,    /* the program is wrong, or threw something that Java has not */
  FAILURE_THROWN,     /* Java threw, or the peer refused the request */
  FAILURE_DENIED,     /* the policy denies it */
  FAILURE_CONNECTION, /* the connection has ended */
  FAILURE_TIMEOUT,
  FAILURE_INTERRUPTED,
  FAILURE_PRINTED, /* a request was printed and not sent; has_place: the program goes on after its answer */
  FAILURE_MEMORY
};

struct failure {
  enum failure_kind kind;
  size_t at;             /* in the source */
  bool has_place;        /* `at` is worth showing */
  bool is_syntax;        /* the source is no program: nothing has run */
  int code;              /* of JSON-RPC, if the peer has answered with an error; else 0 */
  char type[256];        /* the throwable's class; "": none */
  struct jp_error error; /* the message */
  struct buffer report;  /* lines: class and message, frames, causes */
  struct buffer types;   /* the classes that a catch may name, one a line */
  bool has_superclasses; /* all of them are among `types` */
  struct value *thrown;  /* the throwable; held; NULL: none */
};

/* NULL: no memory. */
struct evaluator *evaluator_create(const struct evaluator_config *config);
/* Releases what variables hold. */
void evaluator_destroy(struct evaluator *evaluator);

/* Runs the statements of a source. *value is the value of the last one, which the caller releases; it is not PENDING.
 * False: *failure says why, until the next run. */
bool evaluator_run(struct evaluator *evaluator, struct text source, struct value **value,
                   const struct failure **failure);

/* Receives what the statements of a source have given: a value, which is not PENDING, and whether the statement is an
 * expression; or a command of the shell, its name and its words. False ends the run. */
struct statement_listener {
  bool (*value)(struct statement_listener *listener, struct value *value, bool is_expression);
  bool (*command)(struct statement_listener *listener, struct text command);
};

/* As evaluator_run, but statement by statement: each is sent before the next one begins. *is_ended: the listener has ended
 * the run, or the program has returned. */
bool evaluator_run_statements(struct evaluator *evaluator, struct text source,
                              struct statement_listener *listener, const struct failure **failure);

/* As evaluator_run; but the name of a class alone is a value of the kind CLASS. */
bool evaluator_resolve(struct evaluator *evaluator, struct text source, struct value **value,
                       const struct failure **failure);

/* Calls a static method, "java.lang.Math.max" or "Math.max", or a constructor, "ArrayList.new". The name has a dot.
 * Otherwise as evaluator_run. */
bool evaluator_call(struct evaluator *evaluator, struct text name, const struct jp_argument *args,
                    size_t count, struct value **value, const struct failure **failure);

/* Sends any request. The caller frees *answer. */
bool evaluator_request(struct evaluator *evaluator, const struct jp_request *request,
                       struct jp_answer **answer, const struct failure **failure);

/* The options of a request that a program means, other than of one that shows a value. NULL: none. */
const struct jp_options *evaluator_options(const struct evaluator *evaluator);

/* Why the last request failed, until the next run or request; its kind is FAILURE_NONE if it did not. */
const struct failure *evaluator_failure(const struct evaluator *evaluator);

/* Sends questions, 500 in a round trip. truths: the boolean answers; false for an error. False: no answer arrived, and
 * evaluator_failure says why. */
bool evaluator_ask(struct evaluator *evaluator, const struct jp_request *requests, size_t count,
                   bool *truths);

/* The same for texts: values[i] gets the text of the answer i; an error leaves it without one. */
bool evaluator_ask_texts(struct evaluator *evaluator, const struct jp_request *requests, size_t count,
                         struct value **values);

/* The same for values of the kind VOID, which become what the answers say: an error the TEXT "<CLASS>" of what was thrown,
 * or "<denied>". */
bool evaluator_ask_values(struct evaluator *evaluator, const struct jp_request *requests, size_t count,
                          struct value **values);

/* Makes the value "$1", "$2", ... and returns the number; an object that has one keeps it. */
size_t evaluator_number_result(struct evaluator *evaluator, struct value *value);

/* Makes a List or Map an object of Java. *value is borrowed from the evaluator until its next run. */
bool evaluator_make_object(struct evaluator *evaluator, struct value **value);

/* Makes a variable of the program a List of texts. False: no memory. */
bool evaluator_define_texts(struct evaluator *evaluator, const char *name, char *const *texts, size_t count);
/* The variables of the program: their names and values, borrowed until the next run. NULL after the last. */
const char *evaluator_variable(const struct evaluator *evaluator, size_t index, const struct value **value);
/* Releases what no variable holds: the last failure and its throwable end. */
void evaluator_release_rest(struct evaluator *evaluator);
/* Ends a variable. False: there is none. */
bool evaluator_drop(struct evaluator *evaluator, struct text name);
/* The full name of a class as the program writes it, without an error if there is none: data NULL. */
struct text evaluator_find_class(struct evaluator *evaluator, struct text name);
/* The packages whose classes have simple names: by default, and by imports. NULL after the last. */
const char *evaluator_imported_package(const struct evaluator *evaluator, size_t index);

/* Makes a variable of the program. False: no memory. */
bool evaluator_define(struct evaluator *evaluator, struct text name, struct value *value);
/* The number of the last "$N". */
size_t evaluator_results(const struct evaluator *evaluator);
void evaluator_set_results(struct evaluator *evaluator, size_t results);

/* How many messages were sent. */
size_t evaluator_round_trips(const struct evaluator *evaluator);

/* ---- failures ---- */

/* Codes of JSON-RPC. Of the errors from -32600 to PARAMS nothing has run. */
enum { FAILURE_CODE_DENIED = -32001, FAILURE_CODE_NO_MEMBER = -32601, FAILURE_CODE_PARAMS = -32602 };

void failure_init(struct failure *failure);
void failure_fini(struct failure *failure);
void failure_clear(struct failure *failure);
/* From what a function of the client library returned; answer: its answer, if it has one. */
void failure_set(struct failure *failure, enum jp_client_status status, const struct jp_client_error *error,
                 const struct jp_answer *answer, bool verbose);

#endif

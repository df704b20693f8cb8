#ifndef JPEER_JNI_CONVERT_ARGUMENTS_H
#define JPEER_JNI_CONVERT_ARGUMENTS_H
/*
 * Values of a request as Java values (behaviour.md, "Arguments"). On the thread's own thread, between
 * jvm_request_begin and jvm_request_end; no exception may be pending on entry, none is on return.
 *
 * Every function that fails leaves an OUTCOME_ERROR in the conversion's outcome: -32602 naming the argument,
 * the value, the type and its range where the value does not fit; what Java threw where a collection, a
 * constant or a class was to blame. Objects are local references of the request's frame.
 */
#include "jni/convert/costs.h"
#include "jni/members.h"
#include "jni/types/member_table.h"
#include "op/scalar.h"

/* Where a nested value stands: argument 1, element 3 of it, ... */
struct argument_path {
  const struct argument_path *outer; /* NULL: the argument itself */
  size_t index;
};

struct conversion {
  struct jvm_thread *thread;
  const struct jvm_request *request;
  struct outcome *outcome;
  bool is_put; /* the one value of a put, not an argument */
  const struct argument_path *path;
  const struct jvm_class *beside; /* whose loader may know what the application's does not; may be NULL */
  struct {
    struct text name;
    struct jvm_class *class; /* a permanent one; NULL: none yet */
  } loaded;                  /* last: the elements of a list mostly declare one type */
  struct {
    struct text written; /* data NULL: none yet */
    bool was_told;
    struct op_type type;
    char letter;             /* of the primitive that the type is, or is the wrapper of; of String
                                ARGUMENT_TEXT; else 0 */
    struct jvm_class *class; /* one that the guard need not be asked about; NULL: not known yet, or none */
  } declared;                /* by the last element that was read */
};

/* How one argument crosses: decided once, kept with the record. */
struct argument_plan {
  /* What the value is read as: a primitive's letter, 'L', or 0 where it is read straight as the parameter's
   * type. */
  char from;
  struct jvm_class *from_class; /* where from is 'L' */
  struct jvm_type *to;          /* the parameter, or the element of a variable arity; borrowed */
  bool is_plain;                /* from is 'I' or 'J', and so is the parameter */
};

/* A whole number that was written as what the member takes, as most are; false: it is another value. */
static inline bool argument_read_plainly(const struct argument_plan *plan, const struct op_value *value,
                                         jvalue *out)
{
  if (!plan->is_plain || value->kind != OP_INTEGER || value->suffix != 0)
    return false;
  if (plan->from == 'J') {
    out->j = value->integer;
    return true;
  }
  out->i = (jint)value->integer;
  return out->i == value->integer;
}

/* object: the local reference of an OP_REF; else NULL. */
bool argument_convert(struct conversion *conversion, const struct argument_plan *plan,
                      const struct op_value *value, jobject object, jvalue *out);

/* The value as an object of the class (NULL for a null). A type that the value declares itself is passed
 * over: the caller has read it. */
bool argument_make(struct conversion *conversion, struct jvm_class *class, const struct op_value *value,
                   jobject *out);
/* A value inside another: its own declared type counts, and what it gives must be of the class. */
bool argument_make_element(struct conversion *conversion, struct jvm_class *class,
                           const struct op_value *value, jobject *out);

enum { ARGUMENT_TEXT = 'T' };

/* An element of what takes objects of a class (NULL: any), where making objects of primitives and of texts of
 * at most text_max bytes is left to the caller. */
struct argument_element {
  char letter;      /* a primitive's, whose wrapper it becomes; ARGUMENT_TEXT: a String; 0: object */
  jvalue scalar;    /* of a primitive */
  struct text text; /* of a String */
  jobject object;   /* local; NULL for a null */
};
bool argument_read_element(struct conversion *conversion, struct jvm_class *class,
                           const struct op_value *value, size_t text_max, struct argument_element *out);

/* The parts of argument_make, a file each. */
bool argument_make_array(struct conversion *conversion, struct jvm_class *class, const struct op_value *value,
                         jobject *out);
bool argument_make_collection(struct conversion *conversion, struct jvm_class *class,
                              const struct op_value *value, jobject *out);
/* Adds a list's elements to a collection, puts a map's entries into a map, sets those of an array, whose
 * component class is component. Called within a level, whose frame takes what they leave. */
bool argument_fill_collection(struct conversion *conversion, const struct op_value *value,
                              jobject collection);
bool argument_fill_map(struct conversion *conversion, const struct op_value *value, jobject map);
bool argument_fill_array(struct conversion *conversion, const struct op_value *value,
                         struct jvm_class *component, jobject array);
bool argument_make_from_text(struct conversion *conversion, struct jvm_class *class,
                             const struct op_value *value, jobject *out);

/*
 * A frame of local references for one level of a nested value, so that what a level holds does not depend on
 * how deep it is. False: the outcome tells why, and no frame is open.
 */
bool argument_open_level(struct conversion *conversion);
/* Closes the frame; gives result (may be NULL) as a local reference of the level around. */
jobject argument_close_level(struct conversion *conversion, jobject result);

/* A new array of count elements, zero or null. NULL: the outcome tells why. */
jobject argument_new_array(struct conversion *conversion, struct jvm_class *class, jint count);

/* Boxes a primitive. NULL: the outcome tells why. */
jobject argument_box(struct conversion *conversion, char letter, const jvalue *value);
/* The primitive of a wrapper object, whose class has the letter. */
void argument_unbox(struct jvm_thread *thread, jobject object, char letter, jvalue *out);

/*
 * The class of a type that the caller declared. Asks the guard about what value means of it before the class
 * is loaded; value may be NULL.
 */
struct jvm_class *argument_declared_class(struct conversion *conversion, const struct op_type *type,
                                          const struct op_value *value);
/* Asks the guard about the type that the value declares; one that the codec has looked up is not asked about.
 */
bool argument_ask_type(struct conversion *conversion, const struct op_type *type,
                       const struct op_value *value);
/* Asks the guard about making an object of the class for a list or map: the constructor runs its code. */
bool argument_ask_to_make(struct conversion *conversion, struct text class_name);
/* Asks the guard about filling an object of the class `made`, whose add or put then runs. named: the class that
 * the caller has named. */
bool argument_ask_to_fill(struct conversion *conversion, struct jvm_class *named, jclass made);
bool argument_parse_type(struct conversion *conversion, struct text written, struct op_type *type);

unsigned argument_cost(struct conversion *conversion, const struct op_value *value, struct jvm_type *to);

/* Failures. All return false. */
bool argument_fail(struct conversion *conversion, const struct op_value *value, const char *what, ...)
    __attribute__((format(printf, 3, 4)));
bool argument_fail_fit(struct conversion *conversion, const struct op_value *value, char letter,
                       enum op_scalar_fit fit);
/* Holds the text of a number against its limit: Java takes time by the square of its digits. */
bool argument_check_digits(struct conversion *conversion, const struct op_value *value, struct text number);
/* The same of a text that is to become a primitive; another value passes. */
static inline bool argument_check_text(struct conversion *conversion, const struct op_value *value)
{
  return value->kind != OP_TEXT || value->text.len <= conversion->request->limits->number_digits_max ||
         argument_check_digits(conversion, value, value->text);
}
bool argument_fail_memory(struct conversion *conversion);
/* True where an exception was pending; the outcome tells of it. */
bool argument_take(struct conversion *conversion);

#endif

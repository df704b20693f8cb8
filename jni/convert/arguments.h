#ifndef JPEER_JNI_CONVERT_ARGUMENTS_H
#define JPEER_JNI_CONVERT_ARGUMENTS_H
/*
 * Makes Java values of a request's values (docs/protocol.md, "Arguments"). Call these on the thread's own
 * thread, between jvm_request_begin and jvm_request_end. No exception is pending on entry or on return.
 *
 * A function that fails leaves an OUTCOME_ERROR in the conversion's outcome. Where the value does not fit,
 * that is -32602 with the argument, the value, the type and its range; where a collection, a constant or a
 * class threw, it is the exception. Objects are local references of the request's frame.
 */
#include "jni/loaders/class_lookup.h"
#include "jni/members.h"
#include "jni/types/element_types.h"
#include "jni/types/member_table.h"
#include "op/scalar.h"

/* The place of a nested value: argument 1, its element 3, ... */
struct argument_path {
  const struct argument_path *outer; /* NULL: the argument itself */
  size_t index;
  bool is_key; /* the key of this entry of a map */
};

/* An array that the caller wants back where the call changes it. */
struct conversion_out {
  size_t argument;
  jobject array; /* local */
  char letter;
  const void *before; /* count elements */
  size_t count;
};

/* One operation on its way from resolution to its outcome, or the conversion of a value beside one: what becomes Java
 * values is converted for it. */
struct conversion {
  struct jvm_thread *thread;
  const struct jvm_request *request;
  struct outcome *outcome;
  struct call_frame *frame;       /* what the operation has opened; NULL beside an operation */
  struct resolved_member *member; /* jvm_resolve fills it, jvm_invoke runs it; NULL beside an operation */
  jvalue *arguments;              /* of jvm_invoke; NULL before */

  bool is_put;      /* the value is a put's, not an argument */
  bool is_receiver; /* the value is the instance */
  bool has_unused;  /* an argument that is an OP_REF was sent in pieces, and is used for the first time */
  const struct argument_path *path;
  const struct element_types
      *elements; /* of the value that is being made; NULL: nothing more is declared of it */
  struct {
    const struct jvm_class *class; /* NULL: none yet */
    const struct element_types *declared;
    const struct element_types *elements;
  } bound; /* what is known of the elements of the last class that was filled, where `declared` was declared */
  struct {
    jobject array; /* local, or deleted since; NULL: none */
    char letter;
    const void *data; /* what it was filled with, of the request or its arena */
    size_t count;
  } made;                      /* the last array of primitives */
  struct conversion_out *outs; /* of arguments that are `out`; NULL: none */
  size_t out_count;
  jobject loader; /* the one that the operation names, which alone is asked for classes; NULL: none */
  /* its loader is asked first, else; may be NULL */
  const struct jvm_class *beside;
  struct {
    struct text name;
    struct jvm_class *class; /* a permanent one; NULL: none yet */
  } loaded;                  /* the last one: most lists declare one type for all elements */
  struct {
    struct text written; /* data NULL: none yet */
    bool was_told;
    struct op_type type;
    char letter;             /* the primitive that the type is or wraps; for String ARGUMENT_TEXT; else 0 */
    struct jvm_class *class; /* where the judge need not be asked about it; NULL: not known yet, or it must */
  } declared;                /* the type that the last element declared */
};

/* How one argument is converted: decided at resolution, kept with the resolved member. */
struct argument_plan {
  /* The type that the value is read as: a primitive's letter, 'L' for from_class, or 0 for the parameter's
   * type. */
  char from;
  struct jvm_class *from_class; /* if from is 'L' */
  struct jvm_type *to;          /* the parameter, or the element of a variable arity; borrowed */
  bool is_whole_number;         /* from is 'I' or 'J', and so is the parameter */
  /* The parameter's type may say more than its erasure: that of a primitive, a wrapper or a String does not. */
  bool may_declare;
  /* The object that overloads were chosen by was made for a place that declares nothing. */
  bool is_plain_callback;
};

/* A whole number that was written as what the member takes, as most are; false: it is another value. */
static inline bool argument_read_whole_number(const struct argument_plan *plan, const struct op_value *value,
                                              jvalue *out)
{
  if (!plan->is_whole_number || value->kind != OP_INTEGER || value->suffix != 0)
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

/* The class that the value's own form suggests: Integer, Long, Double, String, ArrayList, HashMap, ... Of a value that is no
 * primitive. NULL: memory is short, or an exception is pending. */
struct jvm_class *argument_natural_class(struct jvm_thread *thread, const struct op_value *value);
/* Makes an element of another value: of the type that the element declares, which must be a subtype of the
 * class. */
bool argument_make_element(struct conversion *conversion, struct jvm_class *class,
                           const struct op_value *value, jobject *out);

enum { ARGUMENT_TEXT = 'T' };

/* Reads an element of an array or collection of the class (NULL: of any). The caller makes the objects of
 * primitives and of texts of at most text_max bytes. */
struct argument_element {
  char letter;      /* a primitive's, whose wrapper it becomes; ARGUMENT_TEXT: a String; 0: object */
  jvalue scalar;    /* of a primitive */
  struct text text; /* of a String */
  jobject object;   /* local; NULL for a null */
};
bool argument_read_element(struct conversion *conversion, struct jvm_class *class,
                           const struct op_value *value, size_t text_max, struct argument_element *out);

/* Of the class, of a list or a map. */
bool argument_make_array(struct conversion *conversion, struct jvm_class *class, const struct op_value *value,
                         jobject *out);
bool argument_make_collection(struct conversion *conversion, struct jvm_class *class,
                              const struct op_value *value, jobject *out);
/*
 * Makes the elements of a List or Map that was sent in pieces what the place declares (conversion->elements, not NULL), in the
 * object itself, which nobody else has yet. Elements that the pieces gave as objects, or with a type that has no text, remain.
 * named: a Map whose keys are the objects that the pieces named by ref, which nothing is changed in; NULL: none.
 */
bool argument_fit_pieces(struct conversion *conversion, jobject object, jobject named);
/* Gives the proxy of an OP_CALLBACK, which it makes where there is none: of the interfaces that the value names, or else
 * of the class, and of what the place declares (conversion->elements). Asks the judge about each method that would be
 * sent. */
bool argument_make_callback(struct conversion *conversion, struct jvm_class *class,
                            const struct op_value *value, jobject *out);
/* Gives a proxy of an OP_CALLBACK that names its interfaces, whatever the place declares: for its class. *has_function: it was
 * made for a place that declares more than these. */
bool argument_type_callback(struct conversion *conversion, const struct op_value *value, jobject *out,
                            bool *has_function);

/*
 * Opens a frame of local references for one level of a nested value, so that no frame holds the references of
 * all levels. False: the outcome tells why, and no frame is open.
 */
bool argument_open_level(struct conversion *conversion);
/* Closes the frame. Returns result (may be NULL) as a local reference of the outer level. */
jobject argument_close_level(struct conversion *conversion, jobject result);

/* A new array of count elements, zero or null. NULL: the outcome tells why. */
jobject argument_new_array(struct conversion *conversion, struct jvm_class *class, jint count);

/* Boxes a primitive. NULL: the outcome tells why. */
jobject argument_box(struct conversion *conversion, char letter, const jvalue *value);
/* Reads the primitive in a wrapper object of this letter's class. */
void argument_unbox(struct jvm_thread *thread, jobject object, char letter, jvalue *out);

/*
 * Loads the class of a type that the caller declared. Before that, asks the judge about the member of the
 * class that the value means (a constant, a constructor); value may be NULL. *finding tells how the class was
 * found; its reference keeps the class loaded, and is the caller's (class_finding_end), unless NULL is returned.
 */
struct jvm_class *argument_declared_class(struct conversion *conversion, const struct op_type *type,
                                          const struct op_value *value, struct class_finding *finding);
/* Asks the judge about a member that the operation does not name (judge_implied). */
bool argument_ask(struct conversion *conversion, enum op_member_kind kind, struct text class_name,
                  struct text member);
/* Asks the judge about the type that the value declares, unless the codec has looked the type up. */
bool argument_ask_type(struct conversion *conversion, const struct op_type *type,
                       const struct op_value *value);
/* Asks the judge about making an object of the class for a list or map: the constructor runs its code. */
bool argument_ask_to_make(struct conversion *conversion, struct text class_name);
bool argument_parse_type(struct conversion *conversion, struct text written, struct op_type *type);

/* Failures. All return false. */
bool argument_fail(struct conversion *conversion, const struct op_value *value, const char *what, ...)
    __attribute__((format(printf, 3, 4)));
bool argument_fail_fit(struct conversion *conversion, const struct op_value *value, char letter,
                       enum op_scalar_fit fit);
/* Compares the digits of a text that becomes a primitive with their limit; other values pass. */
bool argument_check_text(struct conversion *conversion, const struct op_value *value);
/* The object, which may be NULL, is one of the class. */
bool argument_check_instance(struct conversion *conversion, const struct op_value *value, jobject object,
                             struct jvm_class *class);
static inline bool argument_fail_memory(struct conversion *conversion)
{
  return outcome_fail_memory(conversion->outcome) == JP_OK;
}

/* True where an exception was pending; the outcome describes it. */
bool argument_take(struct conversion *conversion);

#endif

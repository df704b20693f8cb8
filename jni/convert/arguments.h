#ifndef JPEER_JNI_CONVERT_ARGUMENTS_H
#define JPEER_JNI_CONVERT_ARGUMENTS_H
/*
 * Makes Java values from a request's values (docs/protocol.md, "Arguments"). Call these functions on the
 * thread's own thread, between jvm_request_begin and jvm_request_end. No exception is pending on entry or on
 * return.
 *
 * A function that fails leaves an OUTCOME_ERROR in the conversion's outcome. If the value does not fit, the
 * error is -32602 and names the argument, the value, the type and its range. If a collection, a constant or a
 * class threw, the error is that exception. Objects are local references of the request's frame.
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

/* An array that the caller wants returned if the call changes it. */
struct conversion_out {
  size_t argument;
  jobject array; /* local */
  char letter;
  const void *before; /* count elements before the call */
  size_t count;
};

/* The conversions of one operation, from resolution to its outcome; or the conversion of one value without an
 * operation, such as an answer's. */
struct conversion {
  struct jvm_thread *thread;
  const struct jvm_request *request;
  struct outcome *outcome;
  struct call_frame *frame;       /* the objects of the operation; NULL without an operation */
  struct resolved_member *member; /* jvm_resolve fills it, jvm_invoke runs it; NULL without an operation */
  jvalue *arguments;              /* set by jvm_invoke; NULL before */

  bool is_put;      /* the value is a put's, not an argument */
  bool is_receiver; /* the value is the instance */
  bool has_unused;  /* an argument that is an OP_REF was sent in pieces, and is used for the first time */
  const struct argument_path *path;
  /* element types of the value that is being made; NULL: none declared */
  const struct element_types *elements;
  struct {
    const struct jvm_class *class; /* NULL: none yet */
    const struct element_types *declared;
    const struct element_types *elements;
  } bound; /* cache: the element types of the last class that was filled, and the declared types that they
            * were made from */
  struct {
    jobject array; /* a local reference, possibly deleted since; NULL: none */
    char letter;
    const void *data; /* the values in the array, in the request or its arena */
    size_t count;
  } made;                      /* the last array of primitives */
  struct conversion_out *outs; /* for the arguments with `out`; NULL: none */
  size_t out_count;
  jobject loader; /* the loader that the operation names; no other loader is asked for classes. NULL: none */
  /* if `loader` is NULL, the loader of this class is asked first; may be NULL */
  const struct jvm_class *beside;
  struct {
    struct text name;
    struct jvm_class *class; /* a permanent one; NULL: none yet */
  } loaded;                  /* the last class: most lists declare one type for all elements */
  struct {
    struct text written; /* data NULL: none yet */
    bool was_members_type;
    struct op_type type;
    char letter; /* the letter of the declared primitive, or of the primitive that the declared wrapper wraps;
                  * ARGUMENT_TEXT for String; otherwise 0 */
    struct jvm_class *class; /* set if the judge need not be asked about it */
  } declared;                /* the type of the last element that declared one */
};

/* How one argument is converted. Resolution makes the plan, and the resolved member keeps it. */
struct argument_plan {
  /* The type that the value is read as: a primitive's letter, 'L' for from_class, or 0 for the parameter's
   * type. */
  char from;
  struct jvm_class *from_class; /* if from is 'L' */
  struct jvm_type *to;          /* the parameter's type, or a variable-arity element's; borrowed */
  bool is_whole_number;         /* from is 'I' or 'J', like the parameter */
  /* True if the declared type may say more than its erasure; false for primitives, wrappers and Strings. */
  bool may_declare;
  /* The proxy that was made to choose the overload was made for a parameter without a declared function. */
  bool is_plain_callback;
};

/* The fast path for most whole numbers: the number has the type of the parameter already. False: use
 * argument_convert. */
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

/* The class that the value's own form suggests: Integer, Long, Double, String, ArrayList, HashMap, ... The
 * value is not a primitive. NULL: memory is short, or an exception is pending. */
struct jvm_class *argument_natural_class(struct jvm_thread *thread, const struct op_value *value);
/* Makes an element of any other value; its declared type must be a subtype of the class. */
bool argument_make_element(struct conversion *conversion, struct jvm_class *class,
                           const struct op_value *value, jobject *out);

enum { ARGUMENT_TEXT = 'T' };

/* Reads an element for an array or collection of the class (NULL: any class). The caller makes the objects of
 * primitives and of texts of at most text_max bytes. */
struct argument_element {
  char letter;      /* a primitive's, which is boxed; ARGUMENT_TEXT: a String; 0: object */
  jvalue scalar;    /* if a primitive */
  struct text text; /* if a String */
  jobject object;   /* otherwise: local; NULL for a null */
};
bool argument_read_element(struct conversion *conversion, struct jvm_class *class,
                           const struct op_value *value, size_t text_max, struct argument_element *out);

/* From a list or a map to an object of the class. */
bool argument_make_array(struct conversion *conversion, struct jvm_class *class, const struct op_value *value,
                         jobject *out);
bool argument_make_collection(struct conversion *conversion, struct jvm_class *class,
                              const struct op_value *value, jobject *out);
/*
 * Converts the elements of a List or Map that was sent in pieces to the declared element types
 * (conversion->elements, not NULL), in the object itself, because no other code has a reference to it yet.
 * Elements that the pieces gave as objects, or with a type that has no text, remain. named: a Map whose keys
 * are the objects that the pieces named by ref; these objects are not changed. NULL: the pieces named no
 * object.
 */
bool argument_fit_pieces(struct conversion *conversion, jobject object, jobject named);
/* Returns the proxy of an OP_CALLBACK, or makes a proxy: with the interfaces that the value names, or else
 * with the class, and with the declared function of the parameter (conversion->elements). Asks the judge
 * about each method that the client would be sent. */
bool argument_make_callback(struct conversion *conversion, struct jvm_class *class,
                            const struct op_value *value, jobject *out);
/* Returns a proxy of an OP_CALLBACK that names its interfaces, to find its class, without regard to the
 * parameter's declaration. *has_function: the proxy was made for a parameter with a declared function. */
bool argument_type_callback(struct conversion *conversion, const struct op_value *value, jobject *out,
                            bool *has_function);

/*
 * Opens a frame of local references for one level of a nested value, so that no frame holds the references of
 * all levels. False: the outcome says why, and no frame is open.
 */
bool argument_open_level(struct conversion *conversion);
/* Closes the frame. Returns result (may be NULL) as a local reference of the outer level. */
jobject argument_close_level(struct conversion *conversion, jobject result);

/* Makes an array of count elements, zero or null. NULL: the outcome says why. */
jobject argument_new_array(struct conversion *conversion, struct jvm_class *class, jint count);

/* Boxes a primitive. NULL: the outcome says why. */
jobject argument_box(struct conversion *conversion, char letter, const jvalue *value);
/* Reads the primitive from a wrapper of this letter's class. */
void argument_unbox(struct jvm_thread *thread, jobject object, char letter, jvalue *out);

/*
 * Loads the class of a type that the caller declared. Before that, asks the judge about the member of the
 * class that the value will run (a constant, a constructor); value may be NULL. *finding records how the
 * class was found. Unless NULL is returned, the caller owns its reference, which keeps the class loaded
 * (class_finding_end).
 */
struct jvm_class *argument_declared_class(struct conversion *conversion, const struct op_type *type,
                                          const struct op_value *value, struct class_finding *finding);
/* Asks the judge about a member that the operation does not name (judge_implied). */
bool argument_ask(struct conversion *conversion, enum op_member_kind kind, struct text class_name,
                  struct text member);
/* Asks the judge about the type that the value declares, unless the codec has already done so. */
bool argument_ask_type(struct conversion *conversion, const struct op_type *type,
                       const struct op_value *value);
/* Asks the judge about making an object of the class for a list or map, because that runs the constructor. */
bool argument_ask_to_make(struct conversion *conversion, struct text class_name);
bool argument_parse_type(struct conversion *conversion, struct text written, struct op_type *type);

/* Failures. All return false. */
bool argument_fail(struct conversion *conversion, const struct op_value *value, const char *what, ...)
    __attribute__((format(printf, 3, 4)));
bool argument_fail_fit(struct conversion *conversion, const struct op_value *value, char letter,
                       enum op_scalar_fit fit);
/* Checks the digits of a text that becomes a primitive; other values pass. */
bool argument_check_text(struct conversion *conversion, const struct op_value *value);
/* Checks that the object is NULL or an instance of the class. */
bool argument_check_instance(struct conversion *conversion, const struct op_value *value, jobject object,
                             struct jvm_class *class);
static inline bool argument_fail_memory(struct conversion *conversion)
{
  return outcome_fail_memory(conversion->outcome) == JP_OK;
}

/* True if an exception was pending: it is cleared, and the outcome describes it. */
bool argument_take(struct conversion *conversion);

#endif

#ifndef JPEER_CLASSFILE_SIGNATURE_H
#define JPEER_CLASSFILE_SIGNATURE_H
/*
 * Reads descriptors (JVMS 4.3) and generic signatures (JVMS 4.7.9.1) and writes their types as Java source
 * does: "int[]", "java.util.Map$Entry<K, ? extends java.lang.Number>". Pure text; any thread.
 */
#include "base/buffer.h"
#include "base/text.h"

/* True for a valid field descriptor. */
bool descriptor_check_field(struct text descriptor);
/* True for a valid method descriptor with at most 255 parameters. */
bool descriptor_check_method(struct text descriptor, uint8_t *parameter_count);
/* The part from '(' to ')', which decides about overriding. The descriptor must be valid. */
struct text descriptor_parameters(struct text descriptor);

/* Both functions read one type, or 'V', from *rest, and append its source form if out is not NULL. False: the
 * type is malformed, and the caller must remove what was appended. */
bool descriptor_read_type(struct text *rest, struct buffer *out);
bool signature_read_type(struct text *rest, struct buffer *out);
/* Moves past the method's type parameters and the '('. False: malformed. */
bool signature_enter_method(struct text *rest);
/* The number of parameter types of a method signature, or -1: malformed. */
int signature_count_parameters(struct text signature);

/* The type arguments of a class type's signature, for the content of a container. */
struct signature_arguments {
  struct text first; /* as written, with its '+', '-' or '*'; data NULL: the type has no arguments */
  struct text last;
  unsigned count;
};

/* Reads from a '<' to its '>'. */
struct signature_arguments signature_read_arguments(struct text written);
/* The type that an argument means: "TT;" of "+TT;". data NULL: the type is unknown ("*", "-TT;", or no argument). */
struct text signature_argument_type(struct text argument);

/*
 * Reads the types of a method's parameters in their order: from the signature if it has them, otherwise from
 * the descriptor. The two may differ (JVMS 4.7.9.1): javac adds parameters at the beginning of some
 * constructors, and leaves them out of the signature.
 */
struct method_types {
  struct text descriptor; /* the unread rest of the descriptor and of the signature; after the last parameter
                           * both begin with ')' */
  struct text signature;
  unsigned without_signature; /* parameters before the first of the signature */
  bool has_signature;
};

/* descriptor must be valid and have `count` parameters; signature may be empty or malformed. */
void method_types_open(struct method_types *types, struct text descriptor, struct text signature,
                       unsigned count, bool is_constructor);
/* Returns the next parameter's type as written, and appends its source form if out is not NULL. data NULL: no
 * parameter is left. */
struct text method_types_next(struct method_types *types, struct buffer *out);

#endif

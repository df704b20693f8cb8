#ifndef JPEER_CLASSFILE_SIGNATURE_H
#define JPEER_CLASSFILE_SIGNATURE_H
/*
 * Descriptors (JVMS 4.3) and generic signatures (JVMS 4.7.9.1) as types in Java source form:
 * "int[]", "java.util.Map$Entry<K, ? extends java.lang.Number>". Pure text; any thread.
 */
#include "base/buffer.h"
#include "base/text.h"

/* A field's descriptor, whole. */
bool descriptor_check_field(struct text descriptor);
/* A method's descriptor, whole; at most 255 parameters. */
bool descriptor_check_method(struct text descriptor, uint8_t *parameter_count);
/* From '(' to ')': what overriding looks at. The descriptor must be valid. */
struct text descriptor_parameters(struct text descriptor);

/* Both read one type ('V' too) from the start of *rest, move past it, and append its source form where out is
 * not NULL. False: malformed; what was appended is to be cut off. */
bool descriptor_read_type(struct text *rest, struct buffer *out);
bool signature_read_type(struct text *rest, struct buffer *out);
/* Moves past a method's own type parameters and the '('. False: malformed. */
bool signature_enter_method(struct text *rest);
/* The number of parameter types of a method signature, or -1: malformed. */
int signature_count_parameters(struct text signature);

#endif
